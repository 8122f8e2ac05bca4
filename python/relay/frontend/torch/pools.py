"""Pools, their indices and their gradients."""

from __future__ import annotations

import math
from typing import Any

from ..._core import Expr
from .context import Context, Later, Value
from .registry import converter

__all__: list[str] = []


def _batched(c: Context, this: Value, rank: int) -> Expr:
    return this.expr if this.rank == rank + 2 else c.call("expand_dims", this, axis=0)


def _unbatched(c: Context, this: Value, rank: int, result: Expr) -> Expr:
    return result if this.rank == rank + 2 else c.call("squeeze", result, axis=[0])


def _window(rank: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any) -> dict[str, Any]:
    def each(sizes: Any, default: Any) -> list[int]:
        sizes = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]
        return list(default) if sizes in ([], [None]) else sizes * rank if len(sizes) == 1 else sizes

    size = each(kernel_size, [])
    return {"pool_size": size, "strides": each(stride, size), "padding": each(padding, [0] * rank) * 2, "dilation": each(dilation, [1] * rank),
            "ceil_mode": bool(ceil_mode)}  # fmt: skip


def _average(rank: int) -> Any:
    def pool(c: Context, this: Value, kernel_size: Any, stride: Any, padding: Any, ceil_mode: Any, count_include_pad: Any, divisor_override: Any) -> Any:
        window = _window(rank, kernel_size, stride, padding, None, ceil_mode)
        data = _batched(c, this, rank)
        if divisor_override is not None:
            data = data if this.floating else c.call("cast", data, dtype="float64")
            data, window = _widened(c, this, data, window)
        result = c.call(f"nn.avg_pool{rank}d", data, count_include_pad=bool(count_include_pad) or divisor_override is not None, **window)
        if divisor_override is not None:
            result = _divided(c, result, math.prod(window["pool_size"]), divisor_override, this)
        return _unbatched(c, this, rank, result)

    return pool


def _divided(c: Context, means: Expr, count: int, divisor: int, this: Value) -> Expr:
    """Means of `count` elements as sums that a number divides; whole numbers truncate."""
    if this.floating:
        return c.call("multiply", means, c.const(count / divisor, this.dtype))
    sums = c.call("cast", c.call("round", c.call("multiply", means, c.const(count, "float64"))), dtype=this.dtype)
    return c.call("trunc_divide", sums, c.const(divisor, this.dtype))


def _widened(c: Context, this: Value, data: Expr, window: dict[str, Any]) -> tuple[Expr, dict[str, Any]]:
    """Data with its padding, and with zeros where windows reach over the end, so that each window has all of its elements."""
    if not window["ceil_mode"]:
        return data, window
    rank = len(window["pool_size"])
    extents = this.shape[this.rank - rank :]
    if not all(isinstance(extent, int) for extent in extents):
        raise NotImplementedError("divisor_override with ceil_mode and open extents")
    width = [[0, 0], [0, 0]]
    for extent, out, size, step, low in zip(extents, _extents(c, rank), window["pool_size"], window["strides"], window["padding"]):
        width.append([low, max((out - 1) * step + size - extent - low, 0)])
    padded = c.call("nn.pad", data, c.const(0, this.dtype if this.floating else "float64"), pad_width=width, pad_mode="constant")
    return padded, {**window, "padding": [0] * (2 * rank), "ceil_mode": False}


def _extents(c: Context, rank: int) -> list[Any]:
    """The extents of the result's windows."""
    out = c.out[0] if isinstance(c.out, (tuple, list)) else c.out
    return list(out.shape[out.dim() - rank :])


def _greatest(rank: int) -> Any:
    def pool(c: Context, this: Value, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any) -> Any:
        window = _window(rank, kernel_size, stride, padding, dilation, ceil_mode)
        data = _batched(c, this, rank)
        values = _unbatched(c, this, rank, c.call(f"nn.max_pool{rank}d", data, **window))
        span, out = c.span, c.out

        def positions() -> Expr:
            c.span, c.out = span, out
            return _unbatched(c, this, rank, _positions(c, this, data, window))

        return values, Later(positions)

    return pool


def _least(c: Context, dtype: str) -> Expr:
    """The least number of a dtype."""
    if dtype.startswith(("float", "bfloat")):
        return c.const(-math.inf, dtype)
    return c.const(0 if dtype.startswith("u") else -(2 ** (int(dtype[3:]) - 1)), dtype)


def _positions(c: Context, this: Value, data: Expr, window: dict[str, Any]) -> Expr:
    """The flat position of each window's greatest element: the first one, and the last not-a-number. One slice for each element of a window."""
    sizes, steps, wide = window["pool_size"], window["strides"], window["dilation"]
    rank, extents, outs = len(sizes), this.shape[this.rank - len(sizes) :], _extents(c, len(sizes))
    ends = [(size - 1) * apart for size, apart in zip(sizes, wide)]
    # Padding loses against all; behind the end enough for windows that reach over it.
    width = [[0, 0], [0, 0], *([low, low + step + end] for low, step, end in zip(window["padding"], steps, ends))]
    padded = c.call("nn.pad", data, _least(c, this.dtype), pad_width=width, pad_mode="constant")
    best: Any = None
    for flat in range(math.prod(sizes)):
        at, rest = [], flat
        for size in reversed(sizes):
            rest, inner = divmod(rest, size)
            at.insert(0, inner)
        seen, place = padded, c.const(0, "int64")
        for axis in range(rank):
            begin = at[axis] * wide[axis]
            seen = c.slice(seen, axis + 2, begin, begin + (outs[axis] - 1) * steps[axis] + 1, steps[axis])
            along = c.call("arange", c.const(0, "int64"), c.const(outs[axis], "int64"), c.const(1, "int64"), dtype="int64")
            along = c.call("add", c.call("multiply", along, c.const(steps[axis], "int64")), c.const(begin - window["padding"][axis], "int64"))
            along = c.call("reshape", along, newshape=[-1, *([1] * (rank - 1 - axis))])
            place = c.call("add", c.call("multiply", place, c.const(extents[axis], "int64")), along)
        if best is None:
            # The first element may be padding; any other wins against it by its position.
            best, found = seen, c.call("add", c.call("cast", c.call("zeros_like", seen), dtype="int64"), place)
            inside = _inside(c, at, window, extents, outs)
            continue
        within = _inside(c, at, window, extents, outs)
        above = c.call("greater", seen, best)
        if this.floating:
            above = c.call("logical_or", above, c.call("isnan", seen))
        # An element equal to the least number still wins where only padding was seen.
        above = c.call("logical_and", within, c.call("logical_or", above, c.call("logical_not", inside)))
        best, found = c.call("where", above, seen, best), c.call("where", above, place, found)
        inside = c.call("logical_or", inside, within)
    return found


def _inside(c: Context, at: list[int], window: dict[str, Any], extents: list[Any], outs: list[Any]) -> Expr:
    """True for windows whose element `at` is no padding."""
    inside: Any = c.const(True, "bool")
    rank = len(at)
    for axis in range(rank):
        along = c.call("arange", c.const(0, "int64"), c.const(outs[axis], "int64"), c.const(1, "int64"), dtype="int64")
        first = at[axis] * window["dilation"][axis] - window["padding"][axis]
        along = c.call("add", c.call("multiply", along, c.const(window["strides"][axis], "int64")), c.const(first, "int64"))
        low = c.call("greater_equal", along, c.const(0, "int64"))
        held = c.call("logical_and", low, c.call("less", along, c.const(extents[axis], "int64")))
        inside = c.call("logical_and", inside, c.call("reshape", held, newshape=[-1, *([1] * (rank - 1 - axis))]))
    return inside


def _adaptive(rank: int, kind: str) -> Any:
    def pool(c: Context, this: Value, output_size: Any) -> Any:
        sizes = list(output_size)
        return _unbatched(c, this, rank, c.call(f"nn.adaptive_{kind}_pool{rank}d", _batched(c, this, rank), output_size=sizes))

    return pool


def _adaptive_greatest(rank: int) -> Any:
    pool = _adaptive(rank, "max")

    def both(c: Context, this: Value, output_size: Any) -> Any:
        def positions() -> Expr:
            raise NotImplementedError("the indices of adaptive_max_pool are not supported, only the values")

        return pool(c, this, output_size), Later(positions)

    return both


def _greatest_backward(c: Context, grad_output: Value, this: Value, indices: Value) -> Any:
    """The gradient goes to the positions that the pool says."""
    rank = 3 if "3d" in c.name else 2
    lead = this.rank - rank
    flat = [_product(this.shape[lead:])]
    counts = [_product(grad_output.shape[lead:])]
    zeros = c.full(c.const(0, c.dtype), [*this.shape[:lead], *flat])
    places, given = (c.reshape(part, [*part.shape[:lead], *counts]) for part in (indices, grad_output))
    return c.reshape(c.call("scatter_elements", zeros, places, given, axis=lead, reduction="add"), list(this.shape))


def _product(extents: Any) -> Any:
    result: Any = 1
    for extent in extents:
        result = result * extent
    return result


def _average_backward(rank: int) -> Any:
    pool = _average(rank)

    def backward(c: Context, grad_output: Value, this: Value, kernel_size: Any, stride: Any, padding: Any, ceil_mode: Any,
                 count_include_pad: Any, divisor_override: Any) -> Any:  # fmt: skip
        def forward(data: Value) -> Expr:
            return pool(c, data, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

        return c.gradients(forward, [this], grad_output)[0]

    return backward


def _adaptive_backward(rank: int) -> Any:
    pool = _adaptive(rank, "avg")

    def backward(c: Context, grad_output: Value, this: Value) -> Any:
        sizes = grad_output.shape[grad_output.rank - rank :]
        return c.gradients(lambda data: pool(c, data, sizes), [this], grad_output)[0]

    return backward


for _rank in (1, 2, 3):
    converter(f"aten.avg_pool{_rank}d.default")(_average(_rank))
    converter(f"aten.max_pool{_rank}d_with_indices.default")(_greatest(_rank))
    converter(f"aten.{'_' if _rank > 1 else ''}adaptive_avg_pool{_rank}d.default")(_adaptive(_rank, "avg"))
    converter(f"aten.adaptive_max_pool{_rank}d.default")(_adaptive_greatest(_rank))
    if _rank > 1:
        converter(f"aten.avg_pool{_rank}d_backward.default")(_average_backward(_rank))
        converter(f"aten._adaptive_avg_pool{_rank}d_backward.default")(_adaptive_backward(_rank))
        converter(f"aten.max_pool{_rank}d_with_indices_backward.default")(_greatest_backward)
