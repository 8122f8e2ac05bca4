#!/usr/bin/env python3
"""tree_lstm.rly once more in NumPy (float64), by loops over plain tuples, for the same formulas.

Checks expected.json, which holds what `relay run --format json` has to print; with --write, writes it.
"""

import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected.json"
FALSE, TRUE, NOT, AND, OR, XOR = range(6)

T, F = (TRUE,), (FALSE,)
OR3 = (OR, F, F, T)
NOT_TRUE = (NOT, T)
XOR2 = (XOR, (NOT, F), (OR, F, T))
NESTED = (AND, (NOT, (AND, T, F)), (XOR, T, NOT_TRUE))
FORMULAS = [
    T,
    NOT_TRUE,
    (AND, T, F),
    OR3,
    XOR2,
    NESTED,
    (NOT, (XOR, NESTED, (OR, (AND, T, OR3, NOT_TRUE), (NOT, XOR2)))),
]


def truth(tree):
    values = [truth(operand) for operand in tree[1:]]
    return {FALSE: lambda: False, TRUE: lambda: True, NOT: lambda: not values[0], AND: lambda: all(values),
            OR: lambda: any(values), XOR: lambda: values[0] != values[1]}[tree[0]]()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def encode(tree, w):
    """The hidden state and the memory of a formula."""
    x = w["embedding"][tree[0]]
    h_sum, c_sum = np.zeros(16), np.zeros(16)
    for h, c in [encode(operand, w) for operand in tree[1:]]:
        forget = sigmoid(w["forget_weight"] @ x + w["forget_bias"] + w["forget_hidden"] @ h)
        h_sum = h_sum + h
        c_sum = c_sum + forget * c
    gates = w["gates_weight"] @ x + w["gates_hidden"] @ h_sum + w["gates_bias"]
    taken, shown, new = gates[:16], gates[16:32], gates[32:]
    memory = sigmoid(taken) * np.tanh(new) + c_sum
    return sigmoid(shown) * np.tanh(memory), memory


def judge(tree, w):
    h, _ = encode(tree, w)
    return [truth(tree), float(sigmoid(w["output_weight"] @ h + w["output_bias"])[0])]


def results():
    w = {name: array.astype(np.float64) for name, array in np.load(HERE / "weights.npz").items()}
    return [judge(tree, w) for tree in FORMULAS]


def as_list_value(items):
    """As relay writes a value of List in JSON."""
    value = {"Nil": []}
    for item in reversed(items):
        value = {"Cons": [item, value]}
    return value


def from_list_value(value):
    items = []
    while "Cons" in value:
        item, value = value["Cons"]
        items.append(item)
    assert value == {"Nil": []}
    return items


def main():
    pairs = results()
    for what, probability in pairs:
        print(f"{str(what):5} {probability:.6f}")
        assert what == (probability > 0.5), "the network is wrong on this formula"
    if sys.argv[1:] == ["--write"]:
        EXPECTED.write_text(json.dumps({"type": "List[(bool, float32)]", "value": as_list_value(pairs)}) + "\n")
    stored = from_list_value(json.loads(EXPECTED.read_text())["value"])
    assert len(stored) == len(pairs)
    for (what, probability), (stored_what, stored_probability) in zip(pairs, stored):
        assert what == stored_what and abs(probability - stored_probability) < 1e-9
    return 0


if __name__ == "__main__":
    sys.exit(main())
