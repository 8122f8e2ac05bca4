"""test_pass_fake_quantization_to_integer.py's helper, on operators of many kinds."""
import numpy as np
import pytest
import tvm
from tvm import relay


def compare_fq_to_int(expr, args, allow_rounding_error=False):
    mod = tvm.IRModule.from_expr(expr)
    mod = tvm.relay.transform.InferType()(mod)
    mod_int = tvm.relay.transform.FakeQuantizationToInteger()(mod)
    assert not tvm.ir.structural_equal(mod, mod_int)
    result = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*args).numpy()
    result_int = relay.create_executor("vm", mod=mod_int, device=tvm.cpu(), target="llvm").evaluate()(*args).numpy()
    if allow_rounding_error:
        assert np.all(np.abs(result.astype("int32") - result_int.astype("int32")) <= 1)
    else:
        assert np.array_equal(result, result_int)


def dequantized(name, shape, scale=2.0, zero=0, dtype="int8"):
    var = relay.var(name, shape=shape, dtype=dtype)
    return var, relay.qnn.op.dequantize(var, relay.const(scale), relay.const(zero))


@pytest.mark.parametrize("out_dtype", ["int8", "uint8"])
def test_fake_quantize_conv(out_dtype):
    x, dx = dequantized("x", [1, 3, 24, 24])
    w, dw = dequantized("w", [16, 3, 5, 5], 0.5)
    op = relay.op.nn.conv2d(dx, dw, kernel_size=[5, 5])
    op = relay.qnn.op.quantize(op, relay.const(1.0), relay.const(0), out_dtype=out_dtype)
    args = [np.random.randint(-128, 127, size=[1, 3, 24, 24], dtype="int8"), np.random.randint(-128, 127, size=[16, 3, 5, 5], dtype="int8")]
    compare_fq_to_int(op, args, allow_rounding_error=True)


def test_fake_quantize_dense():
    x, dx = dequantized("x", [16, 64])
    w, dw = dequantized("w", [32, 64], 0.5)
    op = relay.qnn.op.quantize(relay.op.nn.dense(dx, dw), relay.const(1.0), relay.const(0), out_dtype="int8")
    compare_fq_to_int(op, [np.random.randint(-128, 127, size=s, dtype="int8") for s in ([16, 64], [32, 64])], True)


@pytest.mark.parametrize("make,shape", [
    (lambda d: relay.op.transpose(d, [1, 0, 2, 3]), [1, 3, 4, 4]),
    (lambda d: relay.op.reshape(d, [3, -1]), [1, 3, 4, 4]),
    (lambda d: relay.op.nn.max_pool2d(d, [3, 3]), [1, 3, 6, 6]),
    (lambda d: relay.op.nn.avg_pool2d(d, [3, 3]), [1, 3, 6, 6]),
    (lambda d: relay.op.clip(d, 0, 4), [1, 3, 4, 4]),
    (lambda d: relay.op.nn.batch_flatten(d), [1, 3, 4, 4]),
    (lambda d: relay.op.strided_slice(d, begin=[0, 0, 0, 0], end=[1, 2, 3, 4]), [1, 3, 4, 4]),
    (lambda d: relay.op.mean(d, axis=[2, 3]), [1, 3, 6, 6]),
])  # fmt: skip
def test_fake_one_input(make, shape):
    x, dx = dequantized("x", shape)
    op = relay.qnn.op.quantize(make(dx), relay.const(2.0), relay.const(0))
    compare_fq_to_int(op, [np.random.randint(-128, 127, size=shape, dtype="int8")], True)


@pytest.mark.parametrize("operator", [relay.op.add, relay.op.subtract, relay.op.multiply, relay.op.minimum, relay.op.maximum])
def test_fake_binary(operator):
    x, dx = dequantized("x", [1, 3, 8, 8], 0.1)
    y, dy = dequantized("y", [1, 3, 8, 8], 0.2)
    op = relay.qnn.op.quantize(operator(dx, dy), relay.const(0.1), relay.const(0), out_dtype="int8")
    compare_fq_to_int(op, [np.random.randint(-25, 25, size=[1, 3, 8, 8], dtype="int8") for _ in range(2)], True)


def test_concatenate():
    parts = [dequantized(f"x{i}", [1, 4], 0.5 * (i + 1)) for i in range(3)]
    op = relay.qnn.op.quantize(relay.op.concatenate([d for _, d in parts], axis=1), relay.const(3.5), relay.const(0))
    compare_fq_to_int(op, [np.random.randint(-128, 127, size=[1, 4], dtype="int8") for _ in parts], True)


def test_fake_quantize_depth_first_options():
    x, dx = dequantized("x", [1, 4])
    op = relay.op.exp(dx)
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], op)))
    assert tvm.ir.structural_equal(relay.transform.FakeQuantizationToInteger(hard_fail=False, use_qat=False)(mod), mod)
