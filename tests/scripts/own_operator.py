"""An operator of one's own: registered, typed by a relation, given attributes for passes."""
import pytest

import tvm
from tvm import relay
from tvm.relay.op import op as _reg, register_alter_op_layout, register_legalize, register_pattern, OpPattern
from tvm.ir.op import register_op_attr


def test_facts_of_operators():
    log = relay.op.get("log")
    assert log.name == "log" and log.num_inputs == 1 and "log" in tvm.ir.Op.list_op_names()
    with pytest.raises(Exception):
        relay.op.get("no.such.operator")
    assert relay.op.get("nn.conv2d") is relay.nn.conv2d(relay.var("x", shape=(1, 1, 3, 3)), relay.var("w", shape=(1, 1, 1, 1))).op


def test_attributes():
    @register_op_attr("log", "ftest", level=11)
    def test(x):
        return x + 1

    assert relay.op.get("log").get_attr("ftest")(5) == 6
    relay.op.get("log").set_attr("ftest.value", 3, 12)
    assert relay.op.get("log").get_attr("ftest.value") == 3
    assert relay.op.get("log").get_attr("nothing") is None


def test_registration():
    name = "scripts.shift"
    _reg.register(name, "moves all elements")
    shift = _reg.get(name)
    shift.set_num_inputs(1)
    shift.add_argument("data", "Tensor", "what is moved")
    shift.set_support_level(10)

    def rel(types, attrs):
        return relay.TensorType(types[0].shape, types[0].dtype)

    shift.add_type_rel("shift_rel", rel)
    _reg.register_pattern(name, OpPattern.INJECTIVE)
    _reg.register_stateful(name, False)
    x = relay.var("x", shape=(2, 3))
    call = relay.Call(shift, [x])
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], call)))
    assert typed["main"].body.checked_type == relay.TensorType((2, 3), "float32") and "scripts.shift" in typed.astext()


def test_legalisation_is_kept():
    @register_legalize("nn.relu", level=105)
    def legalize_relu(attrs, inputs, types):
        return relay.maximum(inputs[0], relay.const(0.0))

    fn = relay.op.get("nn.relu").get_attr("FTVMLegalize")
    assert fn is not None
    relay.op.get("nn.relu").reset_attr("FTVMLegalize")
    assert relay.op.get("nn.relu").get_attr("FTVMLegalize") is None


def test_temporary_attributes():
    from tvm.relay.testing.temp_op_attr import TempOpAttr

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", lambda attrs, inputs, tinfos, out_type: None):
        assert relay.op.get("nn.conv2d").get_attr("FTVMAlterOpLayout") is not None


if __name__ == "__main__":
    pytest.main([__file__])
