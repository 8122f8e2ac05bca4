"""Elementwise operators of one tensor: math, rounding, classification, bits, casts."""

import numpy as np
import scipy.special

from .core import FLOATS, INTS, NUMBERS, Type, draw, narrow, reference, shape_label, wide


def sigmoid(x):
    return scipy.special.expit(x)


def round_away(x):
    whole = np.trunc(x)
    return whole + np.sign(x) * (np.abs(x - whole) >= 0.5)


# name: (function on float64, range of ordinary arguments, special arguments, source)
SPECIAL = [np.inf, -np.inf, np.nan, 0.0]
FLOAT_MATH = {
    "acos": (np.arccos, (-1, 1), [-1, 1, 1.5, -2, np.nan], "numpy"),
    "acosh": (np.arccosh, (1, 9), [1, 0.5, np.inf, np.nan], "numpy"),
    "asin": (np.arcsin, (-1, 1), [-1, 1, 1.5, -2, np.nan], "numpy"),
    "asinh": (np.arcsinh, (-9, 9), SPECIAL, "numpy"),
    "atan": (np.arctan, (-9, 9), SPECIAL, "numpy"),
    "atanh": (np.arctanh, (-0.95, 0.95), [1, -1, 1.5, np.nan, 0], "numpy"),
    "cos": (np.cos, (-9, 9), SPECIAL, "numpy"),
    "cosh": (np.cosh, (-4, 4), SPECIAL, "numpy"),
    "sin": (np.sin, (-9, 9), SPECIAL, "numpy"),
    "sinh": (np.sinh, (-4, 4), SPECIAL, "numpy"),
    "tan": (np.tan, (-1.4, 1.4), SPECIAL, "numpy"),
    "tanh": (np.tanh, (-4, 4), SPECIAL + [30, -30], "numpy"),
    "exp": (np.exp, (-4, 4), SPECIAL + [-150], "numpy"),
    "log": (np.log, (0.125, 9), SPECIAL + [-1, 1], "numpy"),
    "log2": (np.log2, (0.125, 9), SPECIAL + [-1, 1, 1024], "numpy"),
    "log10": (np.log10, (0.125, 9), SPECIAL + [-1, 1, 1000], "numpy"),
    "sqrt": (np.sqrt, (0, 9), SPECIAL + [-1, 1], "numpy"),
    "reciprocal": (lambda x: 1 / x, (0.125, 9), SPECIAL + [-0.0, -4], "numpy"),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (0.125, 9), SPECIAL + [-1, 4], "numpy"),
    "sigmoid": (sigmoid, (-6, 6), SPECIAL + [100, -100], "scipy"),
    "erf": (scipy.special.erf, (-3, 3), SPECIAL + [6, -6, 1e-3], "scipy"),
}
FAST = {
    "fast_exp": (np.exp, (-4, 4)),
    "fast_tanh": (np.tanh, (-8, 8)),
    "fast_erf": (scipy.special.erf, (-3, 3)),
}
ROUNDING = {"ceil": np.ceil, "floor": np.floor, "round": round_away, "trunc": np.trunc}
CLASSIFY = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}


def register_unary(name, function):
    @reference(name)
    def run(x):
        return narrow(function(wide(x)), x.dtype)


for _name, (_function, *_) in (FLOAT_MATH | FAST).items():
    register_unary(_name, _function)
for _name, _function in ROUNDING.items():
    register_unary(_name, _function)
for _name, _function in {
    "abs": np.abs,
    "negative": np.negative,
    "sign": np.sign,
    "copy": np.copy,
}.items():
    register_unary(_name, _function)
for _name, _function in CLASSIFY.items():
    reference(_name)(lambda x, f=_function: np.asarray(f(x)))
reference("logical_not")(lambda x: np.asarray(np.logical_not(x)))
reference("bitwise_not")(lambda x: np.asarray(np.invert(x)))


@reference("cast")
def cast(x, *, dtype):
    return narrow(x, dtype)


@reference("cast_like")
def cast_like(x, like):
    return narrow(x, like.dtype)


@reference("clip")
def clip(x, *, a_min, a_max):
    """The lower bound wins; bounds of integers are truncated and cut to the dtype's range."""
    if x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        bounds = [min(max(int(b), info.min), info.max) for b in (a_min, a_max)]
        return np.maximum(np.minimum(x, x.dtype.type(bounds[1])), x.dtype.type(bounds[0]))
    return narrow(np.maximum(np.minimum(wide(x), a_max), a_min), x.dtype)


@reference("reinterpret")
def reinterpret(x, *, dtype):
    return np.asarray(x).view(dtype)


@reference("fixed_point_multiply")
def fixed_point_multiply(x, *, multiplier, shift):
    """x * multiplier * 2^(shift - 31), ties toward plus infinity."""
    products = [(int(v) * multiplier + (1 << (30 - shift))) >> (31 - shift) for v in x.reshape(-1)]
    return np.array(products, np.int64).astype(x.dtype).reshape(x.shape)


SHAPES = [(), (1,), (0,), (2, 0, 3), (1, 1, 2), (2, 1, 3, 1)]


def float_math(book):
    for op, (_, (low, high), special, source) in FLOAT_MATH.items():
        for dtype in FLOATS:
            book.add(op, dtype, [draw((op, dtype), (2, 4), dtype, low, high)], source)
        for shape in SHAPES:
            book.add(
                op,
                f"shape {shape_label(shape)}",
                [draw((op, shape), shape, "float32", low, high)],
                source,
            )
        for dtype in ("float32", "float64"):
            book.add(op, f"special values of {dtype}", [np.array(special, dtype)], source)
        book.fail(
            op,
            "two arguments where one is taken",
            f"{op} takes one argument",
            [Type("float32", 3), Type("float32", 3)],
        )
        book.fail(op, "no argument", f"{op} takes one argument", [])
    for op, (_, (low, high)) in FAST.items():
        for shape in [(2, 5), (), (0, 2), (1, 3)]:
            book.add(
                op,
                f"shape {shape_label(shape)}",
                [draw((op, shape), shape, "float32", low, high)],
                "scipy" if op == "fast_erf" else "numpy",
                tolerance=1e-4,
            )
        book.fail(
            op,
            "two arguments where one is taken",
            f"{op} takes one argument",
            [Type("float32", 3), Type("float32", 3)],
        )


def rounding(book):
    halves = [-2.5, -1.5, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.5, 2.5, 3.5]
    for op in ROUNDING:
        for dtype in FLOATS:
            book.add(op, f"{dtype} halves", [np.array(halves, dtype)], exact=True)
        book.add(
            op, "infinities and nan", [np.array([np.inf, -np.inf, np.nan], "float32")], exact=True
        )
        book.add(
            op,
            "large float32 stays",
            [np.array([8388609.0, -16777216.0, 1e30], "float32")],
            exact=True,
        )
        book.add(
            op,
            "just below a half of float32",
            [np.array([0.49999997, -0.49999997, 1.4999999], "float32")],
            exact=True,
        )
        for dtype in ("int32", "int64"):
            book.add(op, f"{dtype} is unchanged", [np.array([-3, 0, 7], dtype)], exact=True)
        for shape in SHAPES:
            book.add(
                op,
                f"shape {shape_label(shape)}",
                [draw((op, shape), shape, "float32", -5, 5)],
                exact=True,
            )
        book.fail(
            op,
            "two arguments",
            f"{op} takes one argument",
            [Type("float32", 3), Type("float32", 3)],
        )


def simple(book):
    for op in ("abs", "negative", "sign", "copy"):
        for dtype in NUMBERS:
            book.add(op, dtype, [draw((op, dtype), (2, 4), dtype)], exact=True)
        for shape in SHAPES:
            book.add(
                op, f"shape {shape_label(shape)}", [draw((op, shape), shape, "float32")], exact=True
            )
        special = [np.inf, -np.inf, 0.0] if op == "sign" else [np.inf, -np.inf, np.nan, 0.0]
        for dtype in FLOATS:
            book.add(op, f"special values of {dtype}", [np.array(special, dtype)], exact=True)
        book.fail(
            op,
            "two arguments",
            f"{op} takes one argument",
            [Type("float32", 3), Type("float32", 3)],
        )
        book.fail(op, "unknown attribute", f"{op} has no attributes", [Type("float32", 3)], axis=1)
    for dtype in ("int8", "int16", "int32", "int64"):
        ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, np.iinfo(dtype).min + 1], dtype)
        book.add("abs", f"ends of {dtype}", [ends], exact=True)
        book.add("negative", f"ends of {dtype}", [ends], exact=True)
        book.add("sign", f"ends of {dtype}", [ends], exact=True)
    book.add("copy", "bool", [np.array([True, False])], exact=True)
    for op in CLASSIFY:
        for dtype in FLOATS:
            book.add(op, dtype, [np.array([np.nan, np.inf, -np.inf, 0, -1.5, 6e4], dtype)])
        for dtype in ("int32", "int8"):
            book.add(op, f"{dtype} is never special", [np.array([-1, 0, 100], dtype)])
        for shape in [(), (0, 2), (1, 2)]:
            book.add(op, f"shape {shape_label(shape)}", [draw((op, shape), shape, "float32")])
        book.fail(
            op,
            "two arguments",
            f"{op} takes one argument",
            [Type("float32", 3), Type("float32", 3)],
        )
    for shape in [(4,), (), (0,), (2, 1, 2)]:
        book.add("logical_not", f"shape {shape_label(shape)}", [draw(shape, shape, "bool")])
        book.add("bitwise_not", f"bool {shape_label(shape)}", [draw(shape, shape, "bool")])
    for dtype in INTS:
        info = np.iinfo(dtype)
        book.add("bitwise_not", dtype, [np.array([info.min, info.max, 0, 1, 85], dtype)])
    for op in ("logical_not", "bitwise_not"):
        book.fail(
            op, "two arguments", f"{op} takes one argument", [Type("bool", 3), Type("bool", 3)]
        )


CAST_DTYPES = NUMBERS + ("bool",)


def casts(book):
    for source in CAST_DTYPES:
        for target in CAST_DTYPES:
            if source == "bool":
                x = np.array([True, False, True])
            elif source in FLOATS:
                # A float outside the range of the integer dtype has no agreed result, so none is drawn.
                x = np.array(
                    [0.0, 2.75, 0.5, 100.0] + ([] if target == "uint8" else [-2.75, -0.5, -100.0]),
                    source,
                )
            else:
                info = np.iinfo(source)
                x = np.array([info.min, -1 if info.min else 200, 0, 1, 100, info.max], source)
                if target == "float16" and source in ("int32", "int64", "int16"):
                    x = np.array([-2048, -1, 0, 1, 1024], source)
            book.add("cast", f"{source} to {target}", [x], dtype=target, exact=True)
            if source != target:
                book.add(
                    "cast_like", f"{source} to {target}", [x, np.ones((2, 1), target)], exact=True
                )
    book.add(
        "cast",
        "float64 to float32 rounds",
        [np.array([0.1, 1 / 3, 1e-30, 16777217.0])],
        dtype="float32",
        exact=True,
    )
    book.add(
        "cast",
        "float32 to float16 rounds to even",
        [np.array([2049.0, 2051.0, 0.1, 65504.0, 1e-7], "float32")],
        dtype="float16",
        exact=True,
    )
    book.add(
        "cast",
        "float64 overflows float32",
        [np.array([1e39, -1e39, np.inf, np.nan])],
        dtype="float32",
        exact=True,
    )
    book.add(
        "cast",
        "int64 to float32 rounds",
        [np.array([16777217, -16777219, 2**62 + 1])],
        dtype="float32",
        exact=True,
    )
    book.add(
        "cast",
        "nan and infinity to bool",
        [np.array([np.nan, np.inf, -0.0, 1e-30], "float32")],
        dtype="bool",
    )
    for shape in [(), (0, 3), (1, 2, 1)]:
        book.add(
            "cast", f"shape {shape_label(shape)}", [draw(shape, shape, "float32")], dtype="int32"
        )
        book.add(
            "cast_like",
            f"shape {shape_label(shape)}",
            [draw(shape, shape, "float32"), np.zeros((), "int64")],
        )
    book.fail("cast", "no dtype", "the dtype is required", [Type("float32", 3)])
    book.fail(
        "cast", "unknown dtype", "no dtype has that name", [Type("float32", 3)], dtype="float31"
    )
    book.fail("cast", "dtype is a number", "the dtype is a name", [Type("float32", 3)], dtype=32)
    book.fail("cast_like", "one argument", "cast_like takes two arguments", [Type("float32", 3)])


def bounded(book):
    for dtype in FLOATS:
        book.add(
            "clip", dtype, [draw(("clip", dtype), (2, 5), dtype, -4, 4)], a_min=-1.5, a_max=0.75
        )
    for dtype in INTS:
        book.add(
            "clip",
            dtype,
            [draw(("clip", dtype), (8,), dtype)],
            a_min=0.0 if dtype == "uint8" else -3.0,
            a_max=4.0,
        )
    book.add(
        "clip", "infinities", [np.array([np.inf, -np.inf, 0.5], "float32")], a_min=-1.0, a_max=1.0
    )
    book.add("clip", "equal bounds", [draw("equal", (4,), "float32")], a_min=0.5, a_max=0.5)
    for shape in [(), (0, 2), (1, 1)]:
        book.add(
            "clip",
            f"shape {shape_label(shape)}",
            [draw(shape, shape, "float32")],
            a_min=-0.5,
            a_max=0.5,
        )
    book.fail("clip", "no upper bound", "both bounds are required", [Type("float32", 3)], a_min=0.0)
    book.fail(
        "clip", "bound is text", "a bound is a number", [Type("float32", 3)], a_min="low", a_max=1.0
    )
    book.fail(
        "clip",
        "two tensors",
        "clip takes one tensor",
        [Type("float32", 3), Type("float32", 3)],
        a_min=0.0,
        a_max=1.0,
    )
    pairs = [
        ("float32", "int32"),
        ("int32", "float32"),
        ("float64", "int64"),
        ("int64", "float64"),
        ("float16", "int16"),
        ("int16", "float16"),
        ("int8", "uint8"),
        ("uint8", "int8"),
        ("float32", "float32"),
        ("float32", "uint32"),
    ]
    for source, target in pairs:
        bits = {
            "float32": [1.5, -0.0, 3e38],
            "float64": [1.5, -2.25, 1e300],
            "float16": [1.5, -2.0, 100.0],
            "int32": [1065353216, -1073741824, 3],
            "int64": [4607182418800017408, 7, 0],
            "int16": [15360, -16384, 0],
            "int8": [-1, 127, 5],
            "uint8": [255, 128, 1],
        }[source]
        book.add(
            "reinterpret",
            f"{source} as {target}",
            [np.array(bits, source)],
            dtype=target,
            exact=True,
        )
    book.add("reinterpret", "scalar", [np.asarray(1.0, "float32")], dtype="int32")
    book.add("reinterpret", "empty", [np.zeros((0, 2), "float32")], dtype="int32")
    book.fail(
        "reinterpret",
        "other width",
        "float32 has 32 bits and int64 has 64",
        [Type("float32", 2)],
        dtype="int64",
    )
    book.fail("reinterpret", "no dtype", "the dtype is required", [Type("float32", 2)])
    for multiplier, shift in [
        (1 << 30, 0),
        (1 << 30, 3),
        (1 << 30, -2),
        (1431655765, 1),
        (1818040576, -7),
        (1, 0),
        (0, 0),
    ]:
        x = np.array([[-1000, -65, -3, -1, 0], [1, 2, 66, 999, 54321]], "int32")
        book.add(
            "fixed_point_multiply",
            f"multiplier {multiplier} shift {shift}",
            [x],
            multiplier=multiplier,
            shift=shift,
        )
    for shape in [(), (0,), (1, 1)]:
        book.add(
            "fixed_point_multiply",
            f"shape {shape_label(shape)}",
            [draw(shape, shape, "int32", -99, 99)],
            multiplier=1717986918,
            shift=-1,
        )
    book.fail(
        "fixed_point_multiply",
        "no shift",
        "the shift is required",
        [Type("int32", 2)],
        multiplier=1 << 30,
    )


def build(book):
    float_math(book)
    rounding(book)
    simple(book)
    casts(book)
    bounded(book)
