#!/usr/bin/env python3
"""Trains a small transformer on the characters of the licence at the top of the repository: train.py [--steps N] [--checkpoint FILE]

Attention, loss, gradient, AdamW and the choice of texts are one compiled program. --check compares the losses of the first 50 steps with
PyTorch's from the same weights and texts (expected.json, which reference.py records).
"""

import argparse
import json
import pathlib
import re
import sys
import time

import numpy as np
import relay
from relay import optim

HERE = pathlib.Path(__file__).resolve().parent
TEXT = HERE.parent.parent / "LICENSE"
B, T, D, H, LAYERS = 16, 64, 64, 4, 2
CHECKED = 50


def characters():
    """The text as numbers, and the characters that they stand for."""
    text = re.sub(r"\s+", " ", TEXT.read_text())
    alphabet = sorted(set(text))
    return np.array([alphabet.index(c) for c in text], "int32"), alphabet


def shapes(letters):
    """The tree of parameters: characters, places, blocks of (norm, attention, norm, network), norm, scores."""
    norm = ((D,), (D,))
    attention = ((3 * D, D), (3 * D,), (D, D), (D,))
    network = ((4 * D, D), (4 * D,), (D, 4 * D), (D,))
    return ((letters, D), (T, D), ((norm, attention, norm, network),) * LAYERS, norm, (letters, D))


def is_shape(tree):
    return all(isinstance(extent, int) for extent in tree)


def type_of(tree):
    return relay.TensorType(tree) if is_shape(tree) else relay.TupleType([type_of(field) for field in tree])


def first_values(tree, key, norm=False):
    """An expression of the first values of a tree of shapes: matrices as 0.08 times normal numbers, biases 0, scales of norms 1."""
    if is_shape(tree):
        if len(tree) == 1:
            return (relay.ones if norm else relay.zeros)(tree, "float32"), key
        key, values = optim.initializers.normal(key, tree, std=0.08)
        return values, key
    fields = []
    for i, field in enumerate(tree):
        value, key = first_values(field, key, norm=len(tree) == 2 and i == 0 and is_shape(field) and len(field) == 1)
        fields.append(value)
    return relay.Tuple(fields), key


def filled(text, meaning):
    return re.sub(r"\$[A-Z]+", lambda name: meaning[name[0]], text)


def program(length, letters, optimizer):
    """The module, with @first (key) -> (parameters, state, key) and @steps."""
    tree = shapes(letters)
    params = type_of(tree)
    layers = "\n".join(f"  %x{i + 1} = @block(%x{i}, %p.2.{i})" for i in range(LAYERS))
    meaning = {
        "$PARAMS": str(params), "$STATE": str(optimizer.state_type(params)), "$ATTENTION": str(type_of(tree[2][0][1])),
        "$BLOCK": str(type_of(tree[2][0])), "$LAYERS": layers, "$LAST": f"%x{LAYERS}", "$PLACES": f"{length - T}f",
        "$SCALE": f"{(D // H) ** -0.5!r}f", "$B": str(B), "$T": str(T), "$D": str(D), "$H": str(H), "$N": str(length), "$EACH": str(D // H),
        "$ALL": str(B * H), "$LONGER": str(T + 1),
    }  # fmt: skip
    before, after = (HERE / "transformer.rly").read_text().split("// So many steps")
    mod = relay.parse(filled(before, meaning), "transformer.rly")
    slope = relay.value_and_grad("loss", 0, mod)
    mod["update"], mod["initial_state"] = optimizer.update(params, mod), optimizer.init(params, mod)

    p, state, text = relay.var("p", params), relay.var("state", optimizer.state_type(params)), relay.var("text", shape=(B, T + 1), dtype="int32")
    scope = relay.ScopeBuilder()
    found = scope.let("found", slope(p, text))
    new = scope.let("new", relay.GlobalVar("update")(p, relay.TupleGetItem(found, 1), state))
    scope.ret(relay.Tuple([relay.TupleGetItem(new, 0), relay.TupleGetItem(new, 1), relay.TupleGetItem(found, 0)]))
    mod["step"] = relay.Function([p, state, text], scope.get())

    key = relay.var("key", shape=(10,), dtype="uint64")
    values, going_on = first_values(tree, key)
    scope = relay.ScopeBuilder()
    weights = scope.let("weights", values)
    scope.ret(relay.Tuple([weights, relay.GlobalVar("initial_state")(weights), going_on]))
    mod["first"] = relay.Function([key], scope.get())
    return relay.parse("// So many steps" + filled(after, meaning), "steps.rly", mod)


def shown(seconds):
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def check(first, run, drawn, text, key, dump):
    """The losses of the first steps, against PyTorch's; with `dump`, the weights and texts that reference.py takes."""
    params, state, key = first(key)
    begin, batches, losses = params, [], []
    for _ in range(CHECKED):
        if dump:
            batches.append(drawn(key, text)[1])
        params, state, key, loss = run(0, 1, params, state, key, 0.0, text)
        losses.append(float(loss))
    if dump:
        optim.checkpoint.save(dump, params=begin, batches=np.array(batches))
        return
    expected = json.loads((HERE / "expected.json").read_text())["losses"]
    error = max(abs(a - b) / b for a, b in zip(losses, expected, strict=True))
    print(f"{CHECKED} steps: losses from {losses[0]:.4f} to {losses[-1]:.4f}, the largest relative difference from PyTorch is {error:.1e}")
    if not error <= 1e-4:
        sys.exit("this is more than 1e-4")


def train(first, run, text, options, key):
    saved = optim.checkpoint.load(options.checkpoint) if options.checkpoint else None
    if saved is None:
        params, state, key = first(key)
        done = 0
    else:
        params, state, key, done = saved["params"], saved["state"], saved["key"], int(saved["done"])
        print(f"going on after step {done} of {options.checkpoint}", flush=True)
    begin, before = time.perf_counter(), done
    while done < options.steps:
        count = min(options.every, options.steps - done)
        params, state, key, loss = run(0, count, params, state, key, 0.0, text)
        done += count
        if options.checkpoint:
            optim.checkpoint.save(options.checkpoint, params=params, state=state, key=key, done=done)
        left = (time.perf_counter() - begin) / (done - before) * (options.steps - done)
        print(f"step {done} of {options.steps}: loss {float(loss):.4f}, {shown(left)} left", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--every", type=int, default=25, help="show progress and keep the checkpoint after so many steps")
    parser.add_argument("--checkpoint", help="keeps the training here, and goes on from it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="0 stands for all cores")
    parser.add_argument("--check", action="store_true", help="compare the losses with PyTorch's")
    parser.add_argument("--dump", help="write the weights and texts of --check into this file, for reference.py")
    options = parser.parse_args()
    text, letters = characters()
    mod = program(len(text), len(letters), optim.AdamW(1e-3, clip=optim.clip_by_norm(1.0)))
    begin = time.perf_counter()
    first, run = relay.compile(mod, entry="first"), relay.compile(mod, entry="steps", threads=options.threads)
    print(f"compiled in {shown(time.perf_counter() - begin)}; {len(text)} characters, {len(letters)} different ones", flush=True)
    key = np.array([options.seed, 0, 0, 0, 0, 0, 0, 0, 2**63, 0], "uint64")
    try:
        if options.check or options.dump:
            check(first, run, relay.compile(mod, entry="drawn"), text, key, options.dump)
        else:
            train(first, run, text, options, key)
    except (ValueError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
