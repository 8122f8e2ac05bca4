"""NumPy's functions that are written with the others: comparisons, statistics, not-a-number left out, pieces, polynomials, angles."""

from __future__ import annotations

import math
import operator
from typing import Any, Sequence

import numpy as np

from ._common import axis_of, floating, lift, operands, operation
from .creation import arange, linspace
from .elementwise import (
    abs as _abs, add, copysign, divide, equal, exp, floor, greater, greater_equal, isfinite, isnan, less_equal, logical_and, logical_not,
    logical_or, maximum, minimum, multiply, pow as _pow, round as _round, sin, sqrt, subtract, trunc,
)  # fmt: skip
from .info import finfo
from .linear import matmul
from .manipulation import broadcast_to, concat, expand_dims, flip, moveaxis, reshape, squeeze, swapaxes
from .reductions import all as _all, max as _max, mean, min as _min, searchsorted, sort, sum as _sum, take, where

__all__ = [
    "allclose", "around", "array_equal", "array_split", "cbrt", "column_stack", "convolve", "corrcoef", "correlate", "cov", "deg2rad", "degrees", "diag", "digitize",
    "dsplit", "dstack", "exp2", "fix", "fliplr", "flipud", "float_power", "fmax", "fmin", "fmod", "geomspace", "heaviside", "hsplit", "interp", "isclose",
    "isin", "isneginf", "isposinf", "logspace", "nan_to_num", "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar", "ndim", "percentile", "polyval",
    "ptp", "quantile", "rad2deg", "radians", "rint", "rot90", "select", "shape", "sinc", "size", "trapezoid", "tri", "tril_indices", "triu_indices",
    "true_divide", "vander", "vsplit",
]  # fmt: skip

around = rint = _round
fix, true_divide = trunc, divide


def shape(x: Any) -> tuple[Any, ...]:
    """The extents."""
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


def ndim(x: Any) -> int:
    """The number of axes."""
    return len(shape(x))


def size(x: Any, axis: int | None = None) -> Any:
    """The number of elements, or an extent."""
    extents = shape(x)
    return math.prod(extents) if axis is None else extents[axis_of(axis, len(extents))]


@operation
def isclose(x1: Any, x2: Any, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """True where numbers differ by at most `atol + rtol * abs(x2)`; infinities are close to themselves."""
    a, b = floating(x1), floating(x2)
    near = logical_and(isfinite(b), less_equal(_abs(a - b), atol + rtol * _abs(b)))
    near = logical_or(near, equal(a, b))
    return logical_or(near, logical_and(isnan(a), isnan(b))) if equal_nan else near


@operation
def allclose(x1: Any, x2: Any, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """True if all elements are close."""
    return _all(isclose(x1, x2, rtol, atol, equal_nan))


@operation
def array_equal(x1: Any, x2: Any, /) -> Any:
    """True if the extents and all elements are equal."""
    a, b = lift(x1), lift(x2)
    return _all(equal(a, b)) if tuple(a.shape) == tuple(b.shape) else lift(False)


def _pole(x: Any, positive: bool) -> Any:
    value = floating(x)
    return equal(value, math.inf if positive else -math.inf)


@operation
def isposinf(x: Any, /) -> Any:
    """True where an element is positive infinity."""
    return _pole(x, True)


@operation
def isneginf(x: Any, /) -> Any:
    """True where an element is negative infinity."""
    return _pole(x, False)


@operation
def nan_to_num(x: Any, /, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Finite numbers: not-a-number becomes `nan`, infinities the greatest numbers of the dtype unless you give others."""
    value = floating(x)
    most = float(finfo(value.dtype).max)
    found = where(isnan(value), nan, value)
    found = where(_pole(value, True), most if posinf is None else posinf, found)
    return where(_pole(value, False), -most if neginf is None else neginf, found)


# Statistics


def _placed(x: Any, axis: Any) -> tuple[Any, bool]:
    value = floating(x)
    return (reshape(value, (-1,)), True) if axis is None else (moveaxis(value, axis_of(axis, value.ndim), -1), False)


@operation
def quantile(x: Any, q: Any, /, axis: int | None = None, keepdims: bool = False) -> Any:
    """The numbers below which shares `q`, 0 to 1, of the elements lie, interpolated between neighbours. The axis of q comes first."""
    source = floating(x)
    value, _ = _placed(x, axis)
    count = operator.index(value.shape[-1])
    ordered, share = sort(value, axis=-1), floating(q)
    place = reshape(share, (-1,)) * float(count - 1)
    low = floor(place)
    first = low.astype("int64")
    second = minimum(first + 1, count - 1)
    part = (place - low).astype(value.dtype)
    a, b = take(ordered, first, axis=-1), take(ordered, second, axis=-1)
    found = moveaxis(a + (b - a) * part, -1, 0)
    if keepdims:
        found = reshape(found, (found.shape[0], *[1] * source.ndim)) if axis is None else expand_dims(found, axis_of(axis, source.ndim) + 1)
    return reshape(found, (*share.shape, *found.shape[1:]))


@operation
def percentile(x: Any, q: Any, /, axis: int | None = None, keepdims: bool = False) -> Any:
    """As `quantile`, with shares of a hundred."""
    return quantile(x, floating(q) / 100.0, axis=axis, keepdims=keepdims)


@operation
def ptp(x: Any, /, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest element less the least one."""
    return _max(x, axis=axis, keepdims=keepdims) - _min(x, axis=axis, keepdims=keepdims)


def _known(x: Any, instead: float) -> tuple[Any, Any]:
    value = floating(x)
    return where(isnan(value), instead, value), where(isnan(value), 0.0, 1.0).astype(value.dtype)


@operation
def nansum(x: Any, /, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum of what is a number."""
    return _sum(_known(x, 0.0)[0], axis, keepdims=keepdims)


@operation
def nanmean(x: Any, /, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean of what is a number."""
    value, held = _known(x, 0.0)
    return _sum(value, axis, keepdims=keepdims) / _sum(held, axis, keepdims=keepdims)


@operation
def nanvar(x: Any, /, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    """The variance of what is a number."""
    value, held = _known(x, 0.0)
    apart = (value - nanmean(x, axis, True)) * held
    return _sum(apart * apart, axis, keepdims=keepdims) / (_sum(held, axis, keepdims=keepdims) - ddof)


@operation
def nanstd(x: Any, /, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    """The standard deviation of what is a number."""
    return sqrt(nanvar(x, axis, ddof, keepdims))


def _without(x: Any, axis: Any, keepdims: bool, greatest: bool) -> Any:
    value, held = _known(x, -math.inf if greatest else math.inf)
    found = (_max if greatest else _min)(value, axis=axis, keepdims=keepdims)
    return where(equal(_max(held, axis=axis, keepdims=keepdims), 0.0), math.nan, found)


@operation
def nanmax(x: Any, /, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest number; not-a-number where no element is one."""
    return _without(x, axis, keepdims, True)


@operation
def nanmin(x: Any, /, axis: Any = None, keepdims: bool = False) -> Any:
    """The least number; not-a-number where no element is one."""
    return _without(x, axis, keepdims, False)


@operation
def cov(x: Any, /, rowvar: bool = True, ddof: int = 1) -> Any:
    """The covariances of variables, which are rows, or columns with rowvar False."""
    value = floating(x)
    value = expand_dims(value, 0) if value.ndim == 1 else value if rowvar else swapaxes(value, 0, 1)
    apart = value - mean(value, 1, keepdims=True)
    found = matmul(apart, swapaxes(apart, 0, 1)) / float(operator.index(value.shape[1]) - ddof)
    return squeeze(found, (0, 1)) if found.shape == (1, 1) else found


@operation
def corrcoef(x: Any, /, rowvar: bool = True) -> Any:
    """The correlations of variables, which are rows, or columns with rowvar False."""
    both = cov(x, rowvar)
    if both.ndim == 0:
        return both / both
    spread = sqrt(_sum(both * _on_diagonal(both), -1))
    return both / expand_dims(spread, -1) / expand_dims(spread, -2)


def _on_diagonal(x: Any) -> Any:
    """1 on the diagonal of a square, 0 beside it."""
    places = arange(x.shape[-1])
    return where(equal(expand_dims(places, -1), places), 1.0, 0.0).astype(x.dtype)


# Elements


@operation
def exp2(x: Any, /) -> Any:
    """2 to the power of the elements."""
    return exp(floating(x) * math.log(2)) if lift(x).dtype == "float64" else _pow(2.0, floating(x))


@operation
def cbrt(x: Any, /) -> Any:
    """The cube root."""
    value = floating(x)
    return copysign(_pow(_abs(value), 1 / 3), value)


@operation
def float_power(x1: Any, x2: Any, /) -> Any:
    """The power of floats."""
    return _pow(floating(x1), floating(x2))


@operation
def fmod(x1: Any, x2: Any, /) -> Any:
    """The rest of a division that rounds towards 0: it has the sign of the first."""
    a, b = floating(x1), floating(x2)
    return a - b * trunc(a / b)


def _number_wins(x1: Any, x2: Any, pick: Any) -> Any:
    (a, b), _ = operands(floating(x1), floating(x2))
    return where(isnan(a), b, where(isnan(b), a, pick(a, b)))


@operation
def fmax(x1: Any, x2: Any, /) -> Any:
    """The greater of two; a number wins against not-a-number."""
    return _number_wins(x1, x2, maximum)


@operation
def fmin(x1: Any, x2: Any, /) -> Any:
    """The less of two; a number wins against not-a-number."""
    return _number_wins(x1, x2, minimum)


@operation
def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 below 0, 1 above it, and the second argument at 0."""
    value = floating(x1)
    return where(isnan(value), value, where(equal(value, 0.0), floating(x2), where(greater(value, 0.0), 1.0, 0.0)))


@operation
def sinc(x: Any, /) -> Any:
    """sin(pi x) / (pi x), and 1 at 0."""
    turned = floating(x) * math.pi
    away = where(equal(turned, 0.0), 1.0, turned)
    return where(equal(turned, 0.0), 1.0, sin(away) / away)


@operation
def radians(x: Any, /) -> Any:
    """Degrees as radians."""
    return floating(x) * (math.pi / 180)


@operation
def degrees(x: Any, /) -> Any:
    """Radians as degrees."""
    return floating(x) * (180 / math.pi)


deg2rad, rad2deg = radians, degrees


@operation
def interp(x: Any, xp: Any, fp: Any, /) -> Any:
    """The line through points with rising `xp`, at x; the first and the last value outside of them."""
    value, places, heights = floating(x), floating(xp), floating(fp)
    count = operator.index(places.shape[0])
    if count == 1:
        return broadcast_to(heights[0], value.shape)
    right = minimum(maximum(searchsorted(places, reshape(value, (-1,)), side="right"), 1), count - 1)
    right = reshape(right, value.shape)
    left = right - 1
    x0, x1 = take(places, reshape(left, (-1,))), take(places, reshape(right, (-1,)))
    y0, y1 = take(heights, reshape(left, (-1,))), take(heights, reshape(right, (-1,)))
    x0, x1, y0, y1 = (reshape(part, value.shape) for part in (x0, x1, y0, y1))
    wide = where(equal(x1, x0), 1.0, x1 - x0)
    share = minimum(maximum((value - x0) / wide, 0.0), 1.0)
    return where(isnan(value), value, y0 + (y1 - y0) * share)


@operation
def isin(x: Any, elements: Any, /, *, invert: bool = False) -> Any:
    """True where an element is one of others."""
    (value, others), _ = operands(lift(x), reshape(lift(elements), (-1,)))
    found = greater(_sum(where(equal(expand_dims(value, -1), others), 1, 0), -1), 0)
    return logical_not(found) if invert else found


@operation
def digitize(x: Any, bins: Any, /, right: bool = False) -> Any:
    """The number of the bin of each element, between rising bounds."""
    return searchsorted(bins, x, side="left" if right else "right")


@operation
def select(conditions: Sequence[Any], choices: Sequence[Any], /, default: Any = 0) -> Any:
    """For each element that of the first choice whose condition is true."""
    if len(conditions) != len(choices):
        raise ValueError(f"{len(conditions)} conditions and {len(choices)} choices do not go together")
    found = default
    for condition, choice in reversed(list(zip(conditions, choices))):
        found = where(condition, choice, found)
    return found


@operation
def polyval(p: Any, x: Any, /) -> Any:
    """A polynomial with these coefficients, the one of the highest power first."""
    factors, value = lift(p), lift(x)
    found: Any = multiply(value, 0)
    for i in range(operator.index(factors.shape[0])):
        found = add(multiply(found, value), factors[i])
    return found


@operation
def trapezoid(y: Any, x: Any = None, /, dx: float = 1.0, axis: int = -1) -> Any:
    """The area below points, by trapezoids."""
    value = floating(y)
    value = moveaxis(value, axis_of(axis, value.ndim), -1)
    width: Any = dx
    if x is not None:
        places = floating(x)
        places = places if places.ndim == 1 else moveaxis(places, axis_of(axis, places.ndim), -1)
        width = subtract(places[..., 1:], places[..., :-1])
    return _sum((value[..., 1:] + value[..., :-1]) * 0.5 * width, -1)


@operation
def convolve(a: Any, v: Any, /, mode: str = "full") -> Any:
    """The products of a vector with a turned one at all shifts: "full", "same" or "valid"."""
    first, second = floating(a), floating(v)
    if first.shape[0] < second.shape[0]:
        first, second = second, first
    return _sliding(first, flip(second), mode)


@operation
def correlate(a: Any, v: Any, /, mode: str = "valid") -> Any:
    """The products of a vector with another at all shifts: "full", "same" or "valid"."""
    first, second = floating(a), floating(v)
    if first.shape[0] < second.shape[0]:
        return flip(_sliding(second, first, mode))
    return _sliding(first, second, mode)


def _sliding(data: Any, window: Any, mode: str) -> Any:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f'mode is "full", "same" or "valid", not {mode!r}')
    count, width = operator.index(data.shape[0]), operator.index(window.shape[0])
    edge = multiply(broadcast_to(window[:1], (width - 1,)), 0)
    padded = concat([edge, data, edge]) if width > 1 else data
    places = expand_dims(arange(count + width - 1), -1) + arange(width)
    found = matmul(take(padded, reshape(places, (-1,))).reshape(count + width - 1, width), window)
    if mode == "full":
        return found
    begin, length = ((width - 1) // 2, count) if mode == "same" else (width - 1, count - width + 1)
    return found[begin : begin + length]


# Pieces


@operation
def array_split(x: Any, pieces: Any, axis: int = 0) -> list[Any]:
    """Pieces along an axis: so many of nearly equal extent, or cut at positions."""
    value = lift(x)
    place = axis_of(axis, value.ndim)
    extent = operator.index(value.shape[place])
    if isinstance(pieces, int):
        least, more = divmod(extent, pieces)
        ends = [least * (i + 1) + min(i + 1, more) for i in range(pieces)]
    else:
        ends = [*(operator.index(end) for end in pieces), extent]
    begins = [0, *ends[:-1]]
    return [value[(*[slice(None)] * place, slice(begin, end))] for begin, end in zip(begins, ends)]


def _even(x: Any, pieces: Any, axis: int) -> list[Any]:
    extent = operator.index(lift(x).shape[axis])
    if isinstance(pieces, int) and extent % pieces:
        raise ValueError(f"{extent} elements are not {pieces} equal pieces; array_split makes unequal ones")
    return array_split(x, pieces, axis)


@operation
def vsplit(x: Any, pieces: Any) -> list[Any]:
    """Equal pieces along the first axis."""
    return _even(x, pieces, 0)


@operation
def hsplit(x: Any, pieces: Any) -> list[Any]:
    """Equal pieces along the second axis, of vectors along their only one."""
    return _even(x, pieces, 0 if lift(x).ndim == 1 else 1)


@operation
def dsplit(x: Any, pieces: Any) -> list[Any]:
    """Equal pieces along the third axis."""
    return _even(x, pieces, 2)


@operation
def column_stack(arrays: Sequence[Any], /) -> Any:
    """Vectors as columns, beside the columns of matrices."""
    return concat([expand_dims(item, -1) if item.ndim == 1 else item for item in map(lift, arrays)], axis=1)


@operation
def dstack(arrays: Sequence[Any], /) -> Any:
    """Arrays behind each other on a third axis."""
    full = [reshape(item, (1, *item.shape, 1)) if item.ndim == 1 else expand_dims(item, -1) if item.ndim == 2 else item for item in map(lift, arrays)]
    return concat(full, axis=2)


@operation
def fliplr(x: Any, /) -> Any:
    """The columns in the opposite order."""
    return flip(x, axis=1)


@operation
def flipud(x: Any, /) -> Any:
    """The rows in the opposite order."""
    return flip(x, axis=0)


@operation
def rot90(x: Any, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """A plane turned `k` times by a quarter, from the first axis to the second."""
    value = lift(x)
    first, second = (axis_of(axis, value.ndim) for axis in axes)
    turns = k % 4
    if turns == 0:
        return value
    if turns == 2:
        return flip(flip(value, axis=first), axis=second)
    return swapaxes(flip(value, axis=second), first, second) if turns == 1 else flip(swapaxes(value, first, second), axis=second)


@operation
def diag(x: Any, /, k: int = 0) -> Any:
    """The diagonal of a matrix, or the matrix with a vector as diagonal `k` above the main one."""
    from .linear import diagonal

    value = lift(x)
    if value.ndim == 2:
        return diagonal(value, offset=k)
    if value.ndim != 1:
        raise ValueError(f"diag is of a vector or a matrix, not of an array of shape {tuple(value.shape)}")
    n = operator.index(value.shape[0]) + abs(k)
    rows, columns = expand_dims(arange(n), -1), arange(n)
    spread = take(concat([value, multiply(broadcast_to(value[:1], (abs(k),)), 0)]) if k else value, maximum(columns - max(k, 0), 0))
    return where(equal(columns - rows, k), spread, multiply(spread, 0))


@operation
def tri(n: int, m: int | None = None, k: int = 0, *, dtype: Any = "float32") -> Any:
    """1 on and below a diagonal, 0 above it."""
    return greater_equal(expand_dims(arange(n), -1) + k, arange(n if m is None else m)).astype(dtype)


def _corners(n: int, k: int, m: int | None, keep: Any) -> tuple[Any, Any]:
    pairs = [(i, j) for i in range(n) for j in range(n if m is None else m) if keep(i, j, k)]
    return lift([i for i, _ in pairs]), lift([j for _, j in pairs])


@operation
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Rows and columns of what stands on and above a diagonal."""
    return _corners(n, k, m, lambda i, j, k: j - i >= k)


@operation
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Rows and columns of what stands on and below a diagonal."""
    return _corners(n, k, m, lambda i, j, k: j - i <= k)


@operation
def vander(x: Any, /, n: int | None = None, increasing: bool = False) -> Any:
    """Powers of the elements, in columns."""
    value = lift(x)
    count = operator.index(value.shape[0]) if n is None else n
    powers = arange(count)
    return _pow(expand_dims(value, -1), powers if increasing else flip(powers))


@operation
def logspace(start: float, stop: float, num: int = 50, *, endpoint: bool = True, base: float = 10.0) -> Any:
    """Powers of a base with exponents at equal distances."""
    return _pow(base, linspace(start, stop, num, endpoint=endpoint))


@operation
def geomspace(start: float, stop: float, num: int = 50, *, endpoint: bool = True) -> Any:
    """Numbers with equal ratios."""
    if not start * stop > 0:
        raise ValueError(f"geomspace goes between numbers of one sign, not from {start} to {stop}")
    return _pow(stop / start, linspace(0.0, 1.0, num, endpoint=endpoint)) * start
