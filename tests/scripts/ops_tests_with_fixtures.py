import numpy as np
import numpy.random
import pytest
import tvm
import tvm.testing
from tvm import relay, te
from tvm.error import TVMError
from tvm.relay import create_executor, transform
from tvm.relay.testing import check_grad, run_infer_type
import tvm.topi.testing

executor_kind = tvm.testing.parameter("graph", "vm", "debug")


class TestZerosOnes:
    @pytest.mark.parametrize("op, ref", [(relay.zeros, np.zeros), (relay.ones, np.ones)])
    def test_zeros_ones(self, op, ref, executor_kind):
        y = op(shape=(124, 50), dtype="float64")
        yy = run_infer_type(y)
        assert yy.checked_type == relay.TensorType((124, 50), "float64")
        res = create_executor(executor_kind).evaluate(y).numpy()
        np.testing.assert_allclose(res, ref((124, 50), "float64"))


dtype = tvm.testing.parameter("float32", "int32")


def test_binary(target, dev, dtype, executor_kind):
    x = relay.var("x", relay.TensorType((5, 10, 5), dtype))
    y = relay.var("y", relay.TensorType((5, 10, 1), dtype))
    z = x + y
    assert run_infer_type(z).checked_type == relay.TensorType((5, 10, 5), dtype)
    f = relay.Function([x, y], z)
    a, b = np.random.rand(5, 10, 5).astype(dtype), np.random.rand(5, 10, 1).astype(dtype)
    op_res = relay.create_executor(executor_kind, device=dev, target=target).evaluate(f)(a, b)
    np.testing.assert_allclose(op_res.numpy(), a + b, rtol=0.01)


@tvm.testing.parametrize_targets("llvm")
def test_arange(target, dev):
    x = relay.op.arange(relay.const(1.0), relay.const(20.0), relay.const(1.5))
    res = relay.create_executor("debug", device=dev, target=target).evaluate(relay.Function([], x))()
    np.testing.assert_allclose(res.numpy(), np.arange(1.0, 20.0, 1.5, dtype="float32"))


@tvm.testing.uses_gpu
def test_gather_nd():
    def verify(xshape, yshape, y_data, batch_dims=0):
        x = relay.var("x", relay.TensorType(xshape, "float32"))
        y = relay.var("y", relay.TensorType(yshape, "int32"))
        z = relay.gather_nd(x, y, batch_dims)
        func = relay.Function([x, y], z)
        x_data = np.random.uniform(size=xshape).astype("float32")
        ref = tvm.topi.testing.gather_nd_python(x_data, np.array(y_data)) if batch_dims == 0 else None
        for target, dev in tvm.testing.enabled_targets():
            for kind in ["graph", "debug"]:
                op_res = relay.create_executor(kind, device=dev, target=target).evaluate(func)(x_data, np.array(y_data, "int32"))
                if ref is not None:
                    tvm.testing.assert_allclose(op_res.numpy(), ref, rtol=1e-5)

    verify((2, 2), (2, 3), [[1, 1, 0], [0, 1, 0]])
    verify((3, 2, 2), (2, 2), [[0, 1], [1, 0]])


def test_take_modes():
    for mode in ("clip", "wrap", "fast"):
        x = relay.var("x", shape=(3, 4))
        i = relay.var("i", shape=(2,), dtype="int32")
        f = relay.Function([x, i], relay.take(x, i, axis=1, mode=mode))
        d = np.arange(12, dtype="float32").reshape(3, 4)
        idx = np.array([1, 3], "int32") if mode == "fast" else np.array([-1, 5], "int32")
        r = relay.create_executor("graph").evaluate(f)(d, idx).numpy()
        np.testing.assert_allclose(r, np.take(d, idx, axis=1, mode="raise" if mode == "fast" else mode))


@tvm.testing.requires_llvm
def test_pool_and_resize():
    data = np.random.rand(1, 2, 8, 8).astype("float32")
    x = relay.var("x", shape=(1, 2, 8, 8))
    y = relay.nn.avg_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    got = relay.create_executor("graph").evaluate(relay.Function([x], y))(data).numpy()
    ref = tvm.topi.testing.poolnd_python(data, [2, 2], [2, 2], [1, 1], [0, 0], [0, 0], "avg", count_include_pad=False)
    tvm.testing.assert_allclose(got, ref, rtol=1e-5)
    z = relay.image.resize2d(x, (16, 16), layout="NCHW", method="linear", coordinate_transformation_mode="half_pixel")
    got = relay.create_executor("graph").evaluate(relay.Function([x], z))(data).numpy()
    ref = tvm.topi.testing.resize2d_python(data, (2.0, 2.0), "NCHW", "linear", "half_pixel")
    tvm.testing.assert_allclose(got, ref, rtol=1e-4, atol=1e-5)
    check_grad(relay.Function([x], relay.nn.avg_pool2d(x, (2, 2))), inputs=[data])


def test_errors():
    with pytest.raises(TVMError):
        run_infer_type(relay.reshape(relay.var("x", shape=(2, 3)), (4, 2)))
    with pytest.raises(TVMError):
        run_infer_type(relay.concatenate([relay.var("a", shape=(2, 3)), relay.var("b", shape=(3, 2))], axis=0))
    with pytest.raises((TVMError, ValueError)):
        relay.split(relay.var("x", shape=(5,)), "a")


if __name__ == "__main__":
    tvm.testing.main()
