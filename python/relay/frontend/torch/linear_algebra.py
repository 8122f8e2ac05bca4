"""Linear systems and decompositions of matrices: programs that `relay.numpy` makes stand in the place of the calls.

Batches may be open, the sizes of matrices not. The programs are loops of other operators, so gradients go through them.
"""

from __future__ import annotations

from typing import Any, Callable

from ... import _core, numpy as rnp
from ..._core import Expr, Tuple, TupleGetItem
from ...functions.places import held
from ...functions.trace import Trace, enter
from ...numpy import factors, linalg
from ...numpy.manipulation import broadcast_shape
from .context import Context, Later, Value
from .registry import converter

__all__: list[str] = []


def _traced(c: Context, function: Callable[..., Any], *values: Value) -> list[Expr]:
    """The results of a function over traced arrays, on these values."""
    span = c.span
    trace = Trace(c.name)
    with held(span), enter(trace):
        params = [trace.parameter(f"x{i}", c.tensor_type(value.meta)) for i, value in enumerate(values)]
        found = function(*params)
        fields = list(found) if isinstance(found, tuple) else [found]
        made: Expr = Tuple([trace.expr(field) for field in fields])
    whole = _core.substitute(made, {param.variable: value.expr for param, value in zip(params, values)})
    return [TupleGetItem(whole, i, span) for i in range(len(fields))]


def _later(c: Context, function: Callable[..., Any], *values: Value) -> Later:
    """A result that mostly nobody uses."""
    return Later(lambda: _traced(c, function, *values)[0])


def _guarded(c: Context, result: Expr, given: list[Value], message: str) -> Expr:
    """The result, or an error where finite numbers gave others."""
    finite = [c.call("all", c.call("isfinite", part)) for part in (result, *given)]
    strange = c.call("logical_not", finite[1])
    for other in finite[2:]:
        strange = c.call("logical_or", strange, c.call("logical_not", other))
    return c.call("assert_op", c.call("logical_or", finite[0], strange), result, message=message)


def _diagonal(packed: Any) -> Any:
    few = min(packed.shape[-2:])
    return rnp.sum(packed[..., :few, :few] * rnp.eye(few, dtype=packed.dtype), axis=-1)


def _info(a: Any) -> Any:
    return factors.first_bad(rnp.equal(_diagonal(factors.lu(a)[0]), 0))


def _kept(c: Context, a: Value, turned: bool) -> tuple[Later, Later]:
    """Factors and exchanges of the matrix or of its transpose, which gradients read."""
    turn = rnp.matrix_transpose if turned else lambda x: x
    return _later(c, lambda x: factors.lu(turn(x))[0], a), _later(c, lambda x: rnp.cast(factors.lu(turn(x))[1], "int32"), a)


@converter("aten._linalg_check_errors.default")
def _check_errors(c: Context) -> None:
    """Nothing: a result that LAPACK could not compute has infinities or not-a-numbers."""


# Systems


@converter("aten.linalg_inv.default", "aten.inverse.default")
def _inv(c: Context, a: Value | None = None, this: Value | None = None) -> Any:
    value = a if a is not None else this
    assert value is not None
    return _guarded(c, _traced(c, linalg.inv, value)[0], [value], "linalg.inv: the matrix has no inverse")


@converter("aten.linalg_inv_ex.default")
def _inv_ex(c: Context, a: Value) -> Any:
    return _traced(c, linalg.inv, a)[0], _later(c, _info, a)


def _solved(c: Context, a: Value, b: Value, left: bool) -> Expr:
    # PyTorch takes a stack of vectors for what NumPy takes for a matrix.
    vector = b.rank == 1 or (a.rank - 1 == b.rank and list(b.shape) == list(a.shape[:-1]))

    def solve(x: Any, y: Any) -> Any:
        if vector:
            y = rnp.expand_dims(y, -1)
        elif not left:
            x, y = rnp.matrix_transpose(x), rnp.matrix_transpose(y)
        found = linalg.solve(x, y)
        return rnp.squeeze(found, -1) if vector else found if left else rnp.matrix_transpose(found)

    return _traced(c, solve, a, b)[0]


@converter("aten.linalg_solve.default")
def _solve(c: Context, a: Value, b: Value, left: bool) -> Any:
    return _guarded(c, _solved(c, a, b, left), [a, b], "linalg.solve: the matrix has no inverse")


@converter("aten._linalg_solve_ex.default")
def _solve_ex(c: Context, a: Value, b: Value, left: bool) -> Any:
    return _solved(c, a, b, left), *_kept(c, a, False), _later(c, _info, a)


@converter("aten.linalg_solve_triangular.default")
def _solve_triangular(c: Context, this: Value, b: Value, upper: bool, left: bool, unitriangular: bool) -> Any:
    def solve(x: Any, y: Any) -> Any:
        x, y = _together(x, y, left)
        if left:
            return factors.solve_triangular(x, y, upper, unitriangular)
        return rnp.matrix_transpose(factors.solve_triangular(rnp.matrix_transpose(x), rnp.matrix_transpose(y), not upper, unitriangular))

    return _traced(c, solve, this, b)[0]


def _together(a: Any, b: Any, left: bool = True) -> tuple[Any, Any]:
    """Matrices with the stack that both have."""
    n = a.shape[-1]
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    return rnp.broadcast_to(a, (*batch, n, n)), rnp.broadcast_to(b, (*batch, *b.shape[-2:]))


@converter("aten.triangular_solve.default")
def _triangular_solve(c: Context, this: Value, a: Value, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    def solve(y: Any, x: Any) -> Any:
        x, y = _together(x, y)
        return factors.solve_triangular(rnp.matrix_transpose(x) if transpose else x, y, upper != transpose, unitriangular)

    return _traced(c, solve, this, a)[0], a


def _by_cholesky(y: Any, x: Any, upper: bool) -> Any:
    x, y = _together(x, y)
    lower = rnp.matrix_transpose(x) if upper else x
    return factors.solve_triangular(rnp.matrix_transpose(lower), factors.solve_triangular(lower, y, False), True)


@converter("aten.cholesky_solve.default")
def _cholesky_solve(c: Context, this: Value, input2: Value, upper: bool) -> Any:
    return _traced(c, lambda y, x: _by_cholesky(y, x, upper), this, input2)[0]


@converter("aten.cholesky_inverse.default")
def _cholesky_inverse(c: Context, this: Value, upper: bool) -> Any:
    return _traced(c, lambda x: _by_cholesky(rnp.eye(x.shape[-1], dtype=x.dtype), x, upper), this)[0]


@converter("aten.linalg_lu_solve.default")
def _lu_solve(c: Context, lu: Value, pivots: Value, b: Value, left: bool, adjoint: bool) -> Any:
    def solve(packed: Any, exchanges: Any, y: Any) -> Any:
        if not left:  # X @ A = B is A.T @ X.T = B.T
            y = rnp.matrix_transpose(y)
        n = packed.shape[-1]
        batch = broadcast_shape(packed.shape[:-2], y.shape[:-2])
        packed, exchanges = rnp.broadcast_to(packed, (*batch, n, n)), rnp.broadcast_to(exchanges, (*batch, n))
        found = factors.lu_solve(packed, exchanges, rnp.broadcast_to(y, (*batch, *y.shape[-2:])), adjoint if left else not adjoint)
        return found if left else rnp.matrix_transpose(found)

    return _traced(c, solve, lu, pivots, b)[0]


# Determinants


@converter("aten._linalg_det.default")
def _det(c: Context, a: Value) -> Any:
    # PyTorch factors the transpose of a matrix whose rows are contiguous.
    return _traced(c, linalg.det, a)[0], *_kept(c, a, a.meta.is_contiguous())


@converter("aten._linalg_slogdet.default")
def _slogdet(c: Context, a: Value) -> Any:
    return *_traced(c, lambda x: tuple(linalg.slogdet(x)), a), *_kept(c, a, a.meta.is_contiguous())


# Decompositions


def _pivoted(pivot: bool) -> None:
    if not pivot:
        raise NotImplementedError("factors without exchanges of rows (pivot=False)")


@converter("aten.linalg_lu_factor_ex.default")
def _lu_factor(c: Context, a: Value, pivot: bool) -> Any:
    _pivoted(pivot)
    packed, pivots = _traced(c, lambda x: factors.lu(x)[:2], a)
    return packed, c.call("cast", pivots, dtype="int32"), _later(c, _info, a)


@converter("aten.linalg_lu.default")
def _lu(c: Context, a: Value, pivot: bool) -> Any:
    _pivoted(pivot)

    def apart(x: Any) -> Any:
        packed, _, order = factors.lu(x)
        return factors.lu_apart(packed, order)

    return tuple(_traced(c, apart, a))


@converter("aten.lu_unpack.default")
def _lu_unpack(c: Context, lu_data: Value, lu_pivots: Value, unpack_data: bool, unpack_pivots: bool) -> Any:
    none = c.full(c.const(0, lu_data.dtype), [0])
    made = _traced(c, lambda packed, pivots: factors.lu_apart(packed, factors.order_of(pivots, packed.shape[-2])), lu_data, lu_pivots)
    return made[0] if unpack_pivots else none, *(made[1:] if unpack_data else (none, none))


def _lower(a: Any, upper: bool) -> Any:
    """The matrix of which one triangle is given."""
    return rnp.triu(a) + rnp.matrix_transpose(rnp.triu(a, k=1)) if upper else rnp.tril(a) + rnp.matrix_transpose(rnp.tril(a, k=-1))


def _cholesky(c: Context, value: Value, upper: bool) -> Expr:
    return _traced(c, lambda x: linalg.cholesky(_lower(x, upper), upper=upper), value)[0]


@converter("aten.linalg_cholesky.default", "aten.cholesky.default")
def _cholesky_checked(c: Context, this: Value, upper: bool) -> Any:
    return _guarded(c, _cholesky(c, this, upper), [this], "linalg.cholesky: the matrix is not positive definite")


@converter("aten.linalg_cholesky_ex.default")
def _cholesky_ex(c: Context, this: Value, upper: bool) -> Any:
    def info(x: Any) -> Any:
        return factors.first_bad(rnp.logical_not(rnp.greater(_diagonal(linalg.cholesky(_lower(x, upper))), 0)))

    return _cholesky(c, this, upper), _later(c, info, this)


@converter("aten.linalg_qr.default")
def _qr(c: Context, a: Value, mode: str) -> Any:
    if mode == "r":
        return c.full(c.const(0, a.dtype), [0]), _traced(c, lambda x: linalg.qr(x).R, a)[0]
    return tuple(_traced(c, lambda x: tuple(linalg.qr(x, mode=mode)), a))


@converter("aten.linalg_householder_product.default")
def _householder(c: Context, input: Value, tau: Value) -> Any:  # noqa: A002 (the schema's name)
    return _traced(c, factors.reflectors, input, tau)[0]


@converter("aten._linalg_eigh.default")
def _eigh(c: Context, a: Value, uplo: str, compute_v: bool) -> Any:
    upper = uplo.upper() == "U"
    values, vectors = _traced(c, lambda x: tuple(linalg.eigh(rnp.matrix_transpose(x) if upper else x)), a)
    return values, vectors if compute_v else c.full(c.const(0, a.dtype), [0])


@converter("aten._linalg_svd.default")
def _svd(c: Context, a: Value, full_matrices: bool, compute_uv: bool) -> Any:
    if not compute_uv:
        none = c.full(c.const(0, a.dtype), [0])
        return none, _traced(c, linalg.svdvals, a)[0], none
    return tuple(_traced(c, lambda x: tuple(linalg.svd(x, full_matrices=full_matrices)), a))


# Functions of matrices


@converter("aten.linalg_pinv.atol_rtol_tensor")
def _pinv(c: Context, this: Value, atol: Value | None, rtol: Value | None, hermitian: bool) -> Any:
    given = [value for value in (atol, rtol) if value is not None]

    def inverse(x: Any, *limits: Any) -> Any:
        bounds = [rnp.expand_dims(rnp.cast(limit, x.dtype), -1) for limit in limits]
        u, s, v = linalg.svd(_lower(x, False) if hermitian else x, full_matrices=False)
        if not s.shape[-1]:
            return rnp.matrix_transpose(x)
        least = bounds[0] if atol is not None else rnp.zeros((1,), dtype=x.dtype)
        share = bounds[-1] if rtol is not None else float(rnp.finfo(x.dtype).eps) * max(x.shape[-2:])
        if rtol is None and atol is not None:  # the precision counts where no bound is given
            share = rnp.where(rnp.greater(least, 0.0), 0.0, share)
        limit = rnp.maximum(least, s[..., :1] * share)
        kept = rnp.greater(s, limit)
        turned = rnp.where(kept, 1.0 / rnp.where(kept, s, 1.0), 0.0)
        return rnp.matmul(rnp.matrix_transpose(v) * rnp.expand_dims(turned, -2), rnp.matrix_transpose(u))

    return _traced(c, inverse, this, *given)[0]


@converter("aten.linalg_matrix_exp.default")
def _matrix_exp(c: Context, this: Value) -> Any:
    return _traced(c, factors.matrix_exp, this)[0]
