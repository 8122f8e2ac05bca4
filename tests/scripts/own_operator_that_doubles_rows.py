"""A custom op registered in Python: type relation, compute, schedule/strategy (the tutorial of discuss.tvm.ai)."""
import numpy as np
import tvm
from tvm import relay, te, topi
from tvm.relay import op as _op
from tvm.relay.op import op as _reg
from tvm.relay.op import OpPattern
from tvm.ir import Op


op_name = "mine.doubled_rows"
_reg.register(op_name, "my fake op in Python")
op = _op.get(op_name)
assert isinstance(op, Op) and op.name == op_name


def type_rel(args, attrs):
    ty = args[0]
    assert isinstance(ty, relay.TensorType)
    return relay.TensorType([ty.shape[0] * 2] + list(ty.shape[1:]), ty.dtype)


op.set_num_inputs(1)
op.add_argument("data", "Tensor", "The input")
op.set_support_level(10)
op.add_type_rel("MyDup", type_rel)

_reg.register_pattern(op_name, OpPattern.INJECTIVE)
_reg.register_stateful(op_name, False)


@_reg.register_compute(op_name)
def dup_compute(attrs, inputs, out_type):
    x = inputs[0]
    n = x.shape[0]
    return [
        te.compute(
            [n * 2] + list(x.shape[1:]),
            lambda i, *r: tvm.tir.if_then_else(i < n, x[(i,) + r], x[(i - n,) + r] * 2.0),
            name="dup",
        )
    ]


_reg.register_injective_schedule(op_name)

x = relay.var("x", shape=(3, 4))
call = relay.Call(op, [x], None, [])
f = relay.Function([x], relay.nn.relu(call))
mod = relay.transform.InferType()(tvm.IRModule.from_expr(f))
assert mod["main"].checked_type.ret_type == relay.TensorType((6, 4), "float32")
assert op_name in mod.astext()
v = np.random.randn(3, 4).astype("float32")
out = relay.create_executor("graph", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(v)
np.testing.assert_allclose(out.numpy(), np.maximum(np.concatenate([v, 2 * v]), 0), rtol=1e-5)

# reading attributes
add = relay.op.get("add")
assert add.num_inputs == 2
assert add.get_attr("TOpPattern") == OpPattern.BROADCAST
assert relay.op.get("nn.conv2d").get_attr("TOpPattern") == OpPattern.OUT_ELEMWISE_FUSABLE
assert relay.op.get("nn.softmax").get_attr("TOpPattern") is not None
assert add.get_attr("no.such.attr") is None
names = tvm.ir.Op.list_op_names()
assert op_name in names

# an attribute of one's own
tvm.ir.register_op_attr("add", "my.cost", 7)
tvm.ir.register_op_attr("nn.conv2d", "my.cost")(lambda call: 42)
assert relay.op.get("add").get_attr("my.cost") == 7
assert relay.op.get("nn.conv2d").get_attr("my.cost")(None) == 42
relay.op.get("add").reset_attr("my.cost")
assert relay.op.get("add").get_attr("my.cost") is None
tvm.ir.register_op_attr("exp", "my.cost", "high")
assert relay.op.get("exp").get_attr("my.cost") == "high"
try:
    relay.op.get("surely_not_there")
    raise SystemExit("expected an error")
except AttributeError as e:
    assert "surely_not_there" in str(e)
print("ok")
