#!/usr/bin/env python3
"""Learns a law of motion from observations, through a solver that chooses its own steps: train.py [--steps N] [--check]"""

import argparse
import pathlib
import sys
import time

import numpy as np
import relay
from relay import optim

HERE = pathlib.Path(__file__).resolve().parent
OBSERVATIONS, TOLERANCE = 24, 1e-6
SHAPES = [(16, 2), (16,), (2, 16), (2,)]


def observations():
    """A damped swing, angle and speed, by many small steps of Runge and Kutta."""

    def slope(y):
        return np.array([y[1], -np.sin(y[0]) - 0.25 * y[1]])

    times, y, small = np.linspace(0, 6, OBSERVATIONS), np.array([1.5, 0.0]), 200
    seen = [y]
    for begin, end in zip(times, times[1:]):
        h = (end - begin) / small
        for _ in range(small):
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))
        seen.append(y)
    return times, np.array(seen)


def program(optimizer):
    params = relay.TupleType([relay.TensorType(shape, "float64") for shape in SHAPES])
    meaning = {"$PARAMS": str(params), "$N": str(OBSERVATIONS), "$COUNT": f"{2.0 * (OBSERVATIONS - 1)!r}f64", "$TOLERANCE": f"{TOLERANCE!r}f64"}
    text = (HERE / "ode.rly").read_text()
    for name, value in meaning.items():
        text = text.replace(name, value)
    mod = relay.parse(text, "ode.rly")
    mod["derivative"] = relay.value_and_grad("loss", 0, mod)
    mod["update"], mod["initial_state"] = optimizer.update(params, mod), optimizer.init(params, mod)
    key, drawn = relay.random.threefry_key(7), []
    for shape in SHAPES:
        if len(shape) == 1:
            drawn.append(relay.zeros(shape, "float64"))
        else:
            key, values = optim.initializers.xavier_normal(key, shape, gain=0.5, dtype="float64")
            drawn.append(values)
    mod["first"] = relay.Function([], relay.Tuple(drawn))
    return mod


def check(derivative, loss, params, times, seen):
    """The gradient against central differences, in four elements of each parameter."""
    _, gradients = derivative(params, times, seen)
    worst, rng = 0.0, np.random.default_rng(0)
    for i, param in enumerate(params):
        for at in rng.choice(param.size, min(4, param.size), replace=False):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [np.array(p) for p in params]
                moved[i].reshape(-1)[at] += step
                ends.append(float(loss(tuple(moved), times, seen)))
            difference = (ends[0] - ends[1]) / 2e-6
            worst = max(worst, abs(difference - np.asarray(gradients[i]).reshape(-1)[at]) / max(1, abs(difference)))
    print(f"the largest difference of the gradient from central differences is {worst:.1e}")
    if not worst <= 1e-6:
        sys.exit("this is more than 1e-6")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--check", action="store_true", help="compare the gradient with differences, at the beginning and at the end")
    parser.add_argument("--least", type=float, default=1e-3, help="fails where the loss ends above")
    options = parser.parse_args()
    optimizer = optim.Adam(optim.schedules.cosine(2e-2, steps=options.steps), clip=optim.clip_by_norm(1.0))
    mod = program(optimizer)
    derivative, update, loss, both = (relay.compile(mod, entry=name) for name in ("derivative", "update", "loss", "both"))
    params = relay.compile(mod, entry="first")()
    state = relay.compile(mod, entry="initial_state")(params)
    times, seen = observations()
    if options.check:
        check(derivative, loss, params, times, seen)
    begin = time.perf_counter()
    for i in range(1, options.steps + 1):
        _, gradients = derivative(params, times, seen)
        params, state = update(params, gradients, state)
        if i % 50 == 0 or i == options.steps:
            error, tried = both(params, times, seen)
            left = (time.perf_counter() - begin) / i * (options.steps - i)
            print(f"step {i} of {options.steps}: loss {float(error):.6f}, {int(tried)} steps of the solver, {left:.1f} s left", flush=True)
    if options.check:
        check(derivative, loss, params, times, seen)
    error = float(loss(params, times, seen))
    print(f"loss: {error:.6f}")
    if not error <= options.least:
        sys.exit(f"this is more than {options.least}")


if __name__ == "__main__":
    main()
