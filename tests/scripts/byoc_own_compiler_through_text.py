"""An external compiler registered in Python; its table; regions merged; pruned; run in the graph executor and the machine."""
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.dataflow_pattern import is_constant, is_op, wildcard
from tvm.relay.op.contrib.register import get_pattern_table, register_pattern_table


def dense_pattern(with_bias=True):
    p = is_op("nn.dense")(wildcard(), is_constant())
    if with_bias:
        p = is_op("add")(p, is_constant()) | is_op("nn.bias_add")(p, is_constant())
    return p


def at_least_two_rows(call):
    args = call.args
    while not isinstance(args[0], (relay.Var, relay.Constant)):
        args = args[0].args
    return int(args[0].checked_type.shape[0]) >= 2


@register_pattern_table("h4lib")
def table():
    return [("h4lib.dense_bias", dense_pattern(), at_least_two_rows), ("h4lib.dense", dense_pattern(False), at_least_two_rows)]


def _register_external_op_helper(op_name, supported=True):
    @tvm.ir.register_op_attr(op_name, "target.h4lib")
    def _func_wrapper(expr):
        return supported

    return _func_wrapper


_register_external_op_helper("nn.relu")
_register_external_op_helper("exp", False)


def partition_for_h4lib(mod, params=None, **opts):
    if params:
        mod["main"] = bind_params_by_name(mod["main"], params)
    seq = tvm.transform.Sequential(
        [
            relay.transform.InferType(),
            relay.transform.SimplifyInference(),
            relay.transform.FoldConstant(),
            relay.transform.MergeComposite(get_pattern_table("h4lib")),
            relay.transform.AnnotateTarget("h4lib", include_non_call_ops=False),
            relay.transform.MergeCompilerRegions(),
            relay.transform.PartitionGraph(mod_name="net"),
        ]
    )
    with tvm.transform.PassContext(opt_level=3):
        return seq(mod)


x = relay.var("x", shape=(4, 8))
w, b = relay.var("w", shape=(8, 8)), relay.var("b", shape=(8,))
y = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), b))
y = relay.exp(relay.nn.dense(y, w) * relay.const(0.1))
mod = tvm.IRModule.from_expr(relay.Function([x, w, b], y))
params = {"w": np.random.randn(8, 8).astype("float32") * 0.3, "b": np.random.randn(8).astype("float32")}
parted = partition_for_h4lib(mod, params)
external = [gv.name_hint for gv in parted.get_global_vars() if parted[gv].attrs and "Compiler" in parted[gv].attrs]
assert external and all("h4lib" in name for name in external), external
assert all(name.startswith("tvmgen_net_h4lib_main_") for name in external), external
func = parted[external[0]]
assert func.attrs["global_symbol"] == external[0] and int(func.attrs["Primitive"]) == 1
assert func.attrs.Compiler == "h4lib"
inlined = relay.transform.InlineCompilerFunctionsBoundTo([parted.get_global_var(n) for n in external])(parted)
assert len(inlined.get_global_vars()) == 1
data = np.random.randn(4, 8).astype("float32")
want = relay.create_executor("graph", mod=tvm.IRModule.from_expr(bind_params_by_name(relay.Function([x, w, b], y), params))).evaluate()(data).numpy()
got = relay.create_executor("debug", mod=inlined).evaluate()(data).numpy()
np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
