"""Other shapes of the same elements."""

from __future__ import annotations

import operator

from ..functions.dtypes import as_dtype
from ._common import Any, Sequence, Size, axes_of, axis_of, cast, common, emit, extents, lift, operation, same_shape, sized

__all__ = [
    "append", "astype", "atleast_1d", "atleast_2d", "broadcast_arrays", "broadcast_to", "concat", "concatenate", "expand_dims", "flip", "hstack", "matrix_transpose", "moveaxis",
    "pad", "permute_dims", "ravel", "repeat", "reshape", "roll", "split", "squeeze", "stack", "swapaxes", "tile", "transpose", "unstack", "vstack",
]  # fmt: skip


@operation
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The elements in another dtype: to integers floats truncate, and what is not 0 is True."""
    return cast(lift(x), as_dtype(dtype))


@operation
def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The elements in row-major order under other extents; one may be -1."""
    value = lift(x)
    wanted = extents(shape)
    free = [i for i, extent in enumerate(wanted) if isinstance(extent, int) and extent == -1]
    if any(isinstance(extent, int) and extent < -1 for extent in wanted) or len(free) > 1:
        raise ValueError(f"extents are not negative but for one that is -1, not {tuple(wanted)}")
    have = value.shape
    if all(isinstance(extent, int) for extent in [*wanted, *have]):
        return emit("reshape", value, newshape=_known(have, wanted, free), allowzero=True)
    return _reshape_sizes(value, have, wanted, free)


def _known(have: Sequence[int], wanted: list[int], free: list[int]) -> list[int]:
    count = 1
    for extent in have:
        count *= extent
    rest = 1
    for extent in wanted:
        rest *= 1 if extent == -1 else extent
    if (free and (rest == 0 or count % rest)) or (not free and rest != count):
        raise ValueError(f"{count} elements of {tuple(have)} do not fit into {tuple(wanted)}")
    return [count // rest if extent == -1 else extent for extent in wanted] if free else wanted


def _reshape_sizes(value: Any, have: Sequence[Any], wanted: list[Any], free: list[int]) -> Any:
    # An extent that stays is copied and one is inferred, so that the result's type keeps names.
    form = [0 if i < len(have) and isinstance(size, Size) and size == have[i] else size for i, size in enumerate(wanted)]
    open_ = [i for i, size in enumerate(form) if isinstance(size, Size)]
    if len(open_) + len(free) <= 1 and 0 not in wanted:
        return emit("reshape", value, newshape=[-1 if isinstance(size, Size) else size for size in form])
    if free:
        return emit("dyn.reshape", value, _vector(wanted), allowzero=False)
    from ..functions.trace import retyped

    return retyped(emit("dyn.reshape", value, _vector(wanted), allowzero=True), wanted)


def _vector(wanted: list[Any]) -> Any:
    from ..functions.trace import vector_of

    return vector_of(wanted)


def ravel(x: Any, /) -> Any:
    """The elements as a vector."""
    return reshape(x, (-1,))


@operation
def permute_dims(x: Any, /, axes: Any) -> Any:
    """The axes in another order."""
    value = lift(x)
    order = axes_of(tuple(axes), value.ndim)
    if len(order) != value.ndim:
        raise ValueError(f"{tuple(axes)} is no order of {value.ndim} axes")
    return emit("transpose", value, axes=order) if order else emit("copy", value)


@operation
def transpose(x: Any, /, axes: Any = None) -> Any:
    """The axes in another order; in the opposite one by default."""
    value = lift(x)
    return permute_dims(value, tuple(reversed(range(value.ndim))) if axes is None else axes)


@operation
def matrix_transpose(x: Any, /) -> Any:
    """The last two axes changed."""
    value = lift(x)
    if value.ndim < 2:
        raise ValueError(f"matrix_transpose is of matrices, not of an array of rank {value.ndim}")
    return swapaxes(value, -1, -2)


@operation
def swapaxes(x: Any, axis1: int, axis2: int, /) -> Any:
    """Two axes changed."""
    value = lift(x)
    order = list(range(value.ndim))
    a, b = axis_of(axis1, value.ndim), axis_of(axis2, value.ndim)
    order[a], order[b] = order[b], order[a]
    return permute_dims(value, tuple(order))


@operation
def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """Axes at other places; the others keep their order."""
    value = lift(x)
    origin, target = axes_of(source, value.ndim), axes_of(destination, value.ndim)
    if len(origin) != len(target):
        raise ValueError(f"{len(origin)} axes do not go to {len(target)} places")
    order = [axis for axis in range(value.ndim) if axis not in origin]
    for place, axis in sorted(zip(target, origin)):
        order.insert(place, axis)
    return permute_dims(value, tuple(order))


@operation
def expand_dims(x: Any, /, axis: Any = 0) -> Any:
    """New axes of extent 1."""
    value = lift(x)
    places = axis if isinstance(axis, (tuple, list)) else (axis,)
    for place in sorted(axes_of(tuple(places), value.ndim + len(places))):
        value = emit("expand_dims", value, axis=place)
    return value


@operation
def squeeze(x: Any, /, axis: Any = None) -> Any:
    """Without axes of extent 1: those named, or all of them."""
    value = lift(x)
    places = [i for i, extent in enumerate(value.shape) if isinstance(extent, int) and extent == 1] if axis is None else axes_of(axis, value.ndim)
    for place in places:
        if isinstance(value.shape[place], int) and value.shape[place] != 1:
            raise ValueError(f"axis {place} has extent {value.shape[place]}, not 1")
    return emit("squeeze", value, axis=places) if places else emit("copy", value)


@operation
def broadcast_to(x: Any, /, shape: Any) -> Any:
    """The array repeated along axes of extent 1 and new axes in front."""
    value = lift(x)
    wanted = extents(shape)
    return value if same_shape(value.shape, wanted) else sized("broadcast_to", [value], wanted)


def broadcast_shape(*shapes: Sequence[Any]) -> list[Any]:
    """The shape that shapes broadcast to. Raises ValueError if they do not."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Any] = []
    for axis in range(-rank, 0):
        found: Any = 1
        for shape in shapes:
            if -axis > len(shape):
                continue
            extent = shape[axis]
            if isinstance(extent, int) and extent == 1:
                continue
            if isinstance(found, int) and isinstance(extent, int) and found not in (1, extent):
                raise ValueError(f"{' and '.join(str(tuple(shape)) for shape in shapes)} do not broadcast")
            found = extent if isinstance(found, int) and found == 1 or isinstance(extent, int) else found
        result.append(found)
    return result


@operation
def broadcast_arrays(*arrays: Any) -> list[Any]:
    """The arrays in the shape that all of them broadcast to."""
    values = [lift(one) for one in arrays]
    shape = tuple(broadcast_shape(*[value.shape for value in values]))
    return [broadcast_to(value, shape) for value in values]


def _same_dtype(arrays: Any) -> list[Any]:
    values = [lift(one) for one in arrays]
    if not values:
        raise ValueError("at least one array is needed")
    dtype = common(values)
    return [cast(value, dtype) for value in values]


@operation
def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays one after the other along an axis; flat ones for None."""
    values = _same_dtype(arrays)
    if axis is None:
        values = [reshape(value, (-1,)) for value in values]
    place = axis_of(axis or 0, values[0].ndim)
    return emit("concatenate", values, axis=place) if len(values) > 1 else emit("copy", values[0])


def concatenate(arrays: Any, axis: int | None = 0) -> Any:
    """`concat`, under NumPy's name."""
    return concat(arrays, axis=axis)


def append(x: Any, values: Any, axis: int | None = None) -> Any:
    """Two arrays, one after the other."""
    return concat([x, values], axis=axis)


@operation
def hstack(arrays: Any, /) -> Any:
    """Arrays side by side: along the second axis, vectors along the first."""
    values = [atleast_1d(one) for one in arrays]
    return concat(values, axis=0 if values[0].ndim == 1 else 1)


@operation
def vstack(arrays: Any, /) -> Any:
    """Arrays one below the other; vectors are rows."""
    return concat([atleast_2d(one) for one in arrays], axis=0)


@operation
def atleast_1d(x: Any, /) -> Any:
    """The array, or a vector of its element."""
    value = lift(x)
    return value if value.ndim else reshape(value, (1,))


@operation
def atleast_2d(x: Any, /) -> Any:
    """The array, or a matrix of one row."""
    value = lift(x)
    return value if value.ndim > 1 else reshape(value, (1, -1))


@operation
def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Arrays of one shape along a new axis."""
    values = _same_dtype(arrays)
    return emit("stack", values, axis=axis_of(axis, values[0].ndim + 1))


@operation
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts of an array along an axis, without that axis."""
    value = moveaxis(lift(x), axis, 0)
    return tuple(value[i] for i in range(operator.index(value.shape[0])))


@operation
def split(x: Any, parts: Any, axis: int = 0, /) -> list[Any]:
    """The array cut along an axis: into so many equal parts, or before each of the places of a list."""
    value = lift(x)
    place = axis_of(axis, value.ndim)
    cuts = list(parts) if isinstance(parts, (tuple, list)) else int(parts)
    if isinstance(cuts, int) and (cuts < 1 or int(value.shape[place]) % cuts):
        raise ValueError(f"an extent of {value.shape[place]} is not cut into {cuts} equal parts")
    found = emit("split", value, indices_or_sections=cuts, axis=place)
    return list(found)


@operation
def flip(x: Any, /, *, axis: Any = None) -> Any:
    """Elements in the opposite order, along some or all axes."""
    value = lift(x)
    for place in axes_of(axis, value.ndim):
        value = emit("reverse", value, axis=place)
    return value


@operation
def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """Elements moved along axes; those that leave at the end come in at the start."""
    value = lift(x)
    if axis is None:
        return reshape(roll(reshape(value, (-1,)), shift if isinstance(shift, int) else sum(shift), axis=0), value.shape)
    places = axis if isinstance(axis, (tuple, list)) else (axis,)
    steps = shift if isinstance(shift, (tuple, list)) else (shift,) * len(places)
    places = places * len(steps) if len(places) == 1 else places
    for place, step in zip(places, steps):
        where = axis_of(place, value.ndim)
        extent = value.shape[where]
        if isinstance(extent, int):
            step = operator.index(step) % extent if extent else 0
        if isinstance(step, int) and step:
            head = emit("strided_slice", value, begin=[-step], end=[2**31 - 1], strides=[1], axes=[where])
            tail = emit("strided_slice", value, begin=[0], end=[-step], strides=[1], axes=[where])
            value = emit("concatenate", [head, tail], axis=where)
    return value


@operation
def tile(x: Any, repetitions: Any, /) -> Any:
    """The whole array repeated along axes."""
    value = lift(x)
    times = [operator.index(one) for one in (repetitions if isinstance(repetitions, (tuple, list)) else (repetitions,))]
    if len(times) < value.ndim:
        times = [1] * (value.ndim - len(times)) + times
    value = reshape(value, (*[1] * (len(times) - value.ndim), *value.shape))
    if 0 in times:
        shape = [extent * time for extent, time in zip(value.shape, times)]
        from .creation import zeros

        return zeros(tuple(shape), dtype=value.dtype)
    return emit("tile", value, reps=times) if times else emit("copy", value)


@operation
def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Each element repeated: all as often, or as an array of numbers says for each."""
    value = lift(x)
    if axis is None:
        value, axis = reshape(value, (-1,)), 0
    place = axis_of(axis, value.ndim)
    if isinstance(repeats, int):
        if repeats < 1:
            return emit("strided_slice", value, begin=[0], end=[0], strides=[1], axes=[place])
        return emit("repeat", value, repeats=repeats, axis=place)
    return _repeat_each(value, lift(repeats), place)


def _repeat_each(value: Any, counts: Any, place: int) -> Any:
    from .reductions import cumulative_sum

    extent = value.shape[place]
    many = cast(broadcast_to(reshape(counts, (-1,)), (extent,)), "int64")
    # Row r of `inside` has as many true elements as row r is repeated; their rows are the places to take from.
    total = emit("max", many) if not (isinstance(extent, int) and extent == 0) else None
    if total is None:
        return value
    from ..expr import const

    columns = emit("dyn.full", const(1, "int64"), emit("reshape", total, newshape=[1]))
    order = cumulative_sum(columns, dtype="int64")
    inside = emit("less_equal", emit("expand_dims", order, axis=0), emit("expand_dims", many, axis=1))
    rows = emit("take", emit("argwhere", inside, dtype="int64"), const(0, "int64"), axis=1)
    return emit("take", value, rows, axis=place)


@operation
def pad(x: Any, pad_width: Any, /, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    """The array with elements added before and after it: one number for all sides, a pair for all axes, or a pair for each."""
    value = lift(x)
    if mode not in ("constant", "edge", "reflect"):
        raise ValueError(f"mode is 'constant', 'edge' or 'reflect', not {mode!r}")
    widths: Any = [[pad_width, pad_width]] * value.ndim if isinstance(pad_width, int) else [list(one) if isinstance(one, (tuple, list)) else one for one in pad_width]
    if widths and isinstance(widths[0], int):
        widths = [widths if len(widths) == 2 else widths * 2] * value.ndim
    if len(widths) == 1:
        widths = widths * value.ndim
    return emit("nn.pad", value, lift(constant_values, value.dtype), pad_width=widths, pad_mode=mode)
