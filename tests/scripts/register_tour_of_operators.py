"""What people do with relay.op: look up, register, legalise, cast rules, compute declared strategies."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import op as _reg
from tvm.relay import transform
from tvm.relay.op import get as get_op, OpPattern, register_legalize, register_alter_op_layout, register_gradient, register_pattern
from tvm.relay.testing.temp_op_attr import TempOpAttr
from tvm.ir import Op


def all_ops_with(attr):
    return sorted(n for n in Op.list_op_names() if Op.get(n).has_attr(attr))


grads = all_ops_with("FPrimalGradient")
assert {"tanh", "nn.conv2d", "nn.dense", "add"} <= set(grads), len(grads)
pat = {n: Op.get(n).get_attr("TOpPattern") for n in ("add", "nn.conv2d", "nn.softmax", "transpose", "sum")}
assert pat["add"] == OpPattern.BROADCAST and pat["sum"] == OpPattern.COMM_REDUCE and pat["nn.conv2d"] == OpPattern.OUT_ELEMWISE_FUSABLE
stateful = [n for n in Op.list_op_names() if Op.get(n).get_attr("TOpIsStateful")]
print(len(Op.list_op_names()), len(grads), stateful[:5])


def count_by_level():
    t = {}
    for n in Op.list_op_names():
        t.setdefault(Op.get(n).support_level, []).append(n)
    return t


levels = count_by_level()
assert "exp" in levels[1] and "nn.conv2d" in levels[2]


@tvm.ir.register_op_attr("nn.conv2d", "cost.fma")
def conv_cost(call):
    o = [int(d) for d in call.checked_type.shape]
    w = [int(d) for d in call.args[1].checked_type.shape]
    return int(np.prod(o)) * int(np.prod(w[1:]))


@tvm.ir.register_op_attr("nn.dense", "cost.fma")
def dense_cost(call):
    o = [int(d) for d in call.checked_type.shape]
    return int(np.prod(o)) * int(call.args[1].checked_type.shape[1])


def total_cost(func):
    total = [0]

    def v(e):
        if isinstance(e, relay.Call) and isinstance(e.op, Op):
            f = e.op.get_attr("cost.fma")
            if f:
                total[0] += f(e)

    relay.analysis.post_order_visit(func, v)
    return total[0]


mod, params = relay.testing.squeezenet.get_workload(1, version="1.1")
mod = transform.InferType()(mod)
assert total_cost(mod["main"]) == relay.analysis.get_total_mac_number(mod["main"])


def dense_to_bmm(attrs, inputs, types):
    x, w = inputs
    r = relay.nn.batch_matmul(relay.expand_dims(x, 0), relay.expand_dims(w, 0))
    return relay.squeeze(r, axis=[0])


x, w = relay.var("x", shape=(3, 4)), relay.var("w", shape=(5, 4))
dm = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
with TempOpAttr("nn.dense", "FTVMLegalize", dense_to_bmm):
    lg = transform.Legalize()(transform.InferType()(dm))
assert "nn.batch_matmul" in relay.analysis.list_op_freqs(lg)
a, b = np.random.rand(3, 4).astype("float32"), np.random.rand(5, 4).astype("float32")
np.testing.assert_allclose(relay.create_executor("graph", mod=lg).evaluate()(a, b).numpy(), a @ b.T, rtol=1e-5)
info = get_op("nn.conv2d")
assert info.num_inputs == 2 and [i.name for i in info.arguments][:2] == ["data", "weight"]
print(info.description)
fields = relay.nn.conv2d(x, w).attrs.list_field_info() if hasattr(tvm.ir.Attrs, "list_field_info") else []
assert any(f.name == "strides" for f in fields)
rule = get_op("multiply").get_attr("FPrimalGradient")
y = relay.var("y", shape=(2,))
z = relay.var("z", shape=(2,))
g = relay.var("g", shape=(2,))
gs = rule(relay.multiply(y, z), g)
assert len(gs) == 2
fn = relay.Function([y, z, g], relay.Tuple(list(gs)))
r = relay.create_executor("debug").evaluate(fn)(np.array([1, 2], "float32"), np.array([3, 4], "float32"), np.array([1, 10], "float32"))
np.testing.assert_allclose(r[0].numpy(), [3, 40]); np.testing.assert_allclose(r[1].numpy(), [1, 20])
try:
    get_op("nn.convolution")
except Exception as e:
    print(type(e).__name__, e)
