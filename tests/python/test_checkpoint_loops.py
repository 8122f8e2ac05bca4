"""Loops that lead to checkpoints: the same gradients from few saved states."""

import os
import subprocess
import sys

import numpy as np
import pytest
import relay
import relay.numpy as rnp

TURNS, WIDTH = 10_000, 1000

# The state goes two ways, %rest is no part of what is computed again, and a turn has a loop of its own.
PROGRAM = """
def @inner(%k: int32, %x: Tensor[(3), float64], %w: Tensor[(3), float64]) -> Tensor[(3), float64] {
  if (%k <= 0) { %x } else { @inner(%k - 1, tanh(%x * %w) + 0.1f64 * %x, %w) }
}
def @turn(%i: int32, %n: int32, %state: (Tensor[(3), float64], float64), %rest: float64, %w: Tensor[(3), float64]) -> (Tensor[(3), float64], float64) {
  if (%i < %n) {
    let %c = tanh(%state.0 * %w + sin(%state.0));
    if (sum(%c) < %state.1) {
      @turn(%i + 1, %n, (%c * 0.9f64, %state.1 * 0.5f64), %rest + sum(%c), %w)
    } else {
      @turn(%i + 1, %n, (@inner(2, %c, %w), %state.1 + 0.3f64), %rest - 0.1f64, %w)
    }
  } else { (%state.0, %state.1 + %rest) }
}
def @main(%x: Tensor[(3), float64], %w: Tensor[(3), float64], %n: int32) -> float64 {
  let %r = MARK(@turn(0, %n, (%x, 0.2f64), 0f64, %w)BYTES);
  sum(%r.0) * %r.1
}
def @branch(%x: Tensor[(3), float64], %w: Tensor[(3), float64], %n: int32) -> float64 {
  if (%n < 4) { sum(%x) } else { sum(MARK(@inner(%n, %x * %w, %w)BYTES)) }
}
def @part(%n: int32, %x: Tensor[(3), float64], %w: Tensor[(3), float64]) -> Tensor[(3), float64] {
  if (%n <= 0) { %x } else { @part(%n - 1, MARK(sin(@inner(%n, %x, %w))BYTES), %w) }
}
def @nested(%x: Tensor[(3), float64], %w: Tensor[(3), float64], %n: int32) -> float64 { sum(MARK(@part(%n, %x, %w)BYTES)) }
"""
X, W = np.array([0.3, 0.8, 0.5]), np.array([1.1, -0.6, 0.9])


def marked(kept):
    """The program that keeps all turns for None, states by the number of turns for 0, else so many bytes of them."""
    mark, given = ("", "") if kept is None else ("annotation.checkpoint", f", bytes={kept}")
    return relay.parse(PROGRAM.replace("MARK", mark).replace("BYTES", given))


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def flat(value):
    return np.concatenate([np.ravel(np.asarray(leaf)) for leaf in leaves(value)])


@pytest.mark.parametrize("kept", [0, 1, 700, 2000, 10**6])
@pytest.mark.parametrize("name", ["main", "branch", "nested"])
def test_same_gradients(name, kept):
    plain, few = marked(None), marked(kept)
    for mod in (plain, few):
        mod["slope"] = relay.value_and_grad(name, (0, 1), mod)
    known, found = relay.compile(plain, entry="slope"), relay.compile(few, entry="slope")
    for n in [0, 1, 2, 3, 4, 5, 8, 9, 17, 31, 64] + ([257] if name != "nested" else []):
        np.testing.assert_allclose(flat(found(X, W, np.int32(n))), flat(known(X, W, np.int32(n))), rtol=1e-10)
    for n in (0, 9, 17):
        np.testing.assert_allclose(flat(relay.evaluate(few, X, W, np.int32(n), entry="slope")), flat(known(X, W, np.int32(n))), rtol=1e-10)


@pytest.mark.parametrize("kept", [0, 700])
def test_second_derivatives(kept):
    found = []
    for mod in (marked(None), marked(kept)):
        mod["slope"] = relay.grad("main", (0, 1), mod)
        mod["total"] = relay.parse_expr(
            "fn (%x: Tensor[(3), float64], %w: Tensor[(3), float64], %n: int32) { let %g = @slope(%x, %w, %n); sum(%g.0 * %g.1) }"
        )
        mod["twice"] = relay.grad("total", (0, 1), mod)
        found.append(flat(relay.compile(mod, entry="twice")(X, W, np.int32(11))))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


def of_arrays(kind):
    def rows(xs, w):
        carry, ys = relay.scan(lambda c, x: (rnp.tanh(c * w + x), (c * x).sum()), rnp.zeros((3,), dtype="float64"), xs)
        return ys.sum() + carry.sum()

    def turns(xs, w):
        return relay.while_loop(lambda s: s[1] < 40, lambda s: (rnp.tanh(s[0] * w + xs[0]), s[1] + 1), (xs[1], 0))[0].sum()

    def counted(xs, w):
        return relay.fori_loop(0, 40, lambda i, s: rnp.sin(s * w) + xs[i], xs[2]).sum()

    return {"scan": rows, "while": turns, "fori": counted}[kind]


@pytest.mark.parametrize("kept", [None, 2000])
@pytest.mark.parametrize("kind", ["scan", "while", "fori"])
def test_loops_of_python(kind, kept):
    xs = np.random.default_rng(3).normal(size=(40, 3))
    fun = of_arrays(kind)
    known = relay.jit(relay.value_and_grad(fun, (0, 1)))(xs, W)
    found = relay.jit(relay.value_and_grad(relay.checkpoint(fun, bytes=kept), (0, 1)))(xs, W)
    np.testing.assert_allclose(flat(found), flat(known), rtol=1e-10)
    np.testing.assert_allclose(relay.checkpoint(fun)(xs, W), known[0], rtol=1e-12)


def test_python_that_reads_from_outside():
    """Gradients flow to what the function reads but does not take."""

    def whole(mark):
        def loss(x, w):
            scaled = rnp.exp(w)
            return mark(lambda a: {"b": rnp.tanh(a * scaled), "n": a.shape[0]})(x)["b"].sum()

        return relay.value_and_grad(loss, (0, 1))

    np.testing.assert_allclose(flat(whole(relay.checkpoint)(X, W)), flat(whole(lambda f: f)(X, W)), rtol=1e-12)


def test_bytes_are_positive():
    x = relay.var("x", shape=(3,))
    for wrong in (0, -1, 2**70):
        with pytest.raises(ValueError, match="bytes"):
            relay.checkpoint(relay.Function([x], x), bytes=wrong)
    with pytest.raises(TypeError, match="bytes"):
        relay.checkpoint(relay.Function([x], x), bytes="many")


def long_loop(kept):
    mark, given = ("", "") if kept == "all" else ("annotation.checkpoint", f", bytes={kept}")
    mod = relay.parse(f"""
def @turn(%i: int32, %c: Tensor[({WIDTH}), float32], %w: float32) -> Tensor[({WIDTH}), float32] {{
  if (%i < {TURNS}) {{ @turn(%i + 1, tanh(%c * %w) + 0.1f * %c, %w) }} else {{ %c }}
}}
def @main(%x: Tensor[({WIDTH}), float32], %w: float32) {{ sum({mark}(@turn(0, %x, %w){given})) }}
""")
    mod["slope"] = relay.value_and_grad("main", (0, 1), mod)
    return relay.compile(mod, entry="slope")


@pytest.mark.parametrize(("kept", "most"), [("0", 2), ("400000", 2)])
def test_memory_that_a_loop_runs_in(kept, most):
    """All states take 40 MB. Twice √(2n) of them are 1.1 MB, and the machine has blocks of some size."""

    def runs(kind, mebibytes):
        run = subprocess.run([sys.executable, __file__, kind], env={**os.environ, "RELAY_MEMORY_LIMIT": str(mebibytes << 20)},
                             capture_output=True, text=True, check=False)
        assert run.returncode in (0, 3), run.stderr
        return run.returncode == 0

    assert not runs("all", 36)
    assert runs(kept, most)


if __name__ == "__main__":
    compiled = long_loop(sys.argv[1])
    try:
        compiled(np.linspace(0, 1, WIDTH, dtype="float32"), np.float32(0.9))
    except relay.ExecutionError as error:
        assert "memory" in str(error) or "needs" in str(error), error
        sys.exit(3)
