"""A quantised convolution and a dense layer, as front ends of quantised models write them, against the same in floats."""

import numpy as np

import tvm
from tvm import relay

np.random.seed(0)
x = np.random.uniform(-1, 1, (1, 3, 8, 8)).astype("float32")
w = np.random.uniform(-1, 1, (4, 3, 3, 3)).astype("float32")
b = np.random.uniform(-1, 1, (4,)).astype("float32")

in_scale, in_zero = 2 / 255, 128
w_scale = 2 / 254
out_scale, out_zero = 0.1, 100


def quantised():
    data = relay.var("data", shape=x.shape)
    q_data = relay.qnn.op.quantize(data, relay.const(in_scale), relay.const(in_zero), out_dtype="uint8")
    q_weight = relay.const(np.round(w / w_scale).astype("int8"))
    conv = relay.qnn.op.conv2d(
        q_data, q_weight,
        input_zero_point=relay.const(in_zero, "int32"), kernel_zero_point=relay.const(0, "int32"),
        input_scale=relay.const(in_scale), kernel_scale=relay.const(w_scale),
        kernel_size=(3, 3), channels=4, padding=(1, 1), out_dtype="int32",
    )  # fmt: skip
    bias = relay.const(np.round(b / (in_scale * w_scale)).astype("int32"))
    conv = relay.nn.bias_add(conv, bias)
    conv = relay.qnn.op.requantize(
        conv, input_scale=relay.const(in_scale * w_scale), input_zero_point=relay.const(0, "int32"),
        output_scale=relay.const(out_scale), output_zero_point=relay.const(out_zero, "int32"), out_dtype="uint8",
    )  # fmt: skip
    out = relay.qnn.op.dequantize(conv, relay.const(out_scale), relay.const(out_zero, "int32"))
    return relay.Function([data], relay.nn.relu(out))


def floats():
    data = relay.var("data", shape=x.shape)
    conv = relay.nn.conv2d(data, relay.const(w), kernel_size=(3, 3), channels=4, padding=(1, 1))
    return relay.Function([data], relay.nn.relu(relay.nn.bias_add(conv, relay.const(b))))


mod = relay.transform.InferType()(tvm.IRModule.from_expr(quantised()))
assert mod["main"].checked_type.ret_type == relay.TensorType((1, 4, 8, 8), "float32")
assert relay.analysis.list_op_freqs(mod)["qnn.conv2d"] == 1

results = {}
for name, func in (("int8", quantised()), ("float", floats())):
    for kind in ("debug", "graph"):
        results[name, kind] = relay.create_executor(kind, target="llvm").evaluate(func)(x).numpy()

np.testing.assert_allclose(results["int8", "debug"], results["int8", "graph"])
error = np.abs(results["int8", "graph"] - results["float", "graph"]).max()
print("largest error of the quantised network:", error)
assert error < 2 * out_scale
