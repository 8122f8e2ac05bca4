"""What scripts that bring their own schedules say: strategies, computes and legalisations by target, most of which change nothing here."""
import numpy as np

import tvm
from tvm import relay, te, topi
from tvm.relay.op import op as reg
from tvm.relay.op import strategy as _strategy
from tvm.relay.op.op import OpPattern, OpStrategy, register_alter_op_layout, register_legalize
from tvm.relay.testing import run_infer_type
from tvm.target import generic_func, override_native_generic_func


@override_native_generic_func("my_dense_strategy")
def my_dense_strategy(attrs, inputs, out_type, target):
    strategy = OpStrategy()
    strategy.add_implementation(
        _strategy.wrap_compute_dense(topi.nn.dense), _strategy.wrap_topi_schedule(topi.generic.schedule_dense), name="my_dense.generic", plevel=20
    )
    return strategy


@my_dense_strategy.register(["cpu", "llvm"])
def my_dense_cpu(attrs, inputs, out_type, target):
    return my_dense_strategy(attrs, inputs, out_type, target)


reg.register_strategy("nn.dense", my_dense_strategy, level=15)
reg.register_pattern("nn.dense", OpPattern.OUT_ELEMWISE_FUSABLE, level=15)


@generic_func
def describe(data):
    return "generic " + data


@describe.register("llvm")
def describe_llvm(data):
    return "llvm " + data


with tvm.target.Target("llvm"):
    assert describe("data") == "llvm data"

x = relay.var("x", shape=(4, 8))
w = relay.var("w", shape=(16, 8))
mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
lib = relay.build(mod, target="llvm")
m = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
a, b = np.random.rand(4, 8).astype("float32"), np.random.rand(16, 8).astype("float32")
m.run(x=a, w=b)
np.testing.assert_allclose(m.get_output(0).numpy(), np.maximum(a @ b.T, 0), rtol=1e-5)


@register_legalize("nn.dense", level=101)
def legalize_dense(attrs, inputs, types):
    data, weight = inputs
    return relay.nn.matmul(data, weight, transpose_b=True)


legal = relay.transform.Legalize()(relay.transform.InferType()(mod))
assert "nn.matmul" in legal.astext() and "nn.dense" not in legal.astext()
