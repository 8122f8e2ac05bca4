"""Transposed convolutions against topi.testing, and their types."""
import numpy as np
import pytest

import tvm
import tvm.testing
import tvm.topi.testing
from tvm import relay, te
from tvm.relay.testing import run_infer_type


def test_types():
    n, c, h, w = te.size_var("n"), 10, 10, 12
    x, wt = relay.var("x", relay.TensorType((n, c, h, w), "float32")), relay.var("w", relay.IncompleteType())
    y = relay.nn.conv2d_transpose(x, wt, kernel_size=(3, 3), padding=(1, 1), channels=15)
    assert "channels=15" in y.astext()
    yy = run_infer_type(y)
    assert yy.checked_type == relay.TensorType((n, 15, 10, 12), "float32") and yy.args[1].checked_type == relay.TensorType((10, 15, 3, 3), "float32")


@pytest.mark.parametrize("stride, pad, output_padding", [((1, 1), (0, 0), (0, 0)), ((2, 2), (1, 1), (1, 1)), ((3, 2), (1, 1), (2, 0))])
def test_nchw(stride, pad, output_padding):
    data, kernel = np.random.rand(1, 3, 8, 7).astype("float32"), np.random.rand(3, 4, 3, 3).astype("float32")
    x, w = relay.var("x", shape=data.shape), relay.var("w", shape=kernel.shape)
    y = relay.nn.conv2d_transpose(x, w, channels=4, kernel_size=(3, 3), strides=stride, padding=pad, output_padding=output_padding)
    ref = tvm.topi.testing.conv2d_transpose_nchw_python(data, kernel, stride, pad, output_padding)
    for target, dev in tvm.testing.enabled_targets():
        out = relay.create_executor("graph", device=dev, target=target).evaluate(relay.Function([x, w], y))(data, kernel)
        tvm.testing.assert_allclose(out.numpy(), ref, rtol=1e-4, atol=1e-4)


def test_1d_and_3d():
    run = lambda f, *a: relay.create_executor("graph").evaluate(f)(*a).numpy()  # noqa: E731
    a, k = np.random.rand(1, 3, 9).astype("float32"), np.random.rand(3, 5, 3).astype("float32")
    x, w = relay.var("x", shape=a.shape), relay.var("w", shape=k.shape)
    y = relay.nn.conv1d_transpose(x, w, channels=5, kernel_size=(3,), strides=(2,), padding=(1,), output_padding=(1,))
    tvm.testing.assert_allclose(run(relay.Function([x, w], y), a, k), tvm.topi.testing.conv1d_transpose_ncw_python(a, k, 2, 1, (1,)), rtol=1e-4)
    a, k = np.random.rand(1, 2, 4, 4, 4).astype("float32"), np.random.rand(2, 3, 2, 2, 2).astype("float32")
    x, w = relay.var("x", shape=a.shape), relay.var("w", shape=k.shape)
    y = relay.nn.conv3d_transpose(x, w, channels=3, kernel_size=(2, 2, 2), strides=(2, 2, 2), padding=(0, 0, 0))
    tvm.testing.assert_allclose(run(relay.Function([x, w], y), a, k), tvm.topi.testing.conv3d_transpose_ncdhw_python(a, k, 2, 0, (0, 0, 0)), rtol=1e-4)


def test_conv1d_and_conv3d():
    run = lambda f, *a: relay.create_executor("graph").evaluate(f)(*a).numpy()  # noqa: E731
    a, k = np.random.rand(1, 3, 20).astype("float32"), np.random.rand(4, 3, 5).astype("float32")
    x, w = relay.var("x", shape=a.shape), relay.var("w", shape=k.shape)
    y = relay.nn.conv1d(x, w, strides=2, padding=(2, 2), dilation=1, channels=4, kernel_size=5)
    tvm.testing.assert_allclose(run(relay.Function([x, w], y), a, k), tvm.topi.testing.conv1d_ncw_python(a, k, 2, 2, 1), rtol=1e-4, atol=1e-4)
    a, k = np.random.rand(1, 4, 5, 6, 3).astype("float32"), np.random.rand(3, 3, 3, 3, 2).astype("float32")
    x, w = relay.var("x", shape=a.shape), relay.var("w", shape=k.shape)
    y = relay.nn.conv3d(x, w, padding=(1, 1, 1), channels=2, kernel_size=(3, 3, 3), data_layout="NDHWC", kernel_layout="DHWIO")
    tvm.testing.assert_allclose(run(relay.Function([x, w], y), a, k), tvm.topi.testing.conv3d_ndhwc_python(a, k, 1, 1), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    tvm.testing.main()
