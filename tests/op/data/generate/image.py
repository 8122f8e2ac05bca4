"""image: crops, grids and dilation. PyTorch samples; NumPy does the rest."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F

from .core import Type, draw, narrow, reference, steps, wide
from .resize import resize, spatial

@reference("image.crop_and_resize")
def crop_and_resize(
    x, boxes, indices, *, crop_size, layout="NCHW", method="bilinear", extrapolation_value=0.0, out_dtype=None
):
    batch = layout.index("N")
    results = [
        resize(
            np.take(x, [int(n)], axis=batch),
            size=crop_size,
            layout=layout,
            roi=[float(b) for b in box],
            method="linear" if method == "bilinear" else method,
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=extrapolation_value,
            out_dtype=out_dtype,
        )
        for box, n in zip(boxes, indices)
    ]
    if results:
        return np.concatenate(results, axis=batch)
    shape = list(x.shape)
    shape[batch] = 0
    for axis, extent in zip(spatial(layout), crop_size):
        shape[axis] = extent
    return np.zeros(shape, out_dtype or x.dtype)


def build_crops(book):
    op = "image.crop_and_resize"
    boxes = np.array(
        [[0, 0, 1, 1], [0.25, 0.1, 0.8, 0.9], [0.9, 0.8, 0.1, 0.2], [-0.3, 0.5, 0.5, 1.6], [0.5, 0.5, 0.5, 0.5], [0.125, 0.25, 1, 0.75]],
        "float32",
    )
    which = np.array([0, 1, 1, 0, 1, 0], "int32")
    x = draw("crop", (2, 2, 4, 5), "float32")
    for method, size in itertools.product(("bilinear", "nearest_neighbor"), ([3, 4], [1, 1], [6, 2])):
        book.add(op, f"{method} {size}", [x, boxes, which], crop_size=size, method=method)
    book.add(op, "extrapolation", [x, boxes, which], crop_size=[3, 3], extrapolation_value=7.5)
    book.add(op, "int64 indices", [x, boxes, which.astype("int64")], crop_size=[3, 3])
    y = draw("crop last", (2, 4, 5, 3), "float32")
    for method in ("bilinear", "nearest_neighbor"):
        book.add(op, f"NHWC {method}", [y, boxes, which], crop_size=[3, 3], layout="NHWC", method=method)
    for dtype in ("float64", "float16", "uint8", "int32"):
        grid = np.array([[0, 0, 1, 1], [0, 0.5, 1, 1]], "float32")  # whole elements: one result for integers
        y = draw(("crop", dtype), (2, 1, 3, 5), dtype)
        book.add(op, dtype, [y, grid, which[:2]], crop_size=[3, 3])
    book.add(op, "to float64", [x, boxes, which], crop_size=[2, 2], out_dtype="float64")
    book.add(op, "no boxes", [x, boxes[:0], which[:0]], crop_size=[2, 2])
    book.add(op, "no extent", [x, boxes, which], crop_size=[0, 2])
    odd = boxes.copy()
    odd[1, 0], odd[2, 3] = np.nan, np.inf
    for method in ("bilinear", "nearest_neighbor"):
        book.add(op, f"boxes that are no numbers are outside, {method}", [x, odd, which], crop_size=[2, 2], method=method, extrapolation_value=1.5)
    for bad in (2, -1):
        book.fail_running(op, f"image {bad}", "the index of an image is below the extent of the batch", [x, boxes[:1], np.array([bad], "int32")], crop_size=[2, 2])
    t = [Type("float32", 2, 2, 4, 5), Type("float32", 3, 4), Type("int32", 3)]
    book.fail(op, "boxes of three numbers", "the shape of the boxes is (n, 4)", [t[0], Type("float32", 3, 3), t[2]], crop_size=[2, 2])
    book.fail(op, "indices of another length", "the indices have an entry for each box", [t[0], t[1], Type("int32", 2)], crop_size=[2, 2])
    book.fail(op, "no crop size", "crop_size has two extents and is missing", t)
    book.fail(op, "crop size of one number", "crop_size has two extents", t, crop_size=[2])
    book.fail(op, "float indices", "indices are integers", [t[0], t[1], Type("float32", 3)], crop_size=[2, 2])
    book.fail(op, "cubic", "there is no such method", t, crop_size=[2, 2], method="bicubic")
    book.fail(op, "images without elements", "the extents of the data are positive: elements come from others", [Type("float32", 2, 2, 0, 5), t[1], t[2]], crop_size=[2, 2])


@reference("image.affine_grid")
def affine_grid(theta, *, target_shape):
    grids = F.affine_grid(
        torch.from_numpy(wide(theta)), [theta.shape[0], 1, *target_shape], align_corners=True
    ).numpy()
    return narrow(np.moveaxis(grids, -1, 1), theta.dtype)


@reference("image.grid_sample")
def grid_sample(x, grid, *, method="bilinear", layout="NCHW", padding_mode="zeros", align_corners=True):
    order = [layout.index(c) for c in ("NCDHW" if "D" in layout else "NCHW")]
    data = torch.from_numpy(wide(x).transpose(order).copy())
    places = torch.from_numpy(np.moveaxis(wide(grid), 1, -1).copy())
    answer = F.grid_sample(data, places, mode=method, padding_mode=padding_mode, align_corners=align_corners)
    return narrow(answer.numpy().transpose(np.argsort(order)), x.dtype)


def build_grids(book):
    op = "image.affine_grid"
    for shape in ([3, 4], [2, 1], [1, 5], [4, 19]):
        theta = draw((op, shape), (2, 2, 3), "float32")
        book.add(op, f"to {shape}", [theta], "torch", target_shape=shape)
    for dtype in ("float64", "float16"):
        book.add(op, dtype, [draw((op, dtype), (1, 2, 3), dtype)], "torch", target_shape=[3, 2])
    book.fail(op, "matrices of three rows", "a matrix is two by three", [Type("float32", 1, 3, 3)], target_shape=[2, 2])
    book.fail(op, "three extents", "the grid has two extents", [Type("float32", 1, 2, 3)], target_shape=[2, 2, 2])
    book.fail(op, "negative extent", "an extent is not negative", [Type("float32", 1, 2, 3)], target_shape=[2, -2])
    book.fail(op, "integers", "matrices are of floats", [Type("int32", 1, 2, 3)], target_shape=[2, 2])
    op = "image.grid_sample"
    images, volumes = (2, 2, 4, 5), (1, 2, 3, 4, 3)
    for shape, methods in ((images, ("nearest", "bilinear", "bicubic")), (volumes, ("nearest", "bilinear"))):
        dims = len(shape) - 2
        for method, padding, corners in itertools.product(methods, ("zeros", "border", "reflection"), (True, False)):
            # Places off the halves, where rounding of a place would choose.
            grid = draw((method, padding, corners, dims), (shape[0], dims, *[3, 4, 2][:dims]), "float32", -2, 2) + np.float32(0.0013)
            x = draw((op, dims), shape, "float32")
            label = f"{dims}d {method} {padding} {'corners' if corners else 'edges'}"
            attributes = {"method": method, "padding_mode": padding, "align_corners": corners}
            if dims == 3:
                attributes["layout"] = "NCDHW"
            book.add(op, label, [x, grid], "torch", tolerance=2e-5, **attributes)
    x = draw((op, "last"), (2, 4, 5, 3), "float32")
    grid = draw((op, "grid last"), (2, 2, 3, 19), "float32", -1, 1)
    book.add(op, "NHWC, a row longer than vectors", [x, grid], "torch", layout="NHWC")
    halves = np.array([[-1.5, -0.5, 0.5, 1.5, 2.5, 3.5]], "float32") / 2 - 1  # of five elements between -1 and 1
    grid = np.stack([halves, np.zeros_like(halves)])[None]
    x = steps((1, 1, 1, 5))
    book.add(op, "nearest takes halves to the even element", [x, grid], "torch", method="nearest", padding_mode="border")
    for dtype in ("float64", "float16"):
        x = draw((op, dtype), (1, 2, 3, 4), dtype)
        grid = draw((op, dtype, "grid"), (1, 2, 2, 3), dtype, -1, 1)
        book.add(op, dtype, [x, grid], "torch", tolerance=None if dtype == "float64" else 2e-2)
    one = draw((op, "one"), (1, 2, 1, 1), "float32")
    grid = draw((op, "one grid"), (1, 2, 3, 3), "float32")
    for padding in ("zeros", "border"):
        book.add(op, f"one element {padding}", [one, grid], "torch", padding_mode=padding)
    t = Type("float32", 1, 2, 3, 4)
    book.fail(op, "grid of three numbers for images", "the extents of data and grid agree: a place has two entries along its axis", [t, Type("float32", 1, 3, 2, 2)])
    book.fail(op, "grid of another batch", "grids and images differ in number along the axis of the batch", [t, Type("float32", 2, 2, 2, 2)])
    book.fail(op, "grid of another rank", "the grid has the data's rank", [t, Type("float32", 1, 2, 2, 2, 2)])
    book.fail(op, "unknown padding", "there is no such padding", [t, Type("float32", 1, 2, 2, 2)], padding_mode="wrap")
    book.fail(op, "cubic volumes", "the layout of cubic data is that of images", [Type("float32", 1, 2, 3, 3, 3), Type("float32", 1, 3, 2, 2, 2)], method="bicubic", layout="NCDHW")
    book.fail(op, "integers", "floats are interpolated", [Type("int32", 1, 2, 3, 4), Type("float32", 1, 2, 2, 2)])
    book.fail(op, "a border of nothing", "the data has elements at its border", [Type("float32", 1, 2, 0, 4), Type("float32", 1, 2, 2, 2)], padding_mode="border")


@reference("image.dilation2d")
def dilation2d(
    x, w, *, strides=(1, 1), padding=(0, 0), dilations=(1, 1), data_layout="NCHW", kernel_layout="IHW", out_dtype=None
):
    order = [data_layout.index(c) for c in "NCHW"]
    kernel = wide(w).transpose([kernel_layout.index(c) for c in "IHW"])
    strides, dilations = ([v[0]] * 2 if len(v) == 1 else list(v) for v in (strides, dilations))
    p = list(padding)
    p = [p[0]] * 4 if len(p) == 1 else p * 2 if len(p) == 2 else p
    data = np.pad(wide(x).transpose(order), [(0, 0), (0, 0), (p[0], p[2]), (p[1], p[3])])
    span = [(k - 1) * d + 1 for k, d in zip(kernel.shape[1:], dilations)]
    windows = np.lib.stride_tricks.sliding_window_view(data, span, axis=(2, 3))
    windows = windows[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]
    result = (windows + kernel[None, :, None, None]).max((-2, -1)).transpose(np.argsort(order))
    return narrow(result, out_dtype or x.dtype)


def build_dilation(book):
    op = "image.dilation2d"
    x, w = draw("dilation", (2, 3, 6, 7), "float32"), draw("kernel", (3, 2, 3), "float32", -1, 1)
    for label, attributes in [
        ("plain", {}),
        ("strides", {"strides": [2, 3]}),
        ("dilations", {"dilations": [2, 3]}),
        ("padding", {"padding": [1, 2]}),
        ("four paddings", {"padding": [0, 1, 2, 0]}),
        ("one of each", {"padding": [1], "strides": [2], "dilations": [2]}),
        ("all", {"padding": [1, 1, 2, 2], "strides": [2, 1], "dilations": [3, 2]}),
        ("to float64", {"out_dtype": "float64"}),
    ]:
        book.add(op, label, [x, w], **attributes)
    y, v = draw("dilation last", (1, 4, 5, 3), "float32"), draw("kernel last", (2, 2, 3), "float32")
    book.add(op, "NHWC", [y, v], padding=[1, 1], data_layout="NHWC", kernel_layout="HWI")
    for dtype in ("float64", "float16", "int32", "int64", "uint8"):
        y, v = draw((op, dtype), (1, 2, 3, 4), dtype), draw((op, dtype, "w"), (2, 2, 2), dtype)
        book.add(op, dtype, [y, v], padding=[1, 1])
    book.add(op, "no images", [draw(op, (0, 2, 3, 3), "float32"), draw("w", (2, 2, 2), "float32")])
    odd = x.copy()
    odd[0, 0, 2, 2], odd[1, 1, 3, 3] = np.nan, -np.inf
    book.add(op, "not-a-number and infinity", [odd, w])
    t = Type("float32", 1, 2, 4, 4)
    book.fail(op, "kernel of other channels", "each channel has a kernel", [t, Type("float32", 3, 2, 2)])
    book.fail(op, "kernel larger than the data", "the window fits along the axis", [t, Type("float32", 2, 5, 2)])
    book.fail(op, "kernel of rank 4", "the kernel has rank 3", [t, Type("float32", 1, 2, 2, 2)])
    book.fail(op, "empty kernel", "the kernel has a tap", [t, Type("float32", 2, 0, 2)])
    book.fail(op, "two dtypes", "data and kernel have one dtype", [t, Type("float64", 2, 2, 2)])
    book.fail(op, "stride 0", "strides are positive", [t, Type("float32", 2, 2, 2)], strides=[0, 1])


def build(book):
    build_crops(book)
    build_grids(book)
    build_dilation(book)
