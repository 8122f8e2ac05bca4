"""PartialEvaluate: recursion over known data disappears."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import create_executor, transform
from tvm.relay.prelude import Prelude
from tvm.relay.testing import count, make_nat_expr


def dcpe(expr, mod=None):
    passes = [transform.PartialEvaluate(), transform.InferType(), transform.DeadCodeElimination(inline_once=True, ignore_impurity=True), transform.InferType()]
    mod = mod if mod is not None else tvm.IRModule()
    mod["main"] = expr
    return tvm.transform.Sequential([transform.InferType(), *passes])(mod)["main"]


def test_tuple():
    x = relay.Var("x", relay.TensorType((), "float32"))
    out = dcpe(relay.Function([x], relay.TupleGetItem(relay.Tuple([relay.const(4.0), x]), 1)))
    assert isinstance(out.body, relay.Var)


def test_reference():
    d, r, x, body = relay.Var("d", relay.scalar_type("float32")), relay.Var("r"), relay.Var("x"), None
    body = relay.RefRead(r)
    body = relay.Let(x, relay.RefWrite(r, relay.RefRead(r) * relay.RefRead(r)), body)
    out = dcpe(relay.Function([d], relay.Let(r, relay.RefCreate(d), body)))
    assert relay.testing.count_ops(out) == {"multiply": 1}
    assert float(create_executor("debug").evaluate(out)(np.float32(3)).numpy()) == 9


def test_known_condition():
    x = relay.Var("x", relay.scalar_type("float32"))
    out = dcpe(relay.Function([x], relay.If(relay.const(True), x + x, x)))
    assert "if" not in out.astext()


def test_power_of_a_known_number():
    mod = tvm.IRModule()
    n, x = relay.var("n", "int32"), relay.var("x", "float32")
    power = relay.GlobalVar("power")
    mod[power] = relay.Function([n, x], relay.If(relay.equal(n, relay.const(0)), relay.const(1.0), x * power(n - relay.const(1), x)), relay.scalar_type("float32"))
    y = relay.var("y", "float32")
    out = dcpe(relay.Function([y], power(relay.const(3), y)), mod)
    assert float(create_executor("debug", mod=mod).evaluate(out)(np.float32(2)).numpy()) == 8


if __name__ == "__main__":
    pytest.main([__file__])
