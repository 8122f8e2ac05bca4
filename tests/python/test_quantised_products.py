"""qnn.conv2d and qnn.dense against the same sums of int32, operands less their zero points."""

import numpy as np
import pytest

import relay

ONE = relay.const(np.float32(1))


def number(value):
    return relay.const(np.int32(value))


def data_of(rng, shape, dtype):
    info = np.iinfo(dtype)
    return rng.randint(info.min, info.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("zero", [0, 3, -128, 127, 200, 1000])
@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int16", "int8")])
@pytest.mark.parametrize(
    "shape, kernel, options",
    [
        ((2, 6, 7, 5), (4, 6, 3, 3), {"padding": (1, 2)}),
        ((2, 6, 7, 5), (4, 6, 3, 2), {"padding": (0, 1, 2, 3), "strides": (2, 1), "dilation": (1, 2)}),
        ((2, 6, 7, 5), (4, 3, 3, 3), {"padding": (1, 1), "groups": 2}),
        ((2, 6, 7, 5), (6, 1, 3, 3), {"padding": (1, 1), "groups": 6}),
        ((2, 6, 7, 5), (6, 2, 3, 3), {"padding": (1, 1), "groups": 3}),
        ((2, 16, 7, 5), (6, 8, 3, 3), {"padding": (1, 1), "groups": 2}),
        ((2, 6, 7, 5), (4, 6, 1, 1), {}),
        ((2, 7, 5, 6), (3, 3, 6, 4), {"padding": (1, 1), "data_layout": "NHWC", "kernel_layout": "HWIO"}),
    ],
)
def test_convolutions(zero, dtypes, shape, kernel, options):
    rng = np.random.RandomState(0)
    x, w = data_of(rng, shape, dtypes[0]), data_of(rng, kernel, dtypes[1])
    layout = options.get("kernel_layout", "OIHW")
    options = {"kernel_size": (kernel[layout.index("H")], kernel[layout.index("W")]), "channels": kernel[layout.index("O")], **options}
    weight, var = relay.const(w), relay.var("x", shape=shape, dtype=dtypes[0])
    made = relay.qnn.op.conv2d(var, weight, number(zero), number(0), ONE, ONE, **options)
    wide = relay.cast(var, "int32") - number(zero)
    plain = relay.nn.conv2d(wide, relay.cast(weight, "int32"), out_dtype="int32", **options)
    mod = relay.IRModule.from_expr(relay.Function([var], relay.Tuple([made, plain])))
    for got, want in (relay.compile(mod)(x), relay.evaluate(mod, x)):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("zero", [0, 3, -200, 255])
@pytest.mark.parametrize("weight_zero", [0, 5])
@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")])
def test_products(zero, weight_zero, dtypes):
    rng = np.random.RandomState(1)
    x, w = data_of(rng, (3, 4, 17), dtypes[0]), data_of(rng, (9, 17), dtypes[1])
    var, moved = relay.var("x", shape=x.shape, dtype=dtypes[0]), relay.var("z", shape=(), dtype="int32")
    for zero_point, params, args in ((number(zero), [var], [x]), (moved, [var, moved], [x, np.int32(zero)])):
        made = relay.qnn.op.dense(var, relay.const(w), zero_point, number(weight_zero), ONE, ONE, units=9)
        mod = relay.IRModule.from_expr(relay.Function(params, made))
        want = (x.astype("int32") - zero) @ (w.astype("int32") - weight_zero).T
        np.testing.assert_array_equal(np.asarray(relay.compile(mod)(*args)), want)


def test_weights_of_a_run():
    rng = np.random.RandomState(2)
    x, w = data_of(rng, (1, 3, 6, 6), "uint8"), data_of(rng, (4, 3, 3, 3), "int8")
    data, weight = relay.var("x", shape=x.shape, dtype="uint8"), relay.var("w", shape=w.shape, dtype="int8")
    zero = relay.var("z", shape=(), dtype="int32")
    options = {"kernel_size": (3, 3), "channels": 4, "padding": (1, 1)}
    made = relay.qnn.op.conv2d(data, weight, zero, number(0), ONE, ONE, **options)
    plain = relay.nn.conv2d(relay.cast(data, "int32") - zero, relay.cast(weight, "int32"), out_dtype="int32", **options)
    run = relay.compile(relay.IRModule.from_expr(relay.Function([data, weight, zero], relay.Tuple([made, plain]))))
    for value in (0, 9, 400):
        got, want = run(x, w, np.int32(value))
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
