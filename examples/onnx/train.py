#!/usr/bin/env python3
"""Trains a small residual network on handwritten digits in PyTorch and exports it: writes digits.onnx and scores.npz.

Needs more than running the example does: pip install torch onnx onnxscript scikit-learn. Takes about a minute. The
images of ../digits/test.npz have no part in the training; scores.npz holds what PyTorch gives for them.
"""

import pathlib

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
EPOCHS = 60
BATCH = 64


class Block(nn.Module):
    """Convolution, norm, activation, twice, beside a shortcut."""

    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)
        self.activation = nn.SiLU()

    def forward(self, x):
        y = self.activation(self.first_norm(self.first(x)))
        return self.activation(x + self.second_norm(self.second(y)))


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.GELU(), Block(16), nn.MaxPool2d(2), nn.Conv2d(16, 24, 3, padding=1),
            nn.GELU(), Block(24), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(96, 10),
        )

    def forward(self, images):
        return self.layers(images)


def without_traces(path):
    """Takes away where in Python each node came from."""
    model = onnx.load(path)
    for part in (model.graph, *model.graph.node, *model.graph.input, *model.graph.output, *model.graph.value_info):
        del part.metadata_props[:]
    onnx.save(model, path)


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    with np.load(HERE.parent / "digits/test.npz") as stored:
        test_images, test_labels = stored["images"], stored["labels"]
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    held_back = {image.tobytes() for image in test_images}
    kept = [i for i, image in enumerate(images) if image.tobytes() not in held_back]
    images, labels = torch.from_numpy(images[kept]), torch.from_numpy(digits.target[kept])

    network = Digits()
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-3)
    steps = EPOCHS * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(images))
        for batch in order[: len(images) // BATCH * BATCH].split(BATCH):
            # Moved by at most a pixel each way, so that the network does not learn positions.
            moved = torch.roll(nn.functional.pad(images[batch], (1, 1, 1, 1)), tuple(np.random.randint(-1, 2, 2)), (2, 3))
            loss = nn.functional.cross_entropy(network(moved[:, :, 1:-1, 1:-1]), labels[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()

    network.eval()
    given = torch.from_numpy(test_images)
    with torch.inference_mode():
        scores = network(given).numpy()
    print(f"accuracy on the test images: {np.mean(scores.argmax(1) == test_labels):.4f}")
    np.savez_compressed(HERE / "scores.npz", scores=scores)
    torch.onnx.export(
        network, (given[:2],), HERE / "digits.onnx", input_names=["images"], output_names=["scores"],
        dynamic_shapes={"images": {0: torch.export.Dim("n")}}, external_data=False, optimize=True, dynamo=True,
    )
    without_traces(HERE / "digits.onnx")


if __name__ == "__main__":
    np.random.seed(7)
    main()
