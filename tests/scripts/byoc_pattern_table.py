"""A table of patterns with checks, registered and partitioned by."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.dataflow_pattern import is_op, is_constant, wildcard
from tvm.relay.op.contrib.register import get_pattern_table, register_pattern_table


def make_conv_relu_pattern(with_bias=True):
    x, w, b = wildcard(), is_constant(), is_constant()
    conv = is_op("nn.conv2d")(x, w)
    if with_bias:
        conv = is_op("nn.bias_add")(conv, b)
    return is_op("nn.relu")(conv)


def check(extract):
    call = extract
    while call.op.name != "nn.conv2d":
        call = call.args[0]
    return call.attrs.groups == 1


@register_pattern_table("myacc")
def pattern_table():
    return [
        ("myacc.conv2d_bias_relu", make_conv_relu_pattern(True), check),
        ("myacc.conv2d_relu", make_conv_relu_pattern(False), check),
    ]


@tvm.ir.register_op_attr("nn.max_pool2d", "target.myacc")
def _pool(expr):
    return tuple(int(v) for v in expr.attrs.pool_size) == (2, 2)


def partition_for_myacc(mod, params=None, **opts):
    if params:
        mod["main"] = bind_params_by_name(mod["main"], params)
    seq = tvm.transform.Sequential([
        transform.InferType(),
        transform.FoldConstant(),
        transform.MergeComposite(get_pattern_table("myacc")),
        transform.AnnotateTarget("myacc"),
        transform.MergeCompilerRegions(),
        transform.PartitionGraph(),
    ])
    with tvm.transform.PassContext(opt_level=3):
        return seq(mod)


x = relay.var("x", shape=(1, 3, 8, 8))
w1 = relay.var("w1", shape=(4, 3, 3, 3))
b1 = relay.var("b1", shape=(4,))
y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w1, padding=(1, 1)), b1))
y = relay.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2))
y = relay.nn.softmax(relay.nn.batch_flatten(y))
mod = tvm.IRModule.from_expr(relay.Function([x, w1, b1], y))
params = {"w1": np.random.rand(4, 3, 3, 3).astype("float32"), "b1": np.random.rand(4).astype("float32")}
part = partition_for_myacc(mod, {k: tvm.nd.array(v) for k, v in params.items()})
gvs = [gv for gv in part.get_global_vars() if gv.name_hint != "main"]
assert len(gvs) == 1
func = part[gvs[0]]
assert func.attrs["Compiler"] == "myacc" and func.attrs["global_symbol"] == gvs[0].name_hint
comps = []


def visit(e):
    if isinstance(e, relay.Call) and isinstance(e.op, relay.Function) and "Composite" in e.op.attrs:
        comps.append(e.op.attrs["Composite"])


relay.analysis.post_order_visit(func, visit)
assert comps == ["myacc.conv2d_bias_relu"], comps


@tvm.register_func("relay.ext.myacc")
def myacc_compiler(ref):
    raise RuntimeError("unreached")


data = np.random.rand(1, 3, 8, 8).astype("float32")
inline = tvm.transform.Sequential([transform.InlineCompilerFunctionsBoundTo(gvs), transform.DefuseOps()])
ref = relay.create_executor("graph", mod=mod, params={k: tvm.nd.array(v) for k, v in params.items()}).evaluate()(data).numpy()
assert ref.shape == (1, 64)
