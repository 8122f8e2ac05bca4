"""Operators that scripts register in TVM's way."""

import numpy as np
import pytest

import tvm
from tvm import relay


@pytest.fixture
def custom():
    name = "custom.add"
    relay.op.op.register(name, "Adds.")
    relay.op.get(name).set_num_inputs(2)
    relay.op.get(name).add_argument("data_0", "Tensor", "The first.")
    relay.op.get(name).add_argument("data_1", "Tensor", "The second.")
    relay.op.get(name).add_type_rel("Broadcast")
    relay.op.get(name).set_support_level(1)
    yield name
    import relay as own

    own.op.unregister(name)
    from tvm.relay.op.staged import STAGED

    STAGED.pop(name, None)


def test_register(custom):
    relay.op.op.register_pattern(custom, relay.op.OpPattern.BROADCAST)
    relay.op.op.register_stateful(custom, False)
    op = relay.op.get(custom)
    assert op.name == custom and op.num_inputs == 2 and op.support_level == 1
    assert op.get_attr("TOpPattern") == relay.op.OpPattern.BROADCAST and op.get_attr("TOpIsStateful") is False
    assert [name for name, _ in op.arguments] == ["data_0", "data_1"]
    x, y = relay.var("x", shape=(3, 1)), relay.var("y", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Call(op, [x, y]))
    mod = relay.transform.InferType()(mod)
    assert mod["main"].body.checked_type == relay.TensorType((3, 4))


def test_type_relation_in_python(custom):
    def rel(arg_types, attrs):
        assert attrs is None
        return relay.TensorType(arg_types[1].shape, "int32")

    relay.op.get(custom).add_type_rel("CustomRel", rel)
    x, y = relay.var("x", shape=(3, 1)), relay.var("y", shape=(4,))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Call(relay.op.get(custom), [x, y])))
    assert mod["main"].body.checked_type == relay.TensorType((4,), "int32")
    with pytest.raises(NotImplementedError, match="custom.add has no definition"):
        relay.create_executor("debug", mod=mod).evaluate()(np.ones((3, 1), "float32"), np.ones(4, "float32"))


def test_gradient(custom):
    import relay as own

    seen = []

    @relay.op.register_gradient(custom)
    def gradient(orig, grad):
        seen.append(orig)
        return [grad, relay.negative(grad)]

    x = relay.var("x", shape=(4,))
    call = relay.Call(relay.op.get(custom), [x, x])
    own.check(relay.Function([x], call))
    first, second = own.op.gradients(call, x)
    assert first is x and second.op.name == "negative" and seen[0].args[0] is x
    assert relay.op.get(custom).get_attr("FPrimalGradient") is gradient


def test_wrong_uses(custom):
    with pytest.raises(tvm.TVMError, match="operator custom.add is registered already"):
        relay.op.op.register(custom)
    with pytest.raises(TypeError, match="operator add is declared already"):
        relay.op.get("add").set_num_inputs(3)
    with pytest.raises(ValueError, match="there is no relation Nothing"):
        relay.op.get(custom).add_type_rel("Nothing")
    assert relay.op.get(custom).num_inputs == 2
    relay.op.op.register("custom.bare")
    try:
        with pytest.raises(tvm.TVMError, match="custom.bare has no type relation"):
            relay.transform.InferType()(tvm.IRModule.from_expr(relay.Call(relay.op.get("custom.bare"), [])))
    finally:
        import relay as own

        own.op.unregister("custom.bare")
        from tvm.relay.op.staged import STAGED

        STAGED.pop("custom.bare", None)
