"""`relay.op.register`: expansions and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from register_calls import X, call_program, copy

import relay


def swish(call, x, *, beta: float = 1.0):
    return x * relay.sigmoid(x * relay.const(beta, call.type.dtype))


def test_expansion():
    with relay.op.registered("test.swish", relation="Identity", expand=swish) as op:
        mod = call_program(op, (2, 3), beta=2.0)
        expected = X / (1 + np.exp(-2 * X))
        np.testing.assert_allclose(relay.evaluate(mod, X), expected, rtol=1e-5)
        np.testing.assert_allclose(relay.compile(mod)(X), expected, rtol=1e-5)


@pytest.mark.parametrize(
    "expand, message",
    [
        (lambda call, x: None, "test.op: its expansion gave None, not an expression"),
        (lambda call, x: object(), "test.op: its expansion: a tensor cannot be made of this object"),
        (lambda call, x: x.nothing(), "test.op: its expansion raised AttributeError"),
    ],
)
def test_wrong_expansions(expand, message):
    with relay.op.registered("test.op", inputs=["x"], relation="Identity", expand=expand) as op:
        mod = call_program(op, (2, 3))
        for execute in (lambda: relay.evaluate(mod, X), lambda: relay.compile(mod)):
            with pytest.raises(relay.RelayError, match=message):
                execute()


@pytest.mark.parametrize(
    "expand, gives",
    [
        (lambda call, x: relay.sum(x), "float32"),
        (lambda call, x: relay.cast(x, "int32"), r"Tensor\[\(2, 3\), int32\]"),
        (lambda call, x: relay.transpose(x), r"Tensor\[\(3, 2\), float32\]"),
        (lambda call, x: (x, x), r"\(Tensor.*, Tensor.*\)"),
        (lambda call, x: 1.5, "float32"),
    ],
)
def test_expansions_are_of_the_type_that_the_relation_says(expand, gives):
    with relay.op.registered("test.op", inputs=["x"], relation="Identity", expand=expand) as op:
        mods = [call_program(op, (2, 3))]
        y = relay.var("x", shape=(2, 3))
        mods.append(relay.IRModule.from_expr(relay.Function([y], op(y * 2.0))))
        for mod in mods:
            for execute in (lambda mod: relay.evaluate(mod, X), relay.compile):
                with pytest.raises(relay.RelayError, match=rf"test.op: its expansion gives {gives}, its relation Tensor\[\(2, 3\), float32\]"):
                    execute(mod)


def test_expansions_of_named_dimensions():
    with relay.op.registered("test.op", inputs=["x"], relation="Identity", expand=lambda call, x: relay.nn.relu(x) + relay.const(1.0)) as op:
        mod = relay.parse("def @main(%x: Tensor[(n, 3), float32]) { test.op(%x + 1f) }")
        assert op is not None
        for found in (relay.evaluate(mod, X), relay.compile(mod)(X)):
            np.testing.assert_allclose(found, np.maximum(X + 1, 0) + 1)


def test_expansions_end():
    def power(call, x, *, n: int):
        return x if n == 1 else x * op(x, n=n - 1)

    with relay.op.registered("test.power", relation="Identity", expand=power) as op:
        mod = call_program(op, (2, 3), n=3)
        for found in (relay.evaluate(mod, X), relay.compile(mod)(X)):
            np.testing.assert_allclose(found, X**3)
    endless = lambda call, x, *, n: op(x, n=n)  # noqa: E731
    with relay.op.registered("test.self", relation="Identity", attrs={"n": 1}, inputs=["x"], expand=endless) as op:
        for execute in (lambda mod: relay.evaluate(mod, X), relay.compile):
            with pytest.raises(relay.RelayError, match="test.self: its expansion calls the operator itself with the same attributes"):
                execute(call_program(op, (2, 3)))
    deeper = lambda call, x, *, n: op(x, n=n + 1)  # noqa: E731
    with relay.op.registered("test.deep", relation="Identity", attrs={"n": 1}, inputs=["x"], expand=deeper) as op:
        for execute in (lambda mod: relay.evaluate(mod, X), relay.compile):
            with pytest.raises(relay.RelayError, match="test.deep: its expansion goes on without end"):
                execute(call_program(op, (2, 3)))


def test_a_compute_that_asks_for_itself():
    def compute(b, x):
        relay.compile(call_program(op, (2, 3)))
        return copy(b, x)

    with relay.op.registered("test.op", inputs=["x"], relation="Identity", compute=compute) as op:
        with pytest.raises(relay.RelayError, match="test.op: its compute compiles or runs the very call it is for"):
            relay.compile(call_program(op, (2, 3)))


def typed_call(op):
    x = relay.var("x", shape=(2, 3))
    call = op(x)
    relay.check(relay.Function([x], call))
    return x, call


def test_gradients():
    g = relay.var("g", shape=(2, 3))
    rule = lambda call, grad: [grad * call.result * relay.const(2.0)]  # noqa: E731
    with relay.op.registered("test.square", inputs=["x"], relation="Identity", compute=lambda b, x: b.map(x.shape, lambda *i: x[i] * x[i])) as op:
        x, call = typed_call(op)
        (derived,) = relay.op.gradients(call, g)
        assert "grad.test.square" in str(derived)
        np.testing.assert_allclose(relay.compile(relay.IRModule.from_expr(relay.Function([x, g], derived)))(X, X), 2 * X * X)
    with relay.op.registered("test.odd", inputs=["x"], relation="Identity", compute=copy, gradient=rule) as op:
        x, call = typed_call(op)
        (ruled,) = relay.op.gradients(call, g)
        np.testing.assert_allclose(relay.compile(relay.IRModule.from_expr(relay.Function([x, g], ruled)))(X, X), 2 * X * X)
        with pytest.raises(ValueError, match="the result is 1 tensors, and there are 2 gradients"):
            relay.op.gradients(call, g, g)
        with pytest.raises(ValueError, match="the call has no types yet"):
            relay.op.gradients(op(x), g)


@pytest.mark.parametrize(
    "gradient, message",
    [
        (lambda call, grad: [grad, grad], "test.op: its gradient gave 2 expressions for 1 inputs"),
        (lambda call, grad: None, "test.op: its gradient gave None for x, which is of floats"),
        (lambda call, grad: 1 / 0, "test.op: its gradient raised ZeroDivisionError"),
    ],
)
def test_wrong_gradients(gradient, message):
    with relay.op.registered("test.op", inputs=["x"], relation="Identity", compute=copy, gradient=gradient) as op:
        _, call = typed_call(op)
        with pytest.raises(relay.RelayError, match=message):
            relay.op.gradients(call, relay.var("g", shape=(2, 3)))
