"""References of operators that look at windows of their input: pools, their gradients, correlation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def _channels_first(layout: str | None, rank: int) -> bool:
    """True if the channel axis stands before the axes of space. Raises ValueError for other layouts."""
    space = "DHW"[3 - rank :] if rank <= 3 else ""
    if layout in (None, "NC" + space):
        return True
    if layout == "N" + space + "C":
        return False
    raise ValueError(f"no layout {layout} of {rank} dimensions of space: there are NC{space} and N{space}C")


def poolnd_python(
    np_data: Any, kernel: Sequence[int], strides: Sequence[int], dilation: Sequence[int], padding_before: Sequence[int],
    padding_after: Sequence[int], pool_type: str, count_include_pad: bool = True, ceil_mode: bool = False, dtype: str = "float32",
    layout: str | None = None,
) -> Any:  # fmt: skip
    """The largest ("max") or the mean ("avg") element of each window, in as many dimensions of space as the kernel has."""
    rank = len(kernel)
    if not _channels_first(layout, rank):
        moved = poolnd_python(np.moveaxis(np_data, -1, 1), kernel, strides, dilation, padding_before, padding_after, pool_type,
                              count_include_pad, ceil_mode, dtype)  # fmt: skip
        return np.moveaxis(moved, 1, -1)
    extents, more = [], []
    for size, k, s, d, before, after in zip(np_data.shape[2:], kernel, strides, dilation, padding_before, padding_after):
        room = size + before + after - d * (k - 1) - 1
        extents.append((-(-room // s) if ceil_mode else room // s) + 1)
        # The last window may reach beyond the padding.
        more.append(max(0, (extents[-1] - 1) * s + d * (k - 1) + 1 - (size + before + after)))
    whole = [(0, 0), (0, 0)]
    edges = [(before, after + beyond) for before, after, beyond in zip(padding_before, padding_after, more)]
    lowest = np.finfo(np_data.dtype).min if np_data.dtype.kind == "f" else np.iinfo(np_data.dtype).min
    padded = np.pad(np_data, whole + edges, constant_values=lowest if pool_type == "max" else 0)
    counted = np.pad(np.ones(np_data.shape[2:]), list(zip(padding_before, padding_after)), constant_values=float(count_include_pad))
    counted = np.pad(counted, [(0, beyond) for beyond in more])
    windows, counts = [], []
    for tap in itertools.product(*(range(k) for k in kernel)):
        where = tuple(slice(t * d, t * d + (e - 1) * s + 1, s) for t, d, e, s in zip(tap, dilation, extents, strides))
        windows.append(padded[(slice(None), slice(None), *where)])
        counts.append(counted[where])
    if pool_type == "max":
        return np.max(windows, axis=0).astype(dtype)
    if pool_type != "avg":
        raise ValueError(f"no pool is called {pool_type!r}: there are max and avg")
    total = np.sum(windows, axis=0, dtype=np.float64 if np_data.dtype.kind == "f" else np.int64)
    return (total / np.maximum(np.sum(counts, axis=0), 1)).astype(dtype)


def pool_grad_nchw(
    a_np: Any, out_grad_np: Any, pool_size: Sequence[int], strides: Sequence[int], padding: Sequence[int], pool_type: str, ceil_mode: bool,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The gradient of a pool in two dimensions: each element gets its part of the gradients of the windows that it is in."""
    n, c, h, w = a_np.shape
    (kh, kw), (sh, sw) = pool_size, strides
    top, left, bottom, right = padding
    rows, columns = out_grad_np.shape[2:]
    tall, wide = max(h + top + bottom, (rows - 1) * sh + kh), max(w + left + right, (columns - 1) * sw + kw)
    padded = np.full((n, c, tall, wide), -np.inf if pool_type == "max" else 0.0)
    padded[:, :, top : top + h, left : left + w] = a_np
    inside = np.zeros((tall, wide))
    inside[: h + top + bottom, : w + left + right] = float(count_include_pad)
    inside[top : top + h, left : left + w] = 1
    out = np.zeros(padded.shape)
    for i, j in itertools.product(range(rows), range(columns)):
        ys, xs = slice(i * sh, i * sh + kh), slice(j * sw, j * sw + kw)
        gradient = out_grad_np[:, :, i, j]
        if pool_type == "avg":
            out[:, :, ys, xs] += (gradient / max(inside[ys, xs].sum(), 1))[:, :, None, None]
        else:
            first = padded[:, :, ys, xs].reshape(n, c, -1).argmax(-1)
            for a, b in itertools.product(range(n), range(c)):
                out[a, b, i * sh + first[a, b] // kw, j * sw + first[a, b] % kw] += gradient[a, b]
    return out[:, :, top : top + h, left : left + w].astype(a_np.dtype)


def adaptive_pool(np_data: Any, out_size: Sequence[int] | int, pool_type: str, layout: str) -> Any:
    """Means or largest elements of as many parts of nearly the same size as the result has elements."""
    operations: dict[str, Any] = {"avg": np.mean, "max": np.max}
    operation = operations[pool_type]
    rank = np_data.ndim - 2
    first = _channels_first(layout, rank)
    data = np_data if first else np.moveaxis(np_data, -1, 1)
    sizes = [out_size] * rank if isinstance(out_size, int) else list(out_size)
    out: Any = np.zeros((*data.shape[:2], *sizes), np_data.dtype)
    for at in np.ndindex(*sizes):
        where = tuple(slice(i * size // o, -(-(i + 1) * size // o)) for i, size, o in zip(at, data.shape[2:], sizes))
        out[(slice(None), slice(None), *at)] = operation(data[(slice(None), slice(None), *where)], axis=tuple(range(2, data.ndim)))
    return out if first else np.moveaxis(out, 1, -1)


def correlation_nchw_python(
    data1: Any, data2: Any, kernel_size: int, max_displacement: int, stride1: int, stride2: int, padding: int, is_multiply: bool
) -> Any:
    """Products, or distances, of patches of one image and shifted patches of another one; a channel for each shift."""
    edges = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    one, two = np.pad(data1, edges), np.pad(data2, edges)
    n, c, h, w = one.shape
    radius = (kernel_size - 1) // 2
    border = max_displacement + radius
    rows, columns = -(-(h - 2 * border) // stride1), -(-(w - 2 * border) // stride1)
    steps = max_displacement // stride2
    out = np.zeros((n, (2 * steps + 1) ** 2, rows, columns))
    for i, j in itertools.product(range(rows), range(columns)):
        y, x = i * stride1 + max_displacement, j * stride1 + max_displacement
        patch = one[:, :, y : y + kernel_size, x : x + kernel_size]
        for number, (p, o) in enumerate(itertools.product(range(-steps, steps + 1), repeat=2)):
            b, a = y + p * stride2, x + o * stride2
            other = two[:, :, b : b + kernel_size, a : a + kernel_size]
            out[:, number, i, j] = (patch * other if is_multiply else np.abs(patch - other)).sum(axis=(1, 2, 3))
    return (out / (kernel_size**2 * c)).astype(data1.dtype)


def reorg_python(a_np: Any, stride: int) -> Any:
    """The channels of YOLO's reorganisation: rows and columns at one remainder, in the order of Darknet."""
    n, c, h, w = a_np.shape
    left = c // stride**2
    # Darknet takes the input for one of (c / s²) channels, s h rows and s w columns.
    wide = a_np.reshape(n, left, h * stride, w * stride)
    parts = [wide[:, :, i::stride, j::stride] for i in range(stride) for j in range(stride)]
    return np.concatenate(parts, axis=1).reshape(n, c * stride**2, h // stride, w // stride)
