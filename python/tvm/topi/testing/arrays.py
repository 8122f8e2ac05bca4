"""References that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def batch_to_space_nd_python(data: Any, block_shape: Sequence[int], crop_begin_list: Sequence[int], crop_end_list: Sequence[int]) -> Any:
    """Blocks of the batch laid out in space, then cropped."""
    data, rank = np.asarray(data), len(block_shape)
    left = data.shape[0] // int(np.prod(block_shape))
    out = data.reshape(*block_shape, left, *data.shape[1:])
    order = [rank] + [axis for i in range(rank) for axis in (rank + 1 + i, i)] + list(range(2 * rank + 1, out.ndim))
    out = out.transpose(order).reshape(left, *(d * b for d, b in zip(data.shape[1:], block_shape)), *data.shape[1 + rank :])
    crops = [slice(a, out.shape[1 + i] - b) for i, (a, b) in enumerate(zip(crop_begin_list, crop_end_list))]
    return out[(slice(None), *crops)]


def space_to_batch_nd_python(data: Any, block_shape: Sequence[int], pad_before: Sequence[int], pad_after: Sequence[int], pad_value: float = 0) -> Any:
    """Pads, then puts blocks of space into the batch."""
    data, rank = np.asarray(data), len(block_shape)
    pads = [(0, 0), *zip(pad_before, pad_after)] + [(0, 0)] * (data.ndim - 1 - rank)
    data = np.pad(data, pads, constant_values=pad_value)
    space = [n for d, b in zip(data.shape[1:], block_shape) for n in (d // b, b)]
    out = data.reshape(data.shape[0], *space, *data.shape[1 + rank :])
    order = [2 + 2 * i for i in range(rank)] + [0] + [1 + 2 * i for i in range(rank)] + list(range(1 + 2 * rank, out.ndim))
    rest = tuple(d // b for d, b in zip(data.shape[1:], block_shape))
    return out.transpose(order).reshape(-1, *rest, *data.shape[1 + rank :])


def depth_to_space_python(data: Any, block_size: int, mode: str = "DCR") -> Any:
    """Channels laid out as blocks; NCHW."""
    n, c, h, w = data.shape
    b, left = block_size, c // block_size**2
    if mode == "DCR":
        out = data.reshape(n, b, b, left, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        out = data.reshape(n, left, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return out.reshape(n, left, h * b, w * b)


def space_to_depth_python(data: Any, block_size: int) -> Any:
    """Blocks as channels; NCHW."""
    n, c, h, w = data.shape
    b = block_size
    return data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def dilate_python(input_np: Any, strides: Sequence[int], dilation_value: float = 0.0, out_dtype: Any = None) -> Any:
    """Elements with gaps between them."""
    out = np.full([(d - 1) * s + 1 for d, s in zip(input_np.shape, strides)], dilation_value, out_dtype or input_np.dtype)
    out[tuple(slice(None, None, s) for s in strides)] = input_np
    return out


def gather_python(data: Any, axis: int, indices: Any) -> Any:
    """Elements by indices along an axis."""
    return np.take_along_axis(data, np.asarray(indices, "int64"), axis)


def gather_nd_python(a_np: Any, indices_np: Any) -> Any:
    """Elements by indices whose first axis counts the axes that they index."""
    return a_np[tuple(np.asarray(indices_np, "int64"))]


def slice_axis_python(data: Any, axis: int, begin: int, end: int | None = None) -> Any:
    """A slice of one axis."""
    where = [slice(None)] * data.ndim
    where[axis] = slice(begin, end)
    return data[tuple(where)]


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int, dtype: Any) -> Any:
    """One value at the index along a new axis, another elsewhere."""
    hit = np.asarray(indices)[..., None] == np.arange(depth)
    return np.moveaxis(np.where(hit, on_value, off_value).astype(dtype), -1, axis)


def searchsorted_ref(sorted_sequence: Any, values: Any, right: bool, out_dtype: Any) -> Any:
    """Where values would be put into rows that are in order."""
    side: Any = "right" if right else "left"
    if np.ndim(sorted_sequence) == 1:
        found: Any = np.searchsorted(sorted_sequence, values, side)
        return found.astype(out_dtype)
    rows = zip(sorted_sequence.reshape(-1, sorted_sequence.shape[-1]), values.reshape(-1, values.shape[-1]))
    return np.stack([np.searchsorted(row, v, side) for row, v in rows]).reshape(values.shape).astype(out_dtype)


def sequence_mask(data: Any, valid_length: Any, mask_value: float, axis: int) -> Any:
    """The data with elements behind the length of each sequence replaced; the batch is the other one of the first two axes."""
    out = np.array(data)
    steps = np.arange(out.shape[axis])
    hit = steps[:, None] >= np.asarray(valid_length)[None, :]
    out[hit if axis == 0 else hit.T] = mask_value
    return out


def _steps(strides: Any, begin: Any) -> list[Any]:
    """A step for each axis; 1 where none is given."""
    steps = [] if strides is None else list(strides)
    return steps + [1] * (len(begin) - len(steps))


def strided_slice_python(data: Any, begin: Any, end: Any, strides: Any, slice_mode: str = "end", axes: Any = None) -> Any:
    """A slice along the first axes, or along those that are given."""
    steps = _steps(strides, begin)
    where = axes if axes is not None else range(len(begin))
    slices = [slice(None)] * data.ndim
    for axis, first, last, step in zip(where, begin, end, steps):
        if slice_mode == "size":
            slices[axis] = slice(first, None if last < 0 else first + last)
        else:
            slices[axis] = slice(first, last, step)
    return data[tuple(slices)]


def strided_set_python(data: Any, v: Any, begin: Any, end: Any, strides: Any) -> Any:
    """The array with other elements in a slice."""
    out = np.array(data)
    ends = list(end) + list(out.shape[len(end) : len(begin)])
    begins = list(begin) + [0] * (len(ends) - len(begin))
    out[tuple(slice(a, b, s) for a, b, s in zip(begins, ends, _steps(strides, begins)))] = v
    return out


def matrix_set_diag(input_np: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """The matrices with other diagonals, from the first to the last of `k`; short ones are aligned as `align` says above and below."""
    out = np.array(input_np)
    ends: Any = (k, k) if np.isscalar(k) else (k[0], k[-1])
    low, high = ends
    rows, cols = out.shape[-2:]
    above, below = align.split("_")
    diagonals = np.asarray(diagonal) if low != high else np.asarray(diagonal)[..., None, :]
    width = diagonals.shape[-1]
    for number, offset in enumerate(range(high, low - 1, -1)):
        length = min(rows + min(offset, 0), cols - max(offset, 0))
        start = width - length if (above if offset >= 0 else below) == "RIGHT" else 0
        at = np.arange(length)
        out[..., at - min(offset, 0), at + max(offset, 0)] = diagonals[..., number, start : start + length]
    return out
