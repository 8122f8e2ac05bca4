"""Structural equality and hashing of many kinds of nodes."""
import numpy as np
import pytest

import tvm
from tvm import relay, tir
from tvm.relay import analysis


def alpha_equal(x, y):
    """Equal, and then of the same hash."""
    same = tvm.ir.structural_equal(x, y)
    if same:
        assert tvm.ir.structural_hash(x) == tvm.ir.structural_hash(y)
    return same


def test_types():
    assert alpha_equal(relay.TensorType((1, 2), "int8"), relay.TensorType((1, 2), "int8"))
    assert not alpha_equal(relay.TensorType((1, 2), "int8"), relay.TensorType((2, 1), "int8"))
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    assert alpha_equal(relay.FuncType([a], a, [a]), relay.FuncType([b], b, [b])) and not alpha_equal(relay.FuncType([a], a), relay.FuncType([b], b))
    assert alpha_equal(relay.TupleType([]), relay.TupleType([])) and not alpha_equal(relay.RefType(a), relay.TupleType([a]))


def test_constants():
    assert alpha_equal(relay.const(1), relay.const(1)) and not alpha_equal(relay.const(1), relay.const(2)) and not alpha_equal(relay.const(1), relay.const(1.0))
    x = relay.var("x")
    assert not alpha_equal(x, relay.const(1))
    assert alpha_equal(relay.const(np.arange(4)), relay.const(np.arange(4)))


def test_lets_and_functions():
    def chain(names):
        v = [relay.var(n) for n in names]
        return relay.Let(v[0], relay.const(1), relay.Let(v[1], v[0], v[1]))

    assert alpha_equal(chain("ab"), chain("xy")) and not alpha_equal(chain("ab"), relay.Let(relay.var("a"), relay.const(1), relay.const(1)))
    x, y = relay.var("x", "float32"), relay.var("y", "float32")
    assert alpha_equal(relay.Function([x, y], x), relay.Function([y, x], y)) and not alpha_equal(relay.Function([x, y], x), relay.Function([x, y], y))
    f = relay.Function([x], x)
    assert not alpha_equal(f, f.with_attr("Primitive", tir.IntImm("int32", 1)))


def test_graphs():
    x = relay.var("x", shape=(2,))
    assert alpha_equal(relay.TupleGetItem(relay.Tuple([x]), 0), relay.TupleGetItem(relay.Tuple([x]), 0))
    assert not alpha_equal(relay.nn.softmax(x, axis=0), relay.nn.softmax(x, axis=-1))


def test_messages():
    x = relay.var("x", shape=(2,))
    with pytest.raises(ValueError) as caught:
        tvm.ir.assert_structural_equal(relay.exp(x), relay.exp(relay.exp(x)))
    assert "args[0]" in str(caught.value)


def test_modules():
    def build(order):
        mod = tvm.IRModule()
        for name in order:
            v = relay.var("v", "float32")
            mod[name] = relay.Function([v], v)
        return mod

    assert alpha_equal(build(["a", "b"]), build(["b", "a"])) and not alpha_equal(build(["a"]), build(["b"]))


if __name__ == "__main__":
    pytest.main([__file__])
