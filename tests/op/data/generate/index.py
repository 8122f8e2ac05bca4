"""Operators that address elements: take, gather, scatter."""

import numpy as np
import torch

from .core import (
    FLOATS,
    INTS,
    NUMBERS,
    Type,
    distinct,
    draw,
    reference,
    shape_label,
    steps,
)


@reference("take")
def take(x, indices, *, batch_dims=0, axis=None, mode="clip"):
    indices = indices.astype(np.int64)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis + x.ndim if axis < 0 else axis
    extent = x.shape[axis]
    indices = (
        np.clip(indices, 0, extent - 1)
        if mode == "clip"
        else indices % extent if mode == "wrap" else indices
    )
    if batch_dims == 0:
        return np.take(x, indices, axis)
    rows = [
        take(a, i, batch_dims=batch_dims - 1, axis=axis - 1, mode="fast")
        for a, i in zip(x, indices)
    ]
    return np.stack(rows)


@reference("gather")
def gather(x, indices, *, axis):
    if x.dtype.kind == "u" or x.ndim == 0:
        return np.take_along_axis(x, indices.astype(np.int64), axis)
    return torch.gather(
        torch.from_numpy(np.ascontiguousarray(x)), axis, torch.from_numpy(indices.astype(np.int64))
    ).numpy()


@reference("gather_nd")
def gather_nd(x, indices, *, batch_dims=0, index_rank=None):
    """The first axis of the indices holds the coordinates."""
    if batch_dims == 0:
        return np.asarray(x[tuple(indices)])
    return np.stack(
        [gather_nd(a, np.take(indices, b, 1), batch_dims=batch_dims - 1) for b, a in enumerate(x)]
    )


COMBINE = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": min,
    "max": max,
}


@reference("scatter_nd")
def scatter_nd(x, indices, updates, *, mode="update"):
    result = x.copy()
    for position in np.ndindex(indices.shape[1:]):
        place = tuple(indices[(slice(None),) + position])
        for rest in np.ndindex(x.shape[len(place) :]):
            result[place + rest] = COMBINE[mode](result[place + rest], updates[position + rest])
    return result


@reference("scatter_elements")
def scatter_elements(x, indices, updates, *, axis=0, reduction="update"):
    extent = x.shape[axis]
    places = torch.from_numpy(np.where(indices < 0, indices + extent, indices).astype(np.int64))
    data, new = torch.from_numpy(x.copy()), torch.from_numpy(updates.copy())
    if reduction == "update":
        return data.scatter(axis, places, new).numpy()
    names = {"add": "sum", "mul": "prod", "mean": "mean", "min": "amin", "max": "amax"}
    return data.scatter_reduce(axis, places, new, names[reduction]).numpy()


@reference("one_hot")
def one_hot(indices, on, off, *, depth, axis=-1, dtype=None, from_end=False):
    indices = np.asarray(indices)
    if from_end:
        indices = np.where(indices < 0, indices + depth, indices)
    hot = indices[..., None] == np.arange(depth)
    hot = np.moveaxis(hot, -1, axis if axis >= 0 else hot.ndim + axis)
    return np.where(hot, on, off).astype(dtype or np.asarray(on).dtype)


def typed(key, shape, dtype):
    return draw((key, dtype), shape, dtype)


DTYPES = NUMBERS + ("bool",)


def taking(book):
    cases = [
        ((5,), (3,), 0),
        ((5,), (2, 2), 0),
        ((5,), (), 0),
        ((3, 4), (2,), 0),
        ((3, 4), (2,), 1),
        ((3, 4), (2,), -1),
        ((3, 4), (2, 3), 1),
        ((3, 4), (), 0),
        ((2, 3, 4), (2,), 1),
        ((2, 3, 4), (1, 2), -2),
        ((3, 4), (3,), None),
        ((3, 4), (), None),
        ((3, 4), (2, 2), None),
        ((3, 4), (0,), 1),
        ((3, 0), (2,), 0),
        ((1, 4), (3,), 0),
        ((17, 3), (4,), 0),
    ]
    for shape, index_shape, axis in cases:
        count = int(np.prod(shape)) if axis is None else shape[axis]
        indices = draw((shape, index_shape, axis), index_shape, "int32", 0, count - 1)
        label = f"{shape_label(shape)} at {shape_label(index_shape)} axis {axis}"
        attributes = {} if axis is None else {"axis": axis}
        book.add("take", label, [steps(shape), indices], exact=True, **attributes)
        if 0 not in shape:
            outside = draw((label, "outside"), index_shape, "int32", -2 * count, 2 * count)
            book.add(
                "take",
                f"{label} clipped",
                [steps(shape), outside],
                exact=True,
                mode="clip",
                **attributes,
            )
            book.add(
                "take",
                f"{label} wrapped",
                [steps(shape), outside],
                exact=True,
                mode="wrap",
                **attributes,
            )
            book.add(
                "take",
                f"{label} unchecked",
                [steps(shape), indices],
                exact=True,
                mode="fast",
                **attributes,
            )
    for shape, index_shape, axis, batch in [
        ((2, 3), (2, 2), 1, 1),
        ((2, 3, 4), (2, 2), 1, 1),
        ((2, 3, 4), (2, 2), 2, 1),
        ((2, 3, 4), (2, 3, 1), 2, 2),
        ((2, 3), (2,), 1, 1),
        ((2, 3, 4), (2, 1, 2), -1, 1),
    ]:
        indices = draw((shape, index_shape, batch), index_shape, "int32", 0, shape[axis] - 1)
        book.add(
            "take",
            f"batch {batch} {shape_label(shape)} at {shape_label(index_shape)} axis {axis}",
            [steps(shape), indices],
            exact=True,
            batch_dims=batch,
            axis=axis,
        )
    for dtype in DTYPES:
        book.add(
            "take",
            dtype,
            [typed("take", (4, 2), dtype), np.array([3, 0, 3], "int32")],
            exact=True,
            axis=0,
        )
    for dtype in ("int8", "int16", "int64", "uint8"):
        book.add(
            "take",
            f"indices of {dtype}",
            [steps((4,)), np.array([[3, 0], [1, 1]], dtype)],
            exact=True,
            axis=0,
        )
    x, i = Type("float32", 3, 4), Type("int32", 2)
    for axis in (2, -3):
        book.fail("take", f"axis {axis} of rank two", "the data has rank two", [x, i], axis=axis)
    book.fail("take", "float indices", "an index is an integer", [x, Type("float32", 2)], axis=0)
    book.fail(
        "take", "unknown mode", "the mode is clip, wrap or fast", [x, i], axis=0, mode="mirror"
    )
    book.fail(
        "take",
        "batches of two and three",
        "the batch extents differ",
        [x, Type("int32", 2, 2)],
        batch_dims=1,
        axis=1,
    )
    book.fail("take", "no indices", "take takes two arguments", [x], axis=0)


def gathering(book):
    for shape, index_shape, axis in [
        ((4,), (6,), 0),
        ((3, 4), (2, 4), 0),
        ((3, 4), (3, 5), 1),
        ((3, 4), (3, 2), -1),
        ((2, 3, 4), (2, 3, 2), 2),
        ((2, 3, 4), (2, 1, 4), 1),
        ((2, 3), (2, 0), 1),
        ((1, 1), (1, 3), 1),
        ((3, 17), (3, 2), 1),
        ((2, 3, 4), (2, 5, 4), -2),
    ]:
        indices = draw((shape, index_shape, axis), index_shape, "int64", 0, shape[axis] - 1)
        book.add(
            "gather",
            f"{shape_label(shape)} at {shape_label(index_shape)} axis {axis}",
            [steps(shape), indices],
            "torch",
            exact=True,
            axis=axis,
        )
    for dtype in DTYPES:
        book.add(
            "gather",
            dtype,
            [typed("gather", (2, 3), dtype), np.array([[2, 0], [1, 1]], "int32")],
            "torch",
            exact=True,
            axis=1,
        )
    x = Type("float32", 2, 3)
    book.fail(
        "gather",
        "indices of another rank",
        "data and indices have one rank",
        [x, Type("int32", 2)],
        axis=0,
    )
    book.fail(
        "gather", "float indices", "an index is an integer", [x, Type("float32", 2, 3)], axis=0
    )
    for axis in (2, -3):
        book.fail(
            "gather",
            f"axis {axis} of rank two",
            "the data has rank two",
            [x, Type("int32", 2, 3)],
            axis=axis,
        )
    cases = [
        ((3, 4), (2, 3), 0),
        ((3, 4), (1, 3), 0),
        ((3, 4), (2, 2, 2), 0),
        ((2, 3, 4), (3, 2), 0),
        ((2, 3, 4), (2, 2), 0),
        ((2, 3, 4), (1, 2), 0),
        ((5,), (1, 4), 0),
        ((3, 4), (2, 0), 0),
        ((3, 4), (2,), 0),
        ((2, 3, 4), (1, 2), 1),
        ((2, 3, 4), (2, 2), 1),
        ((2, 3, 4), (1, 2, 2), 1),
        ((2, 3, 4), (1, 2, 3), 2),
        ((2, 3, 4), (1, 2, 3, 2), 2),
        ((1, 4), (2, 3), 0),
    ]
    for shape, index_shape, batch in cases:
        rows = [
            draw((shape, index_shape, batch, r), index_shape[1:], "int32", 0, shape[batch + r] - 1)
            for r in range(index_shape[0])
        ]
        book.add(
            "gather_nd",
            f"{shape_label(shape)} at {shape_label(index_shape)} batch {batch}",
            [steps(shape), np.stack(rows)],
            exact=True,
            **({"batch_dims": batch} if batch else {}),
        )
    for dtype in DTYPES:
        book.add(
            "gather_nd",
            dtype,
            [typed("gather_nd", (2, 3), dtype), np.array([[0, 1], [2, 0]], "int64")],
            exact=True,
        )
    book.fail(
        "gather_nd",
        "three coordinates for rank two",
        "three coordinates do not address a matrix",
        [x, Type("int32", 3, 1)],
    )
    book.fail("gather_nd", "float indices", "an index is an integer", [x, Type("float32", 2, 1)])


def scattering(book):
    shapes = [
        ((5,), (1, 3), (3,)),
        ((3, 4), (2, 3), (3,)),
        ((3, 4), (1, 2), (2, 4)),
        ((2, 3, 4), (2, 2), (2, 4)),
        ((3, 4), (2, 2, 2), (2, 2)),
        ((2, 3, 4), (1, 1), (1, 3, 4)),
        ((3, 4), (2, 0), (0,)),
        ((1,), (1, 1), (1,)),
        ((17, 1), (1, 3), (3, 1)),
        ((3, 4), (1, 0), (0, 4)),
    ]
    for mode in COMBINE:
        for shape, index_shape, update_shape in shapes:
            places = distinct((mode, shape), (int(np.prod(shape[: index_shape[0]])),), "int64")
            places = (places - places.min())[: int(np.prod(index_shape[1:]))]
            indices = (
                np.stack(np.unravel_index(places, shape[: index_shape[0]]))
                .reshape(index_shape)
                .astype("int32")
            )
            book.add(
                "scatter_nd",
                f"{mode} {shape_label(shape)} at {shape_label(index_shape)}",
                [
                    draw((mode, shape, 0), shape, "float32"),
                    indices,
                    draw((mode, shape, 1), update_shape, "float32"),
                ],
                mode=mode,
            )
        if mode != "update":
            x, updates = draw((mode, 0), (4, 2), "float32"), draw((mode, 1), (5, 2), "float32")
            book.add(
                "scatter_nd",
                f"{mode} with duplicates",
                [x, np.array([[1, 3, 1, 1, 0]], "int64"), updates],
                mode=mode,
            )
        for dtype in FLOATS + INTS:
            x, updates = draw((mode, dtype, 0), (2, 3), dtype, 0, 4), draw(
                (mode, dtype, 1), (2,), dtype, 0, 4
            )
            book.add(
                "scatter_nd",
                f"{mode} {dtype}",
                [x, np.array([[0, 1], [2, 0]], "int32"), updates],
                mode=mode,
            )
    x, i = Type("float32", 3, 4), Type("int32", 2, 5)
    for label, why, args in [
        ("updates too short", "five indices need five updates", [x, i, Type("float32", 4)]),
        ("float indices", "an index is an integer", [x, Type("float32", 2, 5), Type("float32", 5)]),
        (
            "three coordinates for rank two",
            "three coordinates do not address a matrix",
            [x, Type("int32", 3, 5), Type("float32", 5)],
        ),
        ("updates of another dtype", "data and updates have one dtype", [x, i, Type("float64", 5)]),
    ]:
        book.fail("scatter_nd", label, why, args, mode="add")
    book.fail(
        "scatter_nd",
        "unknown mode",
        "the mode is update, add, mul, min or max",
        [x, i, Type("float32", 5)],
        mode="subtract",
    )
    for reduction in ("update", "add", "mul", "min", "max", "mean"):
        for shape, update_shape, axis in [
            ((3, 4), (2, 4), 0),
            ((3, 4), (3, 2), 1),
            ((3, 4), (2, 2), -1),
            ((2, 3, 4), (2, 3, 1), 2),
            ((5,), (3,), 0),
            ((3, 4), (0, 4), 0),
            ((1, 17), (1, 3), 1),
        ]:
            key = (reduction, shape, axis)
            indices = np.argsort(
                draw(
                    (key, 2),
                    update_shape[: axis % len(shape)]
                    + (shape[axis],)
                    + update_shape[axis % len(shape) + 1 :],
                    "float64",
                ),
                axis=axis,
            )
            indices = np.take(indices, range(update_shape[axis]), axis).astype("int64")
            book.add(
                "scatter_elements",
                f"{reduction} {shape_label(shape)} with {shape_label(update_shape)} axis {axis}",
                [
                    draw((key, 0), shape, "float32"),
                    indices,
                    draw((key, 1), update_shape, "float32"),
                ],
                "torch",
                axis=axis,
                reduction=reduction,
            )
    for reduction in ("add", "mul", "min", "max"):
        x, updates = draw((reduction, "dup", 0), (2, 4), "float32"), draw(
            (reduction, "dup", 1), (2, 3), "float32"
        )
        book.add(
            "scatter_elements",
            f"{reduction} with duplicates",
            [x, np.array([[1, 1, 3], [0, -4, 0]], "int32"), updates],
            "torch",
            axis=1,
            reduction=reduction,
        )
    for dtype in NUMBERS:
        book.add(
            "scatter_elements",
            dtype,
            [
                typed("data", (2, 3), dtype),
                np.array([[2], [0]], "int32"),
                typed("updates", (2, 1), dtype),
            ],
            "torch",
            axis=1,
            reduction="add",
        )
    x, u = Type("float32", 3, 4), Type("float32", 2, 4)
    for label, why, args, attributes in [
        ("axis 2 of rank two", "the data has rank two", [x, Type("int32", 2, 4), u], {"axis": 2}),
        (
            "updates of another shape",
            "indices and updates have one shape",
            [x, Type("int32", 2, 3), u],
            {},
        ),
        ("float indices", "an index is an integer", [x, u, u], {}),
        (
            "ranks differ",
            "data and indices have one rank",
            [x, Type("int32", 4), Type("float32", 4)],
            {},
        ),
        (
            "unknown reduction",
            "the reduction has no such name",
            [x, Type("int32", 2, 4), u],
            {"reduction": "xor"},
        ),
        (
            "updates of another dtype",
            "data and updates have one dtype",
            [x, Type("int32", 2, 4), Type("int32", 2, 4)],
            {},
        ),
    ]:
        book.fail(
            "scatter_elements", label, why, args, **({"axis": 0, "reduction": "add"} | attributes)
        )


def build(book):
    taking(book)
    gathering(book)
    scattering(book)
