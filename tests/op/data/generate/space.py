"""nn: blocks of space, windows, deformable convolution; layouts. ONNX, PyTorch and torchvision agree where they have the same."""

import itertools

import numpy as np
import torch
import torchvision
import torch.nn.functional as F

from .core import Type, draw, narrow, reference, steps, wide

# Blocks ----------------------------------------------------------------------------------------------------------


def channels_first(x, layout):
    order = [layout.index(c) for c in "NCHW"]
    return np.transpose(x, order), np.argsort(order)


@reference("nn.depth_to_space")
def depth_to_space(x, *, block_size, layout="NCHW", mode="DCR"):
    data, undo = channels_first(x, layout)
    n, c, h, w = data.shape
    b = block_size
    if mode == "DCR":
        parts = data.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = data.reshape(n, c // b**2, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // b**2, h * b, w * b).transpose(undo)


@reference("nn.space_to_depth")
def space_to_depth(x, *, block_size, layout="NCHW", mode="DCR"):
    data, undo = channels_first(x, layout)
    n, c, h, w = data.shape
    b = block_size
    parts = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(n, c * b * b, h // b, w // b).transpose(undo)


@reference("nn.space_to_batch_nd")
def space_to_batch(x, *, block_shape, paddings, pad_value=0.0):
    m = len(block_shape)
    rest = x.ndim - 1 - m
    x = np.pad(x, [(0, 0), *map(tuple, paddings)] + [(0, 0)] * rest, constant_values=np.asarray(pad_value).astype(x.dtype))
    shape = [x.shape[0]]
    for extent, block in zip(x.shape[1:], block_shape):
        shape += [extent // block, block]
    parts = x.reshape(shape + list(x.shape[1 + m :]))
    order = [2 + 2 * d for d in range(m)] + [0] + [1 + 2 * d for d in range(m)] + list(range(1 + 2 * m, parts.ndim))
    parts = parts.transpose(order)
    return parts.reshape(int(np.prod(block_shape)) * x.shape[0], *parts.shape[m + 1 :])


@reference("nn.batch_to_space_nd")
def batch_to_space(x, *, block_shape, crops):
    m = len(block_shape)
    batch = x.shape[0] // int(np.prod(block_shape))
    parts = x.reshape(*block_shape, batch, *x.shape[1:])
    order = [m] + [a for d in range(m) for a in (m + 1 + d, d)] + list(range(2 * m + 1, parts.ndim))
    whole = parts.transpose(order).reshape(
        batch, *[e * b for e, b in zip(x.shape[1:], block_shape)], *x.shape[1 + m :]
    )
    cuts = [slice(None)] + [slice(a, e - b) for (a, b), e in zip(crops, whole.shape[1:])]
    return whole[tuple(cuts)]


@reference("nn.dilate")
def dilate(x, *, strides, dilation_value=0.0):
    shape = [(e - 1) * s + 1 if e else 0 for e, s in zip(x.shape, strides)]
    result = np.full(shape, dilation_value, x.dtype)
    result[tuple(slice(None, None, s) for s in strides)] = x
    return result


def build_blocks(book):
    for op, shapes in (
        ("nn.depth_to_space", ((1, 8, 2, 3), (2, 18, 1, 2))),
        ("nn.space_to_depth", ((1, 2, 4, 6), (2, 1, 3, 6))),
    ):
        for (shape, block), mode in itertools.product(zip(shapes, (2, 3)), ("DCR", "CRD")):
            x = steps(shape)
            book.add(op, f"block {block} {mode}", [x], exact=True, block_size=block, mode=mode)
            if op == "nn.depth_to_space" and mode == "CRD":
                assert np.array_equal(book_output(book), F.pixel_shuffle(torch.from_numpy(x), block).numpy())
                book.records[-1]["source"] = "torch"
        last = tuple(shapes[0][i] for i in (0, 2, 3, 1))
        for mode in ("DCR", "CRD"):
            book.add(op, f"NHWC {mode}", [steps(last)], exact=True, block_size=2, layout="NHWC", mode=mode)
        book.add(op, "block 1", [steps((1, 2, 3, 2))], exact=True, block_size=1)
        book.add(op, "no images", [steps((0, 4, 2, 2))], exact=True, block_size=2)
        book.add(op, "a row longer than vectors", [steps((1, 4, 2, 38))], exact=True, block_size=2)
        for dtype in ("float64", "float16", "int64", "uint8", "bool"):
            book.add(op, dtype, [draw((op, dtype), (1, 4, 2, 2), dtype)], exact=True, block_size=2)
        book.fail(op, "blocks that do not divide", "blocks divide the extent", [Type("float32", 1, 6, 3, 3)], block_size=2)
        book.fail(op, "block 0", "the size of a block is positive", [Type("float32", 1, 4, 2, 2)], block_size=0)
        book.fail(op, "rank 3", "the data has rank 4", [Type("float32", 4, 2, 2)], block_size=2)
        book.fail(op, "blocked layout", "the layout has no blocks: the data has rank 4", [Type("float32", 1, 1, 2, 2, 4)], block_size=2, layout="NCHW4c")
    book.fail("nn.depth_to_space", "unknown mode", "there is no such mode", [Type("float32", 1, 4, 2, 2)], block_size=2, mode="RCD")

    op = "nn.space_to_batch_nd"
    for label, shape, attributes in (
        ("two axes", (1, 4, 6, 2), {"block_shape": [2, 3], "paddings": [[0, 0], [0, 0]]}),
        ("padded", (2, 3, 4, 1), {"block_shape": [2, 2], "paddings": [[1, 0], [2, 2]]}),
        ("pad value", (1, 3, 1), {"block_shape": [2], "paddings": [[0, 1]], "pad_value": -2.5}),
        ("no axes", (3, 2), {"block_shape": [], "paddings": []}),
        ("three axes", (1, 2, 2, 2), {"block_shape": [2, 1, 2], "paddings": [[0, 0]] * 3}),
        ("block 1", (2, 3), {"block_shape": [1], "paddings": [[0, 0]]}),
        ("no batch", (0, 4, 3), {"block_shape": [2], "paddings": [[0, 0]]}),
        ("only padding", (1, 0, 2), {"block_shape": [2], "paddings": [[1, 1]], "pad_value": 3.0}),
        ("long rows", (1, 2, 40), {"block_shape": [2, 2], "paddings": [[0, 0], [1, 1]]}),
    ):
        book.add(op, label, [draw((op, label), shape, "float32")], exact=True, **attributes)
    for dtype in ("float64", "float16", "int64", "uint8"):
        book.add(op, dtype, [draw((op, dtype), (1, 3, 2), dtype)], exact=True, block_shape=[2, 2], paddings=[[0, 1], [0, 0]], pad_value=3.0)
    t = Type("float32", 1, 4, 3)
    book.fail(op, "blocks that do not divide", "blocks divide the padded extent", [t], block_shape=[3], paddings=[[0, 0]])
    book.fail(op, "too many blocks", "each block has an axis", [t], block_shape=[1, 1, 1], paddings=[[0, 0]] * 3)
    book.fail(op, "paddings of another number", "each entry of the blocks has a pair of paddings", [t], block_shape=[2], paddings=[])
    book.fail(op, "padding of three", "a padding is a pair", [t], block_shape=[2], paddings=[[0, 0, 0]])
    book.fail(op, "negative padding", "entries of paddings are not negative", [t], block_shape=[2], paddings=[[-2, 0]])
    book.fail(op, "pad value that is no integer", "the value fits the dtype", [Type("int32", 1, 4)], block_shape=[2], paddings=[[0, 0]], pad_value=0.5)
    op = "nn.batch_to_space_nd"
    for label, shape, attributes in (
        ("two axes", (6, 2, 3, 2), {"block_shape": [2, 3], "crops": [[0, 0], [0, 0]]}),
        ("crops", (8, 2, 3), {"block_shape": [2, 2], "crops": [[1, 0], [2, 1]]}),
        ("crops all", (2, 2), {"block_shape": [2], "crops": [[1, 3]]}),
        ("no axes", (3, 2), {"block_shape": [], "crops": []}),
        ("one axis of three", (4, 2, 3), {"block_shape": [2], "crops": [[0, 1]]}),
        ("no batch", (0, 4, 3), {"block_shape": [2], "crops": [[0, 0]]}),
        ("long rows", (4, 2, 20), {"block_shape": [2, 2], "crops": [[0, 0], [1, 1]]}),
    ):
        book.add(op, label, [draw((op, label), shape, "float32")], exact=True, **attributes)
    for dtype in ("float64", "float16", "int64", "uint8", "bool"):
        book.add(op, dtype, [draw((op, dtype), (4, 2, 3), dtype)], exact=True, block_shape=[2, 2], crops=[[0, 1], [0, 0]])
    book.fail(op, "blocks that do not divide", "blocks divide the batch", [Type("float32", 3, 4)], block_shape=[2], crops=[[0, 0]])
    book.fail(op, "crops beyond the data", "there are enough elements along the axis to cut off", [Type("float32", 2, 2)], block_shape=[2], crops=[[2, 3]])
    book.fail(op, "block 0", "the size of a block is positive", [Type("float32", 2, 2)], block_shape=[0], crops=[[0, 0]])

    op = "nn.dilate"
    for label, shape, strides in (
        ("matrix", (3, 4), [2, 3]),
        ("one axis", (2, 5), [1, 2]),
        ("strides 1", (2, 3), [1, 1]),
        ("extent 0", (0, 3), [2, 2]),
        ("extent 1", (1, 1), [3, 4]),
        ("scalar", (), []),
        ("rank 4", (1, 2, 3, 2), [1, 1, 2, 2]),
    ):
        book.add(op, label, [draw((op, label), shape, "float32")], exact=True, strides=strides)
    for dtype in ("float64", "float16", "int64", "uint8"):
        book.add(op, dtype, [draw((op, dtype), (2, 3), dtype)], exact=True, strides=[2, 2], dilation_value=7.0)
    book.add(op, "a fraction between", [draw(op, (2, 3), "float32")], exact=True, strides=[1, 2], dilation_value=-0.5)
    book.fail(op, "strides of another rank", "each axis has a stride", [Type("float32", 2, 3)], strides=[2])
    book.fail(op, "stride 0", "strides are positive", [Type("float32", 2, 3)], strides=[1, 0])
    book.fail(op, "value that is no integer", "the value fits the dtype", [Type("int8", 2, 3)], strides=[1, 2], dilation_value=0.5)
    book.fail(op, "value beyond the dtype", "the value fits the dtype", [Type("uint8", 2, 3)], strides=[1, 2], dilation_value=256.0)


def book_output(book):
    record = book.records[-1]["outputs"][0]
    return np.array(record["values"], record["dtype"]).reshape(record["shape"])


# Windows ---------------------------------------------------------------------------------------------------------


@reference("nn.lrn")
def lrn(x, *, size=5, axis=1, bias=2.0, alpha=0.0001, beta=0.75):
    if 0 in x.shape:
        return x
    data = np.moveaxis(wide(x), axis, -1)
    before = (size - 1) // 2
    padded = np.pad(data**2, [(0, 0)] * (x.ndim - 1) + [(before, size - 1 - before)])
    sums = np.lib.stride_tricks.sliding_window_view(padded, size, axis=-1).sum(-1)
    return narrow(np.moveaxis(data / (bias + alpha * sums / size) ** beta, -1, axis), x.dtype)


@reference("nn.correlation")
def correlation(
    x, y, *, kernel_size=1, max_displacement=1, stride1=1, stride2=1, padding=(0, 0), is_multiply=True, layout="NCHW"
):
    (a, undo), (b, _) = channels_first(wide(x), layout), channels_first(wide(y), layout)
    p = list(padding)
    p = [p[0]] * 4 if len(p) == 1 else p * 2 if len(p) == 2 else p
    a, b = (np.pad(v, [(0, 0), (0, 0), (p[0], p[2]), (p[1], p[3])]) for v in (a, b))
    border = max_displacement + kernel_size // 2
    out = [-(-(e - 2 * border) // stride1) for e in a.shape[2:]]
    radius = max_displacement // stride2
    moves = [m * stride2 for m in range(-radius, radius + 1)]
    result = np.zeros((a.shape[0], len(moves) ** 2, *out))
    for n, (q, (dy, dx)), i, j in itertools.product(
        range(a.shape[0]), enumerate(itertools.product(moves, moves)), range(out[0]), range(out[1])
    ):
        top, left = i * stride1 + max_displacement, j * stride1 + max_displacement
        one = a[n, :, top : top + kernel_size, left : left + kernel_size]
        two = b[n, :, top + dy : top + dy + kernel_size, left + dx : left + dx + kernel_size]
        result[n, q, i, j] = (one * two if is_multiply else np.abs(one - two)).mean()
    return narrow(result.transpose(undo), x.dtype)


@reference("nn.fifo_buffer")
def fifo_buffer(x, buffer, *, axis=0):
    kept = np.take(buffer, range(x.shape[axis], buffer.shape[axis]), axis=axis)
    return np.concatenate([kept, x], axis=axis)


@reference("sliding_window")
def sliding_window(x, *, axis, window_shape, strides):
    axis %= x.ndim
    view = np.lib.stride_tricks.sliding_window_view(x, window_shape, axis=tuple(range(axis, x.ndim)))
    return view[(slice(None),) * axis + tuple(slice(None, None, s) for s in strides)]


def build_windows(book):
    op = "nn.lrn"
    x = draw(op, (2, 7, 3, 2), "float32")
    for size, axis in itertools.product((1, 3, 5, 4, 9), (1, 3, -2)):
        book.add(op, f"size {size} axis {axis}", [x], size=size, axis=axis, alpha=0.5, bias=1.0)
    for size in (3, 4):
        answer = F.local_response_norm(torch.from_numpy(x), size, alpha=0.5, beta=0.75, k=1.0).numpy()
        if size == 3:
            assert np.allclose(answer, lrn(x, size=size, alpha=0.5, bias=1.0), atol=1e-6)
    book.add(op, "defaults", [x])
    book.add(op, "beta 2", [x], beta=2.0, alpha=1.0, bias=1.5)
    for dtype in ("float64", "float16"):
        book.add(op, dtype, [draw((op, dtype), (1, 5, 2), dtype)], size=3, alpha=0.5, bias=1.0)
    book.add(op, "extent 0", [draw(op, (1, 0, 2), "float32")])
    book.fail(op, "size 0", "the size is positive", [Type("float32", 1, 3)], size=0)
    book.fail(op, "axis out of range", "the axis is one of the data's", [Type("float32", 1, 3)], axis=2)
    book.fail(op, "integers", "floats are normalised", [Type("int32", 1, 3)])
    op = "nn.correlation"
    a, b = draw((op, 1), (2, 3, 6, 7), "float32"), draw((op, 2), (2, 3, 6, 7), "float32")
    for label, attributes in (
        ("plain", {}),
        ("padded", {"padding": [1, 1]}),
        ("differences", {"padding": [1], "is_multiply": False}),
        ("patches of three", {"kernel_size": 3, "padding": [2, 2]}),
        ("strides", {"max_displacement": 2, "stride1": 2, "stride2": 2, "padding": [2, 3]}),
        ("stride beyond the displacement", {"stride2": 3, "padding": [0, 1, 2, 0]}),
        ("no displacement", {"max_displacement": 0, "kernel_size": 3}),
        ("all", {"kernel_size": 3, "max_displacement": 3, "stride1": 2, "stride2": 2, "padding": [3, 4], "is_multiply": False}),
    ):
        book.add(op, label, [a, b], **attributes)
    last = [np.transpose(v, (0, 2, 3, 1)).copy() for v in (a, b)]
    book.add(op, "NHWC", last, padding=[1, 1], layout="NHWC")
    for dtype in ("float64", "float16"):
        book.add(op, dtype, [draw((op, dtype, k), (1, 2, 3, 3), dtype) for k in (1, 2)], padding=[1, 1])
    book.add(op, "no images", [v[:0] for v in (a, b)])
    t = Type("float32", 1, 2, 5, 5)
    book.fail(op, "two shapes", "both have one shape", [t, Type("float32", 1, 2, 5, 4)])
    book.fail(op, "even patches", "kernel sizes are odd", [t, t], kernel_size=2)
    book.fail(op, "displacement beyond the data", "patches fit along the axes", [t, t], max_displacement=3)
    book.fail(op, "stride 0", "strides are positive", [t, t], stride1=0)
    book.fail(op, "two dtypes", "both have one dtype", [t, Type("float64", 1, 2, 5, 5)])
    op = "nn.fifo_buffer"
    for label, data, buffer, axis in (
        ("vector", (2,), (5,), 0),
        ("as long as the buffer", (4, 2), (4, 2), 0),
        ("nothing new", (0, 2), (3, 2), 0),
        ("axis 1", (2, 1, 3), (2, 4, 3), 1),
        ("last axis", (2, 3), (2, 20), -1),
    ):
        book.add(op, label, [draw((op, label, 1), data, "float32"), draw((op, label, 2), buffer, "float32")], exact=True, axis=axis)
    for dtype in ("float64", "float16", "int64", "uint8", "bool"):
        book.add(op, dtype, [draw((op, dtype, 1), (2, 3), dtype), draw((op, dtype, 2), (3, 3), dtype)], exact=True)
    book.fail(op, "longer than the buffer", "the data is not longer along the axis", [Type("float32", 3), Type("float32", 2)])
    book.fail(op, "other extents", "extents agree off the axis", [Type("float32", 1, 3), Type("float32", 2, 2)])
    book.fail(op, "two dtypes", "both have one dtype", [Type("float32", 1), Type("int32", 2)])
    book.fail(op, "axis out of range", "the axis is one of the buffer's", [Type("float32", 1), Type("float32", 2)], axis=1)
    op = "sliding_window"
    for label, shape, axis, window, by in (
        ("vector", (7,), 0, [3], [2]),
        ("last axis", (2, 9), 1, [4], [1]),
        ("negative axis", (2, 3, 4), -2, [2, 2], [1, 2]),
        ("the whole", (3, 4), 0, [3, 4], [1, 1]),
        ("windows of one", (2, 3), 0, [1, 1], [1, 2]),
        ("no rows", (0, 5), 1, [2], [1]),
        ("long windows", (1, 40), 1, [19], [3]),
    ):
        book.add(op, label, [steps(shape)], exact=True, axis=axis, window_shape=window, strides=by)
    for dtype in ("float64", "float16", "int64", "uint8", "bool"):
        book.add(op, dtype, [draw((op, dtype), (2, 5), dtype)], exact=True, axis=1, window_shape=[2], strides=[2])
    t = Type("float32", 4, 5)
    book.fail(op, "window larger than the data", "the window fits along the axis", [t], axis=1, window_shape=[6], strides=[1])
    book.fail(op, "too few extents", "the window has every axis from the first on", [t], axis=0, window_shape=[2], strides=[1])
    book.fail(op, "strides of another number", "each axis has a stride", [t], axis=1, window_shape=[2], strides=[1, 1])
    book.fail(op, "window 0", "the entries of a window are positive", [t], axis=1, window_shape=[0], strides=[1])
    book.fail(op, "axis out of range", "the axis is one of the data's", [t], axis=2, window_shape=[1], strides=[1])


# Layouts ---------------------------------------------------------------------------------------------------------


def places(layout):
    """[(axis, block)]: block 0 is the axis itself."""
    result, number = [], ""
    for c in layout:
        if c.isdigit():
            number += c
        else:
            result.append((c.upper(), int(number) if number else 0))
            number = ""
    return result


def whole(x, layout, axes):
    """The tensor with an axis for each letter of `axes`, blocks joined."""
    parts = places(layout)
    order = [i for a in axes for i in sorted((i for i, p in enumerate(parts) if p[0] == a), key=lambda i: parts[i][1] != 0)]
    moved = x.transpose(order)
    shape = [int(np.prod([x.shape[i] for i, p in enumerate(parts) if p[0] == a])) for a in axes]
    return moved.reshape(shape)


@reference("layout_transform")
def layout_transform(x, *, src_layout, dst_layout):
    axes = [c for c in src_layout if c.isupper()]
    data = whole(x, src_layout, axes)
    parts = places(dst_layout)
    shape, names = [], []
    for axis, extent in zip(axes, data.shape):
        blocks = [i for i, p in enumerate(parts) if p[0] == axis and p[1]]
        sizes = [parts[i][1] for i in blocks]
        shape += [extent // int(np.prod(sizes, dtype=int)), *sizes]
        names += [next(i for i, p in enumerate(parts) if p == (axis, 0)), *blocks]
    return data.reshape(shape).transpose(np.argsort(names))


def build_layouts(book):
    op = "layout_transform"
    for source, result, shape in (
        ("NCHW", "NHWC", (2, 3, 4, 5)),
        ("NHWC", "NCHW", (1, 3, 5, 4)),
        ("NCHW", "NCHW4c", (1, 8, 2, 3)),
        ("NCHW", "CHWN", (2, 3, 2, 2)),
        ("NCHW8c", "NCHW", (1, 2, 2, 3, 8)),
        ("NCHW8c", "NCHW4c", (1, 2, 2, 2, 8)),
        ("NCHW4c", "NCHW8c", (1, 4, 2, 2, 4)),
        ("NCHW4c", "NHWC", (1, 2, 3, 2, 4)),
        ("NCHW6c", "NCHW4c", (1, 2, 1, 2, 6)),
        ("OIHW", "OIHW4o2i", (8, 4, 1, 3)),
        ("OIHW4i4o", "HWIO", (2, 1, 2, 1, 4, 4)),
        ("OIHW", "OIHW2i4o2i", (4, 8, 1, 2)),
        ("NCHW", "NCHW2h2w", (1, 2, 4, 6)),
        ("NCDHW", "NDHWC", (1, 2, 2, 3, 2)),
        ("NCW", "NCW1c", (1, 3, 4)),
        ("AB", "BA", (3, 19)),
        ("NC16c", "NC", (2, 2, 16)),
        ("NCHW", "NCHW4c", (0, 4, 2, 2)),
        ("NCHW", "NHWC", (1, 17, 5, 19)),
    ):
        book.add(op, f"{source} {'x'.join(map(str, shape))} to {result}", [steps(shape)], exact=True, src_layout=source, dst_layout=result)
    for dtype in ("float64", "float16", "int64", "uint8", "bool"):
        book.add(op, dtype, [draw((op, dtype), (1, 4, 2, 3), dtype)], exact=True, src_layout="NCHW", dst_layout="NHWC2c")
    t = Type("float32", 1, 6, 2, 2)
    book.fail(op, "blocks that do not divide", "blocks divide the axis", [t], src_layout="NCHW", dst_layout="NCHW4c")
    book.fail(op, "other axes", "both name the same axes", [t], src_layout="NCHW", dst_layout="NCHD")
    book.fail(op, "an axis twice", "an axis is named once", [t], src_layout="NCHH", dst_layout="NCHH")
    book.fail(op, "a block of another extent", "blocks are the layout's", [Type("float32", 1, 2, 2, 2, 3)], src_layout="NCHW4c", dst_layout="NCHW")
    book.fail(op, "no layout", "a layout is letters", [t], src_layout="NC?W", dst_layout="NCHW")


# Convolutions ----------------------------------------------------------------------------------------------------


@reference("nn.deformable_conv2d")
def deformable_conv2d(
    x,
    offset,
    w,
    *,
    strides=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    deformable_groups=1,
    groups=1,
    channels=None,
    kernel_size=None,
    data_layout="NCHW",
    kernel_layout="OIHW",
    out_layout="",
    out_dtype=None,
):
    (data, undo), (moves, _) = channels_first(wide(x), data_layout), channels_first(wide(offset), data_layout)
    kernel = wide(w).transpose([kernel_layout.index(c) for c in "OIHW"])
    strides, dilation = ([v[0]] * 2 if len(v) == 1 else list(v) for v in (strides, dilation))
    p = list(padding)
    p = [p[0]] * 4 if len(p) == 1 else p * 2 if len(p) == 2 else p
    # torchvision pads alike on both sides: what is after the data is zero anyway.
    rows = (data.shape[2] + p[0] + p[2] - (kernel.shape[2] - 1) * dilation[0] - 1) // strides[0] + 1
    columns = (data.shape[3] + p[1] + p[3] - (kernel.shape[3] - 1) * dilation[1] - 1) // strides[1] + 1
    moves = moves.reshape(data.shape[0], deformable_groups, *kernel.shape[2:], 2, rows, columns).copy()
    result = np.zeros((data.shape[0], kernel.shape[0], rows, columns))
    group_in, group_out = data.shape[1] // groups, kernel.shape[0] // groups
    per_group = data.shape[1] // deformable_groups
    for n, o, i, j, c, ky, kx in itertools.product(
        range(data.shape[0]), range(kernel.shape[0]), range(rows), range(columns), range(group_in), range(kernel.shape[2]), range(kernel.shape[3])
    ):
        channel = o // group_out * group_in + c
        dy, dx = moves[n, channel // per_group, ky, kx, :, i, j]
        y, x_ = i * strides[0] - p[0] + ky * dilation[0] + dy, j * strides[1] - p[1] + kx * dilation[1] + dx
        y0, x0 = int(np.floor(y)), int(np.floor(x_))
        for a, b in itertools.product((0, 1), (0, 1)):
            if 0 <= y0 + a < data.shape[2] and 0 <= x0 + b < data.shape[3]:
                share = (1 - abs(y - y0 - a)) * (1 - abs(x_ - x0 - b))
                result[n, o, i, j] += share * data[n, channel, y0 + a, x0 + b] * kernel[o, c, ky, kx]
    if p[0] == p[2] and p[1] == p[3] and data.shape[0]:
        answer = torchvision.ops.deform_conv2d(
            *(torch.from_numpy(np.ascontiguousarray(v)) for v in (data, channels_first(wide(offset), data_layout)[0], kernel)),
            stride=tuple(strides),
            padding=(p[0], p[1]),
            dilation=tuple(dilation),
        ).numpy()
        if not np.allclose(result, answer, atol=1e-9):
            raise ValueError("torchvision disagrees")
    result = result.transpose(undo) if not out_layout else result.transpose(["NCHW".index(c) for c in out_layout])
    return narrow(result, out_dtype or x.dtype)


@reference("nn.conv2d_backward_weight")
def conv2d_backward_weight(
    grad,
    x,
    *,
    kernel_size,
    strides=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    groups=1,
    channels=None,
    data_layout="NCHW",
    kernel_layout="OIHW",
    out_layout="",
    out_dtype=None,
):
    (g, _), (data, _) = channels_first(wide(grad), data_layout), channels_first(wide(x), kernel_layout.replace("O", "N").replace("I", "C"))
    strides, dilation = ([v[0]] * 2 if len(v) == 1 else list(v) for v in (strides, dilation))
    p = list(padding)
    p = [p[0]] * 4 if len(p) == 1 else p * 2 if len(p) == 2 else p
    padded = torch.nn.functional.pad(torch.from_numpy(np.ascontiguousarray(data)), (p[1], p[3], p[0], p[2]))
    shape = (g.shape[1], data.shape[1] // groups, *kernel_size)
    weight = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    F.conv2d(padded, weight, None, tuple(strides), 0, tuple(dilation), groups).backward(torch.from_numpy(np.ascontiguousarray(g)))
    result = weight.grad.numpy()
    if out_layout:
        result = result.transpose(["OIHW".index(c) for c in out_layout])
    return narrow(result, out_dtype or x.dtype)


def build_convolutions(book):
    op = "nn.deformable_conv2d"

    def add(label, shape, kernel, source="torchvision", dtype="float32", reach=2, **attributes):
        layout = attributes.get("data_layout", "NCHW")
        strides, padding, dilation = (attributes.get(k, d) for k, d in (("strides", [1, 1]), ("padding", [0, 0]), ("dilation", [1, 1])))
        p = padding * 2 if len(padding) == 2 else padding
        out = [
            (shape[2 + d] + p[d] + p[2 + d] - (kernel[2 + d] - 1) * dilation[d] - 1) // strides[d] + 1 for d in (0, 1)
        ]
        offsets = (shape[0], 2 * attributes.get("deformable_groups", 1) * kernel[2] * kernel[3], *out)
        x, o, w = draw((op, label, 1), shape, dtype), draw((op, label, 2), offsets, dtype, -reach, reach), draw((op, label, 3), kernel, dtype)
        if layout == "NHWC":
            x, o = (np.ascontiguousarray(v.transpose(0, 2, 3, 1)) for v in (x, o))
        if attributes.get("kernel_layout") == "HWIO":
            w = np.ascontiguousarray(w.transpose(2, 3, 1, 0))
        book.add(op, label, [x, o, w], source, **attributes)

    add("plain", (1, 2, 4, 5), (3, 2, 2, 2))
    add("far offsets", (1, 2, 3, 4), (2, 2, 2, 2), reach=6)
    add("strides, padding, dilation", (2, 2, 6, 7), (3, 2, 3, 3), strides=[2, 1], padding=[1, 2], dilation=[2, 2])
    add("padding on one side", (1, 1, 4, 4), (1, 1, 3, 3), "numpy", padding=[1, 0, 0, 1])
    add("deformable groups", (1, 4, 4, 4), (2, 4, 2, 2), deformable_groups=2)
    add("groups", (1, 4, 4, 4), (6, 2, 2, 2), groups=2)
    add("both groups", (1, 4, 3, 4), (4, 1, 2, 2), groups=4, deformable_groups=2, padding=[1, 1])
    add("NHWC", (1, 2, 4, 4), (3, 2, 2, 2), data_layout="NHWC", kernel_layout="HWIO")
    add("out layout", (1, 2, 3, 3), (2, 2, 2, 2), out_layout="NHWC")
    add("float64", (1, 2, 3, 4), (2, 2, 2, 2), dtype="float64")
    add("one tap", (1, 3, 2, 2), (2, 3, 1, 1), channels=2, kernel_size=[1, 1])
    add("no images", (0, 2, 3, 3), (2, 2, 2, 2), "numpy")
    add("a row longer than vectors", (1, 1, 2, 21), (1, 1, 1, 2))
    t = [Type("float32", 1, 2, 4, 4), Type("float32", 1, 8, 3, 3), Type("float32", 3, 2, 2, 2)]
    book.fail(op, "offsets for other taps", "the shape of the offsets has two channels for each tap", [t[0], Type("float32", 1, 6, 3, 3), t[2]])
    book.fail(op, "offsets for other places", "the shape of the offsets has an extent for each place", [t[0], Type("float32", 1, 8, 4, 3), t[2]])
    book.fail(op, "weight of other channels", "channels agree", [t[0], t[1], Type("float32", 3, 3, 2, 2)])
    book.fail(op, "groups that do not divide", "groups divide the channels", t, groups=3)
    book.fail(op, "deformable groups that do not divide", "groups divide the channels", t, deformable_groups=3)
    book.fail(op, "kernel size that is not the weight's", "kernel_size is the weight's", t, kernel_size=[3, 3])
    book.fail(op, "two dtypes", "data and weight have one dtype", [t[0], t[1], Type("float64", 3, 2, 2, 2)])
    op = "nn.conv2d_backward_weight"
    for label, g, x, attributes in (
        ("plain", (2, 3, 3, 4), (2, 2, 5, 5), {"kernel_size": [3, 2]}),
        ("strides", (1, 2, 2, 3), (1, 3, 6, 7), {"kernel_size": [3, 3], "strides": [2, 2]}),
        ("padding", (1, 2, 5, 6), (1, 2, 5, 5), {"kernel_size": [3, 2], "padding": [1, 1]}),
        ("four paddings", (1, 1, 4, 4), (1, 2, 4, 3), {"kernel_size": [2, 2], "padding": [1, 0, 0, 2]}),
        ("dilation", (1, 2, 2, 3), (1, 2, 6, 5), {"kernel_size": [3, 2], "dilation": [2, 2]}),
        ("groups", (2, 4, 3, 3), (2, 6, 4, 4), {"kernel_size": [2, 2], "groups": 2}),
        ("one group a channel", (1, 4, 3, 3), (1, 4, 3, 3), {"kernel_size": [3, 3], "groups": 4, "padding": [1, 1]}),
        ("layouts", (1, 3, 3, 2), (1, 4, 4, 3), {"kernel_size": [2, 2], "data_layout": "NHWC", "kernel_layout": "NHWC", "out_layout": "HWIO"}),
        ("no images", (0, 2, 3, 3), (0, 2, 4, 4), {"kernel_size": [2, 2]}),
        ("many channels", (1, 19, 2, 2), (1, 17, 3, 3), {"kernel_size": [2, 2], "channels": 19}),
    ):
        book.add(op, label, [draw((op, label, 1), g, "float32"), draw((op, label, 2), x, "float32")], "torch", **attributes)
    for dtype in ("float64", "float16"):
        book.add(op, dtype, [draw((op, dtype, 1), (1, 2, 2, 2), dtype), draw((op, dtype, 2), (1, 2, 3, 3), dtype)], "torch", kernel_size=[2, 2], tolerance=None if dtype == "float64" else 1e-2)
    t = [Type("float32", 1, 2, 3, 3), Type("float32", 1, 2, 4, 4)]
    book.fail(op, "no kernel size", "kernel_size is missing", t)
    book.fail(op, "gradient of another extent", "the gradient has the result's extents", t, kernel_size=[3, 3])
    book.fail(op, "two batches", "gradient and data do not differ in the batch", [Type("float32", 2, 2, 3, 3), t[1]], kernel_size=[2, 2])
    book.fail(op, "groups that do not divide", "groups divide the channels", t, kernel_size=[2, 2], groups=3)
    book.fail(op, "two dtypes", "both have one dtype", [t[0], Type("float64", 1, 2, 4, 4)], kernel_size=[2, 2])


def build(book):
    build_blocks(book)
    build_windows(book)
    build_layouts(book)
    build_convolutions(book)
