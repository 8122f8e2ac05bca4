"""Random programs of two floats with closures, data types, match, recursion, references, loops and tuples.

Every value is bounded and smooth but for conditions, which random numbers meet at a border with probability 0. `program(seed)` gives the
text; run this file to check many seeds: `PYTHONPATH=build/python scripts/python tests/python/random_gradients.py 0 5000 --workers 2`.
"""

import argparse
import multiprocessing
import random
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

PRELUDE = """
import "prelude.rly"
type Shape { Pair(float64, float64), One(float64), Vector(Tensor[(3), float64]), Later(fn (float64) -> float64), Two(Shape, Shape) }
def @two_times(%f: fn (float64) -> float64, %a: float64) -> float64 { %f(%f(%a)) }
def @measure(%s: Shape, %k: float64) -> float64 {
  match (%s) {
    Pair(%a, %b) => sin(%a * %k) + %b, One(%a) => %a * %k, Vector(%v) => sum(%v * %v) * 0.3f64, Later(%f) => %f(%k),
    Two(%l, %r) => tanh(@measure(%l, %k) - @measure(%r, cos(%k))),
  }
}
def @fold_up(%l: List[float64], %start: float64) -> float64 { match (%l) { Cons(%x, %r) => tanh(%x + 0.5f64 * @fold_up(%r, %start)), Nil => %start } }
def @loop(%n: int32, %x: float64, %acc: float64) -> float64 { if (%n <= 0) { %acc } else { @loop(%n - 1, %x, sin(%acc * %x) + %acc) } }
def @power(%n: int32, %x: float64) -> float64 { if (%n == 0) { 1f64 } else { tanh(%x) * @power(%n - 1, %x) } }
def @even(%n: int32, %x: float64) -> float64 { if (%n == 0) { %x } else { @odd(%n - 1, sin(%x)) } }
def @odd(%n: int32, %x: float64) -> float64 { if (%n == 0) { cos(%x) } else { @even(%n - 1, %x * 0.7f64) } }
"""


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def number(self):
        return f"{self.random.uniform(-1.5, 1.5):.3f}f64"

    def atom(self, env):
        return self.random.choice(env["float"]) if env["float"] and self.random.random() < 0.9 else self.number()

    def scalar(self, env, depth=2):
        pick = self.random.random()
        if depth == 0 or pick < 0.2:
            return self.atom(env)
        one, other = self.scalar(env, depth - 1), self.scalar(env, depth - 1)
        if pick < 0.4:
            return f"{self.random.choice(['sin', 'cos', 'tanh', 'sigmoid'])}({one})"
        if pick < 0.8:
            return f"({one} {self.random.choice('+-*')} {other})"
        if pick < 0.9:
            return f"({one} / (1.5f64 + {other} * {other}))"
        return f"(if ({self.atom(env)} < {self.atom(env)}) {{ {one} }} else {{ {other} }})"

    def shape(self, env, depth=2):
        kind = self.random.randrange(5 if depth else 3)
        if kind == 0:
            return f"Pair({self.scalar(env, 1)}, {self.atom(env)})"
        if kind == 1:
            return f"One({self.scalar(env, 1)})"
        if kind == 2 and env["vector"]:
            return f"Vector({self.random.choice(env['vector'])})"
        if kind == 3:
            return f"Later({self.function(env)})"
        if kind == 4:
            return f"Two({self.shape(env, depth - 1)}, {self.shape(env, depth - 1)})"
        return f"One({self.atom(env)})"

    def function(self, env):
        if env["function"] and self.random.random() < 0.4:
            one, other = self.random.choice(env["function"]), self.random.choice(env["function"])
            return one if self.random.random() < 0.6 else f"@compose({one}, {other})"
        if env["function"] and self.random.random() < 0.2:
            one, other = self.random.choice(env["function"]), self.random.choice(env["function"])
            return f"(if ({self.atom(env)} < {self.atom(env)}) {{ {one} }} else {{ {other} }})"
        q = self.name()
        inner = {kind: list(names) for kind, names in env.items()}
        inner["float"].append(q)
        return f"fn ({q}: float64) -> float64 {{ {self.block(inner, self.random.randrange(3))} }}"

    def block(self, env, statements):
        text = ""
        for _ in range(statements):
            text += self.statement(env)
        return text + f"tanh({self.scalar(env)})"

    def statement(self, env):
        v = self.name()
        kind = self.random.randrange(12)
        if kind == 0:
            text = f"let {v} = {self.function(env)};"
            env["function"].append(v)
            return text + "\n"
        if kind == 1:
            text = f"let {v} = ref({self.scalar(env)});"
            env["ref"].append(v)
            return text + "\n"
        if kind == 2:
            text = f"let {v} = stack(({self.atom(env)}, {self.scalar(env, 1)}, {self.atom(env)}), axis=0);"
            env["vector"].append(v)
            return text + "\n"
        if kind == 3 and env["vector"]:
            one, other = self.random.choice(env["vector"]), self.random.choice(env["vector"])
            text = f"let {v} = tanh({one} * {self.atom(env)} + cumsum({other}, axis=0));"
            env["vector"].append(v)
            return text + "\n"
        if kind == 4 and env["ref"]:
            r = self.random.choice(env["ref"])
            return f"ref_write({r}, tanh(ref_read({r}) * {self.atom(env)} + {self.scalar(env, 1)}));\n"
        env["float"].append(v)
        value = self.value(env, kind)
        return f"let {v} = {value};\n"

    def value(self, env, kind):
        env = {**env, "float": env["float"][:-1]}
        n = self.random.randrange(1, 4)
        if kind == 5:
            return f"{self.random.choice(['@loop', '@loop'])}({n}, {self.atom(env)}, {self.atom(env)})"
        if kind == 6:
            return f"@power({n}, {self.scalar(env, 1)}) + @even({n}, {self.atom(env)})"
        if kind == 7:
            return f"@measure({self.shape(env)}, {self.atom(env)})"
        if kind == 8:
            items = "Nil"
            for _ in range(n):
                items = f"Cons({self.scalar(env, 1)}, {items})"
            return f"@fold_up(@map({self.function(env)}, {items}), {self.atom(env)})"
        if kind == 9:
            return f"@two_times({self.function(env)}, {self.atom(env)})"
        if kind == 10 and env["ref"]:
            return f"ref_read({self.random.choice(env['ref'])})"
        if kind == 11 and env["vector"]:
            return f"sum({self.random.choice(env['vector'])} * {self.random.choice(env['vector'])})"
        return f"({self.scalar(env)}, {self.atom(env)}).{self.random.randrange(2)}"


def program(seed):
    made = Program(seed)
    body = made.block({"float": ["%x", "%y"], "function": [], "ref": [], "vector": []}, 3 + seed % 5)
    return PRELUDE + f"def @main(%x: float64, %y: float64) -> float64 {{\n{body} }}\n"


def check(relay, seed, level):
    """Reverse, forward and differences agree, in both executors."""
    mod = relay.parse(program(seed))
    mod["reverse"] = relay.value_and_grad("main", (0, 1), mod)
    mod["forward"] = relay.jvp("main", mod)
    mod["all"] = relay.parse_expr("fn (%x: float64, %y: float64) { (@main(%x, %y), @reverse(%x, %y), @forward(%x, %y, 0.4f64, -0.9f64)) }")
    draw = np.random.default_rng(seed)
    x, y = draw.uniform(-1.2, 1.2, 2)
    run = relay.compile(mod, entry="all", opt_level=level)

    def flat(value):
        return np.array([float(np.asarray(leaf)) for leaf in leaves(value)])

    found = flat(run(x, y))
    np.testing.assert_allclose(flat(relay.evaluate(mod, x, y, entry="all")), found, rtol=1e-9, atol=1e-12)
    value, again, gx, gy, other, along = found
    np.testing.assert_allclose([again, other], [value, value], rtol=1e-9)
    np.testing.assert_allclose(along, 0.4 * gx - 0.9 * gy, rtol=1e-8, atol=1e-10)
    step = 1e-5
    main = relay.compile(mod, entry="main", opt_level=0)
    for k, gradient in enumerate((gx, gy)):
        ends = [float(np.asarray(main(x + s * (k == 0), y + s * (k == 1)))) for s in (step, -step)]
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * step), gradient, rtol=1e-5, atol=1e-7)


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def failure(seed):
    """What is wrong with the gradients of a program; nothing if they agree."""
    import relay

    try:
        check(relay, seed, seed % 5)
    except Exception as error:  # every one is worth a look
        return f"seed {seed}, level {seed % 5}: {type(error).__name__}: {str(error)[:400]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("last", type=int, help="the seed behind the last one")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    options = parser.parse_args()
    seeds, failed = range(options.first, options.last), 0
    # Processes of their own, since a fork of a process with threads may hang.
    with ProcessPoolExecutor(options.workers, multiprocessing.get_context("spawn")) as pool:
        for done, text in enumerate(pool.map(failure, seeds), 1):
            if text:
                failed += 1
                print(text, flush=True)
            if done % 100 == 0:
                print(f"{done} of {len(seeds)} checked, {failed} differ", flush=True)
    print(f"{len(seeds) - failed} of {len(seeds)} programs agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
