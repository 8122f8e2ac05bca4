#!/usr/bin/env python3
"""Trains the weights of tree_lstm.rly on random formulas and writes weights.npz.

Needs more than running the example does: pip install numpy jax. Takes about a minute.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SEED = 3
NODES = 16        # a formula in training has at most so many
STEPS = 3000
BATCH = 128
FALSE, TRUE, NOT, AND, OR, XOR = range(6)


def formula(rng, depth):
    """A random (token, operands)."""
    token = int(rng.choice([NOT, AND, OR, XOR])) if depth and rng.random() < 0.85 else int(rng.choice([FALSE, TRUE]))
    count = {FALSE: 0, TRUE: 0, NOT: 1, XOR: 2}.get(token, int(rng.integers(2, 4)))
    return token, [formula(rng, depth - 1) for _ in range(count)]


def truth(tree):
    token, operands = tree
    values = [truth(operand) for operand in operands]
    if token in (FALSE, TRUE):
        return token == TRUE
    if token == NOT:
        return not values[0]
    return {AND: all, OR: any, XOR: lambda v: sum(v) % 2 == 1}[token](values)


def flat(tree):
    """(tokens, children): the nodes with children before parents; children[i, j] = 1 where j is a child of i."""
    tokens, edges = [], []

    def walk(node):
        below = [walk(operand) for operand in node[1]]
        tokens.append(node[0])
        edges.extend((len(tokens) - 1, child) for child in below)
        return len(tokens) - 1

    walk(tree)
    children = np.zeros((NODES, NODES), np.float32)
    if len(tokens) <= NODES:
        for parent, child in edges:
            children[parent, child] = 1
    return tokens, children


def batch(rng):
    tokens, children, last, labels = [], [], [], []
    while len(labels) < BATCH:
        tree = formula(rng, int(rng.integers(0, 4)))
        t, c = flat(tree)
        # As many true ones as false ones.
        if len(t) > NODES or truth(tree) != (len(labels) % 2 == 0):
            continue
        tokens.append(t + [0] * (NODES - len(t)))
        children.append(c)
        last.append(len(t) - 1)
        labels.append(truth(tree))
    return np.array(tokens), np.array(children), np.array(last), np.array(labels, np.float32)


def initial_weights(rng):
    def uniform(*shape):
        bound = np.sqrt(6 / sum(shape))
        return rng.uniform(-bound, bound, shape).astype(np.float32)

    return {
        "embedding": rng.normal(0, 1, (6, 8)).astype(np.float32),
        "gates_weight": uniform(48, 8),
        "gates_hidden": uniform(48, 16),
        "gates_bias": np.zeros(48, np.float32),
        "forget_weight": uniform(16, 8),
        "forget_hidden": uniform(16, 16),
        "forget_bias": np.ones(16, np.float32),
        "output_weight": uniform(1, 16),
        "output_bias": np.zeros(1, np.float32),
    }


def score(w, tokens, children, last):
    """The score of one formula, before the sigmoid."""
    x = w["embedding"][tokens]

    def node(state, i):
        h, c = state
        forget = jax.nn.sigmoid(w["forget_weight"] @ x[i] + w["forget_bias"] + h @ w["forget_hidden"].T)
        gates = w["gates_weight"] @ x[i] + w["gates_hidden"] @ (children[i] @ h) + w["gates_bias"]
        taken, shown, new = jnp.split(gates, 3)
        memory = jax.nn.sigmoid(taken) * jnp.tanh(new) + children[i] @ (forget * c)
        return (h.at[i].set(jax.nn.sigmoid(shown) * jnp.tanh(memory)), c.at[i].set(memory)), None

    zero = jnp.zeros((NODES, 16))
    (h, _), _ = jax.lax.scan(node, (zero, zero), jnp.arange(NODES))
    return (w["output_weight"] @ h[last] + w["output_bias"])[0]


scores = jax.vmap(score, in_axes=(None, 0, 0, 0))


def loss(weights, tokens, children, last, labels):
    s = scores(weights, tokens, children, last)
    return jnp.mean(jax.nn.softplus(s) - labels * s) + 1e-6 * sum(jnp.sum(w**2) for w in weights.values())


@jax.jit
def adam_step(weights, mean, square, step, rate, data):
    value, gradient = jax.value_and_grad(loss)(weights, *data)
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in gradient.values()))
    gradient = jax.tree.map(lambda g: g / jnp.maximum(1, norm), gradient)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
    weights = jax.tree.map(
        lambda w, m, s: w - rate * (m / (1 - 0.9**step)) / (jnp.sqrt(s / (1 - 0.999**step)) + 1e-8),
        weights, mean, square)
    return weights, mean, square, value


def main():
    rng = np.random.default_rng(SEED)
    weights = initial_weights(rng)
    mean = jax.tree.map(np.zeros_like, weights)
    square = jax.tree.map(np.zeros_like, weights)
    for step in range(STEPS):
        rate = 1e-2 * 0.5 * (1 + np.cos(np.pi * step / STEPS))
        weights, mean, square, value = adam_step(weights, mean, square, step + 1, rate, batch(rng))
        if (step + 1) % 500 == 0:
            print(f"step {step + 1}: loss {value:.4f}")
    right = []
    for _ in range(20):
        tokens, children, last, labels = batch(rng)
        right.append((scores(weights, tokens, children, last) > 0) == (labels > 0))
    print(f"accuracy on {20 * BATCH} new formulas: {np.mean(right):.4f}")
    np.savez_compressed(HERE / "weights.npz", **{name: np.asarray(w) for name, w in weights.items()})


if __name__ == "__main__":
    main()
