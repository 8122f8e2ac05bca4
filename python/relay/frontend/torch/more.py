"""Operators outside of core ATen that PyTorch has no decomposition for: counting, choosing, running results, grouped products."""

from __future__ import annotations

import math
from typing import Any, Callable

from ..._core import Expr, TupleGetItem
from ...expr import const
from .context import Context, Value
from .indexing import scattered
from .registry import converter

__all__: list[str] = []


@converter("aten.exp2.default")
def _exp2(c: Context, this: Value) -> Any:
    return c.call("power", c.const(2, c.dtype), c.cast(this, c.dtype))


@converter("aten.erfc.default")
def _erfc(c: Context, this: Value) -> Any:
    return c.call("subtract", c.const(1, c.dtype), c.call("erf", c.cast(this, c.dtype)))


@converter("aten.hypot.default")
def _hypot(c: Context, this: Value, other: Value) -> Any:
    a, b = (c.call("abs", c.cast(part, c.dtype)) for part in (this, other))
    # The greater one is taken out, so that no square overflows.
    high, low = c.call("maximum", a, b), c.call("minimum", a, b)
    share = c.call("divide", low, c.call("where", c.call("equal", high, c.const(0, c.dtype)), c.const(1, c.dtype), high))
    return c.call("multiply", high, c.call("sqrt", c.call("add", c.const(1, c.dtype), c.call("multiply", share, share))))


def _chosen(ours: str) -> Any:
    def choose(c: Context, this: Value, other: Value) -> Any:
        a, b = c.cast(this, c.dtype), c.cast(other, c.dtype)
        both = c.call(ours, a, b)
        if not c.dtype.startswith(("float", "bfloat")):
            return both
        # Not-a-number loses here.
        return c.call("where", c.call("isnan", a), b, c.call("where", c.call("isnan", b), a, both))

    return choose


converter("aten.fmax.default")(_chosen("maximum"))
converter("aten.fmin.default")(_chosen("minimum"))


@converter("aten._trilinear.default")
def _trilinear(c: Context, i1: Value, i2: Value, i3: Value, expand1: Any, expand2: Any, expand3: Any, sumdim: Any) -> Any:
    factors = []
    for value, axes in ((i1, expand1), (i2, expand2), (i3, expand3)):
        expr = value.expr
        for axis in sorted(axes):
            expr = c.call("expand_dims", expr, axis=axis)
        factors.append(expr)
    product = c.call("multiply", c.call("multiply", factors[0], factors[1]), factors[2])
    return c.call("sum", product, axis=list(sumdim)) if sumdim else product


@converter("aten.histc.default")
def _histc(c: Context, this: Value, bins: int, min: Any, max: Any) -> Any:  # noqa: A002 (names of the schema)
    data = c.call("reshape", this, newshape=[-1])
    kind = this.dtype if this.floating else "float64"
    data = data if this.floating else c.call("cast", data, dtype=kind)
    low, high = c.const(float(min), kind), c.const(float(max), kind)
    if min == max:
        low, high = (c.call("min", data), c.call("max", data)) if min == 0 else (low, high)
        alone = c.call("equal", low, high)
        one = c.const(1, kind)
        low, high = c.call("where", alone, c.call("subtract", low, one), low), c.call("where", alone, c.call("add", high, one), high)
    held = c.call("logical_and", c.call("greater_equal", data, low), c.call("less_equal", data, high))
    share = c.call("divide", c.call("multiply", c.call("subtract", data, low), c.const(bins, kind)), c.call("subtract", high, low))
    place = c.call("cast", c.call("where", held, c.call("floor", share), c.const(0, kind)), dtype="int64")
    place = c.call("minimum", place, c.const(bins - 1, "int64"))  # the last bin has its upper end
    return c.call("scatter_nd", c.full(c.const(0, c.dtype), [bins]), c.call("expand_dims", place, axis=0), c.call("cast", held, dtype=c.dtype), mode="add")


def _running(c: Context, this: Value, axis: int, state: list[Expr], empty: list[Expr], combine: Callable[..., list[Expr]]) -> list[Expr]:
    """Running results along an axis by doubling distances: each position takes in what stands 1, 2, 4, … before it."""
    extent = this.shape[axis]
    if not isinstance(extent, int):
        raise NotImplementedError("running results along an open extent")
    apart = 1
    while apart < extent:
        width = [[0, 0] for _ in range(this.rank)]
        width[axis] = [apart, 0]
        moved = [c.call("nn.pad", c.slice(part, axis, 0, extent - apart), none, pad_width=width, pad_mode="constant") for part, none in zip(state, empty)]
        state = combine(moved, state)
        apart *= 2
    return state


def _extreme(test: str, worst: float) -> Any:
    def running(c: Context, this: Value, dim: int) -> Any:
        if not this.rank:
            return this, c.const(0, "int64")
        if not this.floating:
            raise NotImplementedError("a running extreme of whole numbers")
        axis = this.axis(dim)
        along = c.call("arange", c.const(0, "int64"), c.const(this.shape[axis], "int64"), c.const(1, "int64"), dtype="int64")
        along = c.broadcast(c.call("reshape", along, newshape=[-1, *([1] * (this.rank - 1 - axis))]), this.shape)

        def combine(before: list[Expr], here: list[Expr]) -> list[Expr]:
            # Of equal ones the last counts, and not-a-number wins.
            stays = c.call("logical_or", c.call(test, here[0], before[0]), c.call("isnan", here[0]))
            stays = c.call("logical_and", stays, c.call("logical_or", c.call("isnan", here[0]), c.call("logical_not", c.call("isnan", before[0]))))
            return [c.call("where", stays, one, other) for one, other in zip(here, before)]

        return tuple(_running(c, this, axis, [this.expr, along], [c.const(worst, this.dtype), c.const(0, "int64")], combine))

    return running


converter("aten.cummax.default")(_extreme("greater_equal", -math.inf))
converter("aten.cummin.default")(_extreme("less_equal", math.inf))


@converter("aten.logcumsumexp.default")
def _logcumsumexp(c: Context, this: Value, dim: int) -> Any:
    if not this.rank:
        return this
    none = c.const(-math.inf, this.dtype)

    def combine(before: list[Expr], here: list[Expr]) -> list[Expr]:
        high, low = c.call("maximum", before[0], here[0]), c.call("minimum", before[0], here[0])
        more = c.call("log", c.call("add", c.const(1, this.dtype), c.call("exp", c.call("subtract", low, high))))
        return [c.call("where", c.call("equal", low, none), high, c.call("add", high, more))]

    return _running(c, this, this.axis(dim), [this.expr], [none], combine)[0]


@converter("aten.median.dim")
def _median(c: Context, this: Value, dim: int, keepdim: bool) -> Any:
    extent = this.shape[this.axis(dim)] if this.rank else 1
    if not isinstance(extent, int):
        raise NotImplementedError("a median along an open extent")
    return _kthvalue(c, this, (extent + 1) // 2, dim, keepdim)


@converter("aten.median.default")
def _median_of_all(c: Context, this: Value) -> Any:
    count = math.prod(this.shape) if all(isinstance(size, int) for size in this.shape) else None
    if count is None:
        raise NotImplementedError("a median of an open number of elements")
    return c.call("take", c.call("sort", c.call("reshape", this, newshape=[-1]), axis=0), c.const((count - 1) // 2, "int64"), axis=0)


@converter("aten.kthvalue.default")
def _kthvalue(c: Context, this: Value, k: int, dim: int, keepdim: bool) -> Any:
    if not this.rank:
        return this, c.const(0, "int64")
    axis = this.axis(dim)
    order = c.call("argsort", this, axis=axis, dtype="int64")
    place = c.slice(order, axis, k - 1, k)
    found = c.call("gather", this, place, axis=axis)
    return (found, place) if keepdim else (c.call("squeeze", found, axis=[axis]), c.call("squeeze", place, axis=[axis]))


@converter("aten.masked_select.default")
def _masked_select(c: Context, this: Value, mask: Value) -> Any:
    whole = [max(pair) for pair in _aligned(this.shape, mask.shape)]
    places = c.call("argwhere", c.call("reshape", c.broadcast(mask, whole), newshape=[-1]), dtype="int64")
    return c.call("take", c.call("reshape", c.broadcast(this, whole), newshape=[-1]), c.call("squeeze", places, axis=[1]), axis=0)


def _aligned(first: list[Any], second: list[Any]) -> list[tuple[int, int]]:
    if not all(isinstance(size, int) for size in (*first, *second)):
        raise NotImplementedError("a mask of open extents that chooses elements")
    rank = max(len(first), len(second))
    return list(zip([1] * (rank - len(first)) + first, [1] * (rank - len(second)) + second))


@converter("aten._unique2.default")
def _unique(c: Context, this: Value, sorted: bool) -> Any:  # noqa: A002
    parts = c.call("unique", c.call("reshape", this, newshape=[-1]), sorted=bool(sorted), return_counts=True, dtype="int64")
    values, inverse, counts = (TupleGetItem(parts, i, c.span) for i in (0, 2, 4))
    return values, c.reshape(inverse, this.shape), counts


@converter("aten.scatter.reduce")
def _scatter_reduce(c: Context, this: Value, dim: int, index: Value, src: Value, reduce: str) -> Any:
    return scattered(c, this.expr, this, dim, index, src.expr, {"add": "add", "multiply": "mul"}[reduce])


@converter("aten.scatter.value_reduce")
def _scatter_value_reduce(c: Context, this: Value, dim: int, index: Value, value: Any, reduce: str) -> Any:
    return scattered(c, this.expr, this, dim, index, c.full(c.const(value, c.dtype), index.shape), {"add": "add", "multiply": "mul"}[reduce])


@converter("transformers.grouped_mm_fallback.default")
def _grouped(c: Context, input: Value, weight: Value, offs: Value) -> Any:  # noqa: A002
    """Rows of one expert after the other, each group times its expert's matrix. Groups may be empty."""
    ends = c.cast(offs, "int64")
    experts = weight.shape[0]
    if not isinstance(experts, int):
        raise NotImplementedError("an open number of experts")
    parts: list[Expr] = []
    begin: Expr = const([0], "int64")
    for expert in range(experts):
        end = c.slice(ends, 0, expert, expert + 1)
        rows = c.call("dyn.strided_slice", input, begin, end, const([1], "int64"), axes=[0])
        matrix = c.call("take", weight, const(expert, "int64"), axis=0)
        parts.append(c.call("nn.matmul", rows, matrix))
        begin = end
    return c.reshape(c.call("concatenate", parts, axis=0), list(c.out.shape))


@converter("aten._grouped_mm.default")
def _grouped_mm(c: Context, this: Value, mat2: Value, offs: Any, bias: Any) -> Any:
    if offs is None or this.rank != 2 or mat2.rank != 3:
        raise NotImplementedError("a grouped product whose groups are not the rows of the first operand")
    result = _grouped(c, this, mat2, offs)
    return result if bias is None else c.call("add", result, bias)

