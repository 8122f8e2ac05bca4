"""Operators as functions."""

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import relay
from relay import _core

ROOT = Path(__file__).resolve().parents[2]


def evaluate(expr, *args):
    return relay.evaluate(expr, *args)


def f32(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def test_generated_files_are_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/generate_python_ops.py", "--check"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def function_of(name):
    elsewhere = {"on_device": "annotation.on_device", "contrib_reverse_reshape": "reverse_reshape", "memory.kill": "annotation.kill"}
    prefix, _, last = elsewhere.get(name, name).rpartition(".")
    space = relay.op
    for part in prefix.split(".") if prefix else ():
        space = relay.qnn if part == "qnn" else getattr(space, part)
    return getattr(space, last)


@pytest.mark.parametrize("name", _core.op_names())
def test_every_operator_has_a_documented_function(name):
    function = function_of(name)
    assert inspect.isfunction(function) and function.__doc__
    parameters = inspect.signature(function).parameters
    assert all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters.values())
    assert all(p.annotation is not p.empty for p in parameters.values())


@pytest.mark.parametrize("name", ["add", "nn.conv2d", "nn.dense", "image.resize2d", "vision.roi_align", "qnn.requantize", "topk"])
def test_functions_are_where_tvm_has_them(name):
    found = relay
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)


def test_signatures_are_those_of_tvm():
    def signature(function):
        return {name: p.default for name, p in inspect.signature(function).parameters.items() if p.kind is not p.KEYWORD_ONLY}

    empty = inspect.Parameter.empty
    assert list(signature(relay.nn.conv2d).items())[:4] == [
        ("data", empty), ("weight", empty), ("strides", (1, 1)), ("padding", (0, 0)),
    ]  # fmt: skip
    assert signature(relay.take) == {"data": empty, "indices": empty, "axis": None, "batch_dims": 0, "mode": "clip"}
    assert signature(relay.gather) == {"data": empty, "axis": empty, "indices": empty}
    assert list(signature(relay.qnn.conv2d))[:6] == [
        "data", "kernel", "input_zero_point", "kernel_zero_point", "input_scale", "kernel_scale",
    ]  # fmt: skip
    assert signature(relay.strided_slice)["slice_mode"] == "end" and signature(relay.nn.batch_matmul)["transpose_b"] is True


def test_numbers_for_all_dimensions():
    x, w = relay.var("x", shape=(1, 2, 8, 8)), relay.var("w", shape=(4, 2, 3, 3))
    call = relay.nn.conv2d(x, w, strides=2, padding=1)
    assert call.attrs.strides == (2, 2) and call.attrs.padding == (1, 1, 1, 1)
    assert relay.nn.max_pool2d(x, 2, padding=(1, 2)).attrs.padding == (1, 2, 1, 2)
    assert relay.nn.adaptive_avg_pool2d(x).attrs.output_size == () and relay.nn.adaptive_avg_pool2d(x, 2).attrs.output_size == (2, 2)
    with pytest.raises(ValueError, match="padding has 1, 2 or 4 entries, not 3"):
        relay.nn.conv2d(x, w, padding=(1, 2, 3))
    relay.check(relay.Function([x, w], call))
    assert call.checked_type == relay.TensorType((1, 4, 4, 4))


def test_shapes_that_are_expressions():
    x = relay.var("x", shape=(2, 6))
    data = f32(2, 6)
    shape = relay.var("s", shape=(2,), dtype="int64")
    want = np.array([3, 4], "int64")
    mod = relay.Function([x, shape], relay.reshape(x, shape))
    assert mod.body.op.name == "dyn.reshape" and np.array_equal(relay.evaluate(mod, data, want), data.reshape(3, 4))
    assert relay.reshape(x, relay.const([3, 4])).op.name == "reshape" and relay.reshape(x, 12).attrs.newshape == (12,)
    n = relay.var("n", "int64")
    mixed = relay.Function([x, n], relay.reshape(x, [n, relay.const(4)]))
    assert relay.evaluate(mixed, data, np.int64(3)).shape == (3, 4)
    for made, result in [
        (relay.zeros(shape, "int8"), np.zeros((3, 4))), (relay.ones(shape, "float32"), np.ones((3, 4))),
        (relay.full(2.5, shape, "float32"), np.full((3, 4), 2.5)), (relay.broadcast_to(relay.const(3), shape), np.full((3, 4), 3)),
    ]:  # fmt: skip
        assert made.op.name.startswith("dyn.") and np.array_equal(relay.evaluate(relay.Function([shape], made), want), result)
    k = relay.var("k", "int64")
    values, places = relay.topk(x, k)
    assert values.tuple_value.op.name == "dyn.topk"
    assert np.allclose(relay.evaluate(relay.Function([x, k], values), data, np.int64(2)), -np.sort(-data)[:, :2])
    begin = relay.var("b", shape=(2,), dtype="int64")
    sliced = relay.Function([x, begin], relay.strided_slice(x, begin, [2, 5]))
    assert np.array_equal(relay.evaluate(sliced, data, np.array([1, 2])), data[1:2, 2:5])
    axis = relay.var("a", shape=(1,), dtype="int64")
    assert relay.squeeze(relay.var("y", shape=(1, 3)), axis).op.name == "dyn.squeeze"
    tiled = relay.Function([x, shape], relay.tile(x, shape))
    assert np.array_equal(relay.evaluate(tiled, data, np.array([2, 1])), np.tile(data, (2, 1)))


def check_numpy(expr, expected, *args):
    result = relay.evaluate(expr, *args)
    results, expecteds = (result, expected) if isinstance(result, tuple) else ((result,), (expected,))
    assert len(results) == len(expecteds)
    for got, want in zip(results, expecteds):
        assert got.shape == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_compositions_compute():
    x = relay.var("x", shape=(3, 4))
    data = f32(3, 4)
    fn = lambda body: relay.Function([x], body)  # noqa: E731
    check_numpy(fn(relay.variance(x, 1)), data.var(1), data)
    check_numpy(fn(relay.variance(x, 1, keepdims=True, unbiased=True)), data.var(1, keepdims=True, ddof=1), data)
    check_numpy(fn(relay.variance(x, 1, exclude=True)), data.var(0), data)
    check_numpy(fn(relay.std(x)), data.std(), data)
    check_numpy(fn(relay.mean_variance(x, 0)), (data.mean(0), data.var(0)), data)
    check_numpy(fn(relay.mean_std(x, 0, True)), (data.mean(0, keepdims=True), data.std(0, keepdims=True)), data)
    lse = np.log(np.exp(data).sum(1, keepdims=True))
    check_numpy(fn(relay.logsumexp(x, 1, True)), lse, data)
    check_numpy(fn(relay.logsumexp(x, [1])), lse[:, 0], data)
    check_numpy(fn(relay.split(x, (1, 3), axis=1)), (data[:, :1], data[:, 1:3], data[:, 3:]), data)
    check_numpy(fn(relay.strided_slice(x, [0, 1], [-1, 2], slice_mode="size")), data[:, 1:3], data)
    check_numpy(fn(relay.strided_slice(x, [1], [3], axes=[1])), data[:, 1:3], data)
    check_numpy(fn(relay.strided_set(x, relay.const(np.zeros((1, 2), "float32")), [0, 1], [1, 3])), set_slice(data), data)
    check_numpy(fn(relay.reverse_reshape(x, (-1, 2))), data.reshape(6, 2), data)
    check_numpy(fn(relay.trilu(x, 1)), np.triu(data, 1), data)
    check_numpy(fn(relay.matrix_set_diag(x, relay.const([1.0, 2.0, 3.0]))), set_diagonal(data), data)
    check_numpy(fn(relay.nn.pad(x, ((1, 0), (0, 2)), 7)), np.pad(data, ((1, 0), (0, 2)), constant_values=7), data)
    check_numpy(fn(relay.nn.dropout(x)), data, data)
    check_numpy(fn(relay.segment_sum(x, relay.const([0, 2, 0]))), np.stack([data[0] + data[2], 0 * data[0], data[1]]), data)
    check_numpy(fn(relay.segment_sum(x, relay.const([0, 1, 0]), 2)), np.stack([data[0] + data[2], data[1]]), data)
    check_numpy(fn(relay.expand_dims(x, 1, 2)), data[:, None, None], data)
    check_numpy(fn(relay.collapse_sum_to(x, (1, 4))), data.sum(0, keepdims=True), data)


def set_slice(data):
    data = data.copy()
    data[0:1, 1:3] = 0
    return data


def set_diagonal(data):
    data = data.copy()
    data[[0, 1, 2], [0, 1, 2]] = [1, 2, 3]
    return data


def test_without_arguments_of_tensors():
    check_numpy(relay.arange(5), np.arange(5, dtype="float32"))
    check_numpy(relay.arange(1, 7, 2, "int32"), [1, 3, 5])
    check_numpy(relay.zeros((2, 3), "int8"), np.zeros((2, 3)))
    check_numpy(relay.full(3, (2,), "int64"), [3, 3])
    check_numpy(relay.full(relay.const(3.5)), 3.5)
    check_numpy(relay.one_hot(relay.const([0, 2]), 1.0, 0.0, 3, -1, "float32"), np.eye(3)[[0, 2]])
    check_numpy(relay.meshgrid([relay.const([1, 2]), relay.const([3, 4, 5])]), np.meshgrid([1, 2], [3, 4, 5], indexing="ij"))
    check_numpy(relay.unravel_index(relay.const([5, 3]), (2, 3)), np.unravel_index([5, 3], (2, 3)))
    check_numpy(relay.sparse_to_dense(relay.const([1, 3]), [5], relay.const([2.0, 4.0]), relay.const(0.0)), [0, 2, 0, 4, 0])
    check_numpy(relay.unique(relay.const([3, 1, 3])).astuple(), ([1, 3], [1, 0], [1, 0, 1], [2]))
    check_numpy(relay.where(relay.const([True, False]), relay.const([1, 2]), relay.const([3, 4])), [1, 4])
    check_numpy(relay.concatenate([relay.const([1]), relay.const([2])], axis=0), [1, 2])
    key, numbers = relay.TupleWrapper(relay.random.uniform(relay.random.threefry_key(1), (4,), low=2.0, high=3.0), 2)
    values = relay.evaluate(numbers)
    assert values.shape == (4,) and values.dtype == np.float32 and ((values >= 2) & (values < 3)).all()
    with pytest.raises(ValueError, match="256 bits"):
        relay.random.threefry_key(-1)
    assert relay.structural_equal(relay.random.threefry_key(np.int64(7)), relay.random.threefry_key(7))
    with pytest.raises(TypeError, match="not an expression"):
        relay.random.uniform(relay.random.threefry_key(1), relay.var("s"))


def test_images_and_boxes():
    x = relay.var("x", shape=(1, 1, 2, 2))
    image = np.arange(4, dtype="float32").reshape(1, 1, 2, 2)
    resized = relay.image.resize2d(x, 4, method="nearest_neighbor", coordinate_transformation_mode="asymmetric")
    check_numpy(relay.Function([x], resized), image.repeat(2, 2).repeat(2, 3), image)
    size = relay.var("s", shape=(2,), dtype="int64")
    assert relay.image.resize2d(x, size).op.name == "dyn.image.resize2d"
    with pytest.raises(TypeError, match="only that of resize2d"):
        relay.image.resize1d(x, size)
    check_numpy(relay.Function([x], relay.nn.upsampling(x, 2, 2)), image.repeat(2, 2).repeat(2, 3), image)
    scale = relay.var("h", "float32")
    assert relay.nn.upsampling(x, scale, 2).op.name == "dyn.nn.upsampling"
    boxes = relay.var("b", shape=(1, 3, 6))
    counts, moved, places = relay.vision.get_valid_counts(boxes, 0.3)
    kept = relay.vision.non_max_suppression(moved, counts, places, return_indices=False)
    data = np.array([[[0, 0.1, 0, 0, 1, 1], [0, 0.9, 0, 0, 2, 2], [1, 0.5, 1, 1, 2, 2]]], "float32")
    assert relay.evaluate(relay.Function([boxes], kept), data)[0, 0, 1] == np.float32(0.9)
    assert len(relay.vision.non_max_suppression(boxes, counts, places)) == 2


def test_quantised():
    x = relay.var("x", shape=(3,))
    data = np.array([-1.0, 0.26, 1.0], "float32")
    q = relay.qnn.quantize(x, 0.5, 0, out_dtype="int8")
    check_numpy(relay.Function([x], q), [-2, 1, 2], data)
    check_numpy(relay.Function([x], relay.qnn.dequantize(q, 0.5, 0)), [-1, 0.5, 1], data)
    simulated = relay.qnn.simulated_quantize(x, relay.const(0.5), relay.const(0))
    check_numpy(relay.Function([x], simulated), [-2, 1, 2], data)
    with pytest.raises(ValueError, match="int4 is not among"):
        relay.qnn.simulated_quantize(x, relay.const(0.5), relay.const(0), out_dtype="int4")


def test_sparse():
    dense = np.array([[1.0, 2], [3, 4]], "float32")
    parts = (np.array([5.0, 6], "float32"), np.array([1, 0], "int32"), np.array([0, 1, 2], "int32"))
    sparse = np.array([[0, 5.0], [6, 0]], "float32")
    check_numpy(relay.nn.sparse_dense(dense, parts), dense @ sparse.T)
    check_numpy(relay.nn.sparse_add(dense, parts), dense + sparse)
    assert len(relay.nn.sparse_transpose(parts)) == 3
    with pytest.raises(ValueError, match="not 2 parts"):
        relay.nn.sparse_dense(dense, parts[:2])


def test_devices():
    x = relay.var("x", shape=(1,))
    copy = relay.device_copy(x, "cpu", "cuda(1)")
    assert (copy.attrs.src_virtual_device, copy.attrs.dst_virtual_device) == ("cpu(0)", "cuda(1)")
    assert relay.annotation.on_device(x, "llvm", constrain_result=True).attrs.constrain_result is True
    with pytest.raises(relay.RelayError, match="no kind"):
        relay.device_copy(x, "cpu", "toaster")


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: relay.nn.softmax(x, axis="one"), relay.RelayError, "attribute axis takes int"),
        (lambda x: relay.nn.softmax(x, axis=2**70), ValueError, "beyond 64 bits"),
        (lambda x: relay.nn.softmax(x, axis=object()), TypeError, "attribute axis of nn.softmax cannot be"),
        (lambda x: relay.nn.softmax(x, axes=1), TypeError, "unexpected keyword argument 'axes'"),
        (lambda x: relay.add(x), TypeError, "missing 1 required positional argument"),
        (lambda x: relay.add(x, "one"), TypeError, "cannot be made of this str"),
        (lambda x: relay.add(x, None), TypeError, "is needed, not None"),
        (lambda x: relay.cast(x, "float33"), (relay.RelayError, ValueError), "float33"),
        (lambda x: relay.nn.pad(x, ((1, 1),), pad_mode="wrap"), relay.RelayError, "wrap"),
        (lambda x: relay.matrix_set_diag(x, x, align="UP_DOWN"), ValueError, "align is two of LEFT and RIGHT"),
        (lambda x: _core.call_op("nope", x), KeyError, "there is no operator nope"),
        (lambda x: _core.call_op("exp", x, axis=1), TypeError, "exp has no attributes"),
        (lambda x: relay.debug(x, debug_func=print), NotImplementedError, "not supported"),
    ],
)  # fmt: skip
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(relay.var("x", shape=(2, 2)))
