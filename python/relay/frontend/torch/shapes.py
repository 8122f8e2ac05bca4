"""Operators that move elements and make tensors: views, slices, joins, constants."""

from __future__ import annotations

from typing import Any

from ..._core import Expr
from .context import Context, Value
from .registry import converter

__all__: list[str] = []

_END = 2**31 - 1


@converter("aten.view.default", "aten._unsafe_view.default", "aten.reshape.default")
def _view(c: Context, this: Value) -> Any:
    return c.reshape(this, list(c.out.shape), this.shape)


@converter("aten.unsqueeze.default")
def _unsqueeze(c: Context, this: Value, dim: int) -> Any:
    return c.call("expand_dims", this, axis=dim % (this.rank + 1), num_newaxis=1)


@converter("aten.squeeze")
def _squeeze(c: Context, this: Value, dim: Any) -> Any:
    axes = [axis for axis in (range(this.rank) if dim is None else this.axes(dim)) if isinstance(this.shape[axis], int) and this.shape[axis] == 1]
    return c.call("squeeze", this, axis=axes) if axes and dim != [] else this


@converter("aten.permute.default")
def _permute(c: Context, this: Value, dims: Any) -> Any:
    return c.call("transpose", this, axes=[this.axis(dim) for dim in dims]) if this.rank else this


@converter("aten.expand.default")
def _expand(c: Context, this: Value) -> Any:
    return c.broadcast(this, list(c.out.shape))


@converter("aten.repeat.default")
def _repeat(c: Context, this: Value, repeats: Any) -> Any:
    if any(isinstance(times, int) and times == 0 for times in repeats):
        return c.full(c.const(0, c.dtype), list(c.out.shape))
    reps = c.shape(repeats)
    return c.call("tile", this, reps=reps) if isinstance(reps, list) else c.call("dyn.tile", this, reps)


@converter("aten.cat.default")
def _cat(c: Context, tensors: Any, dim: int) -> Any:
    # A vector without elements joins anything, as in old PyTorch.
    parts = [part for part in tensors if part.rank == c.out.dim() or part.meta.numel() != 0]
    return c.call("concatenate", [c.cast(part, c.dtype) for part in parts], axis=dim % max(c.out.dim(), 1))


@converter("aten.slice.Tensor")
def _slice(c: Context, this: Value, dim: int, start: Any, end: Any, step: int) -> Any:
    begin = 0 if start is None else start
    stop = _END if end is None or (isinstance(end, int) and end > _END) else end
    if isinstance(begin, int) and begin == 0 and isinstance(stop, int) and stop == _END and step == 1:
        return this
    return c.slice(this, this.axis(dim), begin, stop, step)


@converter("aten.select.int")
def _select(c: Context, this: Value, dim: int, index: Any) -> Any:
    return c.call("take", this, position(c, this, dim, index), axis=this.axis(dim))


def position(c: Context, data: Value, dim: int, index: Any) -> Expr:
    """A position on an axis, counted from the front."""
    if isinstance(index, int) and index < 0:
        extent = data.shape[data.axis(dim)]
        if isinstance(extent, int):
            return c.const(index + extent, "int64")
        return c.call("add", c.const(extent, "int64"), c.const(index, "int64"))
    return c.const(index, "int64")


@converter("aten.split_with_sizes.default")
def _split(c: Context, this: Value, split_sizes: Any, dim: int) -> Any:
    axis, begin, parts = this.axis(dim), 0, []
    for size in split_sizes:
        parts.append(c.slice(this, axis, begin, begin + size))
        begin = begin + size
    return parts


@converter("aten.flip.default")
def _flip(c: Context, this: Value, dims: Any) -> Any:
    result = this.expr
    for dim in dims:
        result = c.call("reverse", result, axis=this.axis(dim))
    return result


@converter("aten.diagonal.default")
def _diagonal(c: Context, this: Value, offset: int, dim1: int, dim2: int) -> Any:
    first, second = this.axis(dim1), this.axis(dim2)
    rest = [axis for axis in range(this.rank) if axis not in (first, second)]
    moved = c.call("transpose", this, axes=[first, second, *rest])
    along = c.call("arange", c.const(0, "int64"), c.const(c.out.shape[-1], "int64"), c.const(1, "int64"), dtype="int64")
    rows = c.call("add", along, c.const(max(-offset, 0), "int64"))
    picked = c.call("adv_index", [moved, rows, c.call("add", along, c.const(max(offset, 0), "int64"))])
    return c.call("transpose", picked, axes=[*range(1, len(rest) + 1), 0])


@converter("aten.full.default", "aten.full_like.default")
def _full(c: Context, fill_value: Any) -> Any:
    return c.full(c.const(fill_value, c.dtype), list(c.out.shape))


@converter("aten.fill", "prims.fill.default")
def _fill(c: Context, value: Any) -> Any:
    return c.full(c.operand(value, c.dtype), list(c.out.shape))


@converter("aten.empty.memory_format", "aten.empty_strided.default", "aten.new_empty.default", "aten.new_empty_strided.default",
           "aten.empty_permuted.default")  # fmt: skip
def _empty(c: Context) -> Any:
    return c.full(c.const(0, c.dtype), list(c.out.shape))


@converter("aten.scalar_tensor.default")
def _scalar_tensor(c: Context, s: Any) -> Any:
    return c.const(s, c.dtype)


@converter("aten.arange", "prims.iota.default")
def _arange(c: Context, start: Any, end: Any, step: Any, length: Any) -> Any:
    if length is not None:
        # prims.iota: `length` steps.
        along = c.call("arange", c.const(0, c.dtype), c.const(length, c.dtype), c.const(1, c.dtype), dtype=c.dtype)
        return c.call("add", c.call("multiply", along, c.const(step, c.dtype)), c.const(start, c.dtype))
    first = 0 if start is None else start
    return c.call("arange", c.const(first, c.dtype), c.const(end, c.dtype), c.const(1 if step is None else step, c.dtype), dtype=c.dtype)


@converter("aten.constant_pad_nd.default")
def _constant_pad(c: Context, this: Value, pad: Any, value: Any) -> Any:
    result, width = this.expr, [[0, 0] for _ in range(this.rank)]
    for i in range(len(pad) // 2):
        axis, low, high = this.rank - 1 - i, pad[2 * i], pad[2 * i + 1]
        if isinstance(low, int) and isinstance(high, int) and (low < 0 or high < 0):
            extent = this.shape[axis]
            result = c.slice(result, axis, max(-low, 0), extent + min(high, 0) if isinstance(extent, int) else min(high, 0) or _END)
            low, high = max(low, 0), max(high, 0)
        width[axis] = [low, high]
    flat = c.shape([side for pair in width for side in pair])
    fill = c.const(value, c.dtype)
    if isinstance(flat, list):
        return c.call("nn.pad", result, fill, pad_width=width, pad_mode="constant") if any(flat) else result
    return c.call("dyn.nn.pad", result, c.call("reshape", flat, newshape=[this.rank, 2]), fill, pad_mode="constant")




def _edges(mode: str) -> Any:
    def pad(c: Context, this: Value, padding: Any) -> Any:
        width = [[0, 0] for _ in range(this.rank)]
        for i in range(len(padding) // 2):
            width[this.rank - 1 - i] = [padding[2 * i], padding[2 * i + 1]]
        return c.call("nn.pad", this, c.const(0, c.dtype), pad_width=width, pad_mode=mode)

    return pad


converter("aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default")(_edges("reflect"))
converter("aten.replication_pad1d.default", "aten.replication_pad2d.default", "aten.replication_pad3d.default")(_edges("edge"))


@converter("aten.select_scatter.default")
def _select_scatter(c: Context, this: Value, src: Value, dim: int, index: Any) -> Any:
    axis = this.axis(dim)
    return _written(c, this, axis, position(c, this, dim, index), c.call("expand_dims", src, axis=axis))


@converter("aten.slice_scatter.default")
def _slice_scatter(c: Context, this: Value, src: Value, dim: int, start: Any, end: Any, step: int) -> Any:
    axis = this.axis(dim)
    first = 0 if start is None else start
    if isinstance(first, int) and first < 0:
        first = max(first + this.shape[axis], 0) if isinstance(this.shape[axis], int) else position(c, this, dim, first)
    count = c.const(src.shape[axis], "int64")
    along = c.call("arange", c.const(0, "int64"), count, c.const(1, "int64"), dtype="int64")
    where = c.call("add", c.call("multiply", along, c.const(step, "int64")), c.const(first, "int64"))
    return _written(c, this, axis, where, src.expr)


def _written(c: Context, data: Value, axis: int, where: Expr, rows: Expr) -> Expr:
    order = [axis, *(other for other in range(data.rank) if other != axis)]
    back = [order.index(i) for i in range(data.rank)]
    turned = c.call("transpose", data, axes=order)
    indices = c.call("reshape", where, newshape=[1, -1])
    written = c.call("scatter_nd", turned, indices, c.call("transpose", rows, axes=order), mode="update")
    return c.call("transpose", written, axes=back)


@converter("aten.sym_size.int", "aten.sym_numel.default", "aten.sym_stride.int", "aten.sym_storage_offset.default",
           "aten._local_scalar_dense.default")  # fmt: skip
def _extent(c: Context) -> Any:
    return c.out  # an extent stands for itself


@converter("aten._assert_async.msg", "aten._assert_scalar.default", "aten._assert_tensor_metadata.default", "aten.sym_constrain_range.default",
           "aten.sym_constrain_range_for_size.default", "aten._assert_async.default")  # fmt: skip
def _checked(c: Context) -> Any:
    return None  # types and ranges of inputs say it


@converter("aten.diagonal_scatter.default")
def _diagonal_scatter(c: Context, this: Value, src: Value, offset: int, dim1: int, dim2: int) -> Any:
    first, second = this.axis(dim1), this.axis(dim2)
    order = [first, second, *(axis for axis in range(this.rank) if axis not in (first, second))]
    along = c.call("arange", c.const(0, "int64"), c.const(src.shape[-1], "int64"), c.const(1, "int64"), dtype="int64")
    places = [c.call("add", along, c.const(max(start, 0), "int64")) for start in (-offset, offset)]
    rows = c.call("transpose", c.cast(src, this.dtype), axes=[src.rank - 1, *range(src.rank - 1)])
    moved = c.call("scatter_nd", c.call("transpose", this, axes=order), c.call("stack", places, axis=0), rows, mode="update")
    return c.call("transpose", moved, axes=[order.index(axis) for axis in range(this.rank)])
