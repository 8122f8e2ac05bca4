"""The references of all operators that only move elements or make tensors, and the cases from reshape to slice_like."""

import numpy as np

from .core import NUMBERS, Type, draw, narrow, reference, shape_label, steps


def reshaped(old, new, allowzero=False):
    """The shape that `newshape` means: 0 copies, -1 infers, -2 copies the rest, -3 merges two, -4 splits one."""
    old, result, source, inferred, i = list(old), [], 0, None, 0
    new = list(new)
    while i < len(new):
        code = new[i]
        if code > 0 or (code == 0 and allowzero):
            result.append(code)
            source += 1
        elif code == 0:
            result.append(old[source])
            source += 1
        elif code == -1:
            inferred = len(result)
            result.append(1)
            source += 1
        elif code == -2:
            result += old[source:]
            source = len(old)
        elif code == -3:
            result.append(old[source] * old[source + 1])
            source += 2
        else:
            first, second = new[i + 1], new[i + 2]
            whole = old[source]
            first = whole // second if first == -1 else first
            second = whole // first if second == -1 else second
            result += [first, second]
            source += 1
            i += 2
        i += 1
    if inferred is not None:
        known = int(np.prod(result, dtype=int))
        result[inferred] = int(np.prod(old, dtype=int)) // known if known else 0
    return result


@reference("reshape")
def reshape(x, *, newshape, allowzero=False):
    return x.reshape(reshaped(x.shape, newshape, allowzero))


@reference("reshape_like")
def reshape_like(x, like, *, lhs_begin=0, lhs_end=None, rhs_begin=0, rhs_end=None):
    def span(rank, begin, end):
        return begin + rank if begin < 0 else begin, (
            rank if end is None else end + rank if end < 0 else end
        )

    lb, le = span(x.ndim, lhs_begin, lhs_end)
    rb, re = span(like.ndim, rhs_begin, rhs_end)
    return x.reshape(x.shape[:lb] + like.shape[rb:re] + x.shape[le:])


@reference("transpose")
def transpose(x, *, axes):
    return np.transpose(x, axes)


@reference("squeeze")
def squeeze(x, *, axis=None):
    return np.squeeze(x, None if axis is None else tuple(axis))


@reference("expand_dims")
def expand_dims(x, *, axis, num_newaxis=1):
    position = axis + x.ndim + 1 if axis < 0 else axis
    return x.reshape(x.shape[:position] + (1,) * num_newaxis + x.shape[position:])


reference("concatenate")(lambda xs, *, axis=0: np.concatenate(xs, axis))
reference("stack")(lambda xs, *, axis=0: np.stack(xs, axis))


@reference("split")
def split(x, *, indices_or_sections, axis=0):
    return tuple(np.split(x, indices_or_sections, axis))


@reference("strided_slice")
def strided_slice(x, *, begin, end, strides, axes=None, slice_mode="end"):
    axes = list(range(len(begin))) if axes is None else axes
    picks = [slice(None)] * x.ndim
    for i, axis in enumerate(axes):
        extent, first, last = x.shape[axis], begin[i], end[i]
        step = strides[i] if strides and i < len(strides) else 1
        if slice_mode == "size":
            first = first + extent if first < 0 else first
            step, last = 1, extent if last < 0 else first + last
        picks[axis] = slice(first, last, step)
    return x[tuple(picks)]


@reference("slice_like")
def slice_like(x, like, *, axes):
    axes = range(like.ndim) if not axes else [a + x.ndim if a < 0 else a for a in axes]
    return x[tuple(slice(like.shape[a]) if a in axes else slice(None) for a in range(x.ndim))]


reference("broadcast_to")(lambda x, *, shape, dtype="": np.broadcast_to(x, shape))
reference("broadcast_to_like")(lambda x, like: np.broadcast_to(x, like.shape))
reference("zeros")(lambda *, shape, dtype: np.zeros(shape, dtype))
reference("ones")(lambda *, shape, dtype: np.ones(shape, dtype))
reference("full")(lambda value, *, shape, dtype="": np.full(shape, value, dtype or value.dtype))
reference("zeros_like")(lambda x: np.zeros(x.shape, x.dtype))
reference("ones_like")(lambda x: np.ones(x.shape, x.dtype))
reference("full_like")(lambda x, value: np.full(x.shape, value, x.dtype))


@reference("arange")
def arange(first, last, step_size, /, *, dtype, **bounds):
    return narrow(np.arange(first, last, step_size), dtype)


@reference("tile")
def tile(x, *, reps):
    return np.tile(x, reps)


reference("repeat")(lambda x, *, repeats, axis: np.repeat(x, repeats, axis))
reference("reverse")(lambda x, *, axis: np.flip(x, axis))


@reference("meshgrid")
def meshgrid(xs, *, indexing="ij"):
    return tuple(np.meshgrid(*xs, indexing=indexing))


DTYPES = NUMBERS + ("bool",)


def typed(shape, dtype):
    return draw((shape, "typed"), shape, "bool") if dtype == "bool" else steps(shape, dtype)


def reshapes(book):
    cases = [
        ((2, 3, 4), [24]),
        ((2, 3, 4), [6, 4]),
        ((2, 3, 4), [-1]),
        ((2, 3, 4), [4, -1]),
        ((2, 3, 4), [0, -1]),
        ((2, 3, 4), [-1, 0]),
        ((2, 3, 4), [0, 0, 0]),
        ((2, 3, 4), [-2]),
        ((2, 3, 4), [-2, 1, 1]),
        ((2, 3, 4), [0, -2]),
        ((2, 3, 4), [-3, 0]),
        ((2, 3, 4), [0, -3]),
        ((2, 3, 4), [-3, -2]),
        ((2, 3, 4), [-4, 1, 2, -2]),
        ((2, 3, 4), [0, -4, -1, 3, 0]),
        ((2, 3, 4), [0, 0, -4, 2, -1]),
        ((2, 3, 4, 5), [-3, -3]),
        ((2, 3, 4, 5), [-4, 1, -1, 0, -3]),
        ((8, 3), [-4, 2, 4, -1]),
        ((1, 1), []),
        ((), [1]),
        ((), [-1]),
        ((), [1, 1, 1]),
        ((1,), [1, 1]),
        ((0, 3), [3, -1]),
        ((0, 3), [0, 1, 3]),
        ((2, 0, 3), [-3, 0]),
        ((17, 1), [1, 17]),
        ((6,), [2, 3]),
        ((5,), [5]),
    ]
    for shape, new in cases:
        book.add(
            "reshape", f"{shape_label(shape)} by {new}", [steps(shape)], exact=True, newshape=new
        )
    for dtype in DTYPES:
        book.add("reshape", dtype, [typed((2, 6), dtype)], exact=True, newshape=[3, -1])
    book.add(
        "reshape",
        "allowzero makes an empty axis",
        [steps((0, 4))],
        exact=True,
        newshape=[2, 0],
        allowzero=True,
    )
    x = Type("float32", 2, 3, 4)
    for label, new, why in [
        ("other size", [5, 5], "24 elements are not 25"),
        ("two inferred extents", [-1, -1, 4], "only one extent can be inferred"),
        ("does not divide", [-1, 5], "24 is not a multiple of 5"),
        ("code -5", [-5], "-5 has no meaning"),
        ("copy beyond the rank", [1, 1, 24, 0], "there is no fourth axis"),
        ("merge beyond the rank", [2, 3, -3], "there is one axis left"),
        ("split of another product", [-4, 2, 3, -2], "2 is not 2 * 3"),
        ("split without extents", [-4, 2], "two extents must follow"),
        ("split with two unknowns", [-4, -1, -1, -2], "only one part can be inferred"),
    ]:
        book.fail("reshape", label, why, [x], newshape=new)
    book.fail(
        "reshape",
        "allowzero leaves no room",
        "24 elements are not 0",
        [x],
        newshape=[0, 24],
        allowzero=True,
    )
    book.fail("reshape", "no shape", "the new shape is required", [x])
    book.fail("reshape", "shape is text", "an extent is an integer", [x], newshape="flat")
    for label, a, b, attributes in [
        ("whole", (2, 6), (3, 4), {}),
        ("to rank one", (2, 3), (6,), {}),
        ("from a scalar", (), (1, 1), {}),
        ("empty", (0, 4), (2, 0, 1), {}),
        (
            "middle axes",
            (2, 12, 3),
            (7, 3, 4, 7),
            {"lhs_begin": 1, "lhs_end": 2, "rhs_begin": 1, "rhs_end": 3},
        ),
        ("first axes", (6, 4), (2, 3, 9), {"lhs_end": 1, "rhs_end": 2}),
        ("counted from the end", (2, 3, 4), (12, 5), {"lhs_begin": -2, "rhs_end": -1}),
    ]:
        book.add(
            "reshape_like", label, [steps(a), np.zeros(b, "float32")], exact=True, **attributes
        )
    book.add("reshape_like", "dtypes may differ", [steps((2, 3), "int64"), np.zeros((6,), "bool")])
    book.fail(
        "reshape_like",
        "other size",
        "6 elements are not 8",
        [Type("float32", 2, 3), Type("float32", 2, 4)],
    )
    book.fail(
        "reshape_like",
        "part of another size",
        "6 is not 4",
        [Type("float32", 6, 2), Type("float32", 2, 2)],
        lhs_end=1,
    )


def orders(book):
    for shape, axes in [
        ((2, 3), None),
        ((2, 3, 4), None),
        ((2, 3, 4), [0, 2, 1]),
        ((2, 3, 4), [2, 0, 1]),
        ((2, 3, 4), [-1, 0, 1]),
        ((2, 1, 3, 2), [0, 3, 1, 2]),
        ((2, 1, 3, 2), [3, 2, 1, 0]),
        ((5,), [0]),
        ((), None),
        ((0, 3), [1, 0]),
        ((1, 3, 0), None),
        ((17, 3), [1, 0]),
        ((1, 2, 1, 2, 3), [4, 1, 0, 3, 2]),
    ]:
        book.add(
            "transpose", f"{shape_label(shape)} by {axes}", [steps(shape)], exact=True, axes=axes
        )
    for dtype in DTYPES:
        book.add("transpose", dtype, [typed((2, 3), dtype)], exact=True, axes=[1, 0])
    for label, axes in [
        ("too few", [0]),
        ("too many", [0, 1, 2]),
        ("twice", [1, 1]),
        ("twice by sign", [1, -1]),
        ("out of range", [0, 2]),
        ("negative out of range", [-3, 0]),
    ]:
        book.fail(
            "transpose", label, "the axes must be a permutation", [Type("float32", 2, 3)], axes=axes
        )
    for shape, attributes in [
        ((1, 3, 1), {}),
        ((1, 3, 1), {"axis": [0]}),
        ((1, 3, 1), {"axis": [-1]}),
        ((1, 3, 1), {"axis": [2, 0]}),
        ((1, 1), {}),
        ((), {}),
        ((1, 0), {}),
        ((2, 1, 2, 1), {"axis": [1]}),
        ((1,), {"axis": [0]}),
    ]:
        book.add(
            "squeeze",
            f"{shape_label(shape)} {attributes.get('axis', 'all')}",
            [steps(shape)],
            exact=True,
            **attributes,
        )
    for dtype in ("int8", "bool", "float16", "int64"):
        book.add("squeeze", dtype, [typed((1, 3), dtype)], exact=True)
    book.fail("squeeze", "extent two", "axis 0 has extent two", [Type("float32", 2, 1)], axis=[0])
    book.fail("squeeze", "extent zero", "axis 0 has extent zero", [Type("float32", 0, 1)], axis=[0])
    book.fail("squeeze", "out of range", "the data has rank two", [Type("float32", 2, 1)], axis=[2])
    book.fail(
        "squeeze", "an axis twice", "an axis is dropped once", [Type("float32", 1, 1)], axis=[0, -2]
    )
    for shape in [(2, 3), (), (0, 2), (17,)]:
        for axis in range(-len(shape) - 1, len(shape) + 1):
            book.add(
                "expand_dims",
                f"{shape_label(shape)} at {axis}",
                [steps(shape)],
                exact=True,
                axis=axis,
            )
    for number in (0, 2, 3):
        for axis in (1, -2):
            book.add(
                "expand_dims",
                f"{number} at {axis}",
                [steps((2, 3))],
                exact=True,
                axis=axis,
                num_newaxis=number,
            )
    for dtype in ("int8", "bool", "float16", "int64"):
        book.add("expand_dims", dtype, [typed((3,), dtype)], exact=True, axis=0)
    book.fail(
        "expand_dims",
        "axis 3 of rank two",
        "the axis may be at most the rank",
        [Type("float32", 2, 3)],
        axis=3,
    )
    book.fail(
        "expand_dims",
        "axis -4 of rank two",
        "the axis may be at least -rank-1",
        [Type("float32", 2, 3)],
        axis=-4,
    )
    book.fail(
        "expand_dims",
        "fewer than no axes",
        "the number of axes may not be negative",
        [Type("float32", 2)],
        axis=0,
        num_newaxis=-2,
    )
    book.fail("expand_dims", "no axis", "the axis is required", [Type("float32", 2)])
    for shape, axis in [
        ((4,), 0),
        ((2, 3), 0),
        ((2, 3), 1),
        ((2, 3), -1),
        ((2, 3, 2), -2),
        ((0, 3), 1),
        ((3, 0), 1),
        ((1, 4), 0),
        ((3, 17), 1),
    ]:
        book.add(
            "reverse", f"{shape_label(shape)} axis {axis}", [steps(shape)], exact=True, axis=axis
        )
    for dtype in DTYPES:
        book.add("reverse", dtype, [typed((5,), dtype)], exact=True, axis=0)
    for axis in (2, -3):
        book.fail(
            "reverse",
            f"axis {axis} of rank two",
            "the data has rank two",
            [Type("float32", 2, 3)],
            axis=axis,
        )
    book.fail("reverse", "a scalar", "a scalar has no axis", [Type("float32")], axis=0)


def slices(book):
    full = (1 << 31) - 1
    cases = [
        ((6,), [1], [5], [2], None),
        ((6,), [5], [1], [-2], None),
        ((6,), [-1], [-7], [-1], None),
        ((6,), [-4], [-1], [1], None),
        ((6,), [0], [full], [4], None),
        ((6,), [3], [3], [1], None),
        ((4, 5), [1, 1], [3, 4], [1, 1], None),
        ((4, 5), [0, 4], [4, 0], [2, -1], None),
        ((4, 5), [1], [3], [1], None),
        ((4, 5), [1, 0], [4, 5], [2], None),
        ((4, 5), [0, 0], [4, 5], [], None),
        ((4, 5), [2], [5], [2], [1]),
        ((4, 5), [3, 0], [0, 2], [-1, 1], [0, 1]),
        ((2, 3, 4), [1, 0], [3, 4], [1, 3], [1, 2]),
        ((2, 3, 4), [3, 1], [0, 2], [-1, 1], [2, 0]),
        ((2, 3, 4), [0, 0, 0], [2, 3, 4], [1, 2, 3], None),
        ((1, 5), [0, -3], [1, 5], [1, 1], None),
        ((0, 3), [0, 1], [0, 3], [1, 1], None),
        ((3, 17), [0, 3], [3, 17], [1, 5], None),
        ((6,), [0], [6], [7], None),
        ((6,), [5], [-100], [-5], None),
    ]
    for shape, begin, end, strides, axes in cases:
        book.add(
            "strided_slice",
            f"{shape_label(shape)} {begin} {end} {strides} {axes}",
            [steps(shape)],
            exact=True,
            begin=begin,
            end=end,
            strides=strides,
            axes=axes,
        )
    sized = [
        ((6,), [2], [3], [1], None),
        ((6,), [-2], [2], [1], None),
        ((6,), [2], [-1], [1], None),
        ((4, 5), [1, 2], [2, -1], [1, 1], None),
        ((4, 5), [0, 1], [-1, 3], [1, 1], [0, 1]),
        ((4, 5), [1], [3], [2], [1]),
        ((4, 5), [3, 0], [0, 5], [1, 1], None),
        ((2, 3, 4), [-1], [1], [1], [2]),
    ]
    for shape, begin, size, strides, axes in sized:
        book.add(
            "strided_slice",
            f"size {shape_label(shape)} {begin} {size} {strides} {axes}",
            [steps(shape)],
            exact=True,
            begin=begin,
            end=size,
            strides=strides,
            slice_mode="size",
            axes=axes,
        )
    for dtype in DTYPES:
        book.add(
            "strided_slice",
            dtype,
            [typed((3, 4), dtype)],
            exact=True,
            begin=[0, 3],
            end=[3, 0],
            strides=[2, -1],
            axes=None,
        )
    x = Type("float32", 4, 5)
    wrong = [
        (
            "stride zero",
            {"begin": [0, 0], "end": [2, 2], "strides": [0, 1], "axes": None},
            "a stride is not zero",
        ),
        (
            "backwards",
            {"begin": [3, 0], "end": [1, 5], "strides": [1, 1], "axes": None},
            "the slice runs backwards",
        ),
        (
            "more begins than axes",
            {"begin": [0, 0, 0], "end": [1, 1, 1], "strides": [1, 1, 1], "axes": None},
            "the data has rank two",
        ),
        (
            "axis out of range",
            {"begin": [0], "end": [1], "strides": [1], "axes": [2]},
            "the data has rank two",
        ),
        (
            "axis twice",
            {"begin": [0, 0], "end": [1, 1], "strides": [1, 1], "axes": [1, 1]},
            "an axis is sliced once",
        ),
        (
            "unknown mode",
            {"begin": [0], "end": [1], "strides": [1], "slice_mode": "middle", "axes": None},
            "the mode is end or size",
        ),
        (
            "fewer axes than begins",
            {"begin": [0, 0], "end": [1, 1], "strides": [1, 1], "axes": [0]},
            "begin and axes have one length",
        ),
    ]
    for label, attributes, why in wrong:
        book.fail("strided_slice", label, why, [x], **attributes)
    for a, b, axes in [
        ((4, 5), (2, 3), None),
        ((4, 5), (2, 3), [0]),
        ((4, 5), (2, 3), [-1]),
        ((4, 5), (4, 5), None),
        ((4, 5), (0, 3), None),
        ((2, 3, 4), (1, 9, 2), [0, 2]),
        ((4, 5), (3,), [0]),
        ((17,), (3,), None),
        ((1, 1), (1, 1), None),
    ]:
        book.add(
            "slice_like",
            f"{shape_label(a)} as {shape_label(b)} axes {axes}",
            [steps(a), np.zeros(b, "float32")],
            exact=True,
            axes=axes,
        )
    book.add(
        "slice_like", "dtypes may differ", [steps((3,), "int8"), np.zeros((2,), "bool")], axes=None
    )
    book.fail(
        "slice_like", "second larger", "5 is more than 4", [x, Type("float32", 5, 5)], axes=None
    )
    book.fail(
        "slice_like",
        "axis out of range",
        "the data has rank two",
        [x, Type("float32", 2, 2)],
        axes=[2],
    )


def build(book):
    reshapes(book)
    orders(book)
    slices(book)
