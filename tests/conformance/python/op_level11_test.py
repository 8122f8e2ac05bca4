"""Operators of level 11: quantised ones, einsum."""

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay
from tvm.relay.testing import run_infer_type

random = np.random.RandomState(11)


def const(value, dtype="float32"):
    return relay.const(value, dtype)


def both(func, *inputs, target, dev):
    results = [relay.create_executor(kind, device=dev, target=target).evaluate(func)(*inputs).numpy() for kind in ("debug", "graph")]
    tvm.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    return results[1]


def quantize(x, scale, zero, dtype="uint8"):
    info = np.iinfo(dtype)
    return np.clip(np.round(x / scale) + zero, info.min, info.max).astype(dtype)


def dequantize(x, scale, zero):
    return ((x.astype("int32") - zero) * scale).astype("float32")


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_quantize_and_back(dtype, target, dev):
    x = relay.var("x", shape=(2, 5))
    scale, zero = 0.5, (127 if dtype == "uint8" else 0)
    q = relay.qnn.op.quantize(x, const(scale), const(zero, "int32"), out_dtype=dtype)
    assert run_infer_type(q).checked_type == relay.TensorType((2, 5), dtype)
    data = np.array([-63.5, -63, -62.5, -62, -61.5, 62, 62.5, 63, 63.5, 64], "float32").reshape(2, 5)
    wanted = quantize(data, scale, zero, dtype)
    tvm.testing.assert_allclose(both(relay.Function([x], q), data, target=target, dev=dev), wanted)
    back = relay.qnn.op.dequantize(q, const(scale), const(zero, "int32"))
    tvm.testing.assert_allclose(both(relay.Function([x], back), data, target=target, dev=dev), dequantize(wanted, scale, zero))


def test_quantize_per_channel(target, dev):
    x = relay.var("x", shape=(2, 4))
    data = random.uniform(-10, 10, (2, 4)).astype("float32")
    scales, zeros = np.array([0.5, 0.25], "float32"), np.array([127, 120], "int32")
    q = relay.qnn.op.quantize(x, relay.const(scales), relay.const(zeros), axis=0, out_dtype="uint8")
    wanted = np.stack([quantize(row, s, z) for row, s, z in zip(data, scales, zeros)])
    tvm.testing.assert_allclose(both(relay.Function([x], q), data, target=target, dev=dev), wanted, atol=1)


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_requantize(rounding, target, dev):
    x = relay.var("x", shape=(9,), dtype="int32")
    y = relay.qnn.op.requantize(x, const(0.5), const(0, "int32"), const(1.0), const(0, "int32"), rounding=rounding, out_dtype="int8")
    data = np.array([-9, -8, -3, -1, 0, 1, 3, 300, -300], "int32")
    exact = data * 0.5
    rounded = np.floor(exact + 0.5) if rounding == "UPWARD" else np.sign(exact) * np.floor(np.abs(exact) + 0.5)
    tvm.testing.assert_allclose(both(relay.Function([x], y), data, target=target, dev=dev), np.clip(rounded, -128, 127))


BINARY = {"add": np.add, "subtract": np.subtract, "mul": np.multiply}


@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary(name, target, dev):
    x, y = relay.var("x", shape=(4, 4), dtype="uint8"), relay.var("y", shape=(4, 4), dtype="uint8")
    a, b = (random.randint(0, 255, (4, 4)).astype("uint8") for _ in range(2))
    scales, zeros = [0.05, 0.1, 0.3], [10, 20, 60]
    z = getattr(relay.qnn.op, name)(x, y, const(scales[0]), const(zeros[0], "int32"), const(scales[1]), const(zeros[1], "int32"),
                                    const(scales[2]), const(zeros[2], "int32"))  # fmt: skip
    assert run_infer_type(z).checked_type == relay.TensorType((4, 4), "uint8")
    wanted = quantize(BINARY[name](dequantize(a, scales[0], zeros[0]), dequantize(b, scales[1], zeros[1])), scales[2], zeros[2])
    tvm.testing.assert_allclose(both(relay.Function([x, y], z), a, b, target=target, dev=dev).astype(int), wanted.astype(int), atol=1)


def test_dense(target, dev):
    x, w = relay.var("x", shape=(2, 8), dtype="uint8"), relay.var("w", shape=(3, 8), dtype="int8")
    y = relay.qnn.op.dense(x, w, const(3, "int32"), const(-2, "int32"), const(0.1), const(0.2), units=3)
    assert run_infer_type(y).checked_type == relay.TensorType((2, 3), "int32")
    a, k = random.randint(0, 255, (2, 8)).astype("uint8"), random.randint(-128, 127, (3, 8)).astype("int8")
    tvm.testing.assert_allclose(both(relay.Function([x, w], y), a, k, target=target, dev=dev), (a.astype("int32") - 3) @ (k.astype("int32") + 2).T)


@pytest.mark.parametrize("padding", [(0, 0), (1, 1)])
@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d(padding, groups, target, dev):
    from tvm.topi.testing import conv2d_nchw_python

    x, w = relay.var("x", shape=(1, 2, 5, 5), dtype="uint8"), relay.var("w", shape=(4, 2 // groups, 3, 3), dtype="uint8")
    zero_x, zero_w = 5, 3
    y = relay.qnn.op.conv2d(x, w, const(zero_x, "int32"), const(zero_w, "int32"), const(1.0), const(1.0), kernel_size=(3, 3), channels=4,
                            padding=padding, groups=groups)  # fmt: skip
    a, k = random.randint(0, 255, (1, 2, 5, 5)).astype("uint8"), random.randint(0, 255, (4, 2 // groups, 3, 3)).astype("uint8")
    wanted = conv2d_nchw_python(a.astype("float64") - zero_x, k.astype("float64") - zero_w, 1, padding, groups)
    tvm.testing.assert_allclose(both(relay.Function([x, w], y), a, k, target=target, dev=dev), wanted)


def test_concatenate(target, dev):
    x, y = relay.var("x", shape=(1, 4), dtype="int32"), relay.var("y", shape=(1, 4), dtype="int32")
    z = relay.qnn.op.concatenate((x, y), (const(0.5), const(1.0)), (const(0, "int32"), const(0, "int32")), const(0.5), const(0, "int32"), axis=0)
    a, b = np.arange(4, dtype="int32")[None], np.arange(4, 8, dtype="int32")[None]
    tvm.testing.assert_allclose(both(relay.Function([x, y], z), a, b, target=target, dev=dev), np.concatenate([a, 2 * b]))


@pytest.mark.parametrize("name, ref", [
    ("tanh", np.tanh), ("exp", np.exp), ("sqrt", np.sqrt), ("rsqrt", lambda v: 1 / np.sqrt(v)), ("sigmoid", lambda v: 1 / (1 + np.exp(-v))),
])  # fmt: skip
def test_unary(name, ref, target, dev):
    x = relay.var("x", shape=(6,), dtype="uint8")
    data = np.array([4, 20, 60, 100, 200, 255], "uint8")
    y = getattr(relay.qnn.op, name)(x, const(0.01), const(0, "int32"), const(0.05), const(0, "int32"))
    assert run_infer_type(y).checked_type == relay.TensorType((6,), "uint8")
    result = both(relay.Function([x], y), data, target=target, dev=dev)
    tvm.testing.assert_allclose(result.astype(int), quantize(ref(dequantize(data, 0.01, 0)), 0.05, 0).astype(int), atol=1)


def test_batch_matmul(target, dev):
    x, y = relay.var("x", shape=(2, 3, 4), dtype="int8"), relay.var("y", shape=(2, 5, 4), dtype="int8")
    z = relay.qnn.op.batch_matmul(x, y, const(1, "int32"), const(-1, "int32"), const(1.0), const(1.0))
    a, b = random.randint(-128, 127, (2, 3, 4)).astype("int8"), random.randint(-128, 127, (2, 5, 4)).astype("int8")
    wanted = np.matmul(a.astype("int32") - 1, (b.astype("int32") + 1).transpose(0, 2, 1))
    tvm.testing.assert_allclose(both(relay.Function([x, y], z), a, b, target=target, dev=dev), wanted)


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij->ji", [(2, 3)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("ii->", [(3, 3)]), ("i,j->ij", [(2,), (3,)]),
])  # fmt: skip
def test_einsum(equation, shapes, target, dev):
    args = [relay.var(f"x{i}", shape=shape) for i, shape in enumerate(shapes)]
    data = [random.rand(*shape).astype("float32") for shape in shapes]
    y = relay.einsum(args, equation)
    wanted = np.einsum(equation, *data)
    assert run_infer_type(y).checked_type == relay.TensorType(wanted.shape, "float32")
    tvm.testing.assert_allclose(both(relay.Function(args, y), *data, target=target, dev=dev), wanted, rtol=1e-5)


def test_scale_must_be_float():
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(relay.qnn.op.quantize(relay.var("x", shape=(2,)), const(1, "int32"), const(0, "int32")))
