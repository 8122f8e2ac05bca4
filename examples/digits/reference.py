#!/usr/bin/env python3
"""digits.rly once more in NumPy, written from the meaning of its operators alone: what the demo has to reproduce.

Checks the shapes that the program declares, prints the accuracy over the held-back images and fails below 0.975.
"""

import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = {
    "conv1_weight": (16, 1, 3, 3),
    "conv1_bias": (16,),
    "conv2_weight": (32, 16, 3, 3),
    "conv2_bias": (32,),
    "dense_weight": (10, 128),
    "dense_bias": (10,),
}


def conv2d_3x3(data, weight):
    """Stride 1, one pixel of zeros on every side, NCHW and OIHW."""
    n, channels, height, width = data.shape
    padded = np.zeros((n, channels, height + 2, width + 2), np.float32)
    padded[:, :, 1:-1, 1:-1] = data
    result = np.zeros((n, weight.shape[0], height, width), np.float32)
    for y in range(3):
        for x in range(3):
            result += np.einsum("nchw,oc->nohw", padded[:, :, y:y + height, x:x + width], weight[:, :, y, x])
    return result


def max_pool_2x2(data):
    n, channels, height, width = data.shape
    return data.reshape(n, channels, height // 2, 2, width // 2, 2).max(axis=(3, 5))


def forward(images, weights):
    """The classes (int32) and the probabilities (float32) of the images."""
    x = images
    for layer in ("conv1", "conv2"):
        x = conv2d_3x3(x, weights[f"{layer}_weight"]) + weights[f"{layer}_bias"][:, None, None]
        x = max_pool_2x2(np.maximum(x, 0))
    x = x.reshape(len(x), -1) @ weights["dense_weight"].T + weights["dense_bias"]
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return x.argmax(axis=1).astype(np.int32), e / e.sum(axis=1, keepdims=True)


def load():
    weights = dict(np.load(HERE / "weights.npz"))
    test = np.load(HERE / "test.npz")
    return weights, test["images"], test["labels"]


def main():
    weights, images, labels = load()
    assert {name: w.shape for name, w in weights.items()} == SHAPES
    assert all(w.dtype == np.float32 for w in weights.values())
    assert images.shape == (360, 1, 8, 8) and images.dtype == np.float32
    assert images.min() == 0 and images.max() == 1
    assert labels.shape == (360,) and labels.dtype == np.int32
    assert sorted(np.unique(labels)) == list(range(10)) and np.bincount(labels).min() >= 30

    classes, probabilities = forward(images, weights)
    assert classes.shape == (360,) and probabilities.shape == (360, 10) and probabilities.dtype == np.float32
    accuracy = np.mean(classes == labels)
    top = np.sort(probabilities, axis=1)
    print(f"accuracy {accuracy:.4f} ({np.sum(classes == labels)} of {len(labels)}); "
          f"closest decision by {np.min(top[:, -1] - top[:, -2]):.4f}")
    return 0 if accuracy >= 0.975 else 1


if __name__ == "__main__":
    sys.exit(main())
