"""Sums, extrema and others over axes; running sums; where extrema are; sorted elements; sets."""

from __future__ import annotations

import operator
from typing import NamedTuple

from ..expr import const
from ..functions.dtypes import as_dtype, default_of
from ._common import Any, axes_of, axis_of, cast, common, emit, floating, lift, number, operands, operation, scalar_like
from .elementwise import truth
from .manipulation import broadcast_to, concat, reshape, squeeze

__all__ = [
    "UniqueAll", "UniqueCounts", "UniqueInverse", "all", "any", "argmax", "argmin", "argsort", "argwhere", "average", "bincount", "count_nonzero", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "diff", "logsumexp", "max", "mean", "median", "min", "nonzero", "prod", "searchsorted", "softmax", "sort", "std", "sum", "take",
    "take_along_axis", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "var", "where",
]  # fmt: skip


def _reduced(name: str, value: Any, axis: Any, keepdims: bool) -> Any:
    axes = axes_of(axis, value.ndim)
    if not axes:
        return emit("copy", value)
    return emit(name, value, axis=axes, keepdims=keepdims)


def _summed_dtype(value: Any, dtype: Any) -> Any:
    """The dtype of a sum: integers that are narrower than the default become that."""
    if dtype is not None:
        return as_dtype(dtype)
    kind = value.dtype.kind
    if kind == "float":
        return value.dtype
    default = default_of("int" if kind == "bool" else kind)
    return value.dtype if value.dtype.bits >= default.bits else default


@operation
def sum(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:  # noqa: A001
    """The sum over axes; of nothing, 0. Narrow integers and bool are summed in int32 or uint32."""
    value = lift(x)
    return _reduced("sum", cast(value, _summed_dtype(value, dtype)), axis, keepdims)


@operation
def prod(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product over axes; of nothing, 1."""
    value = lift(x)
    return _reduced("prod", cast(value, _summed_dtype(value, dtype)), axis, keepdims)


@operation
def max(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:  # noqa: A001
    """The greatest element over axes; not-a-number if there is one. Of nothing, an error."""
    return _reduced("max", lift(x), axis, keepdims)


@operation
def min(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:  # noqa: A001
    """The least element over axes; not-a-number if there is one. Of nothing, an error."""
    return _reduced("min", lift(x), axis, keepdims)


@operation
def all(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:  # noqa: A001
    """True if all elements over axes are other than 0."""
    return _reduced("all", truth(lift(x)), axis, keepdims)


@operation
def any(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:  # noqa: A001
    """True if an element over axes is other than 0."""
    return _reduced("any", truth(lift(x)), axis, keepdims)


def _count(value: Any, axes: list[int]) -> Any:
    count: Any = 1
    for axis in axes:
        count = count * value.shape[axis]
    return count


@operation
def mean(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The mean over axes. Integers become float32."""
    return _reduced("mean", floating(x), axis, keepdims)


@operation
def var(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False, ddof: int | None = None) -> Any:
    """The mean square of the distances from the mean; divided by the number of elements less `correction` (or NumPy's `ddof`)."""
    value = floating(x)
    axes = axes_of(axis, value.ndim)
    less = correction if ddof is None else ddof
    if not axes:
        return emit("subtract", value, value)
    middle = emit("mean", value, axis=axes, keepdims=True)
    distance = emit("subtract", value, middle)
    square = emit("multiply", distance, distance)
    if not less:
        return emit("mean", square, axis=axes, keepdims=keepdims)
    total = emit("sum", square, axis=axes, keepdims=keepdims)
    return emit("divide", total, cast(lift(_count(value, axes)), value.dtype) - scalar_like(value, less))


@operation
def std(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False, ddof: int | None = None) -> Any:
    """The square root of `var`."""
    return emit("sqrt", var(x, axis, correction=correction, keepdims=keepdims, ddof=ddof))


@operation
def average(x: Any, /, axis: Any = None, weights: Any = None) -> Any:
    """The mean, each element with its weight."""
    if weights is None:
        return mean(x, axis)
    (value, weight), _ = operands(floating(x), floating(weights))
    return sum(value * weight, axis) / sum(broadcast_to(weight, value.shape), axis)


@operation
def logsumexp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The logarithm of the sum of exponentials, without overflow on the way."""
    value = floating(x)
    axes = axes_of(axis, value.ndim)
    greatest = emit("max", value, axis=axes, keepdims=True)
    found = emit("add", emit("log", emit("sum", emit("exp", emit("subtract", value, greatest)), axis=axes, keepdims=True)), greatest)
    return found if keepdims or not axes else squeeze(found, tuple(axes))


@operation
def softmax(x: Any, /, axis: int = -1) -> Any:
    """exp(x) / sum(exp(x)) along an axis, without overflow on the way."""
    value = floating(x)
    return emit("nn.softmax", value, axis=axis_of(axis, value.ndim))


@operation
def median(x: Any, /, axis: int | None = None) -> Any:
    """The middle element in order, or the mean of the two in the middle."""
    value = floating(x)
    if axis is None:
        value, axis = reshape(value, (-1,)), 0
    ordered = sort(value, axis=axis)
    extent = operator.index(value.shape[axis])
    middle = take(ordered, const_of([(extent - 1) // 2, extent // 2]), axis=axis)
    return mean(middle, axis)


def const_of(items: list[int]) -> Any:
    """A vector of positions."""
    return lift(items, "int32")


@operation
def count_nonzero(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The number of elements other than 0."""
    return sum(truth(lift(x)), axis, keepdims=keepdims)


def _running(name: str, x: Any, axis: int | None, dtype: Any, first: bool, initial: int) -> Any:
    value = lift(x)
    if axis is None:
        if value.ndim > 1:
            raise ValueError(f"{name} of an array of rank {value.ndim} needs an axis")
        axis = 0
    value = reshape(value, (1,)) if not value.ndim else value
    place = axis_of(axis, value.ndim)
    wanted = _summed_dtype(value, dtype)
    found = emit(name, cast(value, wanted), axis=place)
    if not first:
        return found
    shape = tuple(1 if i == place else extent for i, extent in enumerate(value.shape))
    return concat([broadcast_to(number(initial, wanted), shape), found], axis=place)


@operation
def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Running sums along an axis."""
    return _running("cumsum", x, axis, dtype, include_initial, 0)


@operation
def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Running products along an axis."""
    return _running("cumprod", x, axis, dtype, include_initial, 1)


@operation
def cumsum(x: Any, /, axis: int | None = None, *, dtype: Any = None) -> Any:
    """Running sums along an axis; of all elements in row-major order by default."""
    return _running("cumsum", reshape(lift(x), (-1,)) if axis is None else x, axis, dtype, False, 0)


@operation
def cumprod(x: Any, /, axis: int | None = None, *, dtype: Any = None) -> Any:
    """Running products along an axis; of all elements in row-major order by default."""
    return _running("cumprod", reshape(lift(x), (-1,)) if axis is None else x, axis, dtype, False, 1)


@operation
def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of elements next to each other, taken `n` times."""
    value = lift(x)
    place = axis_of(axis, value.ndim)
    value = concat([one for one in (prepend, value, append) if one is not None], axis=place)
    for _ in range(n):
        after = emit("strided_slice", value, begin=[1], end=[2**31 - 1], strides=[1], axes=[place])
        before = emit("strided_slice", value, begin=[0], end=[-1], strides=[1], axes=[place])
        value = emit("not_equal" if value.dtype == "bool" else "subtract", after, before)
    return value


def _place_of(name: str, x: Any, axis: int | None, keepdims: bool) -> Any:
    value = lift(x)
    axes = None if axis is None else [axis_of(axis, value.ndim)]
    if not value.ndim:
        return number(0, "int32")
    return emit(name, value, axis=axes, keepdims=keepdims)


@operation
def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The first position (int32) of the greatest element along an axis, or among all."""
    return _place_of("argmax", x, axis, keepdims)


@operation
def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The first position (int32) of the least element along an axis, or among all."""
    return _place_of("argmin", x, axis, keepdims)


@operation
def argwhere(x: Any, /) -> Any:
    """The positions of the elements other than 0, one a row."""
    return emit("argwhere", lift(x))


@operation
def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The positions of the elements other than 0: a vector for each axis."""
    value = lift(x)
    if not value.ndim:
        raise ValueError("nonzero is not of arrays of rank 0")
    found = emit("argwhere", value)
    return tuple(emit("take", found, const(i, "int64"), axis=1) for i in range(value.ndim))


@operation
def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """Elements of the first where the condition is true, else of the second. With the condition alone, `nonzero`."""
    if x1 is None or x2 is None:
        return nonzero(condition)
    (a, b), weak = operands(x1, x2)
    return emit("where", truth(lift(condition)), a, b, weak=weak)


@operation
def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """For each value the place in an ordered vector where it belongs."""
    values, asked = lift(x1), lift(x2)
    dtype = common([values, asked])
    if sorter is not None:
        values = take(values, sorter)
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', not {side!r}")
    return emit("searchsorted", cast(values, dtype), cast(asked, dtype), right=side == "right")


@operation
def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements in order along an axis."""
    value = lift(x)
    return emit("sort", value, axis=axis_of(axis, value.ndim), is_ascend=not descending)


@operation
def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Positions of the elements in order along an axis; equal ones keep their order."""
    value = lift(x)
    return emit("argsort", value, axis=axis_of(axis, value.ndim), is_ascend=not descending)


@operation
def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Elements at positions along an axis; negative ones count from the end."""
    value, places = lift(x), lift(indices)
    if axis is None:
        if value.ndim != 1:
            value = reshape(value, (-1,))
        axis = 0
    place = axis_of(axis, value.ndim)
    from ..functions.indexing import from_front

    return emit("take", value, from_front(places, value.shape[place]), axis=place)


@operation
def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """For each position the element along an axis; the other axes go together."""
    value, places = lift(x), lift(indices)
    place = axis_of(axis, value.ndim)
    shapes = [extent for i, extent in enumerate(value.shape) if i != place], [extent for i, extent in enumerate(places.shape) if i != place]
    from .manipulation import broadcast_shape

    shared = broadcast_shape(*shapes)
    value = broadcast_to(value, (*shared[:place], value.shape[place], *shared[place:]))
    places = broadcast_to(places, (*shared[:place], places.shape[place], *shared[place:]))
    return emit("gather", value, places, axis=place)


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


def _unique(x: Any) -> UniqueAll:
    value = lift(x)
    flat = reshape(value, (-1,))
    found = emit("unique", flat, sorted=True, return_counts=True)
    values, first, inverse, _, counts = found
    if value.dtype.kind == "float":
        values, first, inverse, counts = _all_nans_differ(flat, values, first, inverse, counts)
    return UniqueAll(values, first, reshape(inverse, value.shape), counts)


def _all_nans_differ(flat: Any, values: Any, first: Any, inverse: Any, counts: Any) -> tuple[Any, Any, Any, Any]:
    """Not-a-numbers, which come last as one value, as a value each."""
    missing = emit("isnan", flat)
    rows = reshape(emit("argwhere", missing), (-1,))
    nans = emit("take", flat, rows, axis=0)
    kept = reshape(emit("argwhere", emit("logical_not", emit("isnan", values))), (-1,))
    ones = emit("ones_like", rows)
    order = emit("subtract", emit("cumsum", cast(missing, "int32"), axis=0), number(1, "int32"))
    start = emit("take", emit("shape_of", kept, dtype="int32"), const(0, "int64"), axis=0)
    inverse = emit("where", missing, emit("add", order, start), inverse)
    return (
        emit("concatenate", [emit("take", values, kept, axis=0), nans], axis=0),
        emit("concatenate", [emit("take", first, kept, axis=0), rows], axis=0),
        inverse,
        emit("concatenate", [emit("take", counts, kept, axis=0), ones], axis=0),
    )


@operation
def unique_all(x: Any, /) -> UniqueAll:
    """The different elements in order, where each is first, for each element the number of its value, and how often each occurs."""
    return _unique(x)


@operation
def unique_counts(x: Any, /) -> UniqueCounts:
    """The different elements in order, and how often each occurs."""
    found = _unique(x)
    return UniqueCounts(found.values, found.counts)


@operation
def unique_inverse(x: Any, /) -> UniqueInverse:
    """The different elements in order, and for each element the number of its value."""
    found = _unique(x)
    return UniqueInverse(found.values, found.inverse_indices)


@operation
def unique_values(x: Any, /) -> Any:
    """The different elements in order. Each not-a-number is different."""
    return _unique(x).values


def unique(x: Any, /) -> Any:
    """The different elements in order."""
    return unique_values(x)


@operation
def bincount(x: Any, /, weights: Any = None, *, length: int) -> Any:
    """How often each number from 0 to length - 1 occurs, or the sum of its weights."""
    value = reshape(lift(x), (-1,))
    added = emit("ones_like", cast(value, "int32")) if weights is None else reshape(lift(weights), (-1,))
    start = broadcast_to(number(0, added.dtype), (length,))
    return emit("scatter_elements", start, value, added, axis=0, reduction="add")
