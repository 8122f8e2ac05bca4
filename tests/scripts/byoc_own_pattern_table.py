"""A pattern table and operator rules of an accelerator's own, partitioned in the order of TVM's contrib files."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.dataflow_pattern import is_constant, is_op, wildcard
from tvm.relay.op.contrib.register import get_pattern_table, register_pattern_table

COMPILER = "accel"


def _register_external_op_helper(op_name, supported=True):
    @tvm.ir.register_op_attr(op_name, "target." + COMPILER)
    def _func_wrapper(expr):
        attrs, args = expr.attrs, expr.args
        if any(x.checked_type.dtype != "float32" for x in args):
            return False
        return supported

    return _func_wrapper


_register_external_op_helper("nn.dense")
_register_external_op_helper("multiply")


def make_pattern(with_bias=True, with_eltwise=None):
    data, weight, bias = wildcard(), wildcard(), wildcard()
    conv = is_op("nn.conv2d")(data, weight)
    conv_out = is_op("add")(conv, bias | is_constant()) if with_bias else conv
    return is_op(with_eltwise)(conv_out) if with_eltwise else conv_out


def check_conv(extract):
    call = extract
    while call.op.name != "nn.conv2d":
        call = call.args[0]
    return call.attrs.groups == 1 and call.attrs.data_layout == "NCHW"


@register_pattern_table(COMPILER)
def pattern_table():
    return [
        (COMPILER + ".conv2d_bias_relu", make_pattern(True, "nn.relu"), check_conv),
        (COMPILER + ".conv2d_bias", make_pattern(True, None), check_conv),
    ]


def partition_for_accel(mod, params=None):
    if params:
        mod["main"] = bind_params_by_name(mod["main"], params)
    seq = tvm.transform.Sequential(
        [
            transform.CanonicalizeOps(),
            transform.InferType(),
            transform.SimplifyInference(),
            transform.FoldConstant(),
            transform.FoldConstant(),
            transform.MergeComposite(get_pattern_table(COMPILER)),
            transform.AnnotateTarget(COMPILER),
            transform.MergeCompilerRegions(),
            transform.PartitionGraph(),
            transform.InferType(),
        ]
    )
    with tvm.transform.PassContext(opt_level=3):
        return seq(mod)


def network(groups=1):
    x = relay.var("x", shape=(1, 4, 8, 8))
    conv = relay.nn.conv2d(x, relay.var("w", shape=(4, 4 // groups, 3, 3)), padding=(1, 1), kernel_size=(3, 3), channels=4, groups=groups)
    out = relay.nn.relu(relay.nn.bias_add(conv, relay.var("b", shape=(4,))))
    out = relay.nn.batch_flatten(relay.sin(out))
    out = relay.nn.dense(out, relay.var("wd", shape=(2, 256)))
    out = relay.multiply(out, relay.const(2.0))
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(out), out))


rng = np.random.RandomState(0)
params = {"w": rng.rand(4, 4, 3, 3), "b": rng.rand(4), "wd": rng.rand(2, 256)}
params = {k: tvm.nd.array(v.astype("float32")) for k, v in params.items()}
mod = partition_for_accel(network(), params)
regions = [gv.name_hint for gv in mod.get_global_vars() if gv.name_hint != "main"]
assert len(regions) == 2, regions
composites = []
for gv in mod.get_global_vars():
    func = mod[gv.name_hint]
    if gv.name_hint == "main":
        continue
    assert func.attrs["Compiler"] == COMPILER and func.attrs["global_symbol"] == gv.name_hint and int(func.attrs["Primitive"]) == 1
    relay.analysis.post_order_visit(func.body, lambda n: composites.append(str(n.attrs["Composite"])) if isinstance(n, relay.Function) and n.attrs and "Composite" in n.attrs else None)
assert composites == ["accel.conv2d_bias_relu"], composites

# What the pattern's check refuses stays outside.
params["w"] = tvm.nd.array(rng.rand(4, 2, 3, 3).astype("float32"))
grouped = partition_for_accel(network(groups=2), params)
assert sum("accel" in gv.name_hint for gv in grouped.get_global_vars()) == 1

# The regions computed as they stand give what the network gives.
params["w"] = tvm.nd.array(rng.rand(4, 4, 3, 3).astype("float32"))
data = rng.rand(1, 4, 8, 8).astype("float32")
plain = network()
plain["main"] = bind_params_by_name(plain["main"], params)
want = relay.create_executor("vm", mod=plain, device=tvm.cpu(), target="llvm").evaluate()(data).numpy()
again = partition_for_accel(network(), params)
back = transform.InlineCompilerFunctionsBoundTo([gv for gv in again.get_global_vars() if gv.name_hint != "main"])(again)
got = relay.create_executor("vm", mod=back, device=tvm.cpu(), target="llvm").evaluate()(data).numpy()
np.testing.assert_allclose(got, want, rtol=1e-4)
