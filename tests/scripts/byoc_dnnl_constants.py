"""A convolution with constant weights for oneDNN, built and run."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.op.contrib import dnnl
from tvm.relay.op.contrib.dnnl import partition_for_dnnl, pattern_table
from tvm.contrib import graph_executor

x = relay.var("x", shape=(1, 8, 14, 14))
w = relay.const(np.random.rand(16, 8, 3, 3).astype("float32"))
b = relay.const(np.random.rand(16).astype("float32"))
y = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=16, padding=(1, 1))
y = relay.nn.relu(relay.nn.bias_add(y, b))
mod = tvm.IRModule.from_expr(relay.Function([x], y))
assert any("conv2d" in entry[0] for entry in pattern_table())
part = partition_for_dnnl(mod)
print(part)
data = np.random.rand(1, 8, 14, 14).astype("float32")
ref = relay.create_executor("graph", mod=mod).evaluate()(data).numpy()
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(part, "llvm")
m = graph_executor.GraphModule(lib["default"](tvm.cpu()))
m.run(x=data)
np.testing.assert_allclose(m.get_output(0).numpy(), ref, rtol=1e-4, atol=1e-4)
