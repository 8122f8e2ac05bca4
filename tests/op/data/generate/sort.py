"""one_hot and the sorting family."""

import numpy as np

from .core import NUMBERS, Literal, Type, distinct, draw, reference, shape_label
from .index import DTYPES


def order(x, axis, ascending):
    """Positions in order; equal elements keep theirs in both directions."""
    if ascending:
        return np.argsort(x, axis=axis, kind="stable")
    flipped = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - flipped, axis)


@reference("sort")
def sort(x, *, axis=-1, is_ascend=True, dtype=""):
    return np.take_along_axis(x, order(x, axis, is_ascend), axis)


@reference("argsort")
def argsort(x, *, axis=-1, is_ascend=True, dtype):
    return order(x, axis, is_ascend).astype(dtype)


@reference("topk")
def topk(x, *, k, axis=-1, ret_type="both", is_ascend=False, dtype):
    positions = order(x, axis, is_ascend)
    positions = np.take(positions, range(k if k > 0 else x.shape[axis]), axis)
    values = np.take_along_axis(x, positions, axis)
    return {
        "both": (values, positions.astype(dtype)),
        "values": values,
        "indices": positions.astype(dtype),
    }[ret_type]


def hot(book):
    for shape, depth, axis in [
        ((4,), 3, -1),
        ((4,), 3, 0),
        ((4,), 3, 1),
        ((2, 3), 4, -1),
        ((2, 3), 4, 0),
        ((2, 3), 4, 1),
        ((2, 3), 4, 2),
        ((), 5, -1),
        ((), 5, 0),
        ((0,), 3, -1),
        ((1,), 1, -1),
        ((3,), 17, 0),
    ]:
        indices = draw((shape, depth, axis), shape, "int32", -1, depth)
        book.add(
            "one_hot",
            f"{shape_label(shape)} depth {depth} axis {axis}",
            [indices, Literal(1, "float32"), Literal(0, "float32")],
            exact=True,
            depth=depth,
            axis=axis,
            dtype="float32",
        )
    for dtype in DTYPES:
        on, off = (True, False) if dtype == "bool" else (3, 1)
        book.add(
            "one_hot",
            dtype,
            [np.array([2, 0, 1, 7], "int32"), np.asarray(on, dtype), np.asarray(off, dtype)],
            exact=True,
            depth=3,
            axis=-1,
            dtype=dtype,
        )
    for dtype in ("int8", "int64", "uint8"):
        book.add(
            "one_hot",
            f"indices of {dtype}",
            [np.array([2, 0], dtype), Literal(1, "float32"), Literal(0, "float32")],
            exact=True,
            depth=3,
            axis=-1,
            dtype="float32",
        )
    values = [Type("float32"), Type("float32")]
    for label, why, args, attributes in [
        ("depth -1", "the depth is positive", [Type("int32", 2)] + values, {"depth": -1}),
        (
            "axis 2 of rank one",
            "the axis may be at most the rank",
            [Type("int32", 2)] + values,
            {"axis": 2},
        ),
        ("float indices", "an index is an integer", [Type("float32", 2)] + values, {}),
        (
            "values of rank one",
            "the values are scalars",
            [Type("int32", 2), Type("float32", 1), Type("float32", 1)],
            {},
        ),
    ]:
        book.fail(
            "one_hot",
            label,
            why,
            args,
            **({"depth": 3, "axis": -1, "dtype": "float32"} | attributes),
        )


def sorting(book):
    for shape, axis in [
        ((7,), -1),
        ((3, 4), 0),
        ((3, 4), 1),
        ((3, 4), -2),
        ((2, 3, 4), 1),
        ((1,), 0),
        ((4, 1), 1),
        ((0,), 0),
        ((2, 0), 1),
        ((0, 3), 1),
        ((2, 17), -1),
    ]:
        for ascending in (True, False):
            x = distinct((shape, axis, ascending), shape, "float32")
            label = f"{shape_label(shape)} axis {axis} {'rising' if ascending else 'falling'}"
            attributes = {"axis": axis} | ({} if ascending else {"is_ascend": False})
            book.add("sort", label, [x], exact=True, **attributes)
            book.add("argsort", label, [x], dtype="int32", **attributes)
    for dtype in NUMBERS:
        book.add("sort", dtype, [draw(("sort", dtype), (2, 5), dtype)], exact=True)
        book.add(
            "sort",
            f"{dtype} falling",
            [draw(("sort", dtype), (2, 5), dtype)],
            exact=True,
            is_ascend=False,
        )
        book.add(
            "argsort",
            f"{dtype} keeps ties in order",
            [draw(("sort", dtype), (2, 6), dtype, 0, 2)],
            dtype="int32",
        )
    for dtype in ("int64", "int32"):
        book.add(
            "argsort", f"positions in {dtype}", [distinct(dtype, (6,), "float32")], dtype=dtype
        )
    for dtype in ("float32", "int8"):
        book.fail("argsort", f"positions in {dtype}", "positions have the dtype int32 or int64", [Type("float32", 6)], dtype=dtype)
    infinite = np.array([0.5, np.inf, -np.inf, -3, 3], "float32")
    book.add("sort", "infinities", [infinite], exact=True)
    book.add("argsort", "infinities", [infinite], dtype="int32")
    for shape, k, axis in [
        ((6,), 3, -1),
        ((6,), 1, 0),
        ((6,), 6, -1),
        ((3, 4), 2, 1),
        ((3, 4), 2, 0),
        ((2, 3, 4), 2, -2),
        ((1, 1), 1, -1),
        ((0, 3), 2, 1),
        ((2, 17), 5, -1),
        ((3, 4), 0, 1),
    ]:
        for kind in ("both", "values", "indices"):
            for ascending in (False, True):
                attributes = ({} if kind == "both" else {"ret_type": kind}) | (
                    {"is_ascend": True} if ascending else {}
                )
                book.add(
                    "topk",
                    f"{shape_label(shape)} k {k} axis {axis} {kind}{' rising' if ascending else ''}",
                    [distinct((shape, k, axis), shape, "float32")],
                    exact=True,
                    k=k,
                    axis=axis,
                    dtype="int32",
                    **attributes,
                )
    for dtype in NUMBERS:
        book.add(
            "topk",
            f"{dtype} with ties",
            [draw(("topk", dtype), (2, 7), dtype, 0, 3)],
            exact=True,
            k=4,
            dtype="int64",
        )
    x = Type("float32", 2, 3)
    for axis in (2, -3):
        book.fail("sort", f"axis {axis} of rank two", "the data has rank two", [x], axis=axis)
        book.fail(
            "argsort",
            f"axis {axis} of rank two",
            "the data has rank two",
            [x],
            axis=axis,
            dtype="int32",
        )
        book.fail(
            "topk",
            f"axis {axis} of rank two",
            "the data has rank two",
            [x],
            k=1,
            axis=axis,
            dtype="int32",
        )
    book.fail("sort", "a scalar", "a scalar has no axis", [Type("float32")])
    book.fail("argsort", "a scalar", "a scalar has no axis", [Type("float32")], dtype="int32")
    book.fail("topk", "k beyond the extent", "the axis has extent three", [x], k=4, dtype="int32")
    book.fail(
        "topk",
        "unknown result",
        "the result is both, values or indices",
        [x],
        k=1,
        ret_type="neither",
        dtype="int32",
    )
    book.fail("topk", "two arguments", "topk takes one argument", [x, x], k=1, dtype="int32")


def build(book):
    hot(book)
    sorting(book)
