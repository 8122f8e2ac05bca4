"""The array API standard's extension `linalg`."""

from __future__ import annotations

import operator
import math

from ._common import Any, axes_of, emit, floating, lift, operation, scalar_like
from .creation import eye
from .linear import cross, diagonal, matmul, outer, tensordot, trace, vecdot
from .manipulation import broadcast_to, expand_dims, matrix_transpose
from .reductions import max as _max, min as _min, sum as _sum
from .solve import SlogdetResult, cholesky, det, inv, slogdet, solve
from .spectra import EighResult, QRResult, SVDResult, eigh, eigvalsh, matrix_rank, pinv, qr, svd, svdvals

__all__ = [
    "EighResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


@operation
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:  # noqa: A002
    """The length of vectors along axes: the root of the sum of powers; infinite orders take the greatest or least element."""
    value = floating(x)
    axes = tuple(axes_of(axis, value.ndim))
    size = emit("abs", value)
    if ord == math.inf:
        return _max(size, axes, keepdims=keepdims)
    if ord == -math.inf:
        return _min(size, axes, keepdims=keepdims)
    if ord == 0:
        return _sum(emit("cast", emit("not_equal", value, scalar_like(value, 0)), dtype=value.dtype.name), axes, keepdims=keepdims)
    if ord == 1:
        return _sum(size, axes, keepdims=keepdims)
    if ord == 2:
        return emit("sqrt", _sum(emit("multiply", value, value), axes, keepdims=keepdims))
    return emit("power", _sum(emit("power", size, scalar_like(value, float(ord))), axes, keepdims=keepdims), scalar_like(value, 1 / ord))


@operation
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:  # noqa: A002
    """The norm of matrices: "fro", "nuc" (the sum of singular values), 2 and -2 (the greatest and the least one), 1, -1, inf or -inf."""
    value = floating(x)
    if ord == "fro":
        return vector_norm(value, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        found = {"nuc": _sum, 2: _max, -2: _min}[ord](svdvals(value), -1)
        return expand_dims(expand_dims(found, -1), -1) if keepdims else found
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f'ord is "fro", "nuc", 1, -1, 2, -2, inf or -inf, not {ord!r}')
    added = -2 if ord in (1, -1) else -1
    sums = _sum(emit("abs", value), added, keepdims=True)
    found = (_max if ord > 0 else _min)(sums, (-2, -1), keepdims=keepdims)
    return found


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """NumPy's norm: of all elements by default, else of vectors along an axis."""
    return vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord in (None, "fro") else ord)


@operation
def matrix_power(x: Any, n: int, /) -> Any:
    """A matrix multiplied by itself; a negative power is one of the inverse."""
    value = lift(x)
    if n < 0:
        value, n = inv(value), -n
    found: Any = None
    while n:
        if n & 1:
            found = value if found is None else matmul(found, value)
        n >>= 1
        value = matmul(value, value) if n else value
    return broadcast_to(eye(operator.index(value.shape[-1]), dtype=value.dtype), value.shape) if found is None else found
