"""tvm.topi.testing: each reference against the operator that it is a reference of."""

import numpy as np
import pytest

import tvm
import tvm.topi.testing as ref
from tvm import relay

RNG = np.random.default_rng(5)


def rand(*shape):
    return RNG.uniform(-1, 1, shape).astype("float32")


def close(build, wanted, *arrays, atol=2e-5):
    names = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    out = build(*names)
    out = out.astuple() if isinstance(out, relay.expr.TupleWrapper) else out
    found = relay.create_executor("debug", mod=tvm.IRModule()).evaluate(relay.Function(names, out))(*arrays)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pools(kind, ceil_mode, rank):
    x = rand(2, 3, *(9, 8, 7)[:rank])
    pool = getattr(relay.nn, f"{kind}_pool{rank}d")
    for count in (False, True) if kind == "avg" else (False,):
        more = {"count_include_pad": count} if kind == "avg" else {}
        args = ([3] * rank, [2] * rank, [2] * rank, [1] * rank, [2] * rank)
        close(
            lambda d: pool(d, pool_size=args[0], strides=args[1], dilation=args[2], padding=args[3] + args[4], ceil_mode=ceil_mode, **more),
            ref.poolnd_python(x, *args, kind, count_include_pad=count, ceil_mode=ceil_mode), x,
        )  # fmt: skip


def test_pools_with_channels_last_and_of_integers():
    x = rand(1, 6, 6, 3)
    close(lambda d: relay.nn.max_pool2d(d, (2, 2), (2, 2), layout="NHWC"), ref.poolnd_python(x, [2, 2], [2, 2], [1, 1], [0, 0], [0, 0], "max", layout="NHWC"), x)
    n = RNG.integers(-9, 9, (1, 2, 5)).astype("int32")
    close(lambda d: relay.nn.max_pool1d(d, (3,), (1,), padding=(1, 1)), ref.poolnd_python(n, [3], [1], [1], [1], [1], "max", dtype="int32"), n)
    with pytest.raises(ValueError, match="no pool is called 'sum'"):
        ref.poolnd_python(x, [2, 2], [2, 2], [1, 1], [0, 0], [0, 0], "sum")
    with pytest.raises(ValueError, match="no layout NCHW4c"):
        ref.poolnd_python(x, [2, 2], [2, 2], [1, 1], [0, 0], [0, 0], "max", layout="NCHW4c")


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_gradients_of_pools(kind):
    x, dy = rand(1, 2, 6, 6), rand(1, 2, 3, 3)
    op = getattr(relay.nn, f"{kind}_pool2d_grad", None)
    wanted = ref.pool_grad_nchw(x, dy, (3, 3), (2, 2), [1, 1, 1, 1], kind, False, count_include_pad=True)
    # The pool is linear in its input for "avg", and between ties for "max": a difference quotient gives the gradient.
    call = lambda d: ref.poolnd_python(d, [3, 3], [2, 2], [1, 1], [1, 1], [1, 1], kind, dtype="float64")  # noqa: E731
    found = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        more, less = x.astype("float64"), x.astype("float64")
        more[at] += 1e-6
        less[at] -= 1e-6
        found[at] = ((call(more) - call(less)) * dy).sum() / 2e-6
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert op is None or callable(op)


def test_adaptive_pools():
    for kind in ("avg", "max"):
        for rank, layout in ((1, "NCW"), (2, "NCHW"), (3, "NCDHW")):
            x = rand(1, 2, *(7, 5, 6)[:rank])
            sizes = [3, 2, 4][:rank]
            close(lambda d: getattr(relay.nn, f"adaptive_{kind}_pool{rank}d")(d, sizes), ref.adaptive_pool(x, sizes, kind, layout), x)
    x = rand(1, 5, 5, 2)
    close(lambda d: relay.nn.adaptive_avg_pool2d(d, (2, 2), layout="NHWC"), ref.adaptive_pool(x, (2, 2), "avg", "NHWC"), x)


def test_correlation_and_reorganisation():
    a, b = rand(1, 2, 8, 8), rand(1, 2, 8, 8)
    for multiply in (True, False):
        args = (3, 2, 1, 1, 2, multiply)
        close(lambda x, y: relay.nn.correlation(x, y, *args, "NCHW"), ref.correlation_nchw_python(a, b, *args), a, b)
    x = rand(1, 8, 4, 4)
    close(lambda d: relay.vision.yolo_reorg(d, 2), ref.reorg_python(x, 2), x)


METHODS = [("nearest_neighbor", "asymmetric"), ("nearest_neighbor", "align_corners"), ("linear", "half_pixel"), ("linear", "align_corners"),
           ("linear", "asymmetric"), ("cubic", "half_pixel"), ("cubic", "align_corners")]  # fmt: skip


@pytest.mark.parametrize("method, mode", METHODS)
@pytest.mark.parametrize("scale", [2, 0.5])
def test_resize(method, mode, scale):
    rounding = "round" if mode == "align_corners" else "floor"
    for rank in (1, 2, 3):
        if rank == 3 and method == "cubic":
            continue
        x = rand(1, 2, *(4, 6, 4)[:rank])
        size = [round(extent * scale) for extent in x.shape[2:]]
        layout = "NC" + "DHW"[3 - rank :] if rank != 1 else "NCW"
        given = layout, method, mode
        wanted = getattr(ref, f"resize{rank}d_python")(x, [scale] * rank, *given)
        close(
            lambda d: getattr(relay.image, f"resize{rank}d")(
                d, size, layout=layout, method=method, coordinate_transformation_mode=mode, rounding_method=rounding if method == "nearest_neighbor" else ""
            ),
            wanted, x,
        )  # fmt: skip


def test_resize_of_other_layouts():
    x = rand(1, 4, 4, 2)
    close(lambda d: relay.image.resize2d(d, (8, 8), layout="NHWC", method="linear"), ref.resize2d_python(x, (2, 2), "NHWC", "linear", "half_pixel"), x)
    with pytest.raises(ValueError, match="no coordinates are called 'corners'"):
        ref.resize2d_python(x, (2, 2), "NHWC", "linear", "corners")
    with pytest.raises(ValueError, match="no method is called 'area'"):
        ref.resize2d_python(x, (2, 2), "NHWC", "area")


def test_grids():
    theta = rand(2, 2, 3)
    close(lambda d: relay.image.affine_grid(d, (4, 5)), ref.affine_grid_python(theta, (4, 5)), theta)
    data, grid = rand(2, 3, 5, 6), RNG.uniform(-1.4, 1.4, (2, 2, 4, 4)).astype("float32")
    for method in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (True, False):
                close(
                    lambda d, g: relay.image.grid_sample(d, g, method, "NCHW", padding, corners),
                    ref.grid_sample_python(data, grid, method, "NCHW", padding, corners), data, grid, atol=1e-4,
                )  # fmt: skip
    data, grid = rand(1, 2, 3, 4, 5), RNG.uniform(-1.2, 1.2, (1, 3, 2, 2, 2)).astype("float32")
    close(lambda d, g: relay.image.grid_sample(d, g, "bilinear", "NCDHW"), ref.grid_sample_python(data, grid, "bilinear", "NCDHW"), data, grid)


def test_parts_of_images():
    image = rand(2, 6, 7, 3)
    boxes, indices = np.array([[0.1, 0.2, 0.8, 0.9], [-0.2, 0.3, 1.2, 0.4]], "float32"), np.array([1, 0], "int32")
    for method in ("bilinear", "nearest_neighbor"):
        close(
            lambda d, b, i: relay.image.crop_and_resize(d, b, i, (3, 4), "NHWC", method, 0.5),
            ref.crop_and_resize_python(image, boxes, indices, (3, 4), "NHWC", method, 0.5), image, boxes, indices,
        )  # fmt: skip
    data = rand(2, 3, 8, 8)
    rois = np.array([[0, 1, 1, 6, 6], [1, 0.5, 2.3, 7.1, 4.9]], "float32")
    for mode in ("avg", "max"):
        for ratio in (-1, 2):
            close(
                lambda d, r: relay.vision.roi_align(d, r, (3, 3), 0.9, ratio, mode=mode),
                ref.roi_align_nchw_python(data, rois, (3, 3), 0.9, ratio, mode.encode()), data, rois,
            )  # fmt: skip
    last = np.ascontiguousarray(np.moveaxis(data, 1, -1))
    close(lambda d, r: relay.vision.roi_align(d, r, (2, 2), 1.0, 2, "NHWC"), ref.roi_align_nhwc_python(last, rois, 2, 1.0, 2), last, rois)
    close(lambda d, r: relay.vision.roi_pool(d, r, (3, 2), 0.75), ref.roi_pool_nchw_python(data, rois, (3, 2), 0.75), data, rois)


def test_deformed_convolutions():
    data, weight = rand(1, 4, 6, 6), rand(4, 2, 3, 3)
    # Within the image both sides agree how an element near the edge counts.
    offset = RNG.uniform(-0.4, 0.4, (1, 36, 4, 4)).astype("float32")
    args = ((1, 1), (0, 0), (1, 1), 2, 2)
    close(
        lambda d, o, w: relay.nn.deformable_conv2d(d, o, w, *args, channels=4, kernel_size=(3, 3)),
        ref.deformable_conv2d_nchw_python(data, offset, weight, *args), data, offset, weight,
    )  # fmt: skip
    first = [np.ascontiguousarray(np.moveaxis(a, 1, -1)) for a in (data, offset)]
    hwio = np.ascontiguousarray(weight.transpose(2, 3, 1, 0))
    np.testing.assert_allclose(
        ref.deformable_conv2d_nhwc_python(*first, hwio, *args), np.moveaxis(ref.deformable_conv2d_nchw_python(data, offset, weight, *args), 1, -1), rtol=1e-5
    )


def test_norms():
    x, g, b = rand(2, 4, 3, 3), rand(4), rand(4)
    mean, var = rand(4), np.abs(rand(4))
    close(lambda *a: relay.nn.batch_norm(*a)[0], ref.batch_norm(x, g, b, mean, var, 1, 1e-5, True, True)[0], x, g, b, mean, var)
    trained = ref.batch_norm(x, g, b, mean, var, 1, 1e-5, True, True, training=True, momentum=0.1)
    np.testing.assert_allclose(trained[1], 0.9 * mean + 0.1 * x.mean(axis=(0, 2, 3)), rtol=1e-5)
    close(lambda *a: relay.nn.layer_norm(*a, axis=1), ref.layer_norm_python(x, g, b, 1), x, g, b)
    close(relay.nn.instance_norm, ref.instance_norm_python(x, g, b, (2, 3)), x, g, b)
    close(lambda *a: relay.nn.group_norm(*a, 2, axis=1), ref.group_norm_python(x, g, b, 2, 1, [2, 3]), x, g, b)
    y = rand(3, 4)
    wanted = y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-5) * g
    np.testing.assert_allclose(ref.rms_norm_python(y, g, -1), wanted, rtol=1e-5)
    w, bias = rand(5, 4), rand(5)
    close(lambda d, k, c: relay.nn.relu(relay.nn.bias_add(relay.nn.dense(d, k), c)), ref.dense(y, w, bias, True, True), y, w, bias)


def test_recurrent_cells():
    xs, wi, wh, bi = rand(4, 2, 3), rand(20, 3), rand(20, 5), rand(20)
    hs, cs = ref.lstm_python(xs, wi, wh, bi)
    x, h, c = relay.var("x", shape=(2, 3)), relay.var("h", shape=(2, 5)), relay.var("c", shape=(2, 5))
    gates = relay.nn.bias_add(relay.nn.dense(x, relay.const(wi)) + relay.nn.dense(h, relay.const(wh)), relay.const(bi), axis=-1)
    i, f, g, o = relay.split(gates, 4, axis=1)
    cell = relay.sigmoid(f) * c + relay.sigmoid(i) * relay.tanh(g)
    step = relay.create_executor("debug").evaluate(relay.Function([x, h, c], relay.Tuple([relay.sigmoid(o) * relay.tanh(cell), cell])))
    hidden = cells = np.zeros((2, 5), "float32")
    for at in range(4):
        hidden, cells = (part.numpy() for part in step(xs[at], hidden, cells))
        np.testing.assert_allclose(hs[at], hidden, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(cs[at], cells, rtol=1e-4, atol=1e-5)
    assert not np.allclose(ref.lstm_python(xs, wi, wh, bi, reverse=True)[0][0], hs[0])


def test_convolutions_of_other_forms():
    x, w = rand(1, 4, 9), rand(4, 2, 3)
    close(lambda d, k: relay.nn.conv1d(d, k, strides=2, padding=1, groups=2, channels=4, kernel_size=3), ref.group_conv1d_ncw_python(x, w, 2, 1, 1, 2), x, w)
    wt = rand(4, 3, 3)
    close(
        lambda d, k: relay.nn.conv1d_transpose(d, k, strides=(2,), padding=(1,), groups=2, channels=6, kernel_size=(3,), output_padding=(1,)),
        ref.group_conv1d_transpose_ncw_python(x, wt, 2, 1, 1, 2), x, wt,
    )  # fmt: skip
    x, w = rand(6, 6, 3, 2), rand(3, 3, 3, 4)
    close(
        lambda d, k: relay.nn.conv2d(d, k, padding=(1, 1), channels=4, kernel_size=(3, 3), data_layout="HWCN", kernel_layout="HWIO"),
        ref.conv2d_hwcn_python(x, w, 1, 1), x, w,
    )  # fmt: skip
    x, w = rand(1, 3, 6, 6), rand(3, 2, 3, 3)
    close(
        lambda d, k: relay.nn.conv2d(d, relay.reshape(k, (6, 1, 3, 3)), padding=(1, 1), groups=3, channels=6, kernel_size=(3, 3)),
        ref.depthwise_conv2d_python_nchw(x, w, 1, "SAME"), x, w,
    )  # fmt: skip
    last = ref.depthwise_conv2d_python_nhwc(np.moveaxis(x, 1, -1), w.transpose(2, 3, 0, 1), 1, "SAME")
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), ref.depthwise_conv2d_python_nchw(x, w, 1, "SAME"), rtol=1e-5)
    x, w = rand(1, 4, 6, 6), rand(4, 1, 3, 3)
    blocks = ref.depthwise_conv2d_python_nchwc(x.reshape(1, 2, 2, 6, 6).transpose(0, 1, 3, 4, 2), w.reshape(2, 2, 1, 3, 3).transpose(0, 2, 3, 4, 1)[:, :, :, :, None], 1, "VALID")
    np.testing.assert_allclose(blocks.transpose(0, 1, 4, 2, 3).reshape(1, 4, 4, 4), ref.depthwise_conv2d_python_nchw(x, w, 1, "VALID"), rtol=1e-5)
    x, w = rand(1, 5, 5, 3), rand(3, 3, 4, 3)
    close(
        lambda d, k: relay.nn.conv2d_transpose(d, k, (2, 2), (1, 1), channels=4, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWOI", output_padding=(1, 1)),
        ref.conv2d_transpose_nhwc_python(x, w, "HWOI", 2, 1, (1, 1)), x, w,
    )  # fmt: skip


def test_gradients_of_weights():
    dy, x = rand(2, 4, 6, 6), rand(2, 3, 6, 6)
    close(
        lambda g, d: relay.nn.conv2d_backward_weight(g, d, padding=(1, 1), kernel_size=(3, 3), channels=4),
        ref.conv2d_backward_weight_python(dy, x, (3, 3), 1, 1), dy, x, atol=1e-4,
    )  # fmt: skip
    last = ref.conv2d_backward_weight_python(np.moveaxis(dy, 1, -1), np.moveaxis(x, 1, -1), (3, 3), 1, 1, layout="NHWC")
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), ref.conv2d_backward_weight_python(dy, x, (3, 3), 1, 1), rtol=1e-4, atol=1e-5)


def test_elements():
    data, indices = rand(3, 4), np.array([[0, 2], [1, 3]], "int64")
    close(lambda d, i: relay.gather_nd(d, i), ref.gather_nd_python(data, indices), data, indices)
    close(lambda d: relay.strided_slice(d, [1], [3], axes=[1]), ref.slice_axis_python(data, 1, 1, 3), data)
