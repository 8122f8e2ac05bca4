"""Errors: their classes, their texts, places in source."""
import pytest

import tvm
from tvm import relay
from tvm.error import DiagnosticError, OpAttributeInvalid, OpAttributeRequired, OpAttributeUnImplemented, OpError, OpNotImplemented, TVMError


def test_classes():
    assert issubclass(OpNotImplemented, OpError) and issubclass(OpError, TVMError) and issubclass(DiagnosticError, TVMError)
    assert tvm.TVMError is TVMError and tvm._ffi.base.TVMError is TVMError
    for cls in (OpAttributeInvalid, OpAttributeRequired, OpAttributeUnImplemented, OpNotImplemented):
        with pytest.raises(TVMError, match="nothing"):
            raise cls("nothing")


def test_types_that_do_not_fit():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(4, 5))
    with pytest.raises(DiagnosticError) as caught:
        relay.transform.InferType()(tvm.IRModule.from_expr(x + y))
    text = str(caught.value)
    assert "add" in text and "(2, 3)" in text and "(4, 5)" in text


def test_places_in_text():
    with pytest.raises(DiagnosticError) as caught:
        tvm.parser.parse("def @main(%x: Tensor[(2), float32]) {\n  nn.dense(%x)\n}", "model.rly")
    assert "model.rly:2" in str(caught.value)


def test_unbound_variables():
    x = relay.var("x", shape=(2,))
    with pytest.raises(Exception) as caught:
        relay.create_executor("debug").evaluate(relay.exp(x))
    assert "x" in str(caught.value)


def test_run_time_failures():
    x, i = relay.var("x", shape=(3,)), relay.var("i", shape=(), dtype="int32")
    f = relay.create_executor("vm").evaluate(relay.Function([x, i], relay.divide(relay.cast(x, "int32"), i)))
    import numpy as np

    with pytest.raises(TVMError):
        f(np.ones(3, "float32"), np.array(0, "int32"))
    assert f(np.full(3, 6, "float32"), np.array(2, "int32")).numpy().tolist() == [3, 3, 3]


def test_register_error():
    @tvm.error.register_error
    class ScriptError(RuntimeError):
        pass

    with pytest.raises(ScriptError):
        raise ScriptError("mine")


if __name__ == "__main__":
    pytest.main([__file__])
