"""Cases of quantised tensors; qnn_references.py computes their results."""

import math

import numpy as np

from .core import Literal, Type, draw
from .qnn_references import RANGE


def scale(value):
    return Literal(value, "float32")


def zero(value):
    return Literal(value, "int32")


def integers(key, shape, dtype):
    low, high = RANGE[dtype]
    return draw(key, shape, dtype, low, high)


def f32(*values):
    return np.array(values, np.float32)


def i32(*values):
    return np.array(values, np.int32)


def conversions(book):
    for dtype in ("int8", "uint8", "int16", "uint16", "int32"):
        x = np.concatenate([draw(f"q{dtype}", (20,), "float32", -40, 40), f32(0, -0.0, 0.3, 1e9, -1e9)])
        special = np.concatenate([x, f32(math.nan, math.inf, -math.inf)])
        for label, s, z in (("to " + dtype, 0.3, 3), ("to " + dtype + ", far zero point", 0.02, -1000)):
            book.add("qnn.quantize", label, [special, scale(s), zero(z)], exact=True, out_dtype=dtype)
        book.add(
            "qnn.quantize",
            f"to {dtype}, parameters of the run",
            [special, np.float32(0.3), np.int32(-7)],
            exact=True,
            out_dtype=dtype,
        )
        q = integers(f"d{dtype}", (17,), dtype)
        book.add("qnn.dequantize", dtype, [q, scale(0.11), zero(5)], out_dtype="float32")
        book.add("qnn.dequantize", f"{dtype} to float64", [q, scale(0.11), zero(-300)], out_dtype="float64")
        book.add(
            "qnn.dequantize", f"{dtype}, parameters of the run", [q, np.float32(0.25), np.int32(9)]
        )
    halves = f32(-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 0.49999997, -0.49999997, 126.5, 127.5, 1e9, math.nan, math.inf, -math.inf)
    for dtype in ("int8", "uint8", "int32"):
        for zero_point in (0, 3):
            book.add(
                "qnn.quantize",
                f"halves to even, {dtype}, zero point {zero_point}",
                [halves, scale(1.0), zero(zero_point)],
                exact=True,
                out_dtype=dtype,
                rounding="TOEVEN",
            )
    for dtype in ("float16", "float64"):
        x = draw(f"q{dtype}", (9,), dtype, -20, 20)
        book.add("qnn.quantize", f"of {dtype}", [x, scale(0.5), zero(1)], exact=True, out_dtype="int8")
    q = integers("half", (9,), "int8")
    book.add("qnn.dequantize", "to float16", [q, scale(0.25), zero(1)], out_dtype="float16")
    for shape, axis in (((2, 3, 2), 1), ((2, 3), -1), ((3,), 0), ((3, 2, 2), 0), ((0, 3), 1), ((1, 3, 1), -2)):
        x = draw(f"qc{shape}", shape, "float32", -20, 20)
        parameters = [f32(0.1, 0.5, 2.0), i32(0, 5, -5)]
        label = f"for each channel, axis {axis} of {len(shape)}, extents {shape}"
        book.add("qnn.quantize", label, [x, *parameters], exact=True, out_dtype="int8", axis=axis)
        q = integers(f"dc{shape}", shape, "uint8")
        book.add("qnn.dequantize", label, [q, *parameters], out_dtype="float32", axis=axis)
    book.add("qnn.quantize", "a scalar", [np.float32(-0.4), scale(0.1), zero(1)], exact=True, out_dtype="uint8")
    x, q = Type("float32", 2, 3), Type("int8", 2, 3)
    s, z = Type("float32"), Type("int32")
    fails = [
        ("float64 scale", "the scale is float32", [x, Type("float64"), z], {"out_dtype": "int8"}),
        ("scale is a matrix", "a scale is a scalar or vector", [x, Type("float32", 2, 3), z], {"out_dtype": "int8"}),
        ("two scales for three channels", "one scale for each", [x, Type("float32", 2), z], {"out_dtype": "int8"}),
        ("axis out of range", "the data has rank two", [x, Type("float32", 3), z], {"out_dtype": "int8", "axis": 2}),
        ("unknown rounding", "there is no such rounding", [x, s, z], {"out_dtype": "int8", "rounding": "UP"}),
        ("to int64", "at most 32 bits", [x, s, z], {"out_dtype": "int64"}),
        ("to float32", "an integer dtype", [x, s, z], {"out_dtype": "float32"}),
    ]
    for label, why, args, attributes in fails:
        book.fail("qnn.quantize", label, why, args, **attributes)
    book.fail("qnn.dequantize", "to int8", "a floating-point dtype", [q, s, z], out_dtype="int8")
    book.fail("qnn.dequantize", "two zero points for three channels", "one for each", [q, s, Type("int32", 2)])


def requantisations(book):
    data = np.array(
        [-(2**31), -(2**30) - 7, -70000, -600, -129, -7, -5, -3, -2, -1, 0, 1, 2, 3, 5, 7, 253, 600, 70001, 2**30 + 5, 2**31 - 1],
        np.int32,
    )
    pairs = [(0.5, 1.0), (0.1, 0.3), (2.0, 0.3), (1.0, 1.0), (1e-6, 0.25), (1e-20, 1.0), (1e20, 1.0), (0.75, 1e-3), (1.0, 3.0)]
    for rounding in ("UPWARD", "TONEAREST"):
        for out_dtype in ("int8", "uint8", "int16", "int32"):
            for s, t in pairs:
                book.add(
                    "qnn.requantize",
                    f"{s} to {t}, {rounding}, {out_dtype}",
                    [data, scale(s), zero(-3), scale(t), zero(7)],
                    exact=True,
                    rounding=rounding,
                    out_dtype=out_dtype,
                )
    for dtype in ("int8", "uint8", "int16", "uint16", "int64"):
        q = integers(f"r{dtype}", (12,), "int32" if dtype == "int64" else dtype).astype(dtype)
        if dtype == "int64":
            q = np.concatenate([q * 1000, np.array([2**61, -(2**61), 2**40 + 1, -(2**40) - 1])])
        for s, t in ((0.3, 0.7), (2.0, 0.3), (1e-9, 1e-3), (1.5, 2.0)):
            for rounding in ("UPWARD", "TONEAREST"):
                book.add(
                    "qnn.requantize",
                    f"of {dtype}, {s} to {t}, {rounding}",
                    [q, scale(s), zero(11), scale(t), zero(-4)],
                    exact=True,
                    rounding=rounding,
                    out_dtype="int32",
                )
        book.add(
            "qnn.requantize",
            f"of {dtype}, parameters of the run",
            [q, np.float32(0.3), np.int32(11), np.float32(0.7), np.int32(-4)],
            exact=True,
            out_dtype="int16",
        )
        book.add(
            "qnn.requantize",
            f"of {dtype}, parameters of the run, TONEAREST",
            [q, np.float32(1e-3), np.int32(-1), np.float32(1e-4), np.int32(3)],
            exact=True,
            rounding="TONEAREST",
            out_dtype="int32",
        )
    small = integers("rf", (15,), "int16").astype(np.int32)
    for compute in ("float32", "float64", "int64"):
        for rounding in ("UPWARD", "TONEAREST", "None"):
            book.add(
                "qnn.requantize",
                f"in {compute}, {rounding}",
                [small, scale(0.25), zero(2), scale(0.5), zero(0)],
                exact=True,
                compute_dtype=compute,
                rounding=rounding,
            )
    for shape, axis in (((2, 3, 2), 1), ((2, 3), -1), ((3, 0), 0)):
        q = integers(f"rc{shape}", shape, "int16").astype(np.int32)
        for rounding in ("UPWARD", "TONEAREST"):
            book.add(
                "qnn.requantize",
                f"for each channel, axis {axis} of {shape}, {rounding}",
                [q, f32(0.5, 0.25, 0.001), i32(0, 1, -1), scale(0.3), zero(4)],
                exact=True,
                axis=axis,
                rounding=rounding,
            )
    q = integers("ro", (2, 3), "int8")
    book.add(
        "qnn.requantize",
        "scales of the result for each channel",
        [q, f32(0.5, 0.25, 0.125), zero(0), f32(0.3, 0.6, 0.9), i32(1, 2, 3)],
        exact=True,
        axis=1,
    )
    x, s, z = Type("int32", 2, 3), Type("float32"), Type("int32")
    book.fail("qnn.requantize", "unknown rounding", "no such word", [x, s, z, s, z], rounding="DOWN")
    book.fail("qnn.requantize", "unknown compute_dtype", "no such word", [x, s, z, s, z], compute_dtype="int32")
    book.fail("qnn.requantize", "four scales", "one for each", [x, Type("float32", 4), z, s, z])
    book.fail("qnn.requantize", "to int64", "at most 32 bits", [x, s, z, s, z], out_dtype="int64")


def arithmetic(book):
    for op in ("qnn.add", "qnn.subtract", "qnn.mul"):
        for dtype in ("int8", "uint8", "int16"):
            a, b = integers(f"{op}a{dtype}", (3, 5), dtype), integers(f"{op}b{dtype}", (3, 5), dtype)
            result = 0.75 if dtype != "int16" or op != "qnn.mul" else 300.0
            arguments = [a, b, scale(0.5), zero(2), scale(0.25), zero(-3), scale(result), zero(5)]
            book.add(op, dtype, arguments, exact=True)
            arguments = [a, b, np.float32(0.1), np.int32(4), np.float32(0.3), np.int32(0), np.float32(result), np.int32(-5)]
            book.add(op, f"{dtype}, parameters of the run", arguments, exact=True)
        a, b = integers(f"{op}c", (2, 3, 4), "int8"), integers(f"{op}d", (3, 1), "int8")
        book.add(
            op,
            "broadcast, scales for each channel",
            [a, b, f32(0.5, 0.25, 0.1, 0.3), i32(1, 2, 3, 4), f32(0.2, 0.4, 0.8), zero(0), scale(0.6), zero(1)],
            exact=True,
            lhs_axis=2,
            rhs_axis=0,
        )
        empty = np.zeros((0, 3), np.int8)
        book.add(op, "empty", [empty, empty, scale(0.5), zero(2), scale(0.25), zero(-3), scale(1.0), zero(5)], exact=True)
        x, s, z = Type("int8", 2, 3), Type("float32"), Type("int32")
        book.fail(op, "shapes do not broadcast", "three and two", [x, Type("int8", 2), s, z, s, z, s, z])
        book.fail(op, "a vector of result scales", "a scalar", [x, x, s, z, s, z, Type("float32", 3), z])
        book.fail(op, "float data", "integers", [Type("float32", 2), Type("float32", 2), s, z, s, z, s, z])
    a, b = integers("w32a", (6,), "int32"), integers("w32b", (6,), "int32")
    for op in ("qnn.add", "qnn.subtract"):
        book.add(op, "int32", [a, b, scale(0.5), zero(2), scale(0.25), zero(-3), scale(0.75), zero(5)], exact=True)
    book.fail("qnn.mul", "int32", "16 bits at most", [Type("int32", 2)] * 2 + [Type("float32"), Type("int32")] * 3)
    parts = [integers("ca", (2, 3), "int8"), integers("cb", (2, 1), "int8"), integers("cc", (2, 0), "int8")]
    book.add(
        "qnn.concatenate",
        "axis 1, an empty part",
        [parts, [scale(0.5), scale(0.25), scale(0.1)], [zero(1), zero(2), zero(0)], scale(0.25), zero(2)],
        exact=True,
        axis=1,
    )
    book.add(
        "qnn.concatenate",
        "parameters of the run",
        [parts[:2], [np.float32(0.5), np.float32(0.3)], [np.int32(1), np.int32(2)], np.float32(0.2), np.int32(2)],
        exact=True,
        axis=-1,
    )
    x, s, z = Type("int8", 2, 3), Type("float32"), Type("int32")
    book.fail("qnn.concatenate", "one scale for two", "one for each", [[x, x], [s], [z, z], s, z])
    book.fail("qnn.concatenate", "extents differ", "three and four", [[x, Type("int8", 2, 4)], [s, s], [z, z], s, z], axis=0)


def products(book):
    for dtypes in (("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8"), ("int16", "int8"), ("int16", "int16")):
        label = " ".join(dtypes)
        x, w = integers(f"dx{label}", (3, 7), dtypes[0]), integers(f"dw{label}", (4, 7), dtypes[1])
        out_dtype = "int64" if dtypes == ("int16", "int16") else "int32"
        book.add("qnn.dense", label, [x, w, zero(7), zero(-4), scale(0.5), scale(0.25)], exact=True, units=4, out_dtype=out_dtype)
    x, w = integers("dx", (2, 5), "uint8"), integers("dw", (3, 5), "int8")
    book.add(
        "qnn.dense",
        "zero points for each unit",
        [x, w, zero(128), i32(1, -2, 3), scale(0.5), f32(0.1, 0.2, 0.3)],
        exact=True,
        units=3,
        out_dtype="int32",
    )
    book.add("qnn.dense", "parameters of the run", [x, w, np.int32(128), np.int32(5), np.float32(1), np.float32(1)], exact=True, units=3)
    book.add("qnn.dense", "sums of nothing", [x[:, :0], w[:, :0], zero(1), zero(1), scale(1.0), scale(1.0)], exact=True, units=3)
    book.add("qnn.dense", "int16 sums wrap", [x, w, zero(0), zero(0), scale(1.0), scale(1.0)], exact=True, units=3, out_dtype="int16")
    x, y = integers("bx", (2, 3, 4), "int8"), integers("by", (2, 4, 5), "uint8")
    parameters = [zero(3), zero(100), scale(0.5), scale(0.25)]
    book.add("qnn.batch_matmul", "int8 uint8", [x, y, *parameters], exact=True, out_dtype="int32")
    book.add(
        "qnn.batch_matmul",
        "both transposed",
        [x.transpose(0, 2, 1).copy(), y.transpose(0, 2, 1).copy(), *parameters],
        exact=True,
        transpose_a=True,
        transpose_b=True,
    )
    book.add("qnn.batch_matmul", "one batch for all", [x, y[:1], *parameters], exact=True)
    x, w = integers("cx", (2, 4, 6, 5), "uint8"), integers("cw", (6, 4, 3, 3), "int8")
    common = {"kernel_size": [3, 3], "out_dtype": "int32"}
    for label, attributes in (
        ("plain", {}),
        ("padded", {"padding": [1, 2, 1, 0]}),
        ("strided", {"padding": [1, 1, 1, 1], "strides": [2, 1]}),
        ("dilated", {"padding": [2, 2, 2, 2], "dilation": [2, 2]}),
    ):
        book.add("qnn.conv2d", label, [x, w, zero(120), zero(3), scale(0.5), scale(0.25)], exact=True, channels=6, **attributes, **common)
    book.add(
        "qnn.conv2d",
        "zero points for each channel of the weight",
        [x, w, zero(120), i32(1, -2, 3, 0, 5, -6), scale(0.5), f32(*[0.1] * 6)],
        exact=True,
        channels=6,
        padding=[1, 1, 1, 1],
        **common,
    )
    book.add(
        "qnn.conv2d",
        "parameters of the run",
        [x, w, np.int32(120), np.int32(3), np.float32(0.5), np.float32(1)],
        exact=True,
        channels=6,
        padding=[1, 1, 1, 1],
        **common,
    )
    book.add("qnn.conv2d", "groups", [x, w[:, :2].copy(), zero(9), zero(-3), scale(1.0), scale(1.0)], exact=True, channels=6, groups=2, **common)
    book.add("qnn.conv2d", "depthwise", [x, w[:4, :1].copy(), zero(9), zero(0), scale(1.0), scale(1.0)], exact=True, channels=4, groups=4, **common)
    x, w = integers("tx", (1, 2, 3, 2), "int8"), integers("tw", (2, 3, 2, 3), "int8")
    for strides in ([1, 1], [2, 3]):
        book.add("qnn.conv2d_transpose", f"strides {strides}", [x, w, zero(5), zero(-3), scale(1.0), scale(1.0)], exact=True, strides=strides)
    book.add(
        "qnn.conv2d_transpose",
        "zero points for each channel of the weight",
        [x, w, zero(5), i32(1, 2, 3), scale(1.0), scale(1.0)],
        exact=True,
    )
    m, s, z = Type("int8", 2, 4), Type("float32"), Type("int32")
    book.fail("qnn.dense", "inner extents differ", "four and five", [m, Type("int8", 3, 5), z, z, s, s], units=3)
    book.fail("qnn.dense", "two zero points for three units", "one for each", [m, Type("int8", 3, 4), z, Type("int32", 2), s, s], units=3)
    book.fail("qnn.dense", "a vector of the data's zero points", "a scalar", [m, Type("int8", 3, 4), Type("int32", 4), z, s, s], units=3)
    book.fail("qnn.dense", "to float32", "an integer dtype", [m, Type("int8", 3, 4), z, z, s, s], units=3, out_dtype="float32")
    image, kernel = Type("int8", 1, 2, 4, 4), Type("int8", 3, 2, 3, 3)
    book.fail("qnn.conv2d", "int32 data", "16 bits at most", [Type("int32", 1, 2, 4, 4), kernel, z, z, s, s])
    book.fail("qnn.conv2d", "channels differ", "two and three", [image, Type("int8", 3, 3, 3, 3), z, z, s, s])
    book.fail("qnn.conv2d", "two zero points for three channels", "one for each", [image, kernel, z, Type("int32", 2), s, s])
    book.fail("qnn.batch_matmul", "a vector of zero points", "scalars", [Type("int8", 1, 2, 3), Type("int8", 1, 3, 2), z, Type("int32", 2), s, s])


def functions(book):
    every = {d: np.arange(*(lambda r: (r[0], r[1] + 1))(RANGE[d])).astype(d) for d in ("int8", "uint8")}
    parameters = {
        "abs": (0.5, 4, 0.4, -100),
        "erf": (0.02, 0, 0.0078125, 0),
        "exp": (0.03, 0, 0.3, -100),
        "hardswish": (0.05, 10, 0.04, -60),
        "log": (0.5, -20, 0.05, 0),
        "rsqrt": (0.25, -120, 0.02, -100),
        "sigmoid": (0.07, 3, 0.00390625, -128),
        "sqrt": (0.5, -100, 0.1, -90),
        "tanh": (0.03, 5, 0.0078125, 0),
    }
    for name, (s, z, t, u) in parameters.items():
        for dtype in ("int8", "uint8"):
            moved = 0 if dtype == "int8" else 128
            arguments = [every[dtype], scale(s), zero(z + moved), scale(t), zero(u + moved)]
            book.add(f"qnn.{name}", f"all of {dtype}", arguments, exact=True)
        q = integers(name, (2, 3), "int8")
        run = [q, np.float32(s), np.int32(z), np.float32(t), np.int32(u)]
        book.add(f"qnn.{name}", "parameters of the run", run, exact=True)
        book.add(f"qnn.{name}", "empty", [q[:0], *arguments[1:]], exact=True)
        x, s_, z_ = Type("int8", 2), Type("float32"), Type("int32")
        book.fail(f"qnn.{name}", "a vector of scales", "a scalar", [x, Type("float32", 2), z_, s_, z_])
        book.fail(f"qnn.{name}", "int16 data", "int8 or uint8", [Type("int16", 2), s_, z_, s_, z_])
    for dtype in ("int8", "uint8"):
        q = every[dtype]
        for alpha in (0.1, 0.3, 0.0):
            book.add(
                "qnn.leaky_relu", f"all of {dtype}, slope {alpha}", [q, scale(0.5), zero(3), scale(0.25), zero(40)], exact=True, alpha=alpha
            )
        q = integers(f"sm{dtype}", (4, 9), dtype)
        parameters = [scale(0.1), zero(3), scale(0.00390625), zero(RANGE[dtype][0])]
        for axis in (-1, 0):
            book.add("qnn.softmax", f"{dtype}, axis {axis}", [q, *parameters], exact=True, axis=axis)
        run = [q, np.float32(0.05), np.int32(3), np.float32(0.01), np.int32(RANGE[dtype][0])]
        book.add("qnn.softmax", f"{dtype}, parameters of the run", run, exact=True)
    q = integers("sme", (3, 1), "int8")
    book.add("qnn.softmax", "rows of one", [q, scale(0.1), zero(0), scale(0.01), zero(0)], exact=True)
    book.add("qnn.softmax", "rows of none", [q[:, :0], scale(0.1), zero(0), scale(0.01), zero(0)], exact=True)
    run = [integers("lr", (7,), "int8"), np.float32(0.5), np.int32(3), np.float32(0.3), np.int32(-4)]
    book.add("qnn.leaky_relu", "parameters of the run", run, exact=True, alpha=0.2)
    x, s, z = Type("int8", 2, 3), Type("float32"), Type("int32")
    book.fail("qnn.softmax", "axis out of range", "rank two", [x, s, z, s, z], axis=2)
    book.fail("qnn.softmax", "a scalar", "there is no axis", [Type("int8"), s, z, s, z])
    book.fail("qnn.leaky_relu", "a vector of scales", "a scalar", [x, Type("float32", 3), z, s, z])
    for dtype in ("int8", "uint8", "int16"):
        q = integers(f"ap{dtype}", (1, 2, 5, 6), dtype)
        for label, s, z, t, u in (("same parameters", 0.5, 3, 0.5, 3), ("other parameters", 0.5, 3, 0.4, 9)):
            parameters = [scale(s), zero(z), scale(t), zero(u)]
            for attributes in (
                {"pool_size": [2, 3]},
                {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1, 1, 1]},
                {"pool_size": [3, 3], "strides": [2, 1], "padding": [1, 0, 2, 1], "count_include_pad": True},
            ):
                window = "counted" if "count_include_pad" in attributes else "padded" if "padding" in attributes else "plain"
                book.add("qnn.avg_pool2d", f"{dtype}, {label}, {window}", [q, *parameters], exact=True, **attributes)
    run = [integers("apr", (1, 1, 4, 4), "int8"), np.float32(0.5), np.int32(3), np.float32(0.4), np.int32(-9)]
    book.add(
        "qnn.avg_pool2d", "parameters of the run", run, exact=True, pool_size=[3, 3], padding=[1, 1, 1, 1], count_include_pad=True
    )
    image = Type("int8", 1, 1, 4, 4)
    book.fail("qnn.avg_pool2d", "window too large", "five in four", [image, s_, z_, s_, z_], pool_size=[5, 5])
    book.fail("qnn.avg_pool2d", "a vector of scales", "a scalar", [image, Type("float32", 1), z_, s_, z_], pool_size=[2, 2])


def simulations(book):
    for dtype in ("float32", "float64", "float16"):
        x = draw(f"s{dtype}", (2, 3), dtype, -90, 90)
        q = draw(f"t{dtype}", (2, 3), "int8").astype(dtype)
        for code in (0, 1, 2, 3):
            tolerance = None if dtype != "float16" else 0.1
            book.add(
                "qnn.simulated_quantize", f"{dtype} as {code}", [x, np.int32(code), scale(0.5), zero(3)], tolerance=tolerance
            )
            book.add("qnn.simulated_dequantize", f"{dtype} as {code}", [q, np.int32(code), scale(0.5), zero(3)])
    x = draw("sc", (2, 3), "float32", -9, 9)
    book.add("qnn.simulated_quantize", "for each channel", [x, np.int32(1), f32(0.1, 0.5, 2), i32(0, 1, 2)], axis=1)
    book.add("qnn.simulated_dequantize", "for each channel", [np.round(x), np.int32(1), f32(0.1, 0.5, 2), i32(0, 1, 2)], axis=-1)
    book.add("qnn.simulated_quantize", "vectors of one", [x, np.int32(1), f32(0.5), i32(2)])
    t, s, z = Type("float32", 2, 3), Type("float32"), Type("int32")
    for op in ("qnn.simulated_quantize", "qnn.simulated_dequantize"):
        book.fail(op, "integers", "floats", [Type("int8", 2), z, s, z])
        book.fail(op, "two scales for three channels", "one for each", [t, z, Type("float32", 2), z])


def build(book):
    conversions(book)
    requantisations(book)
    arithmetic(book)
    products(book)
    functions(book)
    simulations(book)
