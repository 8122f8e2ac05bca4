"""Operators whose definition is a tensor expression that Python builds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import relay
from relay import te


def softplus(b, x, *, scale: float = 1.0):
    """log(1 + exp(scale * x))."""
    return b.map(x.shape, lambda *i: te.log(1 + te.exp(x[i] * scale)))


@pytest.fixture
def op():
    with relay.op.registered("my.softplus", inputs=[relay.op.Input("x", "Numbers.", dtype="float")], relation="Identity", compute=softplus) as made:
        yield made


def both(body, *arrays, **compile_arguments):
    """The results of the evaluator and the compiler for the function of an expression's free variables; they agree."""
    mod = body if isinstance(body, relay.IRModule) else relay.IRModule.from_expr(body)
    relay.check(mod)
    expected = relay.evaluate(mod, *arrays)
    found = relay.compile(mod, **compile_arguments)(*arrays)
    for one, other in zip(expected, found) if isinstance(expected, tuple) else [(expected, found)]:
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    return found


X = np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)


def x_var(shape=(3, 4), dtype="float32", name="x"):
    return relay.var(name, shape=shape, dtype=dtype)


def test_runs_in_both_executors(op):
    np.testing.assert_allclose(both(op(x_var(), scale=2.0), X), np.log1p(np.exp(2 * X)), rtol=1e-4)


def test_types_and_text(op):
    mod = relay.IRModule.from_expr(op(x_var(), scale=2.0))
    relay.check(mod)
    assert mod["main"].body.checked_type == relay.TensorType((3, 4))
    assert "my.softplus(%x, scale=2f)" in str(mod)
    again = relay.parse(str(mod))
    relay.assert_structural_equal(mod, again)
    assert "scale" not in str(relay.IRModule.from_expr(op(x_var())))


def test_fuses_with_others(op):
    mod = relay.IRModule.from_expr(relay.nn.relu(op(x_var() + 1.0)) * 2.0)
    fused = relay.transform.Sequential([relay.transform.InferType(), relay.transform.FuseOps()])(mod)
    assert str(fused).count("Primitive=1") == 1
    both(mod, X)


def test_symbolic_shapes(op):
    n = relay.ShapeVar("n")
    mod = relay.IRModule.from_expr(op(x_var((n, 4))))
    run = relay.compile(mod)
    for rows in (1, 5):
        data = np.ones((rows, 4), "float32")
        np.testing.assert_allclose(run(data), np.log1p(np.exp(data)), rtol=1e-4)


def test_pickles(op):
    call = op(x_var(), scale=3.0)
    again = pickle.loads(pickle.dumps(call))
    relay.assert_structural_equal(call, again, map_free_vars=True)
    run = pickle.loads(pickle.dumps(relay.compile(relay.IRModule.from_expr(call))))
    np.testing.assert_allclose(run(X), np.log1p(np.exp(3 * X)), rtol=1e-4)


def test_gradient_is_derived(op):
    call = relay.parse("def @main(%x: Tensor[(3, 4), float32], %g: Tensor[(3, 4), float32]) { grad.my.softplus(%x, %g, scale=2f) }")
    assert "grad.my.softplus(%x, %g, scale=2f)" in str(call)
    expected = 2 / (1 + np.exp(-2 * X))
    np.testing.assert_allclose(both(call, X, np.ones_like(X)), expected, rtol=1e-4)


def test_signature_is_enforced(op):
    with pytest.raises(relay.RelayError, match=r"my.softplus: x needs a floating-point dtype, found Tensor\[\(3, 4\), int32\]"):
        relay.check(op(x_var(dtype="int32")))
    with pytest.raises(relay.RelayError, match="attribute scale takes float, not \"a\""):
        op(x_var(), scale="a")
    with pytest.raises(relay.RelayError, match="unknown attribute sclae"):
        relay.parse("def @main(%x: Tensor[(3), float32]) { my.softplus(%x, sclae=2f) }")
    with pytest.raises(TypeError, match=r"my.softplus\(x, scale=1.0\).*: missing a required argument: 'x'"):
        op()
