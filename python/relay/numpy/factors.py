"""Triangular factors and what is made of them, for the linear algebra of PyTorch: functions over traced arrays."""

from __future__ import annotations

from ..functions import control
from ._common import Any, cast, lift
from .creation import arange, eye, zeros, zeros_like
from .elementwise import abs as _abs, ceil, equal, greater, greater_equal, less, less_equal, log2, logical_and, maximum, not_equal
from .linear import matmul
from .manipulation import broadcast_to, expand_dims, matrix_transpose, squeeze
from .reductions import any as _any, argmax, max as _max, sum as _sum, take_along_axis, where

__all__ = ["first_bad", "lu", "lu_apart", "lu_solve", "matrix_exp", "order_of", "reflectors", "solve_triangular"]

# A matrix of norm 1 needs so many terms of the exponential's series; norms above are halved first.
_TERMS = {"float64": 18, "float32": 12}


def _row(table: Any, k: Any) -> Any:
    return expand_dims(table[..., k, :], -2)


def _column(table: Any, k: Any) -> Any:
    return expand_dims(table[..., k], -1)


def lu(a: Any) -> tuple[Any, Any, Any]:
    """Both factors of (…, m, n) in one matrix, the exchanges of rows as LAPACK counts them (from 1), and the order that the rows have then."""
    m, n = a.shape[-2:]
    few = min(m, n)
    places, columns, steps = arange(m), arange(n), arange(few)
    batch = a.shape[:-2]

    def turn(k: Any, state: Any) -> Any:
        rows, order, pivots = state
        best = expand_dims(argmax(where(places >= k, _abs(rows[..., k]), -1.0), axis=-1), -1)
        best = cast(best, places.dtype)
        moved = where(equal(places, k), best, where(equal(places, best), k, places))
        rows = take_along_axis(rows, expand_dims(moved, -1), axis=-2)
        order = take_along_axis(order, moved, axis=-1)
        pivots = where(equal(steps, k), best + 1, pivots)
        chosen, column = _row(rows, k), _column(rows, k)
        pivot = chosen[..., k]
        factor = where(expand_dims(greater(places, k), -1), column / expand_dims(where(equal(pivot, 0), 1.0, pivot), -1), 0.0)
        rest = rows - factor * where(greater(columns, k), chosen, 0.0)
        lower = logical_and(expand_dims(greater(places, k), -1), equal(columns, k))
        return where(lower, factor, rest), order, pivots

    order = broadcast_to(places, (*batch, m))
    pivots = broadcast_to(zeros((few,), dtype=places.dtype), (*batch, few))
    if not few:
        return a, pivots, order
    packed, order, pivots = control.fori_loop(0, few, turn, (a, order, pivots))
    return packed, pivots, order


def lu_apart(packed: Any, order: Any) -> tuple[Any, Any, Any]:
    """P, L and U with P @ L @ U = A, of what `lu` gives."""
    m, n = packed.shape[-2:]
    few = min(m, n)
    rows, columns = expand_dims(arange(m), -1), arange(n)
    lower = where(greater(rows, columns[:few]), packed[..., :few], 0.0) + eye(m, few, dtype=packed.dtype)
    upper = where(less_equal(rows[:few], columns), packed[..., :few, :], 0.0)
    return cast(equal(expand_dims(order, -2), rows), packed.dtype), lower, upper


def first_bad(bad: Any) -> Any:
    """The place of the first true element along the last axis, from 1; 0 for none. int32, as LAPACK's `info`."""
    if not bad.shape[-1]:
        return cast(_sum(cast(bad, "int32"), -1), "int32")
    return cast(where(_any(bad, -1), argmax(cast(bad, "int32"), axis=-1) + 1, 0), "int32")


def solve_triangular(a: Any, b: Any, upper: bool, unit: bool = False) -> Any:
    """The X of A @ X = B; only a triangle of A is read."""
    n = a.shape[-1]
    if not n:
        return b
    places = arange(n)
    beyond = less if upper else greater

    def turn(i: Any, found: Any) -> Any:
        k = n - 1 - i if upper else i
        row = _row(a, k)
        known = where(beyond(k, places), row, 0.0)
        rest = _row(b, k) - matmul(known, found)
        if not unit:
            rest = rest / _column(row, k)
        return where(expand_dims(equal(places, k), -1), rest, found)

    return control.fori_loop(0, n, turn, zeros_like(b))


def _exchanged(rows: Any, k: Any, pivots: Any) -> Any:
    """Rows of (…, n, m) after the exchange of row k that pivots say."""
    places = arange(rows.shape[-2])
    other = expand_dims(pivots[..., k], -1) - 1
    moved = where(equal(places, k), other, where(equal(places, other), k, places))
    return take_along_axis(rows, expand_dims(moved, -1), axis=-2)


def order_of(pivots: Any, m: int) -> Any:
    """The order of m rows after all exchanges."""
    places = arange(m)
    pivots = cast(pivots, places.dtype)
    rows = broadcast_to(expand_dims(places, -1), (*pivots.shape[:-1], m, 1))
    count = pivots.shape[-1]
    rows = control.fori_loop(0, count, lambda k, found: _exchanged(found, k, pivots), rows) if count else rows
    return squeeze(rows, -1)


def lu_solve(packed: Any, pivots: Any, b: Any, adjoint: bool) -> Any:
    """The X of A @ X = B, or of A.T @ X = B, of A's factors and exchanges."""
    n = packed.shape[-1]
    pivots = cast(pivots, arange(n).dtype)

    def exchange(i: Any, rows: Any) -> Any:
        return _exchanged(rows, n - 1 - i if adjoint else i, pivots)

    if not n:
        return b
    if adjoint:
        turned = matrix_transpose(packed)
        found = solve_triangular(turned, b, False)
        found = solve_triangular(turned, found, True, True)
        return control.fori_loop(0, n, exchange, found)
    found = control.fori_loop(0, n, exchange, b)
    return solve_triangular(packed, solve_triangular(packed, found, False, True), True)


def reflectors(a: Any, tau: Any) -> Any:
    """The first columns of a product of reflections, each of a column of A below its diagonal and a factor."""
    m, n = a.shape[-2:]
    count = tau.shape[-1]
    rows = arange(m)
    found = broadcast_to(eye(m, n, dtype=a.dtype), a.shape)
    if not count:
        return found

    def turn(i: Any, q: Any) -> Any:
        k = count - 1 - i
        mirror = where(greater(rows, k), a[..., k], 0.0) + cast(equal(rows, k), a.dtype)
        upright = expand_dims(mirror, -1)
        return q - expand_dims(expand_dims(tau[..., k], -1), -1) * upright * matmul(expand_dims(mirror, -2), q)

    return control.fori_loop(0, count, turn, found)


def matrix_exp(a: Any) -> Any:
    """The exponential of square matrices: a series of the matrix halved some times, then as many squares."""
    n = a.shape[-1]
    one = broadcast_to(eye(n, dtype=a.dtype), a.shape)
    if 0 in a.shape:
        return one
    norm = _max(_sum(_abs(a), -2))
    halved = maximum(ceil(log2(where(greater(norm, 1.0), norm, 1.0))), 0.0)
    small = a / 2.0**halved
    found = one
    for k in range(_TERMS.get(str(a.dtype), 12), 0, -1):
        found = one + matmul(small, found) / float(k)
    count = cast(halved, "int64")
    _, found = control.while_loop(lambda s: less(s[0], count), lambda s: (s[0] + 1, matmul(s[1], s[1])), (cast(lift(0), "int64"), found))
    return found
