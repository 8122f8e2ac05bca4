#!/usr/bin/env python3
"""Trains the weights of digits.rly and holds back the test images: writes weights.npz and test.npz.

Needs more than running the example does: pip install numpy scikit-learn jax. Takes about ten seconds.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = pathlib.Path(__file__).resolve().parent
SEED = 7
EPOCHS = 60
BATCH = 64
TEST_IMAGES = 360


def initial_weights(rng):
    def he(*shape):
        return rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape).astype(np.float32)

    return {
        "conv1_weight": he(16, 1, 3, 3),
        "conv1_bias": np.zeros(16, np.float32),
        "conv2_weight": he(32, 16, 3, 3),
        "conv2_bias": np.zeros(32, np.float32),
        "dense_weight": he(10, 128),
        "dense_bias": np.zeros(10, np.float32),
    }


def scores(weights, images):
    x = images
    for layer in ("conv1", "conv2"):
        x = jax.lax.conv_general_dilated(x, weights[f"{layer}_weight"], (1, 1), [(1, 1), (1, 1)])
        x = jax.nn.relu(x + weights[f"{layer}_bias"][:, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return x.reshape(x.shape[0], -1) @ weights["dense_weight"].T + weights["dense_bias"]


def loss(weights, images, labels):
    likelihood = jax.nn.log_softmax(scores(weights, images))
    decay = sum(jnp.sum(w**2) for name, w in weights.items() if name.endswith("weight"))
    return -jnp.mean(likelihood[jnp.arange(len(labels)), labels]) + 1e-4 * decay


@jax.jit
def adam_step(weights, mean, square, step, rate, images, labels):
    gradient = jax.grad(loss)(weights, images, labels)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
    weights = jax.tree.map(
        lambda w, m, s: w - rate * (m / (1 - 0.9**step)) / (jnp.sqrt(s / (1 - 0.999**step)) + 1e-8),
        weights, mean, square)
    return weights, mean, square


def shifted(images, rng):
    """Each image moved by at most one pixel each way, so that the network does not learn positions."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    result = np.empty_like(images)
    for i, (dy, dx) in enumerate(rng.choice([0, 1, 2], size=(len(images), 2), p=[0.15, 0.7, 0.15])):
        result[i] = padded[i, :, dy:dy + 8, dx:dx + 8]
    return result


def main():
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    labels = digits.target.astype(np.int32)
    images, test_images, labels, test_labels = train_test_split(
        images, labels, test_size=TEST_IMAGES, stratify=labels, random_state=SEED)

    rng = np.random.default_rng(SEED)
    weights = initial_weights(rng)
    mean = jax.tree.map(np.zeros_like, weights)
    square = jax.tree.map(np.zeros_like, weights)
    batches = len(images) // BATCH
    step = 0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        for b in range(batches):
            pick = order[b * BATCH:(b + 1) * BATCH]
            rate = 3e-3 * 0.5 * (1 + np.cos(np.pi * step / (EPOCHS * batches)))
            step += 1
            weights, mean, square = adam_step(
                weights, mean, square, step, rate, shifted(images[pick], rng), labels[pick])
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1}: accuracy on the training images "
                  f"{np.mean(np.argmax(scores(weights, images), 1) == labels):.4f}")

    # The test images have had no part in any choice above.
    print(f"accuracy on the test images: {np.mean(np.argmax(scores(weights, test_images), 1) == test_labels):.4f}")
    np.savez_compressed(HERE / "weights.npz", **{name: np.asarray(w) for name, w in weights.items()})
    np.savez_compressed(HERE / "test.npz", images=test_images, labels=test_labels)


if __name__ == "__main__":
    main()
