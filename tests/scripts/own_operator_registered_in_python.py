"""A new operator registered by a script: its type relation, pattern, level, and use in programs that are not run."""
import pytest

import tvm
import tvm.relay.op.op as _op
from tvm import relay
from tvm.ir import Op, register_op_attr

NAME = "h4.slice_fixed"
if NAME not in tvm.ir.Op.list_op_names():
    relay.op.op.register(NAME, "A slice of a size that is known.")


def rel(args, attrs):
    return relay.TensorType(attrs["slice_size"], args[0].dtype)


_op.get(NAME).set_num_inputs(2)
_op.get(NAME).add_argument("data", "Tensor", "The input.")
_op.get(NAME).add_argument("begin", "Tensor", "Where.")
_op.get(NAME).set_attrs_type_key("DictAttrs")
_op.get(NAME).add_type_rel("H4SliceRel", rel)
_op.get(NAME).set_support_level(1)
_op.register_pattern(NAME, _op.OpPattern.OPAQUE)
_op.register_stateful(NAME, False)


def slice_fixed(data, begin, size):
    attrs = tvm.ir.make_node("DictAttrs", slice_size=size)
    return relay.Call(relay.op.get(NAME), [data, begin], attrs)


def test_type():
    x, b = relay.var("x", shape=(8, 8)), relay.var("b", shape=(2,), dtype="int32")
    mod = tvm.IRModule.from_expr(relay.Function([x, b], relay.nn.relu(slice_fixed(x, b, [2, 3]))))
    mod = relay.transform.InferType()(mod)
    assert tuple(int(d) for d in mod["main"].ret_type.shape) == (2, 3)
    assert NAME in mod.astext()


def test_passes_leave_it():
    x, b = relay.var("x", shape=(8, 8)), relay.var("b", shape=(2,), dtype="int32")
    y = slice_fixed(x + relay.const(0.0), b, [2, 3])
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, b], y)))
    out = tvm.transform.Sequential([relay.transform.SimplifyExpr(), relay.transform.ToANormalForm(), relay.transform.EliminateCommonSubexpr()])(mod)
    assert NAME in out.astext()
    assert _op.get(NAME).get_attr("TOpPattern") == _op.OpPattern.OPAQUE


def test_target_attribute():
    register_op_attr(NAME, "target.h4op", lambda expr: True)
    assert relay.op.get(NAME).get_attr("target.h4op") is not None


if __name__ == "__main__":
    pytest.main([__file__])
