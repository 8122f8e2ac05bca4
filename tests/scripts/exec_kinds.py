"""create_executor of every kind, with parameters, bindings, keyword arguments."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.backend.interpreter import ConstructorValue, RefValue


@pytest.mark.parametrize("kind", ["graph", "vm", "debug", "aot"])
def test_arguments(kind):
    x, y = relay.var("x", shape=(2, 2)), relay.var("y", shape=(2, 2))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], x - y))
    f = relay.create_executor(kind, mod=mod, device=tvm.cpu(0), target="llvm").evaluate()
    a, b = np.full((2, 2), 5, "float32"), np.full((2, 2), 3, "float32")
    for found in (f(a, b), f(a, y=b), f(x=a, y=b), f(tvm.nd.array(a), tvm.nd.array(b))):
        assert (found.numpy() == 2).all()
    with pytest.raises(Exception):
        f(a)


def test_parameters_given_to_the_executor():
    x, w = relay.var("x", shape=(1, 4)), relay.var("w", shape=(3, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    weights = {"w": np.eye(3, 4, dtype="float32")}
    run = relay.create_executor("graph", mod, tvm.cpu(0), "llvm", weights).evaluate()
    assert run(np.arange(4, dtype="float32").reshape(1, 4)).numpy().tolist() == [[0, 1, 2]]


def test_interpreter_values():
    ref = relay.var("r")
    prog = relay.Let(ref, relay.RefCreate(relay.const(1.0)), relay.Let(relay.var("_"), relay.RefWrite(ref, relay.const(2.0)), relay.RefRead(ref)))
    assert float(relay.create_executor("debug").evaluate(prog).numpy()) == 2
    cell = relay.create_executor("debug").evaluate(relay.RefCreate(relay.const(7)))
    assert isinstance(cell, RefValue) and int(cell.value.numpy()) == 7
    pair = relay.create_executor().evaluate(relay.Tuple([relay.const(1), relay.Tuple([])]))
    assert len(pair) == 2 and len(pair[1]) == 0


def test_binds():
    x, y = relay.var("x", "float32"), relay.var("y", "float32")
    executor = relay.create_executor("debug")
    assert float(executor.evaluate(x * y, binds={x: relay.const(3.0), y: relay.const(4.0)}).numpy()) == 12


def test_a_function_as_result():
    x, y = relay.var("x", "float32"), relay.var("y", "float32")
    adder = relay.create_executor("debug").evaluate(relay.Function([x], relay.Function([y], x + y)))(np.float32(2))
    assert float(adder(np.float32(5)).numpy()) == 7


def test_data_types():
    mod = tvm.IRModule()
    mod.import_from_std("prelude.rly")
    _, some, none = mod.get_type("Option")
    value = relay.create_executor("debug", mod=mod).evaluate(some(relay.const(3)))
    assert isinstance(value, ConstructorValue) and value.constructor == some and int(value.fields[0].numpy()) == 3


if __name__ == "__main__":
    pytest.main([__file__])
