"""Fake quantisation made integers; a user's own rule for an operator."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.transform import fake_quantization_to_integer


def compare(expr, inputs):
    mod = tvm.IRModule.from_expr(expr)
    mod = relay.transform.InferType()(mod)
    mod_int = relay.transform.FakeQuantizationToInteger(hard_fail=False, use_qat=False)(mod)
    assert not tvm.ir.structural_equal(mod, mod_int)
    a = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*inputs).numpy()
    b = relay.create_executor("vm", mod=mod_int, device=tvm.cpu(), target="llvm").evaluate()(*inputs).numpy()
    assert np.all(np.abs(a.astype("int32") - b.astype("int32")) <= 1)
    return mod_int


x = relay.var("x", shape=[1, 3, 16, 16], dtype="int8")
w = relay.var("w", shape=[4, 3, 3, 3], dtype="int8")
zero = relay.const(0)
conv = relay.op.nn.conv2d(
    relay.qnn.op.dequantize(x, relay.const(2.0), zero), relay.qnn.op.dequantize(w, relay.const(0.5), zero), kernel_size=[3, 3], channels=4
)
y = relay.qnn.op.quantize(relay.op.nn.relu(conv), relay.const(20.0), zero, out_dtype="int8")
xs = np.random.randint(-128, 127, size=[1, 3, 16, 16], dtype="int8")
ws = np.random.randint(-128, 127, size=[4, 3, 3, 3], dtype="int8")
out = compare(relay.Function([x, w], y), [xs, ws])
assert "qnn.conv2d" in str(out) and "dequantize" not in str(out)

for op in (relay.op.reshape, relay.op.transpose):
    x = relay.var("x", shape=[1, 3, 4, 4], dtype="int8")
    d = relay.qnn.op.dequantize(x, relay.const(2.0), zero)
    moved = op(d, [1, 3, 16]) if op is relay.op.reshape else op(d, [1, 0, 2, 3])
    q = relay.qnn.op.quantize(moved, relay.const(2.0), zero)
    compare(relay.Function([x], q), [np.random.randint(-128, 127, size=[1, 3, 4, 4], dtype="int8")])

freq = relay.analysis.list_fake_quantized_op_freqs(tvm.IRModule.from_expr(relay.Function([x], q)))
assert dict(freq) == {"transpose": 1}, freq


@fake_quantization_to_integer.register_fake_quantization_to_integer("tan")
def tan_rule(expr, type_map):
    arg = expr.args[0]
    t = type_map[arg]
    return [relay.Call(expr.op, [arg]), t]


assert callable(tan_rule)
