"""FakeQuantizationToInteger: what is computed between dequantize and quantize becomes integers, within a step of the result."""

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.ir import TensorAffineType
from tvm.relay.testing import count_ops
from tvm.relay.testing.temp_op_attr import TempOpAttr

ZERO = relay.const(0)


def scale(value):
    return relay.const(value)


def dequantized(name, shape, step=0.1, zero=0, dtype="int8"):
    return relay.qnn.op.dequantize(relay.var(name, shape=shape, dtype=dtype), scale(step), relay.const(zero))


def quantized(expr, step=0.2, zero=0, dtype="int8"):
    return relay.qnn.op.quantize(expr, scale(step), relay.const(zero), out_dtype=dtype)


def to_integers(expr, **options):
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(expr), expr)))
    return mod, relay.transform.FakeQuantizationToInteger(**options)(mod)


def inputs(mod):
    rng = np.random.RandomState(0)
    made = []
    for param in mod["main"].params:
        info = np.iinfo(param.type_annotation.dtype)
        made.append(rng.randint(max(info.min, -128), min(info.max, 255) + 1, param.type_annotation.concrete_shape).astype(param.type_annotation.dtype))
    return made


def check(expr, steps=1, floats=(), **options):
    """The numbers differ by a step at most, and no operator of `floats` computes on floats any more."""
    before, after = to_integers(expr, **options)
    assert not tvm.ir.structural_equal(before, after)
    args = inputs(before)
    results = [relay.create_executor("debug", mod=mod).evaluate()(*args).numpy() for mod in (before, after)]
    assert results[0].dtype == results[1].dtype and len(np.unique(results[0])) > 2
    difference = np.abs(results[0].astype("float64") - results[1].astype("float64"))
    assert difference.max() <= steps, (difference.max(), after)
    if results[0].dtype != np.float32:
        found = set()
        relay.analysis.post_order_visit(after["main"], lambda e: found.add(str(e.checked_type)) if isinstance(e, relay.Call) else None)
        assert not any("float32" in text for text in found), after
    return after


X = ("x", (1, 4, 6, 6))
UNARY = {
    "relu": (lambda x: relay.nn.relu(x), 1),
    "clip": (lambda x: relay.clip(x, -2.0, 6.0), 1),
    "leaky_relu": (lambda x: relay.nn.leaky_relu(x, 0.2), 2),
    "max_pool2d": (lambda x: relay.nn.max_pool2d(x, (2, 2)), 1),
    "avg_pool2d": (lambda x: relay.nn.avg_pool2d(x, (2, 2), strides=(2, 2)), 1),
    "global_avg_pool2d": (lambda x: relay.nn.global_avg_pool2d(x), 1),
    "adaptive_avg_pool2d": (lambda x: relay.nn.adaptive_avg_pool2d(x, (2, 3)), 1),
    "mean": (lambda x: relay.mean(x, axis=[2, 3]), 1),
    "reshape": (lambda x: relay.reshape(x, (4, 36)), 1),
    "transpose": (lambda x: relay.transpose(x, (0, 2, 3, 1)), 1),
    "squeeze": (lambda x: relay.squeeze(x, [0]), 1),
    "strided_slice": (lambda x: relay.strided_slice(x, [0, 1, 0, 2], [1, 4, 3, 6]), 1),
    "split": (lambda x: relay.split(x, 2, axis=1)[1], 1),
    "pad": (lambda x: relay.nn.pad(x, [[0, 0], [0, 0], [1, 2], [0, 1]], 0.5), 1),
    "max": (lambda x: relay.max(x, axis=[1]), 1),
    "depth_to_space": (lambda x: relay.nn.depth_to_space(x, 2), 1),
    "batch_flatten": (lambda x: relay.nn.batch_flatten(x), 1),
    "expand_dims": (lambda x: relay.expand_dims(x, 2), 1),
    "take": (lambda x: relay.take(x, relay.const([2, 0]), axis=1), 1),
    "minimum": (lambda x: relay.minimum(x, relay.const(3.0)), 1),
    "tanh": (lambda x: relay.tanh(x), 1),
    "sigmoid": (lambda x: relay.sigmoid(x), 1),
    "exp": (lambda x: relay.exp(x), 1),
    "abs": (lambda x: relay.abs(x), 1),
    "multiply_constant": (lambda x: x * relay.const(np.linspace(0.5, 2, 6).astype("float32")), 2),
    "add_constant": (lambda x: x + relay.const(np.linspace(-3, 3, 4).reshape(4, 1, 1).astype("float32")), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    make, steps = UNARY[name]
    check(quantized(make(dequantized(*X))), steps)


@pytest.mark.parametrize("name", ["relu", "max_pool2d", "transpose", "mean", "sigmoid"])
def test_other_zero_points_and_dtypes(name):
    make, steps = UNARY[name]
    check(quantized(make(dequantized(*X, step=0.05, zero=100, dtype="uint8")), 0.03, 7, "uint8"), steps)


FINER = {
    "mean": (X, lambda x: relay.mean(x, axis=[2, 3])),
    "global_avg_pool2d": (X, lambda x: relay.nn.global_avg_pool2d(x)),
    "adaptive_avg_pool2d": (X, lambda x: relay.nn.adaptive_avg_pool2d(x, (2, 3))),
    "mean_of_mean": (X, lambda x: relay.mean(relay.mean(x, axis=[3]), axis=[2])),
    "moved": (X, lambda x: relay.transpose(relay.clip(relay.nn.global_avg_pool2d(x), -0.5, 2.0))),
    "resize": (X, lambda x: relay.image.resize2d(x, (9, 11), method="linear")),
    "avg_pool1d": (("x", (1, 4, 6)), lambda x: relay.nn.avg_pool1d(x, (3,))),
}


@pytest.mark.parametrize("zero", [0, -7])
@pytest.mark.parametrize("name", FINER)
def test_averages_are_rounded_to_the_scale_of_the_result(name, zero):
    """A step of the data is twenty of the result: rounding to it would be ten steps off."""
    given, make = FINER[name]
    check(quantized(make(dequantized(*given, zero=zero)), 0.005, dtype="int16"))


@pytest.mark.parametrize("follower", ["dense", "multiply", "sigmoid"])
def test_averages_before_operators_on_bytes(follower):
    mean = relay.mean(dequantized(*X, zero=3), axis=[2, 3])
    if follower == "dense":
        after = check(quantized(relay.nn.dense(mean, dequantized("w", (5, 4), 0.02)), 0.02))
        assert count_ops(after["main"])["qnn.dense"] == 1
    elif follower == "multiply":
        check(quantized(mean * dequantized("y", (1, 4), 0.05), 0.3))
    else:
        check(quantized(relay.sigmoid(mean), 0.1))


def test_averages_before_functions_of_scripts():
    """They get the integers of the data's dtype, which TVM's averages have."""
    seen = []

    def form(expr, type_map):
        affine = type_map[expr.args[0]]
        seen.append(affine.dtype)
        return [expr.args[0], affine]

    with TempOpAttr("nn.relu", "FTVMFakeQuantizationToInteger", form):
        check(quantized(relay.nn.relu(relay.mean(dequantized(*X, zero=-60), axis=[2, 3])), 0.1))
    assert seen == ["int8"]


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
def test_binary(name):
    x, y = dequantized("x", (2, 3)), dequantized("y", (2, 3), 0.05, 3)
    check(quantized(getattr(relay, name)(x, y), 0.3, -2), 2)


def test_concatenate():
    parts = [dequantized("x", (2, 3)), dequantized("y", (2, 5), 0.05, 3)]
    after = check(quantized(relay.concatenate(parts, axis=1), 0.15, 1))
    assert count_ops(after["main"])["qnn.concatenate"] == 1


@pytest.mark.parametrize("units", [None, 5])
def test_dense(units):
    x, w = dequantized("x", (3, 7)), dequantized("w", (5, 7), 0.02)
    after = check(quantized(relay.nn.dense(x, w, units=units), 0.5))
    assert count_ops(after["main"]) == {"qnn.dense": 1, "qnn.requantize": 1}


def test_batch_matmul():
    x, y = dequantized("x", (2, 3, 7)), dequantized("y", (2, 5, 7), 0.02)
    check(quantized(relay.nn.batch_matmul(x, y), 0.5))


def conv(x=None, **attrs):
    return relay.nn.conv2d(dequantized(*X) if x is None else x, dequantized("w", (8, 4, 3, 3), 0.02), kernel_size=(3, 3), padding=(1, 1), channels=8, **attrs)


def test_convolution_with_a_bias_and_an_activation():
    bias = relay.qnn.op.dequantize(relay.var("b", shape=(8,), dtype="int32"), scale(0.002), ZERO)
    after = check(quantized(relay.nn.relu(relay.nn.bias_add(conv(), bias)), 0.5))
    assert count_ops(after["main"]) == {"qnn.conv2d": 1, "nn.bias_add": 1, "maximum": 1, "qnn.requantize": 1}


def test_scales_of_channels():
    w = relay.qnn.op.dequantize(
        relay.var("w", shape=(8, 4, 1, 1), dtype="int8"), relay.const(np.linspace(0.01, 0.05, 8).astype("float32")), ZERO, axis=0)  # fmt: skip
    y = relay.nn.conv2d(dequantized(*X), w, kernel_size=(1, 1), channels=8)
    y = relay.nn.relu(relay.nn.bias_add(y, relay.const(np.linspace(-1, 1, 8).astype("float32"))))
    check(quantized(y, 0.5))


def test_transposed_weights_with_scales_of_channels():
    w = relay.qnn.op.dequantize(relay.var("w", shape=(7, 5), dtype="int8"), relay.const([0.01, 0.02, 0.03, 0.04, 0.05]), ZERO, axis=1)
    check(quantized(relay.nn.dense(dequantized("x", (3, 7)), relay.transpose(w)), 0.5))


ROWS, BLOCK = ("x", (2, 4, 9)), ("x", (1, 4, 4, 5, 6))
OTHER_RANKS = {
    "avg_pool1d": (ROWS, lambda x: relay.nn.avg_pool1d(x, (2,), strides=(2,))),
    "avg_pool1d_padded": (ROWS, lambda x: relay.nn.avg_pool1d(x, (3,), padding=(1, 1), count_include_pad=True)),
    "avg_pool3d": (BLOCK, lambda x: relay.nn.avg_pool3d(x, (2, 2, 2), strides=(2, 2, 2))),
    "avg_pool3d_padded": (BLOCK, lambda x: relay.nn.avg_pool3d(x, (2, 2, 2), padding=(1, 1, 1, 1, 1, 1))),
    "conv1d": (ROWS, lambda x: relay.nn.conv1d(x, dequantized("w", (6, 4, 3), 0.02), kernel_size=3, channels=6, padding=1)),
    "conv1d_groups": (ROWS, lambda x: relay.nn.conv1d(x, dequantized("w", (6, 2, 3), 0.02, 5), kernel_size=3, channels=6, groups=2)),
    "conv1d_nwc": (("x", (2, 9, 4)), lambda x: relay.nn.conv1d(
        x, dequantized("w", (3, 4, 6), 0.02), kernel_size=3, channels=6, data_layout="NWC", kernel_layout="WIO")),
    "conv3d": (BLOCK, lambda x: relay.nn.conv3d(x, dequantized("w", (6, 4, 2, 2, 2), 0.02), kernel_size=(2, 2, 2), channels=6)),
    "conv1d_transpose": (ROWS, lambda x: relay.nn.conv1d_transpose(x, dequantized("w", (4, 3, 2), 0.02), kernel_size=(2,), channels=3, strides=(2,))),
    "conv3d_transpose": (BLOCK, lambda x: relay.nn.conv3d_transpose(x, dequantized("w", (4, 3, 2, 2, 2), 0.02), kernel_size=(2, 2, 2), channels=3)),
    "resize_linear": (X, lambda x: relay.image.resize2d(x, (9, 11), method="linear")),
    "resize_cubic": (X, lambda x: relay.image.resize2d(x, (9, 11), method="cubic")),
    "resize_nearest": (X, lambda x: relay.image.resize2d(x, (9, 11), method="nearest_neighbor")),
    "resize1d": (ROWS, lambda x: relay.image.resize1d(x, (7,), layout="NCW")),
}  # fmt: skip


@pytest.mark.parametrize("zero", [0, 3])
@pytest.mark.parametrize("name", OTHER_RANKS)
def test_other_ranks_and_interpolation(name, zero):
    given, make = OTHER_RANKS[name]
    check(quantized(make(dequantized(*given, zero=zero)), 0.15, 1))


@pytest.mark.parametrize("kind", ["conv1d", "conv3d", "conv1d_transpose"])
def test_scales_of_channels_in_other_ranks(kind):
    rank = 1 if "1d" in kind else 3
    shape = (4, 6) if "transpose" in kind else (6, 4)
    w = relay.qnn.op.dequantize(
        relay.var("w", shape=(*shape, *[2] * rank), dtype="int8"), relay.const(np.linspace(0.01, 0.05, 6).astype("float32")), ZERO,
        axis=1 if "transpose" in kind else 0)  # fmt: skip
    y = getattr(relay.nn, kind)(dequantized(*(ROWS if rank == 1 else BLOCK)), w, kernel_size=(2,) * rank, channels=6)
    check(quantized(y, 0.5))


@pytest.mark.parametrize("axis", [1, -1])
def test_bias_of_another_scale(axis):
    x, b = dequantized("x", (2, 4, 4)), dequantized("b", (4,), 0.02, 5)
    after = check(quantized(relay.nn.bias_add(x, b, axis=axis), 0.15, 1))
    assert count_ops(after["main"])["qnn.add"] == 1


def test_resize_of_a_part_stays():
    """An element outside of the data is a number, not an integer of the scale."""
    y = relay.image.resize2d(dequantized(*X), (3, 3), roi=(0.0, 0.0, 2.0, 2.0), coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=1.0)
    before, after = to_integers(quantized(y))
    assert tvm.ir.structural_equal(before, after)


def test_transposed_convolution():
    y = relay.nn.conv2d_transpose(dequantized(*X), dequantized("w", (4, 3, 2, 2), 0.02), kernel_size=(2, 2), channels=3, strides=(2, 2))
    check(quantized(y, 0.3))


def test_residual_block():
    x = dequantized(*X)
    y = relay.nn.conv2d(x, dequantized("w", (4, 4, 3, 3), 0.02), kernel_size=(3, 3), padding=(1, 1), channels=4)
    check(quantized(relay.nn.relu(y + x), 0.5), 2)


def test_scales_that_are_only_known_when_it_runs():
    s = relay.var("s", shape=(), dtype="float32")
    y = relay.qnn.op.quantize(relay.nn.relu(relay.qnn.op.dequantize(relay.var("x", shape=(2, 3), dtype="int8"), s, ZERO)), s, ZERO)
    before, after = to_integers(y)
    assert count_ops(after["main"]) == {"maximum": 1}


def test_softmax_if_it_is_named():
    y = quantized(relay.nn.softmax(dequantized("x", (2, 10))), 1 / 256, -128)
    before, after = to_integers(y)
    assert tvm.ir.structural_equal(before, after)
    check(y, 3, optional_qnn_ops=["nn.softmax"])


def test_numbers_that_would_be_cut_off_stay_floats():
    """The sum is not of the result's range: sigmoid sees it whole."""
    x, y = dequantized("x", (2, 30)), dequantized("y", (2, 30))
    before, after = to_integers(quantized(relay.sigmoid(x + y), 1 / 256, -128))
    assert tvm.ir.structural_equal(before, after)


@pytest.mark.parametrize("make", [relay.cos, lambda x: x + relay.var("f", shape=(6,)), lambda x: relay.nn.conv2d(x, relay.const(np.ones((2, 4, 1, 1), "float32")), kernel_size=(1, 1))])
def test_what_has_no_form_stays(make):
    before, after = to_integers(quantized(make(dequantized(*X))))
    assert tvm.ir.structural_equal(before, after)


def test_hard_fail():
    with pytest.raises(tvm.TVMError, match="cos"):
        to_integers(quantized(relay.cos(dequantized(*X))), hard_fail=True)


def test_use_qat():
    y = relay.nn.relu(conv())
    before, after = to_integers(y)
    assert tvm.ir.structural_equal(before, after)
    after = check(y, 1e-4, use_qat=True)
    assert count_ops(after["main"]) == {"qnn.conv2d": 1, "maximum": 1, "qnn.dequantize": 1}


def test_a_function_of_the_script():
    def doubled(expr, type_map):
        x = type_map[expr.args[0]]
        assert isinstance(x, TensorAffineType) and type_map[expr].dtype == "int8"
        return [expr.args[0], TensorAffineType(x.scale * relay.const(2.0), x.zero_point, x.dtype, x.axis)]

    y = quantized(relay.cos(dequantized("x", (3,))), 0.2)
    with TempOpAttr("cos", "FTVMFakeQuantizationToInteger", doubled):
        _, after = to_integers(y)
        assert "cos" not in count_ops(after["main"])
    before, after = to_integers(y)
    assert tvm.ir.structural_equal(before, after)


def test_an_optional_function_of_the_script():
    y = quantized(relay.cos(dequantized("x", (3,))), 0.2)
    with TempOpAttr("cos", "FTVMOptionalFakeQuantizationToInteger", lambda expr, types: [expr.args[0], types[expr.args[0]]]):
        assert "cos" in count_ops(to_integers(y)[1]["main"])
        assert "cos" not in count_ops(to_integers(y, optional_qnn_ops=["cos"])[1]["main"])


def test_list_fake_quantized_op_freqs():
    mod, after = to_integers(quantized(relay.nn.relu(conv())))
    assert dict(relay.analysis.list_fake_quantized_op_freqs(mod)) == {"nn.conv2d": 1, "nn.relu": 1}
    assert not relay.analysis.list_fake_quantized_op_freqs(after)
