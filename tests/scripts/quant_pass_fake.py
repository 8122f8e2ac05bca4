"""FakeQuantizationToInteger: quantise and dequantise around float operators become integer operators."""
import numpy as np
import pytest

import tvm
from tvm import relay


def compare_fq_to_int(expr, args, allow_rounding_error=True):
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(expr))
    mod_int = relay.transform.FakeQuantizationToInteger()(mod)
    assert not tvm.ir.structural_equal(mod, mod_int)
    results = [relay.create_executor("vm", mod=m, device=tvm.cpu(), target="llvm").evaluate()(*args).numpy() for m in (mod, mod_int)]
    if allow_rounding_error:
        assert np.all(np.abs(results[0].astype("int32") - results[1].astype("int32")) <= 1)
    else:
        assert np.array_equal(*results)
    return mod_int


def test_conv2d():
    x, w = relay.var("x", shape=[1, 3, 16, 16], dtype="int8"), relay.var("w", shape=[8, 3, 3, 3], dtype="int8")
    zero, one = relay.const(0), relay.const(1.0)
    op = relay.op.nn.conv2d(relay.qnn.op.dequantize(x, relay.const(2.0), zero), relay.qnn.op.dequantize(w, relay.const(0.5), zero), kernel_size=[3, 3])
    op = relay.qnn.op.quantize(op, one, zero, out_dtype="int8")
    out = compare_fq_to_int(op, [np.random.randint(-20, 20, (1, 3, 16, 16)).astype("int8"), np.random.randint(-20, 20, (8, 3, 3, 3)).astype("int8")])
    assert "qnn.conv2d" in relay.testing.count_ops(out["main"])


def test_relu_and_pool():
    x = relay.var("x", shape=[1, 3, 8, 8], dtype="int8")
    zero = relay.const(0)
    y = relay.op.nn.max_pool2d(relay.op.nn.relu(relay.qnn.op.dequantize(x, relay.const(2.0), zero)), [2, 2], [2, 2])
    y = relay.qnn.op.quantize(y, relay.const(2.0), zero, out_dtype="int8")
    compare_fq_to_int(y, [np.random.randint(-128, 127, (1, 3, 8, 8)).astype("int8")])


def test_add():
    x, y = relay.var("x", shape=[4, 4], dtype="int8"), relay.var("y", shape=[4, 4], dtype="int8")
    zero = relay.const(0)
    z = relay.qnn.op.dequantize(x, relay.const(0.1), zero) + relay.qnn.op.dequantize(y, relay.const(0.2), zero)
    compare_fq_to_int(relay.qnn.op.quantize(z, relay.const(0.3), zero, out_dtype="int8"), [np.random.randint(-99, 99, (4, 4)).astype("int8") for _ in "ab"])


if __name__ == "__main__":
    pytest.main([__file__])
