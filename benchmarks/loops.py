#!/usr/bin/env python3
"""Loops over numbers and small tensors, and their derivatives: Relay against JAX (jit) and PyTorch, one thread.

    benchmarks/loops.py [--only NAME ...] [--peers PYTHON] [--rounds N]

--peers is an interpreter with JAX, PyTorch or both; what it lacks is left out. Each tool is a process of its own, the answers must agree
to 1e-9 relative (mandelbrot, whose counts depend on how sums are rounded, to 1e-2), and times are the median and the least of the rounds. PyTorch runs the loop in Python, operator by
operator, so it gets fewer turns and its time is scaled.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
V2 = "Tensor[(2), float64]"

NEWTON = """
def @turn(%x: float64, %a: float64, %i: int32) -> float64 {
  let %next = 0.5f64 * (%x + %a / %x);
  if (%i == 0) { %next } else { @turn(%next, %a, %i - 1) }
}
def @f(%a: float64) -> float64 { @turn(%a, %a, 100000) }"""
PENDULUM = f"""
def @slope(%y: {V2}) -> {V2} {{
  concatenate((strided_slice(%y, begin=[1], end=[2]), negative(sin(strided_slice(%y, begin=[0], end=[1])))), axis=0)
}}
def @turn(%i: int32, %y: {V2}) -> {V2} {{
  if (%i == 0) {{
    %y
  }} else {{
    let %a = @slope(%y);
    let %b = @slope(%y + 0.005f64 * %a);
    let %c = @slope(%y + 0.005f64 * %b);
    let %d = @slope(%y + 0.01f64 * %c);
    @turn(%i - 1, %y + 0.001666f64 * (%a + 2f64 * %b + 2f64 * %c + %d))
  }}
}}
def @f(%x: float64) -> float64 {{
  sum(@turn(10000, concatenate((reshape(%x, newshape=[1]), Constant(0, (1), float64)), axis=0)))
}}"""
COLLATZ = """
def @turns(%n: int64, %k: int64) -> int64 {
  if (%n == 1i64) {
    %k
  } else {
    let %next = if (mod(%n, 2i64) == 0i64) { %n / 2i64 } else { 3i64 * %n + 1i64 };
    @turns(%next, %k + 1i64)
  }
}
def @all(%n: int64, %total: int64) -> int64 {
  if (%n == 0i64) { %total } else { @all(%n - 1i64, %total + @turns(%n, 0i64)) }
}
def @f(%n: int64) -> int64 { @all(%n, 0i64) }"""
MANDELBROT = """
def @escape(%k: int32, %x: float32, %y: float32, %a: float32, %b: float32) -> int32 {
  if (logical_or(%k == 200, %x * %x + %y * %y > 4f)) { %k } else { @escape(%k + 1, %x * %x - %y * %y + %a, 2f * %x * %y + %b, %a, %b) }
}
def @points(%i: int32, %total: int32, %scale: float32) -> int32 {
  if (%i == 10000) {
    %total
  } else {
    let %a = cast(mod(%i, 100), dtype="float32") * %scale - 2f;
    let %b = cast(%i / 100, dtype="float32") * %scale - 1.5f;
    @points(%i + 1, %total + @escape(0, 0f, 0f, %a, %b), %scale)
  }
}
def @f(%scale: float32) -> int32 { @points(0, 0, %scale) }"""
ADAPTIVE = """
def @slope(%t: float64, %y: float64) -> float64 { cos(%t) * %y }
def @step(%t: float64, %y: float64, %h: float64) -> float64 {
  let %k = @slope(%t, %y);
  %y + %h * @slope(%t + 0.5f64 * %h, %y + 0.5f64 * %h * %k)
}
def @turn(%t: float64, %y: float64, %h: float64) -> float64 {
  if (%t >= 10f64) {
    %y
  } else {
    let %once = @step(%t, %y, %h);
    let %half = @step(%t, %y, 0.5f64 * %h);
    let %twice = @step(%t + 0.5f64 * %h, %half, 0.5f64 * %h);
    if (abs(%once - %twice) > 1e-8f64) {
      @turn(%t, %y, 0.5f64 * %h)
    } else {
      @turn(%t + %h, %twice, if (abs(%once - %twice) < 1e-9f64) { 1.5f64 * %h } else { %h })
    }
  }
}
def @f(%y: float64) -> float64 { @turn(0f64, %y, 0.1f64) }"""
BISECTION = """
def @g(%x: float64, %a: float64) -> float64 { %x * %x * %x + %x - %a }
def @root(%low: float64, %high: float64, %a: float64) -> float64 {
  let %middle = 0.5f64 * (%low + %high);
  if (%high - %low < 1e-12f64) { %middle } else { if (@g(%middle, %a) < 0f64) { @root(%middle, %high, %a) } else { @root(%low, %middle, %a) } }
}
def @roots(%i: int32, %total: float64, %a: float64) -> float64 {
  if (%i == 1000) { %total } else { @roots(%i + 1, %total + @root(0f64, 10f64, %a + cast(%i, dtype="float64") * 0.01f64), %a) }
}
def @f(%a: float64) -> float64 { @roots(0, 0f64, %a) }"""

# Name: text, argument, dtype, derivative.
CASES = {
    "newton": (NEWTON, 2.0, "float64", None),
    "newton, forward": (NEWTON, 2.0, "float64", "jvp"),
    "newton, reverse": (NEWTON, 2.0, "float64", "grad"),
    "pendulum": (PENDULUM, 1.0, "float64", None),
    "pendulum, forward": (PENDULUM, 1.0, "float64", "jvp"),
    "pendulum, reverse": (PENDULUM, 1.0, "float64", "grad"),
    "collatz": (COLLATZ, 10000, "int64", None),
    "mandelbrot": (MANDELBROT, 0.03, "float32", None),
    "adaptive": (ADAPTIVE, 1.0, "float64", None),
    "adaptive, forward": (ADAPTIVE, 1.0, "float64", "jvp"),
    "bisection": (BISECTION, 1.0, "float64", None),
}


def relay_cases():
    import numpy as np
    import relay

    def make(text, argument, dtype, derivative):
        mod = relay.parse(text)
        value = np.array(argument, dtype)
        if derivative is None:
            run = relay.compile(mod, entry="f", threads=1)
            return lambda: float(run(value))
        if derivative == "grad":
            mod["derivative"] = relay.grad("f", 0, mod)
            run = relay.compile(mod, entry="derivative", threads=1)
            return lambda: float(run(value))
        mod["along"] = relay.jvp("f", mod, argnums=0)
        run = relay.compile(mod, entry="along", threads=1)
        one = np.ones((), dtype)
        return lambda: float(run(value, one)[1])

    return {name: (lambda case=case: make(*case)) for name, case in CASES.items()}


def jax_functions():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def newton(a):
        return lax.fori_loop(0, 100001, lambda _, x: 0.5 * (x + a / x), a)

    def pendulum(x):
        def slope(y):
            return jnp.stack([y[1], -jnp.sin(y[0])])

        def turn(_, y):
            a = slope(y)
            b = slope(y + 0.005 * a)
            c = slope(y + 0.005 * b)
            d = slope(y + 0.01 * c)
            return y + 0.001666 * (a + 2 * b + 2 * c + d)

        return jnp.sum(lax.fori_loop(0, 10000, turn, jnp.stack([x, 0.0 * x])))

    def collatz(n):
        def turns(m):
            def turn(s):
                return jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1

            return lax.while_loop(lambda s: s[0] != 1, turn, (m, jnp.zeros_like(m)))[1]

        return lax.while_loop(lambda s: s[0] != 0, lambda s: (s[0] - 1, s[1] + turns(s[0])), (n, jnp.zeros_like(n)))[1]

    def mandelbrot(scale):
        def point(i, total):
            a, b = (i % 100).astype("float32") * scale - 2, (i // 100).astype("float32") * scale - 1.5

            def going(s):
                return ~((s[0] == 200) | (s[1] * s[1] + s[2] * s[2] > 4))

            def turn(s):
                return s[0] + 1, s[1] * s[1] - s[2] * s[2] + a, 2 * s[1] * s[2] + b

            return total + lax.while_loop(going, turn, (jnp.int32(0), jnp.float32(0), jnp.float32(0)))[0]

        return lax.fori_loop(jnp.int32(0), jnp.int32(10000), point, jnp.int32(0))

    def adaptive(y):
        def slope(t, y):
            return jnp.cos(t) * y

        def step(t, y, h):
            return y + h * slope(t + 0.5 * h, y + 0.5 * h * slope(t, y))

        def turn(s):
            t, y, h = s
            once = step(t, y, h)
            twice = step(t + 0.5 * h, step(t, y, 0.5 * h), 0.5 * h)
            off = jnp.abs(once - twice)
            refuse = off > 1e-8
            longer = jnp.where(off < 1e-9, 1.5 * h, h)
            return jnp.where(refuse, t, t + h), jnp.where(refuse, y, twice), jnp.where(refuse, 0.5 * h, longer)

        return lax.while_loop(lambda s: s[0] < 10, turn, (0.0 * y, y, 0.0 * y + 0.1))[1]

    def bisection(a):
        def root(a):
            def turn(s):
                middle = 0.5 * (s[0] + s[1])
                below = middle * middle * middle + middle - a < 0
                return jnp.where(below, middle, s[0]), jnp.where(below, s[1], middle)

            low, high = lax.while_loop(lambda s: s[1] - s[0] >= 1e-12, turn, (0.0 * a, 0.0 * a + 10))
            return 0.5 * (low + high)

        return lax.fori_loop(0, 1000, lambda i, total: total + root(a + i * 0.01), 0.0 * a)

    return jax, {f.__name__: f for f in (newton, pendulum, collatz, mandelbrot, adaptive, bisection)}


def jax_cases():
    jax, functions = jax_functions()
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    def make(name, argument, dtype, derivative):
        f = functions[name.split(",")[0]]
        if derivative == "grad":
            f = jax.grad(f)
        if derivative == "jvp":
            inner = f

            def f(x):
                return jax.jvp(inner, (x,), (jnp.ones_like(x),))[1]

        run = jax.jit(f)
        value = jnp.array(argument, dtype)
        return lambda: float(run(value).block_until_ready())

    return {name: (lambda n=name, case=case: make(n, *case[1:])) for name, case in CASES.items()}


def torch_cases():
    import torch

    torch.set_num_threads(1)
    share = 100  # turns that are left out

    def newton(a):
        x = a
        for _ in range(100001 // share):
            x = 0.5 * (x + a / x)
        return x

    def pendulum(x):
        def slope(y):
            return torch.stack([y[1], -torch.sin(y[0])])

        y = torch.stack([x, torch.zeros_like(x)])
        for _ in range(10000 // share):
            a = slope(y)
            b = slope(y + 0.005 * a)
            c = slope(y + 0.005 * b)
            d = slope(y + 0.01 * c)
            y = y + 0.001666 * (a + 2 * b + 2 * c + d)
        return y.sum()

    def make(f, argument, derivative):
        def run():
            x = torch.tensor(argument, dtype=torch.float64, requires_grad=derivative)
            y = f(x)
            if derivative:
                y.backward()
            return None  # fewer turns: another answer

        run.scale = share
        return run

    cases = {}
    for f in (newton, pendulum):
        cases[f.__name__] = lambda f=f: make(f, CASES[f.__name__][1], False)
        cases[f.__name__ + ", reverse"] = lambda f=f: make(f, CASES[f.__name__][1], True)
    return cases


TOOLS = {"relay": relay_cases, "jax": jax_cases, "torch": torch_cases}


def child(tool, only, rounds):
    try:
        cases = TOOLS[tool]()
    except ImportError:
        print("{}")
        return
    found = {}
    for name, prepare in cases.items():
        if only and name not in only:
            continue
        try:
            run = prepare()
            value = run()
        except Exception as error:  # a mode that the tool lacks
            found[name] = {"error": str(error).splitlines()[0]}
            continue
        times, until = [], time.perf_counter() + 2
        while len(times) < rounds and (time.perf_counter() < until or len(times) < 3):
            begin = time.perf_counter()
            run()
            times.append((time.perf_counter() - begin) * 1e3 * getattr(run, "scale", 1))
        found[name] = {"value": value, "median": statistics.median(times), "least": min(times)}
    print(json.dumps(found))


def ask(tool, options):
    python = sys.executable if tool == "relay" else options.peers
    environment = dict(os.environ, OMP_NUM_THREADS="1", XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    command = [python, __file__, "--child", tool, "--rounds", str(options.rounds), "--only", *options.only]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], choices=list(CASES))
    parser.add_argument("--peers", default=str(ROOT / ".venv-peers/bin/python"))
    parser.add_argument("--tools", nargs="+", default=list(TOOLS), choices=list(TOOLS))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--child", choices=list(TOOLS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child, options.only, options.rounds)
    found = {tool: ask(tool, options) for tool in options.tools}
    print(f"{'median (least), ms':24}" + "".join(f"{tool:>24}" for tool in options.tools) + f"{'ratio of least':>16}")
    ratios, wrong = [], 0
    for name in CASES:
        if options.only and name not in options.only:
            continue
        row = f"{name:24}"
        for tool in options.tools:
            one = found[tool].get(name, {})
            row += f"{one['median']:13.4f} ({one['least']:8.4f})" if "median" in one else f"{'-':>24}"
        ours = found.get("relay", {}).get(name, {})
        peers = [p[name] for t, p in found.items() if t != "relay" and "median" in p.get(name, {})]
        if "median" in ours and peers:
            ratios.append(ours["least"] / min(p["least"] for p in peers))
            row += f"{ratios[-1]:16.3f}"
            for p in peers:
                if p["value"] is not None and not math.isclose(ours["value"], p["value"], rel_tol=1e-2 if name == "mandelbrot" else 1e-9):
                    row += f"  differs: {ours['value']!r}, {p['value']!r}"
                    wrong += 1
        if "error" in ours:
            row += "  " + ours["error"]
            wrong += 1
        print(row)
    if ratios:
        print(f"{len(ratios)} cases: geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
