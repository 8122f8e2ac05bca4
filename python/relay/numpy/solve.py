"""Linear systems by elimination: solve, inv, det, slogdet, cholesky. They are loops of other functions, so gradients go through them."""

from __future__ import annotations

from typing import NamedTuple

from ..functions import control
from ._common import Any, cast, common, floating, operation
from .creation import arange, eye, ones, zeros_like
from .elementwise import abs as _abs, equal, greater, log, multiply, not_equal, sign as _sign, sqrt, subtract
from .manipulation import broadcast_shape, broadcast_to, concat, expand_dims, squeeze
from .reductions import argmax, sum as _sum, take_along_axis, where

__all__ = ["SlogdetResult", "cholesky", "det", "inv", "slogdet", "solve"]


def _square(x: Any, what: str) -> tuple[Any, int]:
    value = floating(x)
    if value.ndim < 2 or not isinstance(value.shape[-1], int) or value.shape[-1] != value.shape[-2]:
        raise ValueError(f"{what} is of square matrices of a known size, not of an array of shape {tuple(value.shape)}")
    return value, value.shape[-1]


def _at(table: Any, k: Any, axis: int) -> Any:
    """Row or column k, which is traced, with its axis kept."""
    return expand_dims(table[(..., k, slice(None)) if axis == -2 else (..., k)], axis)


def _eliminated(table: Any, n: int) -> tuple[Any, Any, Any]:
    """Rows of [A | B] turned so that A becomes a diagonal: the rows, the diagonal, and the sign of the order of rows."""
    places = arange(n)

    def turn(k: Any, state: Any) -> Any:
        rows, sign = state
        column = squeeze(_at(rows, k, -1), -1)
        best = expand_dims(argmax(where(places >= k, _abs(column), -1.0), axis=-1), -1)
        order = where(equal(places, k), best, where(equal(places, best), k, places))
        rows = take_along_axis(rows, expand_dims(order, -1), axis=-2)
        chosen, column = _at(rows, k, -2), _at(rows, k, -1)
        pivot = _at(column, k, -2)
        # Where a whole column is 0, its rows have nothing to be turned by.
        factor = where(expand_dims(equal(places, k), -1), 0.0, column / where(equal(pivot, 0), 1.0, pivot))
        return subtract(rows, factor * chosen), sign * where(not_equal(squeeze(best, -1), k), -1.0, 1.0)

    sign = broadcast_to(ones((), dtype=table.dtype), table.shape[:-2])
    if not n:
        return table, _sum(table, -1), sign
    rows, sign = control.fori_loop(0, n, turn, (table, sign))
    return rows, _sum(multiply(rows[..., :n], eye(n, dtype=table.dtype)), -1), sign


@operation
def solve(x1: Any, x2: Any, /) -> Any:
    """The X of x1 @ X = x2, for square matrices x1. Where x1 has no inverse, infinities and not-a-numbers."""
    a, n = _square(x1, "solve")
    b = floating(x2)
    dtype = common([a, b])
    a, b = cast(a, dtype), cast(b, dtype)
    vector = b.ndim == 1
    b = expand_dims(b, -1) if vector else b
    if b.shape[-2] != n:
        raise ValueError(f"solve: {n} rows of the matrices and {b.shape[-2]} of the right side go together")
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    a, b = broadcast_to(a, (*batch, n, n)), broadcast_to(b, (*batch, n, b.shape[-1]))
    rows, diagonal, _ = _eliminated(concat([a, b], axis=-1), n)
    found = rows[..., n:] / expand_dims(diagonal, -1)
    return squeeze(found, -1) if vector else found


@operation
def inv(x: Any, /) -> Any:
    """The inverse of square matrices."""
    a, n = _square(x, "inv")
    return solve(a, eye(n, dtype=a.dtype))


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Any
    logabsdet: Any


@operation
def slogdet(x: Any, /) -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its size."""
    a, n = _square(x, "slogdet")
    _, diagonal, sign = _eliminated(a, n)
    return SlogdetResult(_product(_sign(diagonal), n) * sign, _sum(log(_abs(diagonal)), -1))


@operation
def det(x: Any, /) -> Any:
    """The determinant of square matrices."""
    a, n = _square(x, "det")
    _, diagonal, sign = _eliminated(a, n)
    return _product(diagonal, n) * sign


def _product(values: Any, n: int) -> Any:
    found: Any = 1.0
    for i in range(n):
        found = values[..., i] * found
    return found


@operation
def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The lower triangle L with L @ L.T = x, of symmetric matrices with positive eigenvalues; not-a-numbers for others."""
    from .manipulation import matrix_transpose

    a, n = _square(x, "cholesky")
    places = arange(n)

    def turn(k: Any, lower: Any) -> Any:
        row = _at(lower, k, -2)
        rest = _at(a, k, -1) - _sum(lower * row, -1, keepdims=True)
        column = rest / sqrt(_at(rest, k, -2))
        column = where(expand_dims(greater(k, places), -1), 0.0, column)
        return where(equal(places, k), column, lower)

    found = control.fori_loop(0, n, turn, zeros_like(a))
    return matrix_transpose(found) if upper else found
