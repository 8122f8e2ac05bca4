"""Operators that copy elements (broadcast_to, tile, repeat, meshgrid) or make tensors (zeros to arange)."""

import numpy as np

from .core import INTS, Literal, Type, shape_label, steps
from .shape import DTYPES, typed


def copies(book):
    for a, b in [
        ((3,), (2, 3)),
        ((1, 3), (2, 3)),
        ((2, 1), (2, 3)),
        ((), (2, 3)),
        ((), ()),
        ((2, 3), (2, 3)),
        ((1,), (0,)),
        ((0, 1), (0, 3)),
        ((1, 1), (3, 2, 4)),
        ((3, 1, 1), (3, 1, 17)),
        ((1,), (1, 1, 1)),
    ]:
        label = f"{shape_label(a)} to {shape_label(b)}"
        book.add("broadcast_to", label, [steps(a)], exact=True, shape=list(b))
        book.add("broadcast_to_like", label, [steps(a), np.zeros(b, "float32")], exact=True)
    for dtype in DTYPES:
        book.add("broadcast_to", dtype, [typed((2, 1), dtype)], exact=True, shape=[2, 3])
    for a, b in [((2,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((3,), (3, 2)), ((2,), (0,))]:
        label = f"{shape_label(a)} does not fit {shape_label(b)}"
        book.fail(
            "broadcast_to",
            label,
            "the shape does not broadcast",
            [Type("float32", *a)],
            shape=list(b),
        )
        book.fail(
            "broadcast_to_like",
            label,
            "the shape does not broadcast",
            [Type("float32", *a), Type("float32", *b)],
        )
    book.fail(
        "broadcast_to",
        "negative extent",
        "an extent is not negative",
        [Type("float32", 1)],
        shape=[-2],
    )
    for shape, reps in [
        ((2, 3), [2, 2]),
        ((2, 3), [3]),
        ((3,), [2, 2]),
        ((), [3]),
        ((), [2, 2]),
        ((2, 0), [2, 3]),
        ((1, 1), [3, 1]),
        ((2,), [1]),
        ((3, 1, 2), [2, 1, 2]),
    ]:
        book.add("tile", f"{shape_label(shape)} by {reps}", [steps(shape)], exact=True, reps=reps)
    for shape, repeats, axis in [
        ((3,), 2, 0),
        ((2, 3), 3, 0),
        ((2, 3), 2, 1),
        ((2, 3), 2, -1),
        ((2, 3), 1, 1),
        ((0, 2), 3, 0),
        ((0, 2), 3, 1),
        ((1, 17), 2, 1),
        ((2, 1, 2), 2, -2),
    ]:
        book.add(
            "repeat",
            f"{shape_label(shape)} {repeats} times axis {axis}",
            [steps(shape)],
            exact=True,
            repeats=repeats,
            axis=axis,
        )
    for dtype in DTYPES:
        book.add("tile", dtype, [typed((2, 2), dtype)], exact=True, reps=[1, 2])
        book.add("repeat", dtype, [typed((2, 2), dtype)], exact=True, repeats=2, axis=1)
    book.fail(
        "tile", "fewer than no copies", "a repetition is positive", [Type("float32", 2)], reps=[-1]
    )
    book.fail("tile", "no repetitions given", "the repetitions are required", [Type("float32", 2)])
    book.fail(
        "repeat",
        "fewer than no copies",
        "a repetition is positive",
        [Type("float32", 2)],
        repeats=-1,
        axis=0,
    )
    for axis in (2, -3):
        book.fail(
            "repeat",
            f"axis {axis} of rank two",
            "the data has rank two",
            [Type("float32", 2, 3)],
            repeats=2,
            axis=axis,
        )
    for shapes in [((3,), (2,)), ((3,), (2,), (4,)), ((1,), (17,)), ((), (3,)), ((0,), (2,))]:
        for indexing in ("ij", "xy"):
            xs = [steps(s) + 10 * i for i, s in enumerate(shapes)]
            book.add(
                "meshgrid",
                f"{indexing} {' '.join(shape_label(s) for s in shapes)}",
                [xs],
                exact=True,
                **({} if indexing == "ij" else {"indexing": indexing}),
            )
    for dtype in ("int32", "int64", "float64", "float16", "bool", "uint8"):
        book.add("meshgrid", dtype, [[typed((2,), dtype), typed((3,), dtype)]], exact=True)
    book.fail(
        "meshgrid",
        "a matrix",
        "an input has rank at most one",
        [[Type("float32", 2, 2), Type("float32", 2)]],
    )
    book.fail(
        "meshgrid",
        "two dtypes",
        "all inputs must have one dtype",
        [[Type("float32", 2), Type("int32", 2)]],
    )
    book.fail(
        "meshgrid",
        "unknown indexing",
        "the indexing is ij or xy",
        [[Type("float32", 2), Type("float32", 2)]],
        indexing="yx",
    )


def creation(book):
    for dtype in DTYPES:
        for op in ("zeros", "ones"):
            book.add(op, dtype, [], shape=[2, 3], dtype=dtype, exact=True)
            book.add(f"{op}_like", dtype, [typed((2, 3), dtype)], exact=True)
        value = True if dtype == "bool" else 3 if dtype in INTS else 1.5
        book.add("full", dtype, [np.asarray(value, dtype)], shape=[2, 3], dtype=dtype, exact=True)
        book.add("full_like", dtype, [typed((2, 3), dtype), np.asarray(value, dtype)], exact=True)
    for shape in [(), (0,), (1,), (2, 0, 3), (1, 1, 1), (17,)]:
        for op in ("zeros", "ones"):
            book.add(
                op,
                f"shape {shape_label(shape)}",
                [],
                shape=list(shape),
                dtype="float32",
                exact=True,
            )
            book.add(f"{op}_like", f"shape {shape_label(shape)}", [steps(shape)], exact=True)
        book.add(
            "full",
            f"shape {shape_label(shape)}",
            [Literal(-2.5, "float32")],
            shape=list(shape),
            dtype="float32",
            exact=True,
        )
        book.add(
            "full_like",
            f"shape {shape_label(shape)}",
            [steps(shape), Literal(-2.5, "float32")],
            exact=True,
        )
    book.add("full", "infinity", [np.asarray(np.inf, "float32")], shape=[2], dtype="float32")
    book.fail(
        "full",
        "value of rank one",
        "the value is a scalar",
        [Type("float32", 2)],
        shape=[2],
        dtype="float32",
    )
    book.fail(
        "full",
        "negative extent",
        "an extent is not negative",
        [Type("float32")],
        shape=[-1],
        dtype="float32",
    )
    book.fail(
        "full_like",
        "value of rank two",
        "the value is a scalar",
        [Type("float32", 2), Type("float32", 1, 1)],
    )
    for op in ("zeros", "ones"):
        book.fail(
            op, "negative extent", "an extent is not negative", [], shape=[2, -3], dtype="float32"
        )
        book.fail(op, "unknown dtype", "no dtype has that name", [], shape=[2], dtype="float31")
        book.fail(
            op,
            "an argument",
            f"{op} takes no argument",
            [Type("float32", 2)],
            shape=[2],
            dtype="float32",
        )
        book.fail(f"{op}_like", "no argument", f"{op}_like takes one argument", [])
    for bounds, dtype in [
        ((0, 5, 1), "int32"),
        ((2, 11, 3), "int32"),
        ((5, -4, -2), "int64"),
        ((0, 2, 0.25), "float32"),
        ((1, -1, -0.5), "float64"),
        ((3, 3, 1), "int32"),
        ((0, 1, 4), "int32"),
        ((0, 6, 2), "int8"),
        ((0.5, 3, 0.75), "float32"),
    ]:
        book.add(
            "arange",
            f"constants {bounds} {dtype}",
            [Literal(b, dtype) for b in bounds],
            dtype=dtype,
        )
    book.fail(
        "arange",
        "step zero",
        "the step is not zero",
        [Literal(0, "int32"), Literal(5, "int32"), Literal(0, "int32")],
        dtype="int32",
    )
    book.fail(
        "arange",
        "bounds of rank one",
        "a bound is a scalar",
        [Type("int32", 1), Type("int32", 1), Type("int32", 1)],
        dtype="int32",
    )
    for bounds, dtype in [((0, 5, 1), "int32"), ((10, 1, -4), "int64"), ((4, 4, 1), "int32")]:
        program = f"{bounds} {dtype}"
        book.add(
            "arange",
            f"inputs {program}",
            [np.asarray(b, dtype) for b in bounds],
            start=None,
            stop=None,
            step=None,
            dtype=dtype,
        )
        book.records[-1]["type"] = f"Tensor[(?), {dtype}]"


def build(book):
    copies(book)
    creation(book)
