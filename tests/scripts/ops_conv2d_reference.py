"""Convolutions of several forms against tvm.topi.testing."""
import numpy as np
import pytest

import tvm
import tvm.testing
import tvm.topi.testing
from tvm import autotvm, relay, topi
from tvm.contrib import cudnn, nvcc


def build_and_run(func, *args, opt_level=3):
    results = []
    with tvm.transform.PassContext(opt_level=opt_level):
        for target, dev in tvm.testing.enabled_targets():
            results.append(relay.create_executor("graph", device=dev, target=target).evaluate(func)(*args).numpy())
    return results


@pytest.mark.parametrize("groups, dilation, pad", [(1, (1, 1), 1), (2, (1, 1), 0), (1, (2, 2), 2)])
def test_nchw(groups, dilation, pad):
    data = np.random.uniform(-1, 1, (2, 4, 9, 9)).astype("float32")
    kernel = np.random.uniform(-1, 1, (6, 4 // groups, 3, 3)).astype("float32")
    x, w = relay.var("x", shape=data.shape), relay.var("w", shape=kernel.shape)
    y = relay.nn.conv2d(x, w, padding=(pad, pad), dilation=dilation, groups=groups, channels=6, kernel_size=(3, 3))
    spread = topi.testing.dilate_python(kernel, (1, 1) + dilation)
    wanted = topi.testing.conv2d_nchw_python(data, spread, 1, pad, groups=groups)
    for found in build_and_run(relay.Function([x, w], y), data, kernel):
        tvm.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_depthwise_nhwc():
    data = np.random.rand(1, 7, 7, 5).astype("float32")
    kernel = np.random.rand(3, 3, 5, 1).astype("float32")
    x, w = relay.var("x", shape=data.shape), relay.var("w", shape=kernel.shape)
    y = relay.nn.conv2d(x, w, groups=5, channels=5, kernel_size=(3, 3), padding=(1, 1), data_layout="NHWC", kernel_layout="HWOI")
    wanted = topi.testing.depthwise_conv2d_python_nhwc(data, kernel, stride=1, padding="SAME")
    for found in build_and_run(relay.Function([x, w], y), data, kernel):
        tvm.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_integers_accumulate_in_int32():
    x = relay.var("x", relay.TensorType((1, 8, 6, 6), "uint8"))
    w = relay.var("w", relay.TensorType((4, 8, 3, 3), "int8"))
    y = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=4, out_dtype="int32")
    a, b = np.random.randint(0, 255, (1, 8, 6, 6)).astype("uint8"), np.random.randint(-127, 127, (4, 8, 3, 3)).astype("int8")
    wanted = topi.testing.conv2d_nchw_python(a.astype("int32"), b.astype("int32"), 1, 0)
    for found in build_and_run(relay.Function([x, w], y), a, b):
        np.testing.assert_array_equal(found, wanted)


@tvm.testing.requires_gpu
def test_on_a_gpu():
    assert False, "no GPU is there"


@pytest.mark.skipif(not cudnn.exists(), reason="cuDNN is missing")
@pytest.mark.skipif(not tvm.cuda(0).exist, reason="no CUDA device")
def test_cudnn():
    assert False, "no cuDNN is there"


@tvm.testing.parametrize_targets("llvm", "cuda", "llvm -mcpu=core-avx2")
def test_targets(target, dev):
    x, w = relay.var("x", shape=(1, 1, 4, 4)), relay.const(np.ones((1, 1, 2, 2), "float32"))
    out = relay.create_executor("graph", device=dev, target=target).evaluate(relay.Function([x], relay.nn.conv2d(x, w)))(np.ones((1, 1, 4, 4), "float32"))
    assert (out.numpy() == 4).all()


if __name__ == "__main__":
    tvm.testing.main()
