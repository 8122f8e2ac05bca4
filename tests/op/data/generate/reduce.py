"""Reductions and scans."""

import numpy as np

from .core import FLOATS, INTS, NUMBERS, Type, distinct, draw, narrow, reference, shape_label, wide

REDUCTIONS = ("sum", "mean", "max", "min", "prod")


def reduced_axes(rank, axis, exclude):
    axes = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = {a + rank if a < 0 else a for a in axes}
    return tuple(sorted(set(range(rank)) - axes if exclude else axes))


def register_reduction(name, function):
    @reference(name)
    def run(x, *, axis=None, keepdims=False, exclude=False):
        axes = reduced_axes(x.ndim, axis, exclude)
        return narrow(function(wide(x), axes, keepdims), x.dtype)


def mean(x, axes, keepdims):
    total = np.sum(x, axis=axes, keepdims=keepdims)
    count = int(np.prod([x.shape[a] for a in axes], dtype=int))
    if x.dtype.kind == "f":
        return total / np.float64(count)
    return np.trunc(total.astype(np.float64) / count)


register_reduction("sum", lambda x, axes, keep: np.sum(x, axis=axes, keepdims=keep))
register_reduction("prod", lambda x, axes, keep: np.prod(x, axis=axes, keepdims=keep))
register_reduction("mean", mean)
register_reduction("max", lambda x, axes, keep: np.max(x, axis=axes, keepdims=keep))
register_reduction("min", lambda x, axes, keep: np.min(x, axis=axes, keepdims=keep))
register_reduction("all", lambda x, axes, keep: np.all(x, axis=axes, keepdims=keep))
register_reduction("any", lambda x, axes, keep: np.any(x, axis=axes, keepdims=keep))


def register_arg(name, function):
    @reference(name)
    def run(x, *, axis=None, keepdims=False, exclude=False, select_last_index=False):
        axes = reduced_axes(x.ndim, axis, exclude)
        kept = [a for a in range(x.ndim) if a not in axes]
        count = int(np.prod([x.shape[a] for a in axes], dtype=int))
        flat = np.transpose(x, kept + list(axes)).reshape([x.shape[a] for a in kept] + [count])
        index = (
            flat.shape[-1] - 1 - function(flat[..., ::-1], axis=-1)
            if select_last_index
            else function(flat, axis=-1)
        )
        shape = (
            [1 if a in axes else x.shape[a] for a in range(x.ndim)]
            if keepdims
            else [x.shape[a] for a in kept]
        )
        return np.asarray(index).astype("int32").reshape(shape)


register_arg("argmax", np.argmax)
register_arg("argmin", np.argmin)


@reference("variance")
def variance(x, center, *, axis=None, keepdims=False, exclude=False, unbiased=False):
    axes = reduced_axes(x.ndim, axis, exclude)
    count = int(np.prod([x.shape[a] for a in axes], dtype=int)) - (1 if unbiased else 0)
    squares = (wide(x) - wide(center)) ** 2
    return narrow(np.sum(squares, axis=axes, keepdims=keepdims) / np.float64(count), x.dtype)


def register_scan(name, function, start):
    @reference(name)
    def run(x, *, axis=None, dtype=None, exclusive=False, reverse=False):
        x = narrow(x, dtype) if dtype else x
        kind, x = x.dtype, wide(x)
        if axis is None:
            x, axis = x.reshape(-1), 0
        if reverse:
            x = np.flip(x, axis)
        result = function(x, axis=axis, dtype=x.dtype)
        if exclusive:
            first = np.full_like(np.take(result, [0] if x.shape[axis] else [], axis), start)
            result = np.concatenate(
                [first, np.delete(result, -1, axis) if x.shape[axis] else result], axis
            )
        return narrow(np.flip(result, axis) if reverse else result, kind)


register_scan("cumsum", np.cumsum, 0)
register_scan("cumprod", np.cumprod, 1)

# The values of the attributes, over data of rank three.
AXES = [
    ("all axes", {}),
    ("axis 0", {"axis": [0]}),
    ("axis 1", {"axis": [1]}),
    ("axis -1", {"axis": [-1]}),
    ("axes 0 and 2", {"axis": [0, 2]}),
    ("axes 2 and 1", {"axis": [2, 1]}),
    ("axes -3 and 1", {"axis": [-3, 1]}),
    ("every axis named", {"axis": [0, 1, 2]}),
    ("all axes kept", {"keepdims": True}),
    ("axis 1 kept", {"axis": [1], "keepdims": True}),
    ("axes 0 and -1 kept", {"axis": [0, -1], "keepdims": True}),
    ("all but axis 1", {"axis": [1], "exclude": True}),
    ("all but axes 0 and 2", {"axis": [0, 2], "exclude": True}),
    ("all but axis -1 kept", {"axis": [-1], "exclude": True, "keepdims": True}),
]


def wrong_axes(book, op, dtype):
    count = 2 if op == "variance" else 1  # its second is the mean
    x, xs = Type(dtype, 2, 3), [Type(dtype, 2, 3)] * count
    book.fail(op, "axis 2 of rank two", "the data has rank two", xs, axis=[2])
    book.fail(op, "axis -3 of rank two", "the data has rank two", xs, axis=[-3])
    book.fail(op, "an axis twice", "an axis is reduced once", xs, axis=[1, 1])
    book.fail(op, "an axis twice by sign", "an axis is reduced once", xs, axis=[0, -2])
    book.fail(op, "axis of a scalar", "a scalar has no axis", [Type(dtype)] * count, axis=[0])
    book.fail(op, "keepdims is a number list", "keepdims is a boolean", xs, keepdims=[1])
    book.fail(op, "axis is text", "an axis is an integer", xs, axis="rows")
    book.fail(op, "unknown attribute", "there is no attribute of that name", xs, dim=[0])
    if op != "variance":
        book.fail(op, "two arguments", f"{op} takes one argument", [x, x])


def plain(book):
    for op in REDUCTIONS:
        exact = op in ("max", "min")
        for label, attributes in AXES:
            book.add(
                op, label, [draw((op, label), (2, 3, 4), "float32")], exact=exact, **attributes
            )
        for dtype in NUMBERS:
            low, high = (1, 3) if op == "prod" else (0 if dtype == "uint8" else -4, 5)
            x = draw((op, dtype), (3, 4), dtype, low, high)
            book.add(op, f"{dtype} axis 1", [x], exact=exact, axis=[1])
            book.add(op, f"{dtype} axis 0 kept", [x], exact=exact, axis=[0], keepdims=True)
        for shape in [(), (1,), (1, 1, 1), (1, 5), (5, 1), (17,), (3, 2, 1, 2)]:
            book.add(
                op,
                f"shape {shape_label(shape)}",
                [draw((op, shape), shape, "float32")],
                exact=exact,
            )
            if shape:
                book.add(
                    op,
                    f"shape {shape_label(shape)} last axis",
                    [draw((op, shape), shape, "float32")],
                    exact=exact,
                    axis=[-1],
                )
        for shape, axes in [((0, 3), [1]), ((2, 0), [0]), ((0, 2, 3), [1, 2])]:
            book.add(
                op,
                f"shape {shape_label(shape)} keeps the empty axis",
                [np.zeros(shape, "float32")],
                axis=axes,
            )
        wrong_axes(book, op, "float32")
    for op in ("sum", "prod"):
        for dtype in ("float32", "float64", "int32", "int64", "uint8"):
            book.add(op, f"{dtype} over an empty axis", [np.zeros((2, 0), dtype)], axis=[1])
            book.add(op, f"{dtype} over all of an empty tensor", [np.zeros((3, 0, 2), dtype)])
    book.add("mean", "float32 over an empty axis is nan", [np.zeros((2, 0), "float32")], axis=[1])
    for op in ("max", "min", "argmax", "argmin"):
        book.fail_running(
            op,
            "over an empty axis",
            "there is no element to choose",
            [np.zeros((2, 0), "float32")],
            axis=[1],
        )
        book.fail_running(
            op,
            "over all of an empty tensor",
            "there is no element to choose",
            [np.zeros((0, 3), "int32")],
        )
    for dtype in INTS:
        info = np.iinfo(dtype)
        book.add(
            "sum",
            f"{dtype} wraps",
            [np.array([[info.max, 1], [info.max, info.max]], dtype)],
            axis=[1],
        )
        book.add(
            "prod",
            f"{dtype} wraps",
            [np.array([[info.max, 2], [info.max, info.max]], dtype)],
            axis=[1],
        )
        book.add(
            "max",
            f"{dtype} ends",
            [np.array([[info.min, info.min], [info.max, 0]], dtype)],
            axis=[1],
        )
        book.add(
            "min",
            f"{dtype} ends",
            [np.array([[info.max, info.max], [info.min, 0]], dtype)],
            axis=[1],
        )
        if info.min:
            book.add(
                "mean",
                f"{dtype} truncates toward zero",
                [np.array([[-1, -2], [1, 2], [-3, -4], [-1, 0]], dtype)],
                axis=[1],
            )
    for op in ("sum", "mean"):
        book.add(op, "a long axis", [draw((op, "long"), (300,), "float32")], tolerance=5e-5)
        book.add(
            op,
            "infinities",
            [np.array([[np.inf, 1], [-np.inf, 2], [np.inf, -np.inf], [np.nan, 0]], "float32")],
            axis=[1],
        )
    book.add(
        "max",
        "infinities",
        [np.array([[-np.inf, -np.inf], [np.inf, 3], [-np.inf, 3]], "float32")],
        axis=[1],
        exact=True,
    )
    book.add(
        "min",
        "infinities",
        [np.array([[np.inf, np.inf], [-np.inf, 3], [np.inf, 3]], "float32")],
        axis=[1],
        exact=True,
    )
    book.add("prod", "zeros and signs", [np.array([[0, -2, 3], [-1, -2, -3]], "float32")], axis=[1])


def logical(book):
    for op in ("all", "any"):
        for label, attributes in AXES:
            x = draw((op, label), (2, 3, 4), "bool") | (
                draw((op, label, 1), (2, 3, 4), "bool") if op == "all" else False
            )
            book.add(op, label, [x], **attributes)
        for shape in [(), (1,), (1, 3), (3, 1)]:
            for value in (True, False):
                book.add(op, f"shape {shape_label(shape)} all {value}", [np.full(shape, value)])
        book.add(op, "an empty axis", [np.zeros((2, 0), bool)], axis=[1])
        book.add(op, "an empty tensor", [np.zeros((0, 3), bool)])
        book.add(op, "keeps an empty axis", [np.zeros((0, 3), bool)], axis=[1])
        wrong_axes(book, op, "bool")


def positions(book):
    for op in ("argmax", "argmin"):
        for label, attributes in AXES:
            book.add(op, label, [distinct((op, label), (2, 3, 4), "float32")], **attributes)
            book.add(
                op,
                f"{label} last of ties",
                [draw((op, label), (2, 3, 4), "int32", 0, 2)],
                select_last_index=True,
                **attributes,
            )
        for dtype in NUMBERS:
            book.add(
                op, f"{dtype} first of ties", [draw((op, dtype), (3, 6), dtype, 0, 2)], axis=[1]
            )
        book.add(
            op,
            "bool",
            [np.array([[False, True, True], [False, False, False], [True, True, True]])],
            axis=[1],
        )
        book.add(
            op,
            "infinities",
            [np.array([[-np.inf, np.inf, 0], [np.inf, np.inf, -np.inf]], "float32")],
            axis=[1],
        )
        for shape in [(), (1,), (1, 4), (4, 1), (17,)]:
            book.add(op, f"shape {shape_label(shape)}", [distinct((op, shape), shape, "float32")])
        book.add(op, "keeps an empty axis", [np.zeros((0, 3), "float32")], axis=[1])
        wrong_axes(book, op, "float32")


def variances(book):
    for label, attributes in AXES:
        x = draw(("variance", label), (2, 3, 4), "float32")
        axes = reduced_axes(3, attributes.get("axis"), attributes.get("exclude", False))
        center = np.mean(x, axis=axes, keepdims=True, dtype="float32")
        book.add("variance", label, [x, center], **attributes)
        book.add("variance", f"{label} unbiased", [x, center], unbiased=True, **attributes)
    for dtype in FLOATS:
        x = draw(("variance", dtype), (3, 5), dtype)
        book.add("variance", dtype, [x, np.mean(x, axis=1, keepdims=True, dtype=dtype)], axis=[1])
    x = draw("around", (2, 4), "float32")
    book.add(
        "variance",
        "around another value than the mean",
        [x, np.full((2, 1), 0.5, "float32")],
        axis=[1],
    )
    book.add("variance", "extent one", [x[:, :1], x[:, :1]], axis=[1])
    book.add(
        "variance",
        "odd extents",
        [draw("odd", (3, 17), "float32"), np.zeros((1, 17), "float32")],
        axis=[0],
    )
    wrong_axes(book, "variance", "float32")
    book.fail(
        "variance",
        "no mean",
        "variance takes the data and its mean",
        [Type("float32", 2, 3)],
        axis=[1],
    )


def scans(book):
    for op in ("cumsum", "cumprod"):
        for dtype in NUMBERS:
            low, high = (1, 2) if op == "cumprod" else (0, 5) if dtype == "uint8" else (-5, 5)
            book.add(op, f"{dtype} axis 1", [draw((op, dtype), (2, 4), dtype, low, high)], axis=1)
        for axis in (0, 1, 2, -1, -2):
            for exclusive in (False, True):
                attributes = {"axis": axis} | ({"exclusive": True} if exclusive else {})
                book.add(
                    op,
                    f"axis {axis}{' exclusive' if exclusive else ''}",
                    [draw((op, axis, exclusive), (2, 3, 2), "float32")],
                    **attributes,
                )
        for exclusive in (False, True):
            extra = {"exclusive": True} if exclusive else {}
            word = " exclusive" if exclusive else ""
            book.add(op, f"no axis{word}", [draw((op, exclusive), (2, 3), "float32")], **extra)
            for shape in [(1,), (0,), (3, 0), (0, 3), (1, 4), (4, 1), (17,)]:
                book.add(
                    op,
                    f"shape {shape_label(shape)}{word}",
                    [draw((op, shape), shape, "float32")],
                    axis=0,
                    **extra,
                )
        for source, target in [
            ("int8", "int32"),
            ("int32", "int64"),
            ("uint8", "int32"),
            ("int32", "float32"),
            ("float32", "float64"),
            ("bool", "int32"),
        ]:
            x = (
                draw((op, source), (5,), source, 1, 4)
                if source != "bool"
                else np.array([True, True, False, True])
            )
            book.add(op, f"{source} in {target}", [x], axis=0, dtype=target)
        for dtype in INTS:
            book.add(op, f"{dtype} wraps", [np.array([np.iinfo(dtype).max, 2, 3], dtype)], axis=0)
        book.fail(
            op, "axis 2 of rank two", "the data has rank two", [Type("float32", 2, 3)], axis=2
        )
        book.fail(
            op, "axis -3 of rank two", "the data has rank two", [Type("float32", 2, 3)], axis=-3
        )
        book.fail(
            op,
            "two arguments",
            f"{op} takes one argument",
            [Type("float32", 2), Type("float32", 2)],
            axis=0,
        )
        book.fail(
            op,
            "unknown dtype",
            "no dtype has that name",
            [Type("float32", 2)],
            axis=0,
            dtype="float31",
        )


def build(book):
    plain(book)
    logical(book)
    positions(book)
    variances(book)
    scans(book)
