"""A quantised convolution network written with relay.qnn.op, against the same in float."""
import numpy as np

import tvm
import tvm.testing
from tvm import relay
from tvm.relay import qnn

rng = np.random.RandomState(3)
data = rng.uniform(-1, 1, (1, 3, 10, 10)).astype("float32")
weight = rng.uniform(-0.5, 0.5, (8, 3, 3, 3)).astype("float32")
in_scale, in_zero = 2.0 / 255, 128
w_scale = float(np.abs(weight).max()) / 127
out_scale, out_zero = 0.05, 128


def quantised():
    x = relay.var("x", shape=data.shape, dtype="float32")
    q = qnn.op.quantize(x, relay.const(in_scale), relay.const(in_zero), out_dtype="uint8")
    w = relay.const(np.clip(np.round(weight / w_scale), -127, 127).astype("int8"))
    conv = qnn.op.conv2d(
        q, w,
        input_zero_point=relay.const(in_zero, "int32"), kernel_zero_point=relay.const(0, "int32"),
        input_scale=relay.const(in_scale, "float32"), kernel_scale=relay.const(w_scale, "float32"),
        kernel_size=(3, 3), channels=8, padding=(1, 1), out_dtype="int32",
    )  # fmt: skip
    r = qnn.op.requantize(
        conv,
        input_scale=relay.const(in_scale * w_scale, "float32"), input_zero_point=relay.const(0, "int32"),
        output_scale=relay.const(out_scale, "float32"), output_zero_point=relay.const(out_zero, "int32"),
        axis=1, rounding="UPWARD", out_dtype="uint8",
    )  # fmt: skip
    relu = relay.maximum(r, relay.const(out_zero, "uint8"))
    return relay.Function([x], qnn.op.dequantize(relu, relay.const(out_scale), relay.const(out_zero)))


def plain():
    x = relay.var("x", shape=data.shape)
    return relay.Function([x], relay.nn.relu(relay.nn.conv2d(x, relay.const(weight), padding=(1, 1))))


mod = tvm.IRModule.from_expr(quantised())
mod = relay.transform.InferType()(mod)
assert mod["main"].ret_type.dtype == "float32"
assert sorted(op for op in relay.testing.count_ops(mod["main"]) if op.startswith("qnn.")) == ["qnn.conv2d", "qnn.dequantize", "qnn.quantize", "qnn.requantize"]

with tvm.transform.PassContext(opt_level=3):
    out = relay.create_executor("graph", mod=mod, device=tvm.cpu(0), target="llvm").evaluate()(data).numpy()
reference = relay.create_executor("graph", mod=tvm.IRModule.from_expr(plain()), device=tvm.cpu(0), target="llvm").evaluate()(data).numpy()
assert np.abs(out - np.minimum(reference, (255 - out_zero) * out_scale)).max() <= 2 * out_scale
tvm.testing.assert_allclose(out, relay.create_executor("debug", mod=mod).evaluate()(data).numpy(), atol=out_scale + 1e-6)
