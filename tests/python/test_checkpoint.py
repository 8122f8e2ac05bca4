"""relay.checkpoint: the same gradients, less memory."""

import os
import subprocess
import sys

import numpy as np
import pytest
import relay
from relay import RelayError

DEPTH, ROWS, WIDTH = 12, 2048, 64


def network(mark):
    """Blocks of layers, one after another: a layer keeps half a mebibyte or more."""
    a, b = relay.var("a", shape=(ROWS, WIDTH), dtype="float32"), relay.var("b", shape=(WIDTH, WIDTH), dtype="float32")
    inner = a
    for _ in range(4):
        inner = relay.tanh(relay.nn.dense(inner, b) + relay.sin(inner))
    block = mark(relay.Function([a, b], inner))
    x, w = relay.var("x", shape=(ROWS, WIDTH), dtype="float32"), relay.var("w", shape=(WIDTH, WIDTH), dtype="float32")
    value = x
    for _ in range(DEPTH):
        value = relay.Call(block, [value, w])
    return relay.value_and_grad(relay.Function([x, w], relay.mean(value)), (0, 1))


def arguments():
    draw = np.random.default_rng(0)
    return draw.normal(size=(ROWS, WIDTH)).astype("float32"), (draw.normal(size=(WIDTH, WIDTH)) / 8).astype("float32")


def flat(value):
    return np.concatenate([np.ravel(np.asarray(leaf)) for leaf in leaves(value)])


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def test_same_gradients():
    plain, marked = relay.compile(network(lambda block: block)), relay.compile(network(relay.checkpoint))
    np.testing.assert_allclose(flat(marked(*arguments())), flat(plain(*arguments())), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("level", [0, 3, 4])
def test_least_memory_that_it_runs_in(level):
    def least(kind):
        """In steps of 2 MiB."""
        low, high = 1, 128
        while high - low > 2:
            middle = (low + high) // 2
            run = subprocess.run([sys.executable, __file__, kind, str(level)], env={**os.environ, "RELAY_MEMORY_LIMIT": str(middle << 20)},
                                 capture_output=True, text=True, check=False)
            assert run.returncode in (0, 3), run.stderr
            low, high = (low, middle) if run.returncode == 0 else (middle, high)
        return high

    assert least("marked") < 0.6 * least("plain")


PROGRAMS = {
    "marks in a program": """
def @main(%x: Tensor[(3), float64], %w: Tensor[(3), float64]) {
  let %a = annotation.checkpoint(tanh(%x * %w));
  let %b = annotation.checkpoint(sin(%a * %a) + exp(%a));
  sum(%b * %w)
}
""",
    "in a branch": """
def @main(%x: Tensor[(3), float64], %w: Tensor[(3), float64]) {
  let %a = tanh(%x);
  let %b = if (sum(%x) < 0f64) { %a } else { annotation.checkpoint(sin(%a * %w) * exp(%w)) };
  sum(%b * %b)
}
""",
    "in a loop": """
def @loop(%n: int32, %x: Tensor[(3), float64], %w: Tensor[(3), float64]) -> Tensor[(3), float64] {
  if (%n == 0) { %x } else { @loop(%n - 1, annotation.checkpoint(tanh(sin(%x) * %w + %x)), %w) }
}
def @main(%x: Tensor[(3), float64], %w: Tensor[(3), float64]) { sum(@loop(5, %x, %w)) }
""",
    "of a tuple, beside closures": """
def @main(%x: Tensor[(3), float64], %w: Tensor[(3), float64]) {
  let %f = if (sum(%x) < 9f64) { fn (%a: Tensor[(3), float64]) { %a * %w } } else { fn (%a: Tensor[(3), float64]) { %a } };
  let %t = annotation.checkpoint((tanh(%f(%x)), exp(%x * %w)));
  sum(%t.0 * %t.1 * %f(%t.1))
}
""",
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_do_not_change(name, order):
    x, w = np.array([0.3, 0.8, 0.5]), np.array([1.1, -0.6, 0.9])
    found = []
    for text in (PROGRAMS[name], PROGRAMS[name].replace("annotation.checkpoint", "")):
        mod = relay.parse(text)
        mod["slope"] = relay.grad("main", (0, 1), mod)
        if order == 2:
            mod["total"] = relay.parse_expr("fn (%x: Tensor[(3), float64], %w: Tensor[(3), float64]) { let %g = @slope(%x, %w); sum(%g.0 * %g.1) }")
            mod["slope"] = relay.grad("total", (0, 1), mod)
        found += [flat(relay.compile(mod, entry="slope")(x, w)), flat(relay.evaluate(mod, x, w, entry="slope"))]
    for one in found[:3]:
        np.testing.assert_allclose(one, found[3], rtol=1e-9)


def test_forward_and_lanes():
    x = relay.var("x", shape=(3,), dtype="float64")
    fn = relay.Function([x], relay.sum(relay.tanh(relay.exp(x))))
    marked = relay.checkpoint(fn)
    at = np.random.default_rng(1).normal(size=(4, 3))
    for make in (lambda f: relay.vmap(relay.grad(f), axis_size=4), lambda f: relay.grad(total(relay.vmap(f, axis_size=4)))):
        np.testing.assert_allclose(np.asarray(relay.compile(make(marked))(at)), np.asarray(relay.compile(make(fn))(at)), rtol=1e-9)


def total(each):
    x = relay.var("x", shape=(4, 3), dtype="float64")
    return relay.Function([x], relay.sum(relay.Call(each, [x])))


def test_a_result_of_tensors():
    x = relay.var("x", shape=(3,))
    with pytest.raises(RelayError, match="annotation.checkpoint: argument 1 must be a tensor"):
        relay.grad(relay.Function([x], relay.sum(relay.Call(relay.checkpoint(relay.Function([x], relay.Function([], x))), [x]))))


if __name__ == "__main__":
    compiled = relay.compile(network(relay.checkpoint if sys.argv[1] == "marked" else lambda block: block), opt_level=int(sys.argv[2]))
    try:
        compiled(*arguments())
    except relay.ExecutionError as error:
        assert "memory" in str(error) or "needs" in str(error), error
        sys.exit(3)
