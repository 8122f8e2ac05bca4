"""Pictures, signals and volumes in other extents, at other places, and as windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from ..._core import Expr
from ...expr import const
from .context import Context, Later, Value
from .registry import converter

__all__: list[str] = []


def _resize(kind: str, rank: int) -> Any:
    method = {"nearest": "nearest_neighbor", "linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}[kind]

    def resize(c: Context, this: Any, input: Any, align_corners: Any, scale_factors: Any, scales: Any, scales_h: Any, scales_w: Any,  # noqa: A002
               scales_d: Any) -> Expr:  # fmt: skip
        data = this if this is not None else input
        given = scale_factors or {1: [scales], 2: [scales_h, scales_w], 3: [scales_d, scales_h, scales_w]}[rank]
        return _resized(c, data, method, bool(align_corners), [None] * rank if given is None else list(given))

    return resize


for _kind, _rank in (("nearest", 1), ("nearest", 2), ("nearest", 3), ("linear", 1), ("bilinear", 2), ("trilinear", 3), ("bicubic", 2)):
    converter(f"aten.upsample_{_kind}{_rank}d")(_resize(_kind, _rank))


def _resized(c: Context, data: Value, method: str, aligned: bool, scales: list[Any]) -> Expr:
    rank, sizes = len(scales), list(c.out.shape[2:])
    open_ = [size for size in (*sizes, *data.shape[2:]) if not isinstance(size, int)]
    if not open_ and not aligned and any(_skewed(scale, old, new) for scale, old, new in zip(scales, data.shape[2:], sizes)):
        return _mapped(c, data, [_taps(method, scale or new / old, old, new) for scale, old, new in zip(scales, data.shape[2:], sizes)])
    transform = "asymmetric" if method == "nearest_neighbor" else "align_corners" if aligned else "half_pixel"
    attrs: dict[str, Any] = {"layout": "NC" + "DHW"[3 - rank :] if rank > 1 else "NCW", "method": method, "coordinate_transformation_mode": transform}
    attrs |= {"nearest_neighbor": {"rounding_method": "floor"}, "cubic": {"cubic_alpha": -0.75}}.get(method, {})
    if not open_:
        return c.call(f"image.resize{rank}d", data, size=sizes, **attrs)
    if rank != 2:
        raise NotImplementedError("a signal or volume of open size that is resized")
    shape = c.shape(sizes)
    shape = const(shape, "int64") if isinstance(shape, list) else shape
    made = c.call("dyn.image.resize2d", data, shape, const(np.zeros(4, "float32")), **attrs)
    return c.reshape(made, list(c.out.shape))


def _skewed(scale: Any, old: int, new: int) -> bool:
    """True for a factor that is not the quotient of the extents: PyTorch takes places by the factor then."""
    return isinstance(scale, float) and old > 0 and abs(scale * old - new) > 1e-6 * new


def _taps(method: str, scale: float, old: int, new: int) -> np.ndarray[Any, Any]:
    """The matrix (new, old) of an interpolation whose places follow from a factor."""
    matrix = np.zeros((new, old))
    for i in range(new):
        if method == "nearest_neighbor":
            matrix[i, min(int(np.float32(i) * np.float32(1 / scale)), old - 1)] = 1
            continue
        place = (i + 0.5) / scale - 0.5
        place = max(place, 0.0) if method == "linear" else place
        begin = math.floor(place)
        for j, weight in enumerate(_weights(method, place - begin), begin - (method == "cubic")):
            matrix[i, min(max(j, 0), old - 1)] += weight
    return matrix


def _weights(method: str, t: float) -> list[float]:
    if method == "linear":
        return [1 - t, t]

    def curve(x: float, a: float = -0.75) -> float:
        x = abs(x)
        return ((a + 2) * x - (a + 3)) * x * x + 1 if x <= 1 else ((x - 5) * x + 8) * a * x - 4 * a

    return [curve(t + 1), curve(t), curve(1 - t), curve(2 - t)]


def _mapped(c: Context, data: Value, matrices: list[np.ndarray[Any, Any]]) -> Expr:
    """The data with a matrix applied along each spatial axis."""
    result = data.expr
    for axis, matrix in enumerate(matrices, 2):
        order = [other for other in range(data.rank) if other != axis] + [axis]
        turned = result if order[-1] == order[axis] and axis == data.rank - 1 else c.call("transpose", result, axes=order)
        turned = c.call("nn.matmul", turned, const(np.ascontiguousarray(matrix.T), c.dtype))
        result = turned if axis == data.rank - 1 else c.call("transpose", turned, axes=[order.index(i) for i in range(data.rank)])
    return result


def _antialiased(kind: str) -> Any:
    def resize(c: Context, this: Any, input: Any, align_corners: bool, scale_factors: Any, scales_h: Any, scales_w: Any) -> Expr:  # noqa: A002
        data = this if this is not None else input
        if not all(isinstance(size, int) for size in (*data.shape[2:], *c.out.shape[2:])):
            raise NotImplementedError("a picture of open size that is resized with antialias")
        given = scale_factors or [scales_h, scales_w]
        return _mapped(c, data, [_spread(kind, scale, old, new, align_corners) for scale, old, new in zip(given, data.shape[2:], c.out.shape[2:])])

    return resize


def _spread(kind: str, scale: Any, old: int, new: int, aligned: bool) -> np.ndarray[Any, Any]:
    """The matrix of an interpolation whose curve is as wide as the step between its places."""
    step = (old - 1) / (new - 1) if aligned and new > 1 else 0.0 if aligned else 1 / scale if scale else old / new
    reach = (1 if kind == "bilinear" else 2) * max(step, 1.0)
    matrix = np.zeros((new, old))
    for i in range(new):
        centre = step * (i + 0.5)
        begin, end = max(int(centre - reach + 0.5), 0), min(int(centre + reach + 0.5), old)
        apart = np.abs((np.arange(begin, end) - centre + 0.5) / max(step, 1.0))
        if kind == "bilinear":
            weights = np.maximum(1 - apart, 0)
        else:
            near, far = (1.5 * apart - 2.5) * apart * apart + 1, ((-0.5 * apart + 2.5) * apart - 4) * apart + 2
            weights = np.where(apart < 1, near, np.where(apart < 2, far, 0))
        matrix[i, begin:end] = weights / weights.sum()
    return matrix


converter("aten._upsample_bilinear2d_aa")(_antialiased("bilinear"))
converter("aten._upsample_bicubic2d_aa")(_antialiased("bicubic"))


@converter("aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
def _grid_sampler(c: Context, input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:  # noqa: A002
    rank = input.rank
    places = c.call("transpose", grid, axes=[0, rank - 1, *range(1, rank - 1)])
    return c.call("image.grid_sample", input, places, method=["bilinear", "nearest", "bicubic"][interpolation_mode],
                  padding_mode=["zeros", "border", "reflection"][padding_mode], align_corners=bool(align_corners),
                  layout="NCHW" if rank == 4 else "NCDHW")  # fmt: skip


def _pair(sizes: Any) -> list[int]:
    return [int(size) for size in (sizes if len(sizes) == 2 else [*sizes, *sizes])]


@converter("aten.col2im.default")
def _col2im(c: Context, this: Value, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    if not all(isinstance(size, int) for size in output_size):
        raise NotImplementedError("windows that are put together to a picture of open size")
    sizes, kernel, apart, low, step = map(_pair, (output_size, kernel_size, dilation, padding, stride))
    rows = []
    for size, length, gap, edge, hop in zip(sizes, kernel, apart, low, step):
        count = (size + 2 * edge - gap * (length - 1) - 1) // hop + 1
        rows.append((np.arange(length)[:, None] * gap + np.arange(count)[None] * hop, size + 2 * edge))
    (down, height), (across, width) = rows
    # Elements of windows lie as (kernel row, kernel column, window row, window column); the border is cut off in the end.
    places = down[:, None, :, None] * width + across[None, :, None, :]
    batch, channels = (1, this.shape[0]) if this.rank == 2 else this.shape[:2]
    lead = batch * (channels // (kernel[0] * kernel[1]))
    flat = c.call("transpose", c.reshape(this, [lead, places.size]), axes=[1, 0])
    zeros = c.full(c.const(0, c.dtype), [height * width, lead])
    summed = c.call("scatter_nd", zeros, const(places.reshape(1, -1), "int64"), flat, mode="add")
    result = c.reshape(c.call("transpose", summed, axes=[1, 0]), [lead, height, width])
    for axis, (size, edge) in enumerate(zip(sizes, low), 1):
        result = c.slice(result, axis, edge, edge + size) if edge else result
    return c.reshape(result, list(c.out.shape))


@converter("aten.unfold.default")
def _unfold(c: Context, this: Value, dimension: int, size: int, step: int) -> Any:
    if not this.rank:
        return c.reshape(this, list(c.out.shape))
    axis = this.axis(dimension)
    count = c.out.shape[axis]
    first = c.call("arange", c.const(0, "int64"), c.const(count, "int64"), c.const(1, "int64"), dtype="int64")
    first = c.call("multiply", first, c.const(step, "int64"))
    within = const(np.arange(size, dtype="int64")[None], "int64")
    places = c.call("add", c.call("reshape", first, newshape=[-1, 1]), within)
    taken = c.call("take", this, places, axis=axis)
    order = [*range(axis + 1), *range(axis + 2, this.rank + 1), axis + 1]
    return taken if order == list(range(this.rank + 1)) else c.call("transpose", taken, axes=order)


@converter("aten._cdist_forward.default")
def _cdist(c: Context, x1: Value, x2: Value, p: float) -> Any:
    return _distance(c, c.call("subtract", c.call("expand_dims", x1, axis=x1.rank - 1), c.call("expand_dims", x2, axis=x2.rank - 2)), p)


@converter("aten._pdist_forward.default")
def _pdist(c: Context, this: Value, p: float) -> Any:
    if not isinstance(this.shape[0], int):
        raise NotImplementedError("distances within an open number of rows")
    first, second = (const(side.astype("int64"), "int64") for side in np.triu_indices(this.shape[0], 1))
    return _distance(c, c.call("subtract", c.call("take", this, first, axis=0), c.call("take", this, second, axis=0)), p)


def _distance(c: Context, apart: Expr, p: float) -> Expr:
    if p == 0:
        return c.call("sum", c.call("cast", c.call("not_equal", apart, c.const(0, c.dtype)), dtype=c.dtype), axis=[-1])
    if p == 2:
        return c.call("sqrt", c.call("sum", c.call("multiply", apart, apart), axis=[-1]))
    size = c.call("abs", apart)
    if p == 1 or p == math.inf:
        return c.call("sum" if p == 1 else "max", size, axis=[-1])
    return c.call("power", c.call("sum", c.call("power", size, c.const(p, c.dtype)), axis=[-1]), c.const(1 / p, c.dtype))


@converter("aten._embedding_bag.default", "aten._embedding_bag_forward_only.default")
def _embedding_bag(c: Context, weight: Value, indices: Value, offsets: Value, mode: int, per_sample_weights: Any, include_last_offset: bool,
                   padding_idx: int) -> Any:  # fmt: skip
    bags, width = c.out[0].shape
    starts = c.slice(c.cast(offsets, "int64"), 0, 0, bags) if include_last_offset else c.cast(offsets, "int64")
    count = c.const(indices.shape[0], "int64")
    along = c.call("arange", c.const(0, "int64"), count, c.const(1, "int64"), dtype="int64")
    bag = c.call("subtract", c.call("searchsorted", starts, along, right=True, dtype="int64"), c.const(1, "int64"))
    rows = c.call("take", weight, indices, axis=0)
    if per_sample_weights is not None:
        rows = c.call("multiply", rows, c.call("expand_dims", per_sample_weights, axis=1))
    where, ones = c.call("expand_dims", bag, axis=0), c.full(c.const(1, c.dtype), [indices.shape[0]])
    none = -math.inf if mode == 2 else 0
    if padding_idx >= 0:
        kept = c.call("not_equal", indices, c.const(padding_idx, indices.dtype))
        rows = c.call("where", c.call("expand_dims", kept, axis=1), rows, c.const(none, c.dtype))
        ones = c.call("cast", kept, dtype=c.dtype)
    counts = c.call("scatter_nd", c.full(c.const(0, c.dtype), [bags]), where, ones, mode="add")
    result = c.call("scatter_nd", c.full(c.const(none, c.dtype), [bags, width]), where, rows, mode="max" if mode == 2 else "add")
    column = c.call("expand_dims", counts, axis=1)
    if mode == 1:
        result = c.call("divide", result, c.call("maximum", column, c.const(1, c.dtype)))
    elif mode == 2:
        result = c.call("where", c.call("greater", column, c.const(0, c.dtype)), result, c.const(0, c.dtype))
    # The other results are notes of PyTorch for the gradient, whose form depends on the mode.
    return result, *(_notes(c, i) for i in (1, 2, 3))


def _notes(c: Context, i: int) -> Any:
    def make() -> Expr:
        raise NotImplementedError(f"result {i} of embedding_bag, which only its gradient reads")

    return Later(make)


def _same(numbers: Any, others: Any) -> bool:
    """True for numbers or extents that are the same terms."""
    first, second = ([number.node.expr if isinstance(number, torch.SymInt) else number for number in part] for part in (numbers, others))
    return first == second


@converter("aten.as_strided.default")
def _as_strided(c: Context, this: Value, size: Any, stride: Any, storage_offset: Any) -> Any:
    """Elements at places of the memory, which the tensor fills without gaps in the order of its strides."""
    if _same(size, this.shape) and _same([storage_offset or 0], [this.meta.storage_offset()]):
        hops = [(hop, own) for extent, hop, own in zip(size, stride, this.meta.stride()) if not isinstance(extent, int) or extent != 1]
        if _same([hop for hop, _ in hops], [own for _, own in hops]):
            return this.expr
    numbers = (*this.shape, *this.meta.stride(), *size, *stride, storage_offset or 0)
    if not all(isinstance(number, int) for number in numbers):
        raise NotImplementedError("as_strided of open extents")
    order = sorted(range(this.rank), key=lambda axis: (-this.meta.stride(axis), axis))
    expected = 1
    for axis in reversed(order):
        if this.shape[axis] != 1 and this.meta.stride(axis) != expected:
            raise NotImplementedError("as_strided of a tensor that does not fill its memory")
        expected *= this.shape[axis]
    begin = int(storage_offset or 0) - int(this.meta.storage_offset())
    places = np.full((), begin, "int64")
    for extent, hop in zip(size, stride):
        places = places[..., None] + np.arange(extent) * hop
    if places.size and not 0 <= places.min() <= places.max() < expected:
        raise NotImplementedError("as_strided outside of the tensor's own elements")
    data = c.call("transpose", this, axes=order) if order != list(range(this.rank)) else this.expr
    return c.call("take", c.call("reshape", data, newshape=[-1]), const(places, "int64"), axis=0)
