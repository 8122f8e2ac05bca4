#!/usr/bin/env python3
"""Trains a network over trees of differing shapes, by Relay alone: train.py [--steps N] [--least ACCURACY]

The trees are values of a data type; the gradient goes through the functions that call each other along them. The accuracy is that on
formulas that had no part in the training.
"""

import argparse
import pathlib
import sys
import time

import numpy as np
import relay
from relay import optim

HERE = pathlib.Path(__file__).resolve().parent
FALSE, TRUE, NOT, AND, OR, XOR = range(6)
SHAPES = [(6, 8), (48, 8), (48, 16), (48,), (16, 8), (16, 16), (16,), (1, 16), (1,)]


def formula(rng, depth):
    """A random formula: its token, its operands."""
    token = int(rng.choice([NOT, AND, OR, XOR])) if depth and rng.random() < 0.85 else int(rng.choice([FALSE, TRUE]))
    count = {FALSE: 0, TRUE: 0, NOT: 1, XOR: 2}.get(token, int(rng.integers(2, 4)))
    return token, [formula(rng, depth - 1) for _ in range(count)]


def truth(tree):
    token, operands = tree
    if token in (FALSE, TRUE):
        return token == TRUE
    values = [truth(operand) for operand in operands]
    return {NOT: not values[0], AND: all(values), OR: any(values), XOR: sum(values) % 2 == 1}[token]


class Formulas:
    """Formulas as values of the program's data types, as many true ones as false ones."""

    def __init__(self, mod, seed):
        self._rng = np.random.default_rng(seed)
        self._node, self._cons = mod.constructor("Node"), mod.constructor("Cons")
        self._nil = relay.Value(mod.constructor("Nil"), [])

    def _list(self, values):
        made = self._nil
        for value in reversed(values):
            made = relay.Value(self._cons, [value, made])
        return made

    def _value(self, tree):
        return relay.Value(self._node, [np.int32(tree[0]), self._list([self._value(operand) for operand in tree[1]])])

    def draw(self, count, depth=4):
        pairs = []
        while len(pairs) < count:
            tree = formula(self._rng, int(self._rng.integers(0, depth)))
            if truth(tree) == (len(pairs) % 2 == 0):
                pairs.append((self._value(tree), np.float32(truth(tree))))
        return self._list(pairs)


def program(optimizer):
    params = relay.TupleType([relay.TensorType(shape) for shape in SHAPES])
    mod = relay.parse((HERE / "tree_lstm.rly").read_text().replace("$PARAMS", str(params)), "tree_lstm.rly")
    formulas = mod["loss"].params[1].type_annotation
    slope = relay.value_and_grad("loss", 0, mod)
    mod["update"], mod["initial_state"] = optimizer.update(params, mod), optimizer.init(params, mod)
    p, state = relay.var("p", params), relay.var("state", optimizer.state_type(params))
    given, count = relay.var("formulas", formulas), relay.var("count", "float32")
    scope = relay.ScopeBuilder()
    mod["slope"] = slope
    found = scope.let("found", relay.GlobalVar("slope")(p, given, count))
    new = scope.let("new", relay.GlobalVar("update")(p, relay.TupleGetItem(found, 1), state))
    scope.ret(relay.Tuple([relay.TupleGetItem(new, 0), relay.TupleGetItem(new, 1), relay.TupleGetItem(found, 0)]))
    mod["step"] = relay.Function([p, state, given, count], scope.get())

    key, drawn = relay.random.threefry_key(3), []
    for shape in SHAPES:
        if len(shape) == 1:
            drawn.append(relay.ones(shape, "float32") if shape == (16,) else relay.zeros(shape, "float32"))
        else:
            key, values = optim.initializers.xavier_uniform(key, shape)
            drawn.append(values)
    mod["first"] = relay.Function([], relay.Tuple(drawn))
    return mod


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.95)
    options = parser.parse_args()
    begin = time.perf_counter()
    mod = program(optim.Adam(optim.schedules.cosine(1e-2, steps=options.steps)))
    step, right = relay.compile(mod, entry="step"), relay.compile(mod, entry="right")
    params = relay.compile(mod, entry="first")()
    state = relay.compile(mod, entry="initial_state")(params)
    print(f"compiled in {time.perf_counter() - begin:.1f} s", flush=True)
    formulas, unseen = Formulas(mod, options.seed), Formulas(mod, options.seed + 10_000)
    begin, losses = time.perf_counter(), []
    for i in range(1, options.steps + 1):
        params, state, loss = step(params, state, formulas.draw(options.batch), float(options.batch))
        losses.append(float(loss))
        if i % 50 == 0 or i == options.steps:
            left = (time.perf_counter() - begin) / i * (options.steps - i)
            print(f"step {i} of {options.steps}: loss {np.mean(losses[-50:]):.4f}, {left:.1f} s left", flush=True)
    accuracy = int(right(params, unseen.draw(1000))) / 1000
    print(f"accuracy: {accuracy:.4f} on 1000 new formulas")
    if accuracy < options.least:
        sys.exit(f"this is less than {options.least}")


if __name__ == "__main__":
    main()
