"""The record of the outputs of a model, and how outputs are compared with it.

For each output: its shape, its least and greatest element, and elements at seeded positions (all of them where there
are few), so that a recorded model takes a few kilobytes.
"""

import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks/models"))
RECORDED = ROOT / "tests/models/recorded"
MOST = 4096

# Cases: a name, the model, and what its named dimensions are.
CASES = {name: (name, None) for name in ("resnet18", "mobilenet_v2", "vit_b_16", "bert_base", "gpt2", "resnet50",
                                         "densenet121", "inception_v1", "inception_v2", "squeezenet", "shufflenet",
                                         "vgg19", "bvlc_alexnet", "zfnet512")}
for _length in (1, 40, 133):
    CASES[f"lstm_{_length}"] = ("lstm", {"seq": _length})


def positions(size):
    if size <= MOST:
        return np.arange(size)
    return np.sort(np.random.default_rng(0).choice(size, MOST, replace=False))


def record(outputs):
    """The arrays to be stored."""
    stored = {}
    for i, output in enumerate(outputs):
        flat = np.asarray(output, np.float32).reshape(-1)
        stored[f"shape{i}"] = np.array(np.shape(output), np.int64)
        stored[f"range{i}"] = np.array([flat.min(), flat.max()])
        stored[f"values{i}"] = flat[positions(flat.size)]
    return stored


def errors(outputs, stored):
    """The greatest difference of each output, relative to the range of what was recorded."""
    result = []
    for i, output in enumerate(outputs):
        assert list(np.shape(output)) == stored[f"shape{i}"].tolist()
        flat = np.asarray(output, np.float64).reshape(-1)
        assert np.isfinite(flat).all()
        low, high = stored[f"range{i}"].astype(np.float64)
        difference = np.abs(flat[positions(flat.size)] - stored[f"values{i}"].astype(np.float64))
        result.append(float(difference.max()) / max(high - low, 1e-30))
    assert f"shape{len(outputs)}" not in stored
    return result
