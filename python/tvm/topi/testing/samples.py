"""References of operators that read images between their elements: resize, grids, regions, deformed convolution."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def _place(at: int, size: int, target: int, mode: str) -> float:
    """The coordinate in the input of an element of the result."""
    if mode == "align_corners":
        return at * (size - 1) / (target - 1) if target > 1 else 0.0
    if mode == "asymmetric":
        return at * size / target
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return (at + 0.5) * size / target - 0.5 if mode == "half_pixel" or target > 1 else 0.0
    raise ValueError(f"no coordinates are called {mode!r}")


def _nearest_weights(place: float, mode: str) -> list[tuple[int, float]]:
    # Corners take the nearest element, other coordinates the one before; 1e-5 keeps exact places from falling short.
    return [(math.floor(place + 0.5) if mode == "align_corners" else math.floor(place + 1e-5), 1.0)]


def _linear_weights(place: float, mode: str) -> list[tuple[int, float]]:
    low = math.floor(place)
    return [(low, 1 - (place - low)), (low + 1, place - low)]


def _cubic_weights(place: float, mode: str) -> list[tuple[int, float]]:
    low, a = math.floor(place), -0.5

    def curve(x: float) -> float:
        x = abs(x)
        return (a + 2) * x**3 - (a + 3) * x**2 + 1 if x <= 1 else a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a

    return [(low + k, curve(place - (low + k))) for k in (-1, 0, 1, 2)]


_WEIGHTS: dict[str, Callable[[float, str], list[tuple[int, float]]]] = {
    "nearest_neighbor": _nearest_weights, "linear": _linear_weights, "bilinear": _linear_weights, "trilinear": _linear_weights,
    "cubic": _cubic_weights, "bicubic": _cubic_weights, "tricubic": _cubic_weights,
}  # fmt: skip


def _resized(data: Any, axis: int, target: int, method: str, mode: str) -> Any:
    """One axis resampled: a product with a matrix of weights; places outside are those of the edge."""
    if method not in _WEIGHTS:
        raise ValueError(f"no method is called {method!r}: there are {', '.join(_WEIGHTS)}")
    size = data.shape[axis]
    matrix = np.zeros((target, size))
    for at in range(target):
        place = _place(at, size, target, mode)
        for source, weight in _WEIGHTS[method](place, mode):
            matrix[at, min(max(source, 0), size - 1)] += weight
    return np.moveaxis(np.tensordot(matrix, np.moveaxis(data, axis, 0), 1), 0, axis)


def _resize(data: Any, scale: Sequence[float], layout: str, method: str, mode: str) -> Any:
    out = np.asarray(data, np.float64)
    for name, factor in zip([name for name in layout if name in "DHW"], scale):
        axis = layout.index(name)
        out = _resized(out, axis, round(data.shape[axis] * factor), method, mode)
    return out


def resize1d_python(data: Any, scale: Any, layout: str = "NCW", method: str = "nearest_neighbor", coordinate_transformation_mode: str = "align_corners") -> Any:
    """An axis of space resampled by a factor."""
    return _resize(data, [scale] if isinstance(scale, (int, float)) else scale, layout, method, coordinate_transformation_mode)


def resize2d_python(data: Any, scale: Any, layout: str = "NCHW", method: str = "nearest_neighbor", coordinate_transformation_mode: str = "align_corners") -> Any:
    """Two axes of space resampled by a factor each. Blocks of channels (NCHW4c) are resampled as they are."""
    return _resize(data, scale, layout, method, coordinate_transformation_mode)


def resize3d_python(data: Any, scale: Any, layout: str = "NCDHW", method: str = "nearest_neighbor", coordinate_transformation_mode: str = "align_corners") -> Any:
    """Three axes of space resampled by a factor each."""
    return _resize(data, scale, layout, method, coordinate_transformation_mode)


def _blend(image: Any, places: Sequence[float]) -> Any:
    """The linear mean of the elements around a place in the last axes; 0 for elements outside."""
    lows = [math.floor(place) for place in places]
    total = np.zeros(image.shape[: image.ndim - len(places)])
    for corner in itertools.product((0, 1), repeat=len(places)):
        at = [low + c for low, c in zip(lows, corner)]
        weight = math.prod(place - low if c else 1 - (place - low) for place, low, c in zip(places, lows, corner))
        if all(0 <= a < size for a, size in zip(at, image.shape[image.ndim - len(places) :])) and weight:
            total = total + weight * image[(..., *at)]
    return total


def affine_grid_python(data: Any, target_shape: Sequence[int]) -> Any:
    """The places that affine maps, (N, 2, 3), give the points of a grid: (N, 2, height, width), x before y."""
    height, width = target_shape
    ys, xs = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    points = np.stack([xs.ravel(), ys.ravel(), np.ones(height * width)])
    return (np.asarray(data).reshape(-1, 2, 3) @ points).reshape(-1, 2, height, width)


def _folded(place: float, size: int, padding_mode: str, align_corners: bool) -> float:
    if padding_mode == "border":
        return min(max(place, 0), size - 1)
    if padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        span = high - low
        if span == 0:
            return 0.0
        rest = (place - low) % (2 * span)
        return min(max(low + (rest if rest <= span else 2 * span - rest), 0), size - 1)
    return place


def _cubic_sample(image: Any, places: Sequence[float], padding_mode: str, align_corners: bool) -> Any:
    """Four elements along each axis, with the curve of a = -0.75; each element's own place is folded back into the image."""
    total = np.zeros(image.shape[: image.ndim - len(places)])
    a = -0.75

    def curve(x: float) -> float:
        x = abs(x)
        return (a + 2) * x**3 - (a + 3) * x**2 + 1 if x <= 1 else a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a

    for offsets in itertools.product((-1, 0, 1, 2), repeat=len(places)):
        at = [math.floor(place) + k for place, k in zip(places, offsets)]
        weight = math.prod(curve(place - b) for place, b in zip(places, at))
        sizes = image.shape[image.ndim - len(places) :]
        where = [round(_folded(b, size, padding_mode, align_corners)) for b, size in zip(at, sizes)]
        if all(0 <= b < size for b, size in zip(where, sizes)):
            total = total + weight * image[(..., *where)]
    return total


def grid_sample_python(
    data: Any, grid: Any, method: str = "bilinear", layout: str = "NCHW", padding_mode: str = "zeros", align_corners: bool = True
) -> Any:
    """Elements of images at places from -1 to 1 that a grid says, x first: ("bilinear", "nearest", "bicubic")."""
    rank = len(layout) - 2
    out = np.zeros((*data.shape[:2], *grid.shape[2:]), data.dtype)
    for batch in range(data.shape[0]):
        for at in np.ndindex(*grid.shape[2:]):
            places = []
            for axis, size in enumerate(data.shape[2:]):
                unit = grid[(batch, rank - 1 - axis, *at)]
                places.append((unit + 1) * (size - 1) / 2 if align_corners else ((unit + 1) * size - 1) / 2)
            if method != "bicubic":
                places = [_folded(place, size, padding_mode, align_corners) for place, size in zip(places, data.shape[2:])]
            if method == "nearest":
                places = [float(np.round(place)) for place in places]
            if method == "bicubic":
                value = _cubic_sample(data[batch], places, padding_mode, align_corners)
            else:
                value = _blend(data[batch], places)
            place: Any = (batch, slice(None), *at)
            out[place] = value
    return out


def crop_and_resize_python(
    image: Any, boxes: Any, box_indices: Any, crop_size: Sequence[int], layout: str, method: str = "bilinear", extrapolation_value: float = 0
) -> Any:
    """Parts of images, in shares of their height and width, resampled to one size."""
    data = image if layout == "NCHW" else np.moveaxis(image, -1, 1)
    height, width = crop_size
    tall, wide = data.shape[2:]
    out = np.full((len(boxes), data.shape[1], height, width), extrapolation_value, np.float64)
    for number, ((y1, x1, y2, x2), source) in enumerate(zip(boxes, box_indices)):
        for i, j in itertools.product(range(height), range(width)):
            y = y1 * (tall - 1) + i * (y2 - y1) * (tall - 1) / (height - 1) if height > 1 else (y1 + y2) * (tall - 1) / 2
            x = x1 * (wide - 1) + j * (x2 - x1) * (wide - 1) / (width - 1) if width > 1 else (x1 + x2) * (wide - 1) / 2
            if not (0 <= y <= tall - 1 and 0 <= x <= wide - 1):
                continue
            picture = data[int(source)]
            out[number, :, i, j] = _blend(picture, [y, x]) if method == "bilinear" else picture[:, math.floor(y + 0.5), math.floor(x + 0.5)]
    out = out.astype(image.dtype)
    return out if layout == "NCHW" else np.moveaxis(out, 1, -1)


def _region_sample(picture: Any, y: float, x: float) -> Any:
    """One sample of a region: 0 beyond a pixel around the image, the edge within it."""
    tall, wide = picture.shape[1:]
    if y < -1 or y > tall or x < -1 or x > wide:
        return np.zeros(picture.shape[0])
    return _blend(picture, [min(max(y, 0), tall - 1), min(max(x, 0), wide - 1)])


def roi_align_nchw_python(a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int, mode: Any = b"avg") -> Any:
    """Means or largest samples of the bins of regions: each row is an image's number and two corners, x before y."""
    height, width = (pooled_size, pooled_size) if isinstance(pooled_size, int) else pooled_size
    best = mode in (b"max", "max", 1)
    out = np.zeros((len(rois_np), a_np.shape[1], height, width), a_np.dtype)
    for number, (image, *corners) in enumerate(rois_np):
        x1, y1, x2, y2 = (corner * spatial_scale for corner in corners)
        bin_h, bin_w = max(y2 - y1, 1.0) / height, max(x2 - x1, 1.0) / width
        rows = sample_ratio if sample_ratio > 0 else math.ceil(bin_h)
        columns = sample_ratio if sample_ratio > 0 else math.ceil(bin_w)
        for i, j in itertools.product(range(height), range(width)):
            found = [
                _region_sample(a_np[int(image)], y1 + (i + (a + 0.5) / rows) * bin_h, x1 + (j + (b + 0.5) / columns) * bin_w)
                for a, b in itertools.product(range(rows), range(columns))
            ]
            out[number, :, i, j] = np.max(found, axis=0) if best else np.mean(found, axis=0)
    return out


def roi_align_nhwc_python(a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int, mode: Any = b"avg") -> Any:
    """The same with the channel axis last."""
    return np.moveaxis(roi_align_nchw_python(np.moveaxis(a_np, -1, 1), rois_np, pooled_size, spatial_scale, sample_ratio, mode), 1, -1)


def roi_pool_nchw_python(a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float) -> Any:
    """The largest elements of the bins of regions whose corners are rounded to elements; 0 for an empty bin."""
    height, width = (pooled_size, pooled_size) if isinstance(pooled_size, int) else pooled_size
    tall, wide = a_np.shape[2:]
    out = np.zeros((len(rois_np), a_np.shape[1], height, width), a_np.dtype)
    for number, (image, *corners) in enumerate(rois_np):
        x1, y1, x2, y2 = (math.floor(corner * spatial_scale + 0.5) for corner in corners)
        bin_h, bin_w = max(y2 - y1 + 1, 1) / height, max(x2 - x1 + 1, 1) / width
        for i, j in itertools.product(range(height), range(width)):
            ys = slice(min(max(math.floor(i * bin_h) + y1, 0), tall), min(max(math.ceil((i + 1) * bin_h) + y1, 0), tall))
            xs = slice(min(max(math.floor(j * bin_w) + x1, 0), wide), min(max(math.ceil((j + 1) * bin_w) + x1, 0), wide))
            part = a_np[int(image), :, ys, xs]
            if part.size:
                out[number, :, i, j] = part.max(axis=(1, 2))
    return out


def deformable_conv2d_nchw_python(
    a_np: Any, offset_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any, deformable_groups: int, groups: int
) -> Any:
    """A convolution whose taps are moved by offsets, y before x, and read between elements; 0 around the image."""
    (sh, sw), (dh, dw) = [(v, v) if isinstance(v, int) else tuple(v) for v in (stride, dilation)]
    pads = [padding] * 2 if isinstance(padding, int) else list(padding)
    top, left = pads[0], pads[1]
    n, channels, _, _ = a_np.shape
    filters, per_group, kh, kw = w_np.shape
    rows, columns = offset_np.shape[2:]
    taps = np.zeros((n, channels, kh, kw, rows, columns))
    share = channels // deformable_groups
    offsets = offset_np.reshape(n, deformable_groups, kh, kw, 2, rows, columns)
    for b, g, y, x, i, j in np.ndindex(n, deformable_groups, kh, kw, rows, columns):
        dy, dx = offsets[b, g, y, x, :, i, j]
        taps[b, g * share : (g + 1) * share, y, x, i, j] = _blend(
            a_np[b, g * share : (g + 1) * share], [i * sh - top + y * dh + float(dy), j * sw - left + x * dw + float(dx)]
        )
    split = taps.reshape(n, groups, channels // groups, kh, kw, rows, columns)
    weight = w_np.reshape(groups, filters // groups, per_group, kh, kw)
    return np.einsum("gfcyx,ngcyxij->ngfij", weight, split).reshape(n, filters, rows, columns).astype(a_np.dtype)


def deformable_conv2d_nhwc_python(
    a_np: Any, offset_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any, deformable_groups: int, groups: int
) -> Any:
    """The same with the channel axis last; weights are HWIO."""
    first, offsets = (np.moveaxis(array, -1, 1) for array in (a_np, offset_np))
    out = deformable_conv2d_nchw_python(first, offsets, np.transpose(w_np, (3, 2, 0, 1)), stride, padding, dilation, deformable_groups, groups)
    return np.moveaxis(out, 1, -1)
