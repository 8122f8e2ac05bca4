"""Reading and writing at positions that are data."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..._core import Expr
from ...expr import const
from .context import Context, Value
from .elementwise import truth
from .registry import converter

__all__: list[str] = []


@converter("aten.embedding.default")
def _embedding(c: Context, weight: Value, indices: Value) -> Any:
    return c.call("take", weight, indices, axis=0, mode="fast")


@converter("aten.index_select.default")
def _index_select(c: Context, this: Value, dim: int, index: Value) -> Any:
    if not this.rank:
        return this
    return c.call("take", this, index, axis=this.axis(dim), mode="fast")


@converter("aten.gather.default")
def _gather(c: Context, this: Value, dim: int, index: Value) -> Any:
    if not this.rank:
        return c.broadcast(this, index.shape)
    if any(isinstance(size, int) and size == 0 for size in index.shape):
        return c.full(c.const(0, c.dtype), index.shape)
    return c.call("gather", _cut(c, this, index, this.axis(dim)), index, axis=this.axis(dim))


def _cut(c: Context, data: Value, like: Value, axis: int) -> Expr:
    """The data without what the indices do not reach on the other axes."""
    result = data.expr
    for other in range(data.rank):
        if other != axis and data.shape[other] != like.shape[other]:
            result = c.slice(result, other, 0, like.shape[other])
    return result


@converter("aten.nonzero.default")
def _nonzero(c: Context, this: Value) -> Any:
    return c.call("argwhere", this, dtype="int64")


def _columns(c: Context, data: Value, indices: Any) -> tuple[list[int], list[Expr]]:
    """The axes that are indexed, and a tensor of positions, counted from the front, for each. A mask gives one for each of its axes."""
    axes, found, axis = [], [], 0
    for index in indices:
        if index is None:
            axis += 1
        elif index.dtype in ("bool", "uint8"):
            places = c.call("argwhere", index, dtype="int64")
            for i in range(index.rank):
                axes.append(axis + i)
                found.append(c.call("take", places, const(i, "int64"), axis=1))
            axis += index.rank
        else:
            position = c.cast(index, "int64")
            below = c.call("less", position, c.const(0, "int64"))
            found.append(c.call("where", below, c.call("add", position, c.const(data.shape[axis], "int64")), position))
            axes.append(axis)
            axis += 1
    return axes, found


def _fronted(c: Context, data: Expr, axes: list[int], rank: int) -> tuple[Expr, list[int]]:
    order = axes + [axis for axis in range(rank) if axis not in axes]
    return (data if order == list(range(rank)) else c.call("transpose", data, axes=order)), order


@converter("aten.index.Tensor")
def _index(c: Context, this: Value, indices: Any) -> Any:
    axes, positions = _columns(c, this, indices)
    data, _ = _fronted(c, this.expr, axes, this.rank)
    result = c.call("take", data, positions[0], axis=0) if len(positions) == 1 else c.call("adv_index", [data, *positions])
    many = c.out.dim() - (this.rank - len(axes))
    if axes != list(range(axes[0], axes[0] + len(axes))) or axes[0] == 0:
        return result
    # Axes side by side are replaced where they stood.
    return c.call("transpose", result, axes=[*range(many, many + axes[0]), *range(many), *range(many + axes[0], c.out.dim())])


@converter("aten.index_put.default")
def _index_put(c: Context, this: Value, indices: Any, values: Value, accumulate: bool) -> Any:
    axes, positions = _columns(c, this, indices)
    data, order = _fronted(c, this.expr, axes, this.rank)
    together = positions[0]
    for other in positions[1:]:
        together = c.call("add", together, other)
    shape = c.call("shape_of", together, dtype="int64")
    where = c.call("stack", [c.call("dyn.broadcast_to", one, shape) for one in positions], axis=0)
    rest = [this.shape[axis] for axis in order[len(axes) :]]
    masks = any(index is not None and index.dtype in ("bool", "uint8") for index in indices)
    many = 1 if masks else max(index.rank for index in indices if index is not None)
    rows = c.cast(values, c.dtype)
    between = axes == list(range(axes[0], axes[0] + len(axes))) and axes[0] > 0
    if between and values.rank > 0:
        # The values stand where the indexed axes do; here those come first.
        lead = axes[0]
        full = many + len(rest)
        rows = c.call("expand_dims", rows, axis=0, num_newaxis=full - values.rank) if values.rank < full else rows
        rows = c.call("transpose", rows, axes=[*range(lead, lead + many), *range(lead), *range(lead + many, full)])
    target = c.shape(rest)
    tail = target if isinstance(target, Expr) else const(target, "int64") if target else None
    whole = shape if tail is None else c.call("concatenate", [shape, tail], axis=0)
    written = c.call("scatter_nd", data, where, c.call("dyn.broadcast_to", rows, whole), mode="add" if accumulate else "update")
    return written if order == list(range(this.rank)) else c.call("transpose", written, axes=[order.index(i) for i in range(this.rank)])


def _scatter(c: Context, this: Value, dim: int, index: Value, src: Expr, reduction: str) -> Any:
    if any(isinstance(size, int) and size == 0 for size in index.shape):
        return this
    return c.call("scatter_elements", this, index, src, axis=this.axis(dim), reduction=reduction)


@converter("aten.scatter.src")
def _scatter_src(c: Context, this: Value, dim: int, index: Value, src: Value) -> Any:
    return _scatter(c, this, dim, index, _cut(c, src, index, -1), "update")


@converter("aten.scatter.value")
def _scatter_value(c: Context, this: Value, dim: int, index: Value, value: Any) -> Any:
    return _scatter(c, this, dim, index, c.full(c.const(value, c.dtype), index.shape), "update")


@converter("aten.scatter_add.default")
def _scatter_add(c: Context, this: Value, dim: int, index: Value, src: Value) -> Any:
    return _scatter(c, this, dim, index, _cut(c, src, index, -1), "add")


@converter("aten.scatter_reduce.two")
def _scatter_reduce(c: Context, this: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool) -> Any:
    kind, none = {"sum": ("add", 0), "mean": ("add", 0), "prod": ("mul", 1), "amax": ("max", -math.inf), "amin": ("min", math.inf)}[reduce]
    rows, base = _cut(c, src, index, -1), this
    one, zero = c.const(1, c.dtype), c.const(0, c.dtype)
    ones, zeros = c.full(one, index.shape), c.full(zero, this.shape)
    if not include_self:
        # What an update reaches starts with what changes no result.
        reached = c.call("greater", scattered(c, zeros, this, dim, index, ones, "update"), zero)
        base = Value(c.call("where", reached, _bound(c, none), this), this.meta)
    result = c.expr(_scatter(c, base, dim, index, rows, kind))
    if reduce != "mean":
        return result
    start = c.full(one, this.shape) if include_self else c.call("where", reached, zero, one)
    counts = scattered(c, start, this, dim, index, ones, "add")
    return c.call("divide" if this.floating else "floor_divide", result, counts)


def scattered(c: Context, data: Expr, like: Value, dim: int, index: Value, rows: Expr, kind: str) -> Expr:
    """Data of the form of `like` with rows written at positions along an axis."""
    return c.expr(_scatter(c, Value(data, like.meta), dim, index, rows, kind))


def _bound(c: Context, value: float) -> Expr:
    """A number, or the least or greatest one of a dtype of whole numbers."""
    if not math.isinf(value) or c.dtype.startswith(("float", "bfloat")):
        return c.const(value, c.dtype)
    info = torch.iinfo(getattr(torch, c.dtype))
    return c.const(info.min if value < 0 else info.max, c.dtype)


@converter("aten.masked_scatter.default")
def _masked_scatter(c: Context, this: Value, mask: Value, source: Value) -> Any:
    whole = list(c.out.shape)
    chosen = c.call("reshape", c.broadcast(truth(c, mask), whole), newshape=[-1])
    if any(isinstance(size, int) and size == 0 for size in (*whole, *source.shape)):
        return c.broadcast(this, whole)
    # The n-th chosen element takes the n-th of the source; others look at the first and drop it.
    number = c.call("subtract", c.call("cumsum", c.call("cast", chosen, dtype="int64"), axis=0), c.const(1, "int64"))
    rows = c.call("take", c.call("reshape", source, newshape=[-1]), c.call("maximum", number, c.const(0, "int64")), axis=0, mode="clip")
    old = c.call("reshape", c.broadcast(this, whole), newshape=[-1])
    return c.reshape(c.call("where", chosen, rows, old), whole)


@converter("aten.bucketize.Tensor")
def _bucketize(c: Context, this: Value, boundaries: Value, right: bool) -> Any:
    dtype = c.common(this, boundaries)
    found = c.call("searchsorted", c.cast(boundaries, dtype), c.cast(this, dtype), right=bool(right), dtype="int64")
    return c.call("cast", found, dtype=c.dtype) if c.dtype != "int64" else found


@converter("aten.searchsorted.Tensor")
def _searchsorted(c: Context, sorted_sequence: Value, this: Value, right: bool, side: Any, sorter: Any) -> Any:
    dtype = c.common(sorted_sequence, this)
    sequence = c.cast(sorted_sequence, dtype)
    if sorter is not None:
        sequence = c.call("gather", sequence, sorter, axis=sorted_sequence.rank - 1)
    found = c.call("searchsorted", sequence, c.cast(this, dtype), right=bool(right) or side == "right", dtype="int64")
    return c.call("cast", found, dtype=c.dtype) if c.dtype != "int64" else found
