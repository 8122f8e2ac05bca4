"""Orthogonal decompositions: qr by reflections, eigh and svd by rotations of pairs of columns (Jacobi's method). They are loops of other functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..functions import control
from ._common import floating, lift, operation
from .creation import arange, eye, ones, zeros
from .elementwise import abs as _abs, equal, greater, greater_equal, less, logical_and, sign, sqrt
from .info import finfo
from .manipulation import broadcast_to, concat, expand_dims, flip, matrix_transpose
from .reductions import argsort, max as _max, sum as _sum, take, take_along_axis, where

__all__ = ["EighResult", "QRResult", "SVDResult", "eigh", "eigvalsh", "matrix_rank", "pinv", "qr", "svd", "svdvals"]

# Rotations converge quadratically: 6 to 10 rounds are common.
_MOST_ROUNDS = 60


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Any
    R: Any


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Any
    S: Any
    Vh: Any


def _matrix(x: Any, what: str) -> tuple[Any, int, int]:
    value = floating(x)
    if value.ndim < 2 or not all(isinstance(size, int) for size in value.shape[-2:]):
        raise ValueError(f"{what} is of matrices of a known size, not of an array of shape {tuple(value.shape)}")
    return value, value.shape[-2], value.shape[-1]


def _unit(value: Any, n: int) -> Any:
    return broadcast_to(eye(n, dtype=value.dtype), (*value.shape[:-2], n, n))


@operation
def qr(x: Any, /, *, mode: str = "reduced") -> QRResult:
    """Q with orthonormal columns and the upper triangle R, with Q @ R = x; a square Q with mode "complete"."""
    a, m, n = _matrix(x, "qr")
    if mode not in ("reduced", "complete"):
        raise ValueError(f'mode is "reduced" or "complete", not {mode!r}')
    rows = arange(m)

    def turn(k: Any, state: Any) -> Any:
        q, r = state
        column = where(greater_equal(rows, k), r[..., k], 0.0)
        length = sqrt(_sum(column * column, -1, keepdims=True))
        at = equal(rows, k)
        head = _sum(where(at, column, 0.0), -1, keepdims=True)
        # The head grows, so no digits cancel.
        mirror = column + where(at, where(less(head, 0.0), -length, length), 0.0)
        size = _sum(mirror * mirror, -1, keepdims=True)
        # A column that is 0 below its head stays, with its sign, as in LAPACK.
        below = where(at, 0.0, column)
        turned = logical_and(greater(size, 0.0), greater(_sum(_abs(below), -1, keepdims=True), 0.0))
        factor = expand_dims(where(turned, 2.0 / where(turned, size, 1.0), 0.0), -1)
        upright, flat = expand_dims(mirror, -1), expand_dims(mirror, -2)
        return q - factor * (q @ upright) * flat, r - factor * upright * (flat @ r)

    q, r = control.fori_loop(0, min(m, n), turn, (_unit(a, m), a))
    upper = where(expand_dims(rows, -1) <= arange(n), r, 0.0)
    kept = m if mode == "complete" else min(m, n)
    return QRResult(q[..., :kept], upper[..., :kept, :])


def _partners(n: int) -> Any:
    """Rounds of disjoint pairs in which each pair comes once: the partner of each column, or the column itself."""
    even = n + n % 2
    table = np.zeros((max(even - 1, 1), n), dtype=np.int64)
    for turn in range(even - 1):
        for i in range(even):
            other = (turn - i) % (even - 1) if i < even - 1 else next(j for j in range(even - 1) if 2 * j % (even - 1) == turn)
            if i < even - 1 and other == i:
                other = even - 1
            if i < n:
                table[turn, i] = other if other < n else i
    return lift(table)


def _rotation(own: Any, other: Any, mixed: Any, partner: Any, n: int) -> tuple[Any, Any]:
    """Cosines and sines that turn each column and its partner, so that they no longer mix: products of each with itself, its partner, of both."""
    places = arange(n)
    turned = logical_and(greater(_abs(mixed), 0.0), partner != places)
    apart = (other - own) / where(turned, 2.0 * mixed, 1.0)
    direction = where(equal(apart, 0.0), where(less(places, partner), 1.0, -1.0), sign(apart))
    # Where the square would overflow, the root is as great as the number.
    size = _abs(apart)
    great = greater(size, 1e15)
    tangent = direction / (size + where(great, size, sqrt(where(great, 0.0, size) ** 2 + 1.0)))
    tangent = where(turned, tangent, 0.0)
    cosine = 1.0 / sqrt(tangent * tangent + 1.0)
    return cosine, tangent * cosine


def _columns(value: Any, cosine: Any, sine: Any, partner: Any) -> Any:
    return value * expand_dims(cosine, -2) - take(value, partner, axis=-1) * expand_dims(sine, -2)


@operation
def eigh(x: Any, /) -> EighResult:
    """Eigenvalues of symmetric matrices, in rising order, and their vectors as columns. The lower triangle counts."""
    a, m, n = _matrix(x, "eigh")
    if m != n:
        raise ValueError(f"eigh is of square matrices, not of an array of shape {tuple(a.shape)}")
    places = arange(n)
    below = greater_equal(expand_dims(places, -1), places)
    a = where(below, a, matrix_transpose(a))
    diagonal = eye(n, dtype=a.dtype)
    table = _partners(n)
    limit = float(finfo(a.dtype).eps) * 0.5

    def off(matrix: Any) -> Any:
        return _max(_abs(matrix * (1.0 - diagonal))) if a.size else 0.0

    scale = _max(_abs(a)) if n and 0 not in a.shape else lift(0.0)

    def pair(turn: Any, state: Any) -> Any:
        matrix, vectors = state
        partner = table[turn]
        own = _sum(matrix * diagonal, -1)
        mixed = _sum(take(matrix, partner, axis=-1) * diagonal, -1)
        cosine, sine = _rotation(own, take(own, partner, axis=-1), mixed, partner, n)
        matrix = _columns(matrix, cosine, sine, partner)
        matrix = matrix_transpose(_columns(matrix_transpose(matrix), cosine, sine, partner))
        # What is 0 now but for rounding is 0, so that the rounds end.
        met = logical_and(equal(expand_dims(partner, -1), places), expand_dims(partner != places, -1))
        matrix = where(met, 0.0, matrix)
        return matrix, _columns(vectors, cosine, sine, partner)

    def rounds(state: Any) -> Any:
        count, matrix, vectors = state
        matrix, vectors = control.fori_loop(0, table.shape[0], pair, (matrix, vectors))
        return count + 1, matrix, vectors

    def more(state: Any) -> Any:
        count, matrix, _ = state
        return logical_and(less(count, _MOST_ROUNDS), greater(off(matrix), limit * scale))

    if n > 1 and 0 not in a.shape:
        _, a, vectors = control.while_loop(more, rounds, (lift(0), a, _unit(a, n)))
    else:
        vectors = _unit(a, n)
    values = _sum(a * diagonal, -1)
    order = argsort(values, axis=-1)
    return EighResult(take_along_axis(values, order, axis=-1), take_along_axis(vectors, expand_dims(order, -2), axis=-1))


@operation
def eigvalsh(x: Any, /) -> Any:
    """Eigenvalues of symmetric matrices, in rising order."""
    return eigh(x).eigenvalues


def _turned(a: Any, n: int) -> tuple[Any, Any]:
    """The matrix with its columns turned until they are orthogonal, and the turns."""
    table, limit = _partners(n), float(finfo(a.dtype).eps)

    def pair(turn: Any, state: Any) -> Any:
        matrix, turns, worst = state
        partner = table[turn]
        own = _sum(matrix * matrix, -2)
        other = take(own, partner, axis=-1)
        mixed = _sum(matrix * take(matrix, partner, axis=-1), -2)
        least = sqrt(own) * sqrt(other)
        # Columns that are orthogonal but for rounding stay, so that the rounds end.
        rest = where(partner == arange(n), 0.0, where(greater(_abs(mixed), limit * least), mixed, 0.0))
        cosine, sine = _rotation(own, other, rest, partner, n)
        share = _max(_abs(rest) / where(greater(least, 0.0), least, 1.0))
        return _columns(matrix, cosine, sine, partner), _columns(turns, cosine, sine, partner), where(greater(share, worst), share, worst)

    def rounds(state: Any) -> Any:
        count, matrix, turns, _ = state
        return (count + 1, *control.fori_loop(0, table.shape[0], pair, (matrix, turns, zeros((), dtype=a.dtype))))

    def more(state: Any) -> Any:
        return logical_and(less(state[0], _MOST_ROUNDS), greater(state[3], limit * 4))

    first = zeros((), dtype=a.dtype) + 1.0
    _, matrix, turns, _ = control.while_loop(more, rounds, (lift(0), a, _unit(a, n), first))
    return matrix, turns


@operation
def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """U, the singular values S in falling order, and Vh, with U @ diag(S) @ Vh = x. U and Vh are square unless full_matrices is False."""
    a, m, n = _matrix(x, "svd")
    if m < n:
        u, s, v = svd(matrix_transpose(a), full_matrices=full_matrices)
        return SVDResult(matrix_transpose(v), s, matrix_transpose(u))
    if 0 in a.shape:
        kept = m if full_matrices else n
        unit = broadcast_to(eye(m, dtype=a.dtype)[:, :kept], (*a.shape[:-2], m, kept))
        return SVDResult(unit, zeros((*a.shape[:-2], n), dtype=a.dtype), _unit(a, n))
    scale = _max(_abs(a))
    scale = where(greater(scale, 0.0), scale, 1.0)
    matrix, turns = _turned(a / scale, n)
    s = sqrt(_sum(matrix * matrix, -2))
    order = flip(argsort(s, axis=-1), axis=-1)
    s = take_along_axis(s, order, axis=-1)
    matrix, turns = (take_along_axis(part, expand_dims(order, -2), axis=-1) for part in (matrix, turns))
    directions = matrix / expand_dims(where(greater(s, 0.0), s, 1.0), -2)
    # Reflections make columns for singular values of 0, and complete the square; they may turn the sign of the others.
    q, r = qr(directions, mode="complete" if full_matrices else "reduced")
    one = ones((), dtype=a.dtype)
    flips = where(less(_sum(r[..., :n, :] * eye(n, dtype=a.dtype), -1), 0.0), -one, one)
    if full_matrices and m > n:
        flips = concat([flips, ones((*a.shape[:-2], m - n), dtype=a.dtype)], axis=-1)
    return SVDResult(q * expand_dims(flips, -2), s * scale, matrix_transpose(turns))


@operation
def svdvals(x: Any, /) -> Any:
    """Singular values, in falling order."""
    return svd(x, full_matrices=False).S


def _least(s: Any, rtol: Any, m: int, n: int) -> Any:
    factor = float(finfo(s.dtype).eps) * max(m, n) if rtol is None else lift(rtol)
    return (_max(s, -1) if s.shape[-1] else _sum(s, -1)) * factor


@operation
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """The number of singular values above `rtol` times the greatest one; by default the precision times the greater extent."""
    a, m, n = _matrix(x, "matrix_rank")
    s = svdvals(a)
    return _sum(where(greater(s, expand_dims(_least(s, rtol, m, n), -1)), 1, 0), -1)


@operation
def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverse, in which singular values up to `rtol` times the greatest one count as 0."""
    a, m, n = _matrix(x, "pinv")
    u, s, v = svd(a, full_matrices=False)
    kept = greater(s, expand_dims(_least(s, rtol, m, n), -1))
    inverse = where(kept, 1.0 / where(kept, s, 1.0), 0.0)
    return (matrix_transpose(v) * expand_dims(inverse, -2)) @ matrix_transpose(u)
