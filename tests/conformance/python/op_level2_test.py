"""Operators of level 2: convolutions, pooling, padding."""

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay, te
from tvm.relay.testing import run_infer_type
from tvm.topi import testing as topi_testing

random = np.random.RandomState(2)


def rand(*shape):
    return random.uniform(-1, 1, shape).astype("float32")


def check(func, inputs, wanted, target, dev, rtol=1e-4, atol=1e-5):
    for kind in ("debug", "graph"):
        result = relay.create_executor(kind, device=dev, target=target).evaluate(func)(*inputs)
        tvm.testing.assert_allclose(result.numpy(), wanted, rtol=rtol, atol=atol)


def test_conv1d_infer_type():
    n = te.size_var("n")
    x = relay.var("x", relay.ty.TensorType((n, 10, 224), "float32"))
    y = relay.nn.conv1d(x, relay.var("w"), kernel_size=3, padding=(1, 1), channels=2)
    typed = run_infer_type(relay.Function([x, *relay.analysis.free_vars(y)[1:]], y))
    assert typed.body.checked_type == relay.TensorType((n, 2, 224), "float32")
    assert typed.params[1].checked_type == relay.TensorType((2, 10, 3), "float32")


@pytest.mark.parametrize("padding", [(1, 1), (2, 2), (0, 1)])
def test_conv1d_run(padding, target, dev):
    x, w = relay.var("x", shape=(1, 3, 20)), relay.var("w", shape=(4, 3, 3))
    a, k = rand(1, 3, 20), rand(4, 3, 3)
    wanted = topi_testing.conv1d_ncw_python(a, k, 1, padding, 1)
    check(relay.Function([x, w], relay.nn.conv1d(x, w, padding=padding, kernel_size=3, channels=4)), [a, k], wanted, target, dev)


def test_conv2d_infer_type():
    n = te.size_var("n")
    x = relay.var("x", relay.ty.TensorType((n, 10, 224, 224), "float32"))
    weight = relay.var("w")
    y = relay.nn.conv2d(x, weight, kernel_size=(3, 3), padding=(1, 1), channels=2)
    typed = run_infer_type(relay.Function([x, weight], y))
    assert typed.body.checked_type == relay.TensorType((n, 2, 224, 224), "float32")
    assert typed.params[1].checked_type == relay.TensorType((2, 10, 3, 3), "float32")


def test_conv2d_mixed_precision_type():
    x, w = relay.var("x", shape=(1, 4, 8, 8), dtype="int8"), relay.var("w", shape=(2, 4, 3, 3), dtype="int8")
    typed = run_infer_type(relay.nn.conv2d(x, w, out_dtype="int32"))
    assert 'out_dtype="int32"' in typed.astext()
    assert typed.checked_type == relay.TensorType((1, 2, 6, 6), "int32")


@pytest.mark.parametrize("layout", ["NHWC", "HWCN"])
def test_conv2d_layout_type(layout):
    shape = {"NHWC": (1, 8, 8, 4), "HWCN": (8, 8, 4, 1)}[layout]
    y = relay.nn.conv2d(relay.var("x", shape=shape), relay.var("w", shape=(3, 3, 4, 6)), data_layout=layout, kernel_layout="HWIO", padding=(1, 1))
    wanted = {"NHWC": (1, 8, 8, 6), "HWCN": (8, 8, 6, 1)}[layout]
    assert run_infer_type(y).checked_type == relay.TensorType(wanted, "float32")


def test_conv2d_wrong_channels():
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(relay.nn.conv2d(relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 5, 3, 3))))


@pytest.mark.parametrize("stride, padding, dilation, groups", [
    (1, 1, 1, 1), (2, 1, 1, 1), (1, 0, 2, 1), (1, 1, 1, 4), (2, 0, 1, 2),
])  # fmt: skip
def test_conv2d_run(stride, padding, dilation, groups, target, dev):
    x, w = relay.var("x", shape=(1, 4, 9, 9)), relay.var("w", shape=(8, 4 // groups, 3, 3))
    y = relay.nn.conv2d(x, w, strides=(stride, stride), padding=(padding, padding), dilation=(dilation, dilation), groups=groups, channels=8, kernel_size=(3, 3))
    a, k = rand(1, 4, 9, 9), rand(8, 4 // groups, 3, 3)
    dilated = topi_testing.dilate_python(k, (1, 1, dilation, dilation))
    check(relay.Function([x, w], y), [a, k], topi_testing.conv2d_nchw_python(a, dilated, stride, padding, groups), target, dev)


def test_conv2d_nhwc(target, dev):
    x, w = relay.var("x", shape=(1, 7, 7, 3)), relay.var("w", shape=(3, 3, 3, 5))
    y = relay.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO", kernel_size=(3, 3), channels=5)
    a, k = rand(1, 7, 7, 3), rand(3, 3, 3, 5)
    check(relay.Function([x, w], y), [a, k], topi_testing.conv2d_nhwc_python(a, k, 1, 0), target, dev)


def test_conv3d(target, dev):
    x, w = relay.var("x", shape=(1, 3, 5, 6, 7)), relay.var("w", shape=(4, 3, 3, 3, 3))
    y = relay.nn.conv3d(x, w, padding=(1, 1, 1), channels=4, kernel_size=(3, 3, 3))
    assert run_infer_type(y).checked_type == relay.TensorType((1, 4, 5, 6, 7))
    a, k = rand(1, 3, 5, 6, 7), rand(4, 3, 3, 3, 3)
    check(relay.Function([x, w], y), [a, k], topi_testing.conv3d_ncdhw_python(a, k, (1, 1, 1), (1, 1, 1), 1), target, dev)


def test_conv2d_transpose_infer_type():
    n, h, w = te.size_var("n"), 8, 8
    x = relay.var("x", shape=(n, 10, h, w))
    y = relay.nn.conv2d_transpose(x, relay.var("w", shape=(10, 15, 3, 3)), strides=(2, 2), padding=(1, 1), output_padding=(1, 1), channels=15, kernel_size=(3, 3))
    assert run_infer_type(y).checked_type == relay.TensorType((n, 15, 16, 16), "float32")


def windows(data, size, stride):
    """Every window of the last axes: shape (..., out, out, size, size)."""
    view = np.lib.stride_tricks.sliding_window_view(data, (size, size), axis=(2, 3))
    return view[:, :, ::stride, ::stride]


@pytest.mark.parametrize("op, ref", [(relay.nn.max_pool2d, np.max), (relay.nn.avg_pool2d, np.mean)])
def test_pool2d(op, ref, target, dev):
    x = relay.var("x", shape=(1, 3, 8, 8))
    y = op(x, pool_size=(2, 2), strides=(2, 2), padding=(0, 0))
    assert run_infer_type(y).checked_type == relay.TensorType((1, 3, 4, 4), "float32")
    data = rand(1, 3, 8, 8)
    check(relay.Function([x], y), [data], ref(windows(data, 2, 2), axis=(4, 5)), target, dev)


def test_avg_pool2d_no_count_pad(target, dev):
    x = relay.var("x", shape=(1, 1, 4, 4))
    data = rand(1, 1, 4, 4)
    padded, ones = (np.pad(v, ((0, 0), (0, 0), (1, 1), (1, 1))) for v in (data, np.ones_like(data)))
    total, count = windows(padded, 3, 1).sum((4, 5)), windows(ones, 3, 1).sum((4, 5))
    y = relay.nn.avg_pool2d(x, pool_size=(3, 3), strides=(1, 1), padding=(1, 1), count_include_pad=False)
    check(relay.Function([x], y), [data], total / count, target, dev)
    y = relay.nn.avg_pool2d(x, pool_size=(3, 3), strides=(1, 1), padding=(1, 1), count_include_pad=True)
    check(relay.Function([x], y), [data], total / 9, target, dev)


@pytest.mark.parametrize("op, ref", [(relay.nn.global_max_pool2d, np.max), (relay.nn.global_avg_pool2d, np.mean)])
def test_global_pool2d(op, ref, target, dev):
    n = te.size_var("n")
    x = relay.var("x", shape=(n, 4, 5, 6))
    assert run_infer_type(op(x)).checked_type == relay.TensorType((n, 4, 1, 1), "float32")
    x = relay.var("x", shape=(2, 4, 5, 6))
    data = rand(2, 4, 5, 6)
    check(relay.Function([x], op(x)), [data], ref(data, axis=(2, 3), keepdims=True), target, dev)


@pytest.mark.parametrize("dim", [1, 3])
def test_pool_of_other_ranks(dim, target, dev):
    shape = (1, 2) + (6,) * dim
    x = relay.var("x", shape=shape)
    data = rand(*shape)
    op = {1: relay.nn.max_pool1d, 3: relay.nn.max_pool3d}[dim]
    blocks = data.reshape((1, 2) + (3, 2) * dim)
    wanted = blocks.max(axis=tuple(3 + 2 * i for i in range(dim)))
    check(relay.Function([x], op(x, pool_size=(2,) * dim, strides=(2,) * dim)), [data], wanted, target, dev)


def test_flatten(target, dev):
    d1, d2 = te.size_var("d1"), te.size_var("d2")
    x = relay.var("x", relay.TensorType((d1, 2, d2, 3), "float32"))
    typed = run_infer_type(relay.nn.batch_flatten(x))
    assert typed.checked_type.shape[0] == d1 and len(typed.checked_type.shape) == 2
    data = rand(2, 3, 4)
    y = relay.var("y", shape=(2, 3, 4))
    check(relay.Function([y], relay.nn.batch_flatten(y)), [data], data.reshape(2, 12), target, dev)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode, target, dev):
    x = relay.var("x", shape=(3, 4))
    y = relay.nn.pad(x, ((1, 2), (2, 1)), pad_mode=mode)
    assert run_infer_type(y).checked_type == relay.TensorType((6, 7), "float32")
    data = rand(3, 4)
    check(relay.Function([x], y), [data], np.pad(data, ((1, 2), (2, 1)), mode=mode), target, dev)


def test_pad_value_is_an_expression(target, dev):
    x, v = relay.var("x", shape=(2,)), relay.var("v", shape=())
    check(relay.Function([x, v], relay.nn.pad(x, ((1, 1),), v)), [np.ones(2, "float32"), np.float32(7)], [7, 1, 1, 7], target, dev)


def test_mirror_pad(target, dev):
    x = relay.var("x", shape=(3, 4))
    data = rand(3, 4)
    for mode, theirs in (("SYMMETRIC", "symmetric"), ("REFLECT", "reflect")):
        check(relay.Function([x], relay.nn.mirror_pad(x, ((1, 1), (2, 2)), mode)), [data], np.pad(data, ((1, 1), (2, 2)), theirs), target, dev)


def test_lrn_and_l2_normalize(target, dev):
    x = relay.var("x", shape=(1, 5, 2, 2))
    data = rand(1, 5, 2, 2)
    y = relay.nn.lrn(x, size=3, axis=1, bias=0.5, alpha=0.1, beta=0.75)
    assert "alpha=" in run_infer_type(y).astext()
    check(relay.Function([x], y), [data], topi_testing.lrn_python(data, 3, 1, 0.5, 0.1, 0.75), target, dev)
    check(relay.Function([x], relay.nn.l2_normalize(x, eps=0.001, axis=[1])), [data], topi_testing.l2_normalize_python(data, 0.001, 1), target, dev)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_upsampling(layout, target, dev):
    shape = (1, 2, 3, 4) if layout == "NCHW" else (1, 3, 4, 2)
    x = relay.var("x", shape=shape)
    y = relay.nn.upsampling(x, scale_h=2, scale_w=3, layout=layout, method="nearest_neighbor", align_corners=False)
    data = rand(*shape)
    axes = (2, 3) if layout == "NCHW" else (1, 2)
    wanted = data.repeat(2, axes[0]).repeat(3, axes[1])
    assert run_infer_type(y).checked_type == relay.TensorType(wanted.shape, "float32")
    check(relay.Function([x], y), [data], wanted, target, dev)


def test_dilation2d(target, dev):
    x, w = relay.var("x", shape=(1, 2, 5, 5)), relay.var("w", shape=(2, 3, 3))
    a, k = rand(1, 2, 5, 5), rand(2, 3, 3)
    y = relay.image.dilation2d(x, w, strides=[1, 1], padding=[0, 0], dilations=[1, 1])
    check(relay.Function([x, w], y), [a, k], (windows(a, 3, 1) + k[None, :, None, None]).max((4, 5)), target, dev)


def test_conv2d_backward_weight_type():
    g, d = relay.var("g", shape=(1, 8, 6, 6)), relay.var("d", shape=(1, 4, 8, 8))
    y = relay.nn.conv2d_backward_weight(g, d, kernel_size=(3, 3), channels=8)
    assert run_infer_type(y).checked_type == relay.TensorType((8, 4, 3, 3), "float32")
