"""Operators of level 5 (images, detection) and of level 10."""

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay, te
from tvm.relay.testing import run_infer_type
from tvm.topi import testing as topi_testing

random = np.random.RandomState(5)


def rand(*shape):
    return random.uniform(0, 1, shape).astype("float32")


def run(func, *inputs, kind="graph", target="llvm", dev=tvm.cpu()):
    return relay.create_executor(kind, device=dev, target=target).evaluate(func)(*inputs)


def both(func, *inputs, target, dev):
    """The result of the compiled program, after the reference evaluator has given the same."""
    results = [run(func, *inputs, kind=kind, target=target, dev=dev).numpy() for kind in ("debug", "graph")]
    tvm.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)
    return results[1]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("mode", ["asymmetric", "align_corners", "half_pixel"])
def test_resize2d_linear(layout, mode, target, dev):
    shape, axes = ((1, 2, 4, 6), (2, 3)) if layout == "NCHW" else ((1, 4, 6, 2), (1, 2))
    x = relay.var("x", shape=shape)
    y = relay.image.resize2d(x, (8, 3), None, layout, "linear", coordinate_transformation_mode=mode)
    data = rand(*shape)

    def along(v, axis, size):
        old, at = v.shape[axis], np.arange(size)
        place = {"asymmetric": at * old / size, "align_corners": at * (old - 1) / max(size - 1, 1), "half_pixel": (at + 0.5) * old / size - 0.5}[mode]
        low = np.floor(place).astype(int)
        part = (place - low).reshape([-1 if i == axis else 1 for i in range(4)])
        pick = lambda i: np.take(v, np.clip(i, 0, old - 1), axis)  # noqa: E731
        return pick(low) * (1 - part) + pick(low + 1) * part

    wanted = along(along(data, axes[0], 8), axes[1], 3)
    assert run_infer_type(y).checked_type == relay.TensorType(wanted.shape, "float32")
    tvm.testing.assert_allclose(both(relay.Function([x], y), data, target=target, dev=dev), wanted, rtol=1e-4, atol=1e-5)


def test_resize2d_infer_type():
    n, c = te.size_var("n"), te.size_var("c")
    x = relay.var("x", relay.TensorType((n, c, te.size_var("h"), te.size_var("w")), "float32"))
    assert run_infer_type(relay.image.resize2d(x, (20, 30))).checked_type == relay.TensorType((n, c, 20, 30), "float32")


def test_resize_nearest_of_other_ranks(target, dev):
    x = relay.var("x", shape=(1, 2, 3))
    data = rand(1, 2, 3)
    y = relay.image.resize1d(x, (6,), None, "NCW", "nearest_neighbor", "asymmetric", rounding_method="floor")
    tvm.testing.assert_allclose(both(relay.Function([x], y), data, target=target, dev=dev), data.repeat(2, 2))
    x = relay.var("x", shape=(1, 1, 2, 2, 2))
    data = rand(1, 1, 2, 2, 2)
    y = relay.image.resize3d(x, (4, 4, 4), None, "NCDHW", "nearest_neighbor", "asymmetric", rounding_method="floor")
    tvm.testing.assert_allclose(both(relay.Function([x], y), data, target=target, dev=dev), data.repeat(2, 2).repeat(2, 3).repeat(2, 4))


def test_crop_and_resize_of_the_whole(target, dev):
    x, boxes, at = relay.var("x", shape=(2, 3, 3, 1)), relay.var("boxes", shape=(2, 4)), relay.var("at", shape=(2,), dtype="int32")
    y = relay.image.crop_and_resize(x, boxes, at, (3, 3), layout="NHWC")
    assert run_infer_type(y).checked_type == relay.TensorType((2, 3, 3, 1), "float32")
    data = rand(2, 3, 3, 1)
    result = both(relay.Function([x, boxes, at], y), data, np.array([[0, 0, 1, 1]] * 2, "float32"), np.array([1, 0], "int32"), target=target, dev=dev)
    tvm.testing.assert_allclose(result, data[::-1], rtol=1e-5)


def test_affine_grid_and_grid_sample_of_identity(target, dev):
    theta, x = relay.var("theta", shape=(1, 2, 3)), relay.var("x", shape=(1, 2, 4, 5))
    grid = relay.image.affine_grid(theta, (4, 5))
    assert run_infer_type(grid).checked_type == relay.TensorType((1, 2, 4, 5), "float32")
    func = relay.Function([theta, x], relay.image.grid_sample(x, grid))
    data = rand(1, 2, 4, 5)
    result = both(func, np.array([[[1, 0, 0], [0, 1, 0]]], "float32"), data, target=target, dev=dev)
    tvm.testing.assert_allclose(result, data, rtol=1e-4, atol=1e-5)


def test_space_and_depth(target, dev):
    x = relay.var("x", shape=(1, 2, 4, 6))
    data = rand(1, 2, 4, 6)
    y = relay.nn.space_to_depth(x, 2)
    assert run_infer_type(y).checked_type == relay.TensorType((1, 8, 2, 3), "float32")
    wanted = topi_testing.space_to_depth_python(data, 2)
    tvm.testing.assert_allclose(both(relay.Function([x], y), data, target=target, dev=dev), wanted)
    back = relay.nn.depth_to_space(y, 2)
    tvm.testing.assert_allclose(both(relay.Function([x], back), data, target=target, dev=dev), data)


def test_batch_to_space(target, dev):
    x = relay.var("x", shape=(4, 1, 1, 2))
    data = rand(4, 1, 1, 2)
    y = relay.nn.batch_to_space_nd(x, [2, 2], [[0, 0], [0, 0]])
    wanted = topi_testing.batch_to_space_nd_python(data, [2, 2], [0, 0], [0, 0])
    tvm.testing.assert_allclose(both(relay.Function([x], y), data, target=target, dev=dev), wanted)


def test_layout_transform(target, dev):
    x = relay.var("x", shape=(1, 8, 2, 3))
    data = rand(1, 8, 2, 3)
    y = relay.layout_transform(x, "NCHW", "NCHW4c")
    assert run_infer_type(y).checked_type == relay.TensorType((1, 2, 2, 3, 4), "float32")
    tvm.testing.assert_allclose(both(relay.Function([x], y), data, target=target, dev=dev), data.reshape(1, 2, 4, 2, 3).transpose(0, 1, 3, 4, 2))
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(relay.layout_transform(x, "NCHW", "NDHWC"))


def overlap(a, b):
    area = lambda v: max(v[2] - v[0], 0) * max(v[3] - v[1], 0)  # noqa: E731
    inner = area([max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])])
    return inner / (area(a) + area(b) - inner)


def test_get_valid_counts(target, dev):
    x = relay.var("x", shape=(1, 4, 6))
    data = rand(1, 4, 6)
    data[0, :, 0], data[0, :, 1] = 0, [0.9, 0.1, 0.6, 0.3]
    y = relay.vision.get_valid_counts(x, 0.4, 0, 1)
    count, kept, index = run(relay.Function([x], y.astuple()), data, target=target, dev=dev)
    assert count.numpy().tolist() == [2] and index.numpy()[0, :2].tolist() == [0, 2]
    tvm.testing.assert_allclose(kept.numpy()[0, :2], data[0, [0, 2]])


def test_non_max_suppression(target, dev):
    data = np.array([[[0, 0.8, 1, 1, 11, 11], [0, 0.7, 2, 2, 12, 12], [0, 0.6, 40, 40, 50, 50], [0, 0.5, 1, 1, 11, 12]]], "float32")
    x, n, i, most = relay.var("x", shape=(1, 4, 6)), relay.var("n", shape=(1,), dtype="int32"), relay.var("i", shape=(1, 4), dtype="int32"), -1
    y = relay.vision.non_max_suppression(x, n, i, most, iou_threshold=0.5, return_indices=False)
    result = run(relay.Function([x, n, i], y), data, np.array([4], "int32"), np.arange(4, dtype="int32")[None], target=target, dev=dev).numpy()[0]
    kept = []
    for box in data[0][np.argsort(-data[0, :, 1])]:
        if all(overlap(box[2:], other[2:]) <= 0.5 for other in kept):
            kept.append(box)
    valid = result[result[:, 1] > 0]
    tvm.testing.assert_allclose(valid, np.array(kept))


def test_roi_pool_and_align(target, dev):
    x, rois = relay.var("x", shape=(1, 1, 4, 4)), relay.var("rois", shape=(1, 5))
    data, whole = rand(1, 1, 4, 4), np.array([[0, 0, 0, 3, 3]], "float32")
    y = relay.vision.roi_pool(x, rois, (2, 2), 1.0, "NCHW")
    tvm.testing.assert_allclose(both(relay.Function([x, rois], y), data, whole, target=target, dev=dev), data.reshape(1, 1, 2, 2, 2, 2).max((3, 5)))
    z = relay.vision.roi_align(x, rois, (2, 2), 1.0, 2)
    assert run_infer_type(z).checked_type == relay.TensorType((1, 1, 2, 2), "float32")
    flat = np.full((1, 1, 4, 4), 3, "float32")
    tvm.testing.assert_allclose(both(relay.Function([x, rois], z), flat, whole, target=target, dev=dev), np.full((1, 1, 2, 2), 3), rtol=1e-6)


def test_yolo_reorg_and_multibox_prior(target, dev):
    x = relay.var("x", shape=(1, 4, 2, 2))
    data = rand(1, 4, 2, 2)
    y = relay.vision.yolo_reorg(x, 2)
    assert run_infer_type(y).checked_type == relay.TensorType((1, 16, 1, 1), "float32")
    assert sorted(both(relay.Function([x], y), data, target=target, dev=dev).ravel()) == sorted(data.ravel())
    z = relay.vision.multibox_prior(x, sizes=(0.5,), ratios=(1.0,))
    boxes = both(relay.Function([x], z), data, target=target, dev=dev)
    tvm.testing.assert_allclose(boxes[0, 0], [0, 0, 0.5, 0.5], atol=1e-6)


# ---- Level 10 ----


@pytest.mark.parametrize("shape_like", [(2, 3), (3, 2), (1, 1)])
def test_slice_like(shape_like, target, dev):
    x, like = relay.var("x", shape=(4, 4)), relay.var("like", shape=shape_like)
    data = rand(4, 4)
    y = relay.slice_like(x, like)
    assert run_infer_type(y).checked_type == relay.TensorType(shape_like, "float32")
    result = both(relay.Function([x, like], y), data, np.zeros(shape_like, "float32"), target=target, dev=dev)
    tvm.testing.assert_allclose(result, data[: shape_like[0], : shape_like[1]])


def test_shape_of_and_ndarray_size(target, dev):
    x = relay.var("x", shape=(2, relay.Any(), 4))
    data = rand(2, 3, 4)
    assert run(relay.Function([x], relay.shape_of(x)), data, kind="vm", target=target, dev=dev).numpy().tolist() == [2, 3, 4]
    assert run(relay.Function([x], relay.ndarray_size(x)), data, kind="vm", target=target, dev=dev).numpy() == 24


@pytest.mark.parametrize("transpose_a, transpose_b", [(False, True), (False, False), (True, False)])
def test_batch_matmul(transpose_a, transpose_b, target, dev):
    shape_a, shape_b = ((2, 5, 3) if transpose_a else (2, 3, 5)), ((2, 4, 5) if transpose_b else (2, 5, 4))
    x, y = relay.var("x", shape=shape_a), relay.var("y", shape=shape_b)
    a, b = rand(*shape_a), rand(*shape_b)
    z = relay.nn.batch_matmul(x, y, transpose_a=transpose_a, transpose_b=transpose_b)
    assert run_infer_type(z).checked_type == relay.TensorType((2, 3, 4), "float32")
    wanted = np.matmul(a.transpose(0, 2, 1) if transpose_a else a, b.transpose(0, 2, 1) if transpose_b else b)
    tvm.testing.assert_allclose(both(relay.Function([x, y], z), a, b, target=target, dev=dev), wanted, rtol=1e-5)


@pytest.mark.parametrize("output", [(1, 1), (3, 2), (4, 6)])
@pytest.mark.parametrize("op, ref", [(relay.nn.adaptive_max_pool2d, np.max), (relay.nn.adaptive_avg_pool2d, np.mean)])
def test_adaptive_pool2d(op, ref, output, target, dev):
    x = relay.var("x", shape=(1, 2, 4, 6))
    data = rand(1, 2, 4, 6)
    wanted = np.empty((1, 2, *output), "float32")
    for i in range(output[0]):
        for j in range(output[1]):
            rows = slice(i * 4 // output[0], -(-(i + 1) * 4 // output[0]))
            cols = slice(j * 6 // output[1], -(-(j + 1) * 6 // output[1]))
            wanted[:, :, i, j] = ref(data[:, :, rows, cols], axis=(2, 3))
    y = op(x, output)
    assert run_infer_type(y).checked_type == relay.TensorType(wanted.shape, "float32")
    tvm.testing.assert_allclose(both(relay.Function([x], y), data, target=target, dev=dev), wanted, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_sequence_mask(axis, target, dev):
    x, n = relay.var("x", shape=(3, 4, 2)), relay.var("n", shape=(4,) if axis == 0 else (3,), dtype="int32")
    data, lengths = rand(3, 4, 2), np.array([1, 2, 3, 0][: n.type_annotation.concrete_shape[0]], "int32")
    wanted = topi_testing.sequence_mask(data, lengths, 9.0, axis)
    steps = np.arange(data.shape[axis])
    keep = (steps[:, None] < lengths[None, :]) if axis == 0 else (steps[None, :] < lengths[:, None])
    tvm.testing.assert_allclose(wanted, np.where(keep[:, :, None], data, 9.0))
    func = relay.Function([x, n], relay.sequence_mask(x, n, mask_value=9.0, axis=axis))
    tvm.testing.assert_allclose(both(func, data, lengths, target=target, dev=dev), wanted)


@pytest.mark.parametrize("axis", [-1, 0])
def test_one_hot(axis, target, dev):
    i = relay.var("i", shape=(3,), dtype="int32")
    y = relay.one_hot(i, relay.const(5.0), relay.const(-1.0), 4, axis, "float32")
    indices = np.array([0, 3, 1], "int32")
    wanted = topi_testing.one_hot(indices, 5.0, -1.0, 4, axis, "float32")
    tvm.testing.assert_allclose(wanted, np.moveaxis(np.where(np.eye(4)[indices] > 0, 5.0, -1.0), -1, axis))
    tvm.testing.assert_allclose(both(relay.Function([i], y), indices, target=target, dev=dev), wanted)


def test_matrix_set_diag(target, dev):
    x, d = relay.var("x", shape=(3, 4)), relay.var("d", shape=(3,))
    data, diagonal = rand(3, 4), rand(3)
    wanted = data.copy()
    wanted[np.arange(3), np.arange(3)] = diagonal
    tvm.testing.assert_allclose(both(relay.Function([x, d], relay.matrix_set_diag(x, d)), data, diagonal, target=target, dev=dev), wanted)
    tvm.testing.assert_allclose(topi_testing.matrix_set_diag(data, diagonal), wanted)


def test_cross_entropy(target, dev):
    x, y = relay.var("x", shape=(2, 5)), relay.var("y", shape=(2, 5))
    a, b = rand(2, 5), rand(2, 5)
    tvm.testing.assert_allclose(both(relay.Function([x, y], relay.op.nn.cross_entropy(x, y)), a, b, target=target, dev=dev), -np.sum(np.log(a) * b) / 2, rtol=1e-5)
    wanted = -np.sum(a * b) / 2
    tvm.testing.assert_allclose(both(relay.Function([x, y], relay.op.nn.cross_entropy_with_logits(x, y)), a, b, target=target, dev=dev), wanted, rtol=1e-5)


def test_dilate_argwhere_sliding_window(target, dev):
    x = relay.var("x", shape=(2, 3))
    data = rand(2, 3)
    tvm.testing.assert_allclose(both(relay.Function([x], relay.nn.dilate(x, (2, 2), 1.0)), data, target=target, dev=dev), topi_testing.dilate_python(data, (2, 2), 1.0))
    result = run(relay.Function([x], relay.argwhere(relay.greater(x, relay.const(0.5)))), data, kind="vm", target=target, dev=dev)
    tvm.testing.assert_allclose(result.numpy(), np.argwhere(data > 0.5))
    v = relay.var("v", shape=(6,))
    result = both(relay.Function([v], relay.sliding_window(v, 0, [3], [1])), data.ravel(), target=target, dev=dev)
    tvm.testing.assert_allclose(result, np.lib.stride_tricks.sliding_window_view(data.ravel(), 3))


def test_random(target, dev):
    key = relay.random.threefry_key(7)
    drawn = relay.random.uniform(key, (1000,), low=2.0, high=4.0)
    values = relay.create_executor("graph", device=dev, target=target).evaluate(relay.TupleGetItem(drawn.astuple() if hasattr(drawn, "astuple") else drawn, 1)).numpy()
    assert 2 <= values.min() and values.max() < 4 and abs(values.mean() - 3) < 0.1
    halves = relay.random.threefry_split(key)
    assert [str(t.dtype) for t in run_infer_type(halves.astuple() if hasattr(halves, "astuple") else halves).checked_type.fields] == ["uint64", "uint64"]


def test_annotations_are_identities(target, dev):
    x = relay.var("x", shape=(3,))
    data = rand(3)
    for op in (relay.annotation.stop_fusion, relay.annotation.checkpoint):
        tvm.testing.assert_allclose(both(relay.Function([x], op(x + x)), data, target=target, dev=dev), data + data)
    placed = relay.annotation.on_device(x + x, tvm.cpu(0))
    tvm.testing.assert_allclose(both(relay.Function([x], placed), data, target=target, dev=dev), data + data)


def test_fixed_point_multiply(target, dev):
    x = relay.var("x", shape=(4,), dtype="int32")
    data = np.array([100, -100, 7, 1 << 20], "int32")
    func = relay.Function([x], relay.fixed_point_multiply(x, 1 << 30, 1))
    tvm.testing.assert_allclose(both(func, data, target=target, dev=dev), data)
