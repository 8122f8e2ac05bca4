"""qnn operators, each against the same in float."""
import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay
from tvm.relay import transform


def const(value, dtype="float32"):
    return relay.const(value, dtype)


def run(func, *args):
    with tvm.transform.PassContext(opt_level=3):
        return relay.create_executor("graph", device=tvm.cpu(0), target="llvm").evaluate(func)(*args).numpy()


def test_quantize_dequantize():
    data = np.array([-63.5, -63, -62.5, 0, 62, 64]).astype("float32")
    x = relay.var("x", shape=data.shape)
    q = relay.qnn.op.quantize(x, output_scale=const(0.5), output_zero_point=const(127, "int32"), out_dtype="uint8")
    assert run(relay.Function([x], q), data).tolist() == [0, 1, 2, 127, 251, 255]
    back = relay.qnn.op.dequantize(q, input_scale=const(0.5), input_zero_point=const(127, "int32"))
    np.testing.assert_allclose(run(relay.Function([x], back), data), data)
    per_axis = relay.qnn.op.quantize(relay.reshape(x, (2, 3)), const(np.array([0.5, 1.0], "float32")), const(np.array([0, 0], "int32"), "int32"), axis=0, out_dtype="int8")
    assert run(relay.Function([x], per_axis), data).tolist() == [[-127, -126, -125], [0, 62, 64]]


@pytest.mark.parametrize("op, ref", [(relay.qnn.op.add, np.add), (relay.qnn.op.subtract, np.subtract), (relay.qnn.op.mul, np.multiply)])
def test_binary(op, ref):
    a, b = np.random.randint(0, 255, (2, 6)).astype("uint8"), np.random.randint(0, 255, (2, 6)).astype("uint8")
    x, y = relay.var("x", shape=a.shape, dtype="uint8"), relay.var("y", shape=b.shape, dtype="uint8")
    scales = {"lhs_scale": const(0.01), "lhs_zero_point": const(128, "int32"), "rhs_scale": const(0.02), "rhs_zero_point": const(120, "int32")}
    z = op(x, y, output_scale=const(0.05), output_zero_point=const(128, "int32"), **scales)
    real = ref((a.astype("float64") - 128) * 0.01, (b.astype("float64") - 120) * 0.02)
    wanted = np.clip(np.round(real / 0.05) + 128, 0, 255)
    assert np.abs(run(relay.Function([x, y], z), a, b).astype(int) - wanted).max() <= 1


def test_dense_and_requantize():
    a, w = np.random.randint(-50, 50, (3, 8)).astype("int8"), np.random.randint(-50, 50, (4, 8)).astype("int8")
    x, k = relay.var("x", shape=a.shape, dtype="int8"), relay.var("k", shape=w.shape, dtype="int8")
    dense = relay.qnn.op.dense(x, k, const(3, "int32"), const(0, "int32"), const(0.1), const(0.2), units=4, out_dtype="int32")
    exact = (a.astype(int) - 3) @ w.astype(int).T
    np.testing.assert_array_equal(run(relay.Function([x, k], dense), a, w), exact)
    for rounding in ("UPWARD", "TONEAREST"):
        small = relay.qnn.op.requantize(dense, const(0.02), const(0, "int32"), const(1.0), const(0, "int32"), rounding=rounding, out_dtype="int8")
        assert np.abs(run(relay.Function([x, k], small), a, w) - np.clip(exact * 0.02, -128, 127)).max() <= 1


def test_concatenate_and_unary():
    a = np.random.randint(0, 255, (2, 3)).astype("uint8")
    x = relay.var("x", shape=a.shape, dtype="uint8")
    cat = relay.qnn.op.concatenate([x, x], [const(0.1), const(0.2)], [const(0, "int32")] * 2, const(0.2), const(0, "int32"), axis=1)
    assert run(relay.Function([x], cat), a).shape == (2, 6)
    s = relay.qnn.op.sigmoid(x, const(0.05), const(128, "int32"), const(1 / 256), const(0, "int32"))
    real = 1 / (1 + np.exp(-(a.astype("float64") - 128) * 0.05))
    assert np.abs(run(relay.Function([x], s), a) / 256.0 - real).max() < 0.01


def test_canonicalised_form():
    x = relay.var("x", shape=(4,), dtype="int32")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.qnn.op.requantize(x, const(0.5), const(0, "int32"), const(1.0), const(0, "int32"), out_dtype="int8")))
    mod = transform.InferType()(mod)
    assert mod["main"].ret_type == relay.TensorType((4,), "int8") and "qnn.requantize" in mod.astext()


if __name__ == "__main__":
    tvm.testing.main()
