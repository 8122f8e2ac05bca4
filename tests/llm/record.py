#!/usr/bin/env python3
"""Records what the transformers package computes for the models of models.py, and the gguf package for blocks: record.py recorded.json

Run by hand, with torch, transformers and gguf at hand.
"""

import json
import pathlib
import sys

import numpy as np

from models import GPT2, MODELS, SMALL, tokens, weights


def model_of(name):
    import torch
    import transformers

    kind, more = MODELS[name]
    config = getattr(transformers, kind)(**{**(GPT2 if kind == "GPT2Config" else SMALL), **more})
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    tied = {other for other in model.state_dict() if other == "lm_head.weight"} if config.tie_word_embeddings else set()
    shapes = {n: list(v.shape) for n, v in model.state_dict().items() if n not in tied and v.dtype == torch.float32}
    for place, values in weights(shapes).items():
        model.state_dict()[place].copy_(torch.tensor(values))
    model.tie_weights()
    with torch.no_grad():
        scores = model(torch.tensor(tokens()[None])).logits[0].numpy()
        text = tokens().tolist()
        for _ in range(8):
            text.append(int(model(torch.tensor([text])).logits[0, -1].argmax()))
    rows = [[float(f"{x:.6g}") for x in scores[i]] for i in (9, 23)]
    return {"config": json.loads(config.to_json_string()), "shapes": shapes, "scores": rows, "written": text[len(tokens()) :]}


def block_of(kind, size):
    from gguf import GGMLQuantizationType, quants

    rng = np.random.default_rng(7)
    while True:
        raw = rng.integers(0, 256, (1, size)).astype("uint8")
        numbers = quants.dequantize(raw, GGMLQuantizationType[kind])
        if np.isfinite(numbers).all() and 1e-3 < np.abs(numbers).max() < 1e4:
            return {"raw": raw[0].tolist(), "numbers": numbers[0].tolist()}


SIZES = {"Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q5_1": 24, "Q8_0": 34, "Q4_K": 144, "Q5_K": 176, "Q6_K": 210}
recorded = {"models": {name: model_of(name) for name in MODELS}, "blocks": {k: block_of(k, n) for k, n in SIZES.items()}}
pathlib.Path(sys.argv[1]).write_text(json.dumps(recorded) + "\n")
