"""A network on bytes, built, canonicalised and compared with the interpreter."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.testing import run_infer_type

np.random.seed(1)
data = relay.var("data", shape=(1, 3, 16, 16), dtype="float32")
q = relay.qnn.op.quantize(data, relay.const(1 / 127.0), relay.const(0), out_dtype="uint8")


def qconv(x, cin, cout, scale_in, groups=1):
    w = relay.const(np.random.randint(-20, 20, (cout, cin // groups, 3, 3)).astype("int8"))
    c = relay.qnn.op.conv2d(x, w, relay.const(0), relay.const(0), relay.const(scale_in), relay.const(0.02), kernel_size=(3, 3), channels=cout, padding=(1, 1), groups=groups, out_dtype="int32")
    c = relay.nn.bias_add(c, relay.const(np.random.randint(-50, 50, cout).astype("int32")))
    c = relay.qnn.op.requantize(c, relay.const(scale_in * 0.02), relay.const(0), relay.const(0.05), relay.const(0), out_dtype="uint8")
    return relay.clip(c, 0, 120)


y = qconv(q, 3, 8, 1 / 127.0)
z = qconv(y, 8, 8, 0.05, groups=8)
s = relay.qnn.op.add(y, z, relay.const(0.05), relay.const(0), relay.const(0.05), relay.const(0), relay.const(0.1), relay.const(0))
p = relay.cast(relay.nn.avg_pool2d(relay.cast(s, "int32"), (16, 16)), "uint8")
flat = relay.nn.batch_flatten(p)
d = relay.qnn.op.dense(flat, relay.const(np.random.randint(-9, 9, (5, 8)).astype("int8")), relay.const(0), relay.const(0), relay.const(0.1), relay.const(0.03), units=5)
out = relay.qnn.op.dequantize(d, relay.const(0.003), relay.const(0))
func = run_infer_type(relay.Function([data], out))
mod = tvm.IRModule.from_expr(func)
x = np.random.rand(1, 3, 16, 16).astype("float32")
ref = relay.create_executor("debug", mod=mod).evaluate()(x).numpy()
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, "llvm")
m = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
m.run(data=x)
np.testing.assert_array_equal(m.get_output(0).numpy(), ref)
seq = tvm.transform.Sequential([relay.qnn.transform.Legalize(), relay.qnn.transform.CanonicalizeOps(), relay.transform.FoldConstant()])
with tvm.target.Target("llvm"):
    low = seq(mod)
assert "qnn." not in low.astext(show_meta_data=False)
np.testing.assert_array_equal(relay.create_executor("graph", mod=low).evaluate()(x).numpy(), ref)
