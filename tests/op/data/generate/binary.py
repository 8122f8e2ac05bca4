"""Elementwise operators of two or three tensors, with every kind of broadcasting."""

import numpy as np

from .core import FLOATS, INTS, NUMBERS, Type, draw, narrow, reference, shape_label, wide


def truncated(a, b):
    """Integer division toward zero, without a detour over floats."""
    quotient = np.floor_divide(a, b)
    return quotient + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0))).astype(quotient.dtype)


def divide(a, b):
    return truncated(a, b) if a.dtype.kind in "iu" else a / b


def truncated_quotient(a, b):
    return truncated(a, b) if a.dtype.kind in "iu" else np.trunc(a / b)


def floored_quotient(a, b):
    return np.floor_divide(a, b) if a.dtype.kind in "iu" else np.floor(a / b)


def floored_remainder(a, b):
    return np.remainder(a, b) if a.dtype.kind in "iu" else a - np.floor(a / b) * b


ARITHMETIC = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": divide,
    "mod": np.fmod,
    "floor_divide": floored_quotient,
    "floor_mod": floored_remainder,
    "trunc_divide": truncated_quotient,
    "trunc_mod": np.fmod,
    "power": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
DIVISIONS = ("divide", "mod", "floor_divide", "floor_mod", "trunc_divide", "trunc_mod")
COMPARISONS = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
LOGICAL = {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
BITWISE = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
SHIFTS = {"left_shift": np.left_shift, "right_shift": np.right_shift}


def register_arithmetic(name, function):
    @reference(name)
    def run(a, b):
        return narrow(function(wide(a), wide(b)), a.dtype)


for _name, _function in (ARITHMETIC | SHIFTS).items():
    register_arithmetic(_name, _function)
for _name, _function in (COMPARISONS | LOGICAL | BITWISE).items():
    reference(_name)(lambda a, b, f=_function: np.asarray(f(a, b)))


@reference("where")
def where(condition, x, y):
    return np.asarray(np.where(condition, x, y))


BROADCASTS = [
    ((), ()),
    ((), (2, 3)),
    ((2, 3), ()),
    ((1,), (3,)),
    ((3,), (1,)),
    ((1,), ()),
    ((3, 1), (1, 4)),
    ((2, 3), (3,)),
    ((4,), (2, 1, 4)),
    ((2, 1, 3), (4, 1)),
    ((1, 1, 1), (2,)),
    ((2, 1, 3, 1), (1, 2, 1, 3)),
    ((0, 3), (1, 3)),
    ((0,), (1,)),
    ((2, 0), (1,)),
    ((), (0,)),
    ((3, 1), (0,)),
    ((1, 0), (2, 1)),
    ((5, 1, 0), (1, 2, 1)),
]
MISFITS = [((2, 3), (2,)), ((2, 3), (3, 2)), ((2,), (0,)), ((4, 1, 2), (3, 3)), ((0, 3), (2, 3))]


def operands(op, label, shapes, dtype):
    """Two operands that suit the operator: no division by zero, small exponents, exact quotients where they are rounded."""
    a, b = (draw((op, label, dtype, i), s, dtype) for i, s in enumerate(shapes))
    if op in DIVISIONS:
        if dtype in FLOATS:
            a, b = (
                np.round(draw((op, label, i), s, "float64", -8, 8) * 4) / 4
                for i, s in enumerate(shapes)
            )
            a, b = a.astype(dtype), np.where(b == 0, 1.5, b).astype(dtype)
        else:
            b = np.where(b == 0, 3, b).astype(dtype)
    if op == "power":
        low = 0 if dtype in INTS else 0.125
        a = draw((op, label, 0), shapes[0], dtype, low, 3)
        b = draw((op, label, 1), shapes[1], dtype, 0 if dtype in INTS else -2, 3)
    if op in SHIFTS:
        b = draw((op, label, 1), shapes[1], dtype, 0, 6)
    return [np.asarray(a), np.asarray(b)]


def wrong(book, op, dtype):
    for shapes in MISFITS:
        book.fail(
            op,
            f"shapes {shape_label(shapes[0])} and {shape_label(shapes[1])}",
            "the shapes do not broadcast",
            [Type(dtype, *s) for s in shapes],
        )
    other = "int32" if dtype != "int32" else "int64"
    book.fail(
        op,
        f"{dtype} with {other}",
        "both operands must have one dtype",
        [Type(dtype, 2), Type(other, 2)],
    )
    book.fail(op, "one argument", f"{op} takes two arguments", [Type(dtype, 2)])
    book.fail(op, "three arguments", f"{op} takes two arguments", [Type(dtype, 2)] * 3)
    book.fail(
        op, "a tuple", "an operand is a tensor", [[Type(dtype, 2), Type(dtype, 2)], Type(dtype, 2)]
    )


def arithmetic(book):
    for op in ARITHMETIC:
        exact = op in ("maximum", "minimum")
        dtypes = FLOATS + ("int32", "int64") if op == "power" else NUMBERS
        for dtype in dtypes:
            book.add(op, dtype, operands(op, "values", [(2, 6), (2, 6)], dtype), exact=exact)
        for shapes in BROADCASTS:
            label = f"{shape_label(shapes[0])} with {shape_label(shapes[1])}"
            book.add(op, f"float32 {label}", operands(op, label, shapes, "float32"), exact=exact)
        for shapes in BROADCASTS[1:8]:
            if op != "power":
                label = f"{shape_label(shapes[0])} with {shape_label(shapes[1])}"
                book.add(op, f"int32 {label}", operands(op, label, shapes, "int32"))
        wrong(book, op, "float32")
    for dtype in INTS:
        info = np.iinfo(dtype)
        ends = [
            np.array([info.max, info.min, info.max, info.max], dtype),
            np.array([1, 1, info.max, 2], dtype),
        ]
        for op in ("add", "subtract", "multiply"):
            book.add(op, f"{dtype} wraps", ends)
        book.add("maximum", f"ends of {dtype}", ends)
        book.add("minimum", f"ends of {dtype}", ends)
        for op in DIVISIONS:
            book.add(op, f"ends of {dtype}", [ends[0], np.array([7, 7, 3, 1], dtype)])
        zero = [np.array([7, 0, 5], dtype), np.array([2, 0, 0], dtype)]
        for op in DIVISIONS:
            book.fail_running(op, f"{dtype} by zero", "an integer cannot be divided by zero", zero)
    infinite = [
        np.array([np.inf, 1, -1, 0, np.inf, 3.5], "float32"),
        np.array([1, 0, 0, 0, np.inf, np.nan], "float32"),
    ]
    for op in ("add", "subtract", "multiply", "divide"):
        book.add(op, "infinities, zeros and nan", infinite)
    book.add(
        "power",
        "special values",
        [
            np.array([0, 0, -8, -2, 2, np.inf, 1, np.nan], "float32"),
            np.array([0, 2, 0.5, 3, -np.inf, 2, np.nan, 0], "float32"),
        ],
    )
    book.add(
        "power",
        "negative base and whole exponent",
        [np.array([-2, -2, -3, -0.5], "float32"), np.array([2, 3, -1, 4], "float32")],
    )


def comparing(book):
    for op in COMPARISONS:
        for dtype in NUMBERS:
            a = draw((op, dtype, 0), (3, 4), dtype, 0, 3)
            b = draw((op, dtype, 1), (3, 4), dtype, 0, 3)
            book.add(
                op, dtype, [a, np.where(draw((op, dtype), (3, 4), "bool"), a, b).astype(dtype)]
            )
        for shapes in BROADCASTS:
            label = f"{shape_label(shapes[0])} with {shape_label(shapes[1])}"
            book.add(
                op,
                f"int32 {label}",
                [draw((op, label, i), s, "int32", 0, 2) for i, s in enumerate(shapes)],
            )
        values = [
            np.array([np.nan, np.nan, 1, np.inf, -np.inf, 0.0], "float32"),
            np.array([np.nan, 1, np.nan, np.inf, np.inf, -0.0], "float32"),
        ]
        book.add(op, "nan, infinities and zeros", values)
        ends = np.iinfo("int64")
        book.add(
            op,
            "int64 neighbours",
            [np.array([2**53, ends.max, ends.min]), np.array([2**53 + 1, ends.max - 1, ends.min])],
        )
        book.add(
            op,
            "uint8 is not signed",
            [np.array([200, 100, 255], "uint8"), np.array([100, 200, 255], "uint8")],
        )
        wrong(book, op, "float32")
    for op in ("equal", "not_equal"):
        book.add(
            op, "bool", [np.array([True, True, False, False]), np.array([True, False, True, False])]
        )


def logic(book):
    both = [np.array([True, True, False, False]), np.array([True, False, True, False])]
    for op in LOGICAL:
        book.add(op, "truth table", both)
    for op in BITWISE:
        book.add(op, "truth table", both)
        for dtype in INTS:
            info = np.iinfo(dtype)
            book.add(
                op,
                dtype,
                [
                    draw(
                        (op, dtype, i),
                        (2, 4),
                        dtype,
                        info.min if info.bits < 64 else -(2**60),
                        info.max if info.bits < 64 else 2**60,
                    )
                    for i in range(2)
                ],
            )
    for op in list(LOGICAL) + list(BITWISE):
        dtype = "bool" if op in LOGICAL else "int32"
        for shapes in BROADCASTS:
            label = f"{shape_label(shapes[0])} with {shape_label(shapes[1])}"
            book.add(
                op,
                f"{dtype} {label}",
                [draw((op, label, i), s, dtype) for i, s in enumerate(shapes)],
            )
        wrong(book, op, dtype)
    for op in SHIFTS:
        for dtype in INTS:
            info = np.iinfo(dtype)
            a = np.array([info.min, info.max, 1, 85, 0, 3], dtype)
            book.add(
                op,
                dtype,
                [
                    a,
                    np.array(
                        [1, 2, info.bits - 1 if info.min == 0 else info.bits - 2, 3, 4, 0], dtype
                    ),
                ],
            )
        for shapes in BROADCASTS:
            label = f"{shape_label(shapes[0])} with {shape_label(shapes[1])}"
            book.add(op, f"int32 {label}", operands(op, label, shapes, "int32"))
        wrong(book, op, "int32")


WHERE_SHAPES = [
    ((2, 3), (2, 3), (2, 3)),
    ((), (2, 3), (2, 3)),
    ((3,), (2, 3), (2, 3)),
    ((2, 1), (2, 3), (3,)),
    ((2, 3), (), ()),
    ((2, 3), (1,), (2, 1)),
    ((), (), ()),
    ((3,), (), (2, 1)),
    ((0, 3), (1, 3), (3,)),
    ((1,), (0,), ()),
    ((2, 1, 1), (3, 1), (4,)),
    ((1, 3), (2, 1), (1, 1)),
]


def selecting(book):
    for shapes in WHERE_SHAPES:
        label = " ".join(shape_label(s) for s in shapes)
        book.add(
            "where",
            f"shapes {label}",
            [
                draw(label, shapes[0], "bool"),
                draw((label, 1), shapes[1], "float32"),
                draw((label, 2), shapes[2], "float32"),
            ],
            exact=True,
        )
    for dtype in NUMBERS + ("bool",):
        book.add(
            "where",
            dtype,
            [
                draw(dtype, (2, 3), "bool"),
                draw((dtype, 1), (2, 3), dtype),
                draw((dtype, 2), (2, 3), dtype),
            ],
            exact=True,
        )
    book.add(
        "where",
        "nan only where it is chosen",
        [
            np.array([True, False, True]),
            np.array([1, np.nan, np.nan], "float32"),
            np.array([np.inf, 2, 3], "float32"),
        ],
        exact=True,
    )
    for shapes in [
        ((2,), (3,), (3,)),
        ((3,), (3,), (2,)),
        ((2, 3), (2, 3), (2,)),
        ((3,), (0,), (3,)),
    ]:
        book.fail(
            "where",
            f"shapes {' '.join(shape_label(s) for s in shapes)}",
            "the shapes do not broadcast",
            [Type(d, *s) for d, s in zip(("bool", "float32", "float32"), shapes)],
        )
    book.fail(
        "where",
        "branches of two dtypes",
        "both branches must have one dtype",
        [Type("bool", 2), Type("float32", 2), Type("float64", 2)],
    )
    book.fail("where", "no branches", "where takes three arguments", [Type("bool", 2)])


def build(book):
    arithmetic(book)
    comparing(book)
    logic(book)
    selecting(book)
