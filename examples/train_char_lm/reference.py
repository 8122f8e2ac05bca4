#!/usr/bin/env python3
"""The same transformer and training in PyTorch, from the weights and texts that `train.py --dump FILE` wrote: reference.py FILE

Writes the losses of its steps into expected.json.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

HEADS = 4


def load(path):
    """The parameters by their names in the file, as PyTorch's, and the texts."""
    with np.load(path) as file:
        names = [name for name in file.files if name.startswith("params.") and not name.endswith("#")]
        return {name[7:]: torch.tensor(file[name], requires_grad=True) for name in names}, torch.tensor(file["batches"]).long()


def block(x, p, name):
    batch, length, width = x.shape
    h = F.layer_norm(x, (width,), p[f"{name}.0.0"], p[f"{name}.0.1"])
    parts = F.linear(h, p[f"{name}.1.0"], p[f"{name}.1.1"]).reshape(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
    h = F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).reshape(batch, length, width)
    x = x + F.linear(h, p[f"{name}.1.2"], p[f"{name}.1.3"])
    h = F.layer_norm(x, (width,), p[f"{name}.2.0"], p[f"{name}.2.1"])
    return x + F.linear(F.gelu(F.linear(h, p[f"{name}.3.0"], p[f"{name}.3.1"])), p[f"{name}.3.2"], p[f"{name}.3.3"])


def loss_of(p, text, layers):
    x = p["0"][text[:, :-1]] + p["1"]
    for i in range(layers):
        x = block(x, p, f"2.{i}")
    scores = F.linear(F.layer_norm(x, x.shape[-1:], p["3.0"], p["3.1"]), p["4"])
    return F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())


def main():
    params, batches = load(sys.argv[1])
    layers = len({name.split(".")[1] for name in params if name.startswith("2.")})
    optimizer = torch.optim.AdamW(params.values(), lr=1e-3)
    losses = []
    for text in batches:
        optimizer.zero_grad()
        loss = loss_of(params, text, layers)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params.values(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    path = pathlib.Path(__file__).resolve().parent / "expected.json"
    path.write_text(json.dumps({"torch": torch.__version__, "losses": losses}) + "\n")


if __name__ == "__main__":
    main()
