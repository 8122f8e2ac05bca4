"""vision: regions by torchvision; boxes of detectors and proposals by plain NumPy."""

import itertools
import math

import numpy as np
import torch
import torchvision

from .core import Type, draw, narrow, reference, steps, wide

# Boxes of detectors ----------------------------------------------------------------------------------------------


@reference("vision.multibox_prior")
def multibox_prior(x, *, sizes=(1.0,), ratios=(1.0,), steps=(-1.0, -1.0), offsets=(0.5, 0.5), clip=False):
    height, width = x.shape[2:]
    shapes = [(s, s) for s in sizes]
    shapes += [(sizes[0] * math.sqrt(r), sizes[0] / math.sqrt(r)) for r in ratios[1:]]
    boxes = []
    for i, j, (w, h) in itertools.product(range(height), range(width), shapes):
        y = (i + offsets[0]) * (steps[0] if steps[0] > 0 else 1 / height)
        x_ = (j + offsets[1]) * (steps[1] if steps[1] > 0 else 1 / width)
        w, h = w * height / width / 2, h / 2
        boxes.append([x_ - w, y - h, x_ + w, y + h])
    result = np.array(boxes, np.float64).reshape(1, -1, 4)
    return narrow(np.clip(result, 0, 1) if clip else result, x.dtype)


@reference("vision.multibox_transform_loc")
def multibox_transform_loc(
    probability, location, anchor, *, clip=True, threshold=0.01, variances=(0.1, 0.1, 0.2, 0.2), keep_background=False
):
    p, l, a = wide(probability), wide(location), wide(anchor)[0]
    batch, classes, anchors = p.shape
    result, counts = np.full((batch, anchors, 6), -1.0), np.zeros(batch, np.int32)
    first = 0 if keep_background else 1
    for b, j in itertools.product(range(batch), range(anchors)):
        kind, score = 0, -1.0
        for k in range(first, classes):
            if p[b, k, j] > score:
                kind, score = k, p[b, k, j]
        kind = 0 if score < threshold else kind
        if kind == 0 and not keep_background:
            continue
        size, middle = a[j, 2:] - a[j, :2], (a[j, 2:] + a[j, :2]) / 2
        x = l[b, 4 * j : 4 * j + 4] * np.array(variances)
        center, half = x[:2] * size + middle, np.exp(x[2:]) * size / 2
        box = np.concatenate([center - half, center + half])
        result[b, counts[b]] = [kind - first, score, *(np.clip(box, 0, 1) if clip else box)]
        counts[b] += 1
    return narrow(result, probability.dtype), counts


@reference("vision.yolo_reorg")
def yolo_reorg(x, *, stride):
    n, c, h, w = x.shape
    s = stride
    image = x.reshape(n, c // s**2, h, s, w, s)  # of h·s by w·s elements
    return image.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * s * s, h // s, w // s)


def build_boxes(book):
    op = "vision.multibox_prior"
    for label, shape, attributes in (
        ("defaults", (1, 3, 2, 3), {}),
        ("sizes and ratios", (1, 2, 3, 4), {"sizes": [0.5, 0.25], "ratios": [1.0, 2.0, 0.5]}),
        ("clip", (1, 1, 2, 2), {"sizes": [1.5], "ratios": [1.0, 3.0], "clip": True}),
        ("steps and offsets", (2, 1, 2, 3), {"steps": [0.3, 0.2], "offsets": [0.25, 0.75], "sizes": [0.4]}),
        ("one step", (1, 1, 3, 2), {"steps": [0.4, -1.0]}),
        ("no rows", (1, 1, 0, 2), {}),
        ("many places", (1, 1, 5, 7), {"sizes": [0.2], "ratios": [1.0, 2.0]}),
    ):
        book.add(op, label, [np.zeros(shape, "float32")], **attributes)
    for dtype in ("float64", "float16"):
        book.add(op, dtype, [np.zeros((1, 1, 2, 2), dtype)], sizes=[0.5, 0.25])
    op = "vision.multibox_transform_loc"

    def inputs(label, batch, classes, anchors, dtype="float32"):
        p = draw((op, label, 1), (batch, classes, anchors), dtype, 0, 1)
        location = draw((op, label, 2), (batch, 4 * anchors), dtype)
        corner = draw((op, label, 3), (anchors, 2), dtype, 0, 0.5)
        size = draw((op, label, 4), (anchors, 2), dtype, 0.25, 0.75)
        return [p, location, np.concatenate([corner, corner + size], 1)[None].astype(dtype)]

    for label, arguments, attributes in (
        ("plain", inputs("plain", 2, 4, 5), {"threshold": 0.5}),
        ("no clip", inputs("no clip", 1, 3, 4), {"clip": False, "variances": [0.5, 0.4, 0.3, 0.2]}),
        ("high threshold", inputs("high", 2, 3, 6), {"threshold": 0.75}),
        ("background stays", inputs("background", 2, 3, 5), {"keep_background": True, "threshold": 0.5}),
        ("background alone", inputs("alone", 1, 1, 3), {}),
        ("no anchors", inputs("none", 2, 3, 0), {}),
        ("no images", inputs("empty", 0, 3, 2), {}),
        ("float64", inputs("double", 1, 3, 4, "float64"), {}),
    ):
        book.add(op, label, arguments, **attributes)
    odd = inputs("odd", 1, 3, 4)
    odd[0][0, 1, 2] = np.nan
    book.add(op, "a probability that is no number is not the greatest", odd)
    op = "vision.yolo_reorg"
    for label, shape, stride in (
        ("stride 1", (1, 2, 3, 2), 1),
        ("stride 2", (2, 4, 4, 6), 2),
        ("stride 3", (1, 18, 3, 6), 3),
        ("no images", (0, 4, 2, 2), 2),
        ("long rows", (1, 4, 2, 38), 2),
    ):
        book.add(op, label, [steps(shape)], exact=True, stride=stride)
    for dtype in ("float64", "float16", "int64", "uint8", "bool"):
        book.add(op, dtype, [draw((op, dtype), (1, 4, 2, 4), dtype)], exact=True, stride=2)


# Regions ---------------------------------------------------------------------------------------------------------


def sampled(plane, y, x):
    """Between four elements; 0 more than one element off the data."""
    height, width = plane.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    wy, wx = y - y0, x - x0
    above = plane[y0, x0] * (1 - wx) + plane[y0, x1] * wx
    below = plane[y1, x0] * (1 - wx) + plane[y1, x1] * wx
    return above * (1 - wy) + below * wy


def first_channels(x, layout):
    return np.moveaxis(x, -1, 1) if layout == "NHWC" else x


@reference("vision.roi_align")
def roi_align(x, rois, *, pooled_size, spatial_scale, sample_ratio=-1, layout="NCHW", mode="avg", aligned=False):
    data, boxes = first_channels(wide(x), layout), wide(rois)
    pooled = list(pooled_size) * 2 if len(pooled_size) == 1 else pooled_size
    result = np.zeros((len(boxes), data.shape[1], *pooled))
    for r, c in itertools.product(range(len(boxes)), range(data.shape[1])):
        if not np.isfinite(boxes[r, 1:]).all():
            result[r] = np.nan
            continue
        left, top, right, bottom = boxes[r, 1:] * spatial_scale - (0.5 if aligned else 0.0)
        least = 0.0 if aligned else 1.0
        bins = [max(bottom - top, least) / pooled[0], max(right - left, least) / pooled[1]]
        counts = [sample_ratio] * 2 if sample_ratio > 0 else [math.ceil(b) for b in bins]
        for i, j in itertools.product(*map(range, pooled)):
            samples = [
                sampled(
                    data[int(boxes[r, 0]), c],
                    top + i * bins[0] + (a + 0.5) * bins[0] / counts[0],
                    left + j * bins[1] + (b + 0.5) * bins[1] / counts[1],
                )
                for a, b in itertools.product(*map(range, counts))
            ]
            result[r, c, i, j] = np.mean(samples) if mode == "avg" else np.max(samples)
    if mode == "avg" and np.isfinite(boxes).all() and 0 not in data.shape and len(boxes):
        answer = torchvision.ops.roi_align(
            torch.from_numpy(np.ascontiguousarray(data)), torch.from_numpy(boxes), tuple(pooled), spatial_scale, sample_ratio, aligned
        ).numpy()
        if not np.allclose(result, answer, atol=1e-9):
            raise ValueError("torchvision disagrees")
    return narrow(np.moveaxis(result, 1, -1) if layout == "NHWC" else result, x.dtype)


@reference("vision.roi_pool")
def roi_pool(x, rois, *, pooled_size, spatial_scale, layout="NCHW"):
    data, boxes = first_channels(wide(x), layout), wide(rois)
    result = np.zeros((len(boxes), data.shape[1], *pooled_size))
    away = lambda v: math.copysign(math.floor(abs(v) + 0.5), v)
    for r in range(len(boxes)):
        if not np.isfinite(boxes[r, 1:]).all():
            result[r] = np.nan
            continue
        left, top, right, bottom = (int(away(v * spatial_scale)) for v in boxes[r, 1:])
        sizes = [max(bottom - top + 1, 1), max(right - left + 1, 1)]
        for i, j in itertools.product(*map(range, pooled_size)):
            ends = []
            for p, size, count, begin, extent in zip((i, j), sizes, pooled_size, (top, left), data.shape[2:]):
                low, high = begin + p * size // count, begin - (-(p + 1) * size // count)
                ends.append(slice(min(max(low, 0), extent), min(max(high, 0), extent)))
            part = data[int(boxes[r, 0])][(slice(None), *ends)]
            result[r, :, i, j] = part.max((1, 2)) if part.size else 0.0
    if np.isfinite(boxes).all() and 0 not in data.shape and len(boxes) and np.isfinite(data).all():
        answer = torchvision.ops.roi_pool(
            torch.from_numpy(np.ascontiguousarray(data)), torch.from_numpy(boxes), tuple(pooled_size), spatial_scale
        ).numpy()
        if not np.array_equal(result, answer):
            raise ValueError("torchvision disagrees")
    return narrow(np.moveaxis(result, 1, -1) if layout == "NHWC" else result, x.dtype)


def build_regions(book):
    rois = np.array(
        [[0, 0.5, 0.5, 3.5, 4], [1, 1, 0, 4.5, 3], [0, -2, -2, 8, 8], [1, 2, 2, 2, 2], [1, 5, 4, 1, 1], [0, 20, 20, 30, 30], [0, 0, 0, 6, 5]],
        "float32",
    )
    data = draw("regions", (2, 3, 6, 7), "float32")
    op = "vision.roi_align"
    for ratio, mode, size in itertools.product((2, 3, -1), ("avg", "max"), ([2, 3], [1, 1], [3, 2])):
        source = "torchvision" if mode == "avg" else "numpy"
        book.add(op, f"{mode} {size} ratio {ratio}", [data, rois], source, pooled_size=size, spatial_scale=1.0, sample_ratio=ratio, mode=mode)
    small = np.array([[0, 1.0, 1.0, 1.25, 1.5], [1, 2.5, 3.0, 5.0, 3.25], [0, -1.0, 0.25, 3.0, 9.0]], "float32")
    for ratio, mode in itertools.product((2, 3), ("avg", "max")):
        source = "torchvision" if mode == "avg" else "numpy"
        book.add(op, f"aligned {mode} ratio {ratio}", [data, small], source, pooled_size=[2, 3], spatial_scale=1.0, sample_ratio=ratio, mode=mode, aligned=True)
    book.add(op, "aligned, samples by size", [data, small], "torchvision", pooled_size=[2, 1], spatial_scale=0.5, aligned=True)
    for scale in (0.5, 0.25, 2.0):
        book.add(op, f"scale {scale}", [data, rois], "torchvision", pooled_size=[2, 2], spatial_scale=scale)
    last = np.ascontiguousarray(np.moveaxis(data, 1, -1))
    for mode in ("avg", "max"):
        book.add(op, f"NHWC {mode}", [last, rois], pooled_size=[2, 2], spatial_scale=1.0, sample_ratio=2, layout="NHWC", mode=mode)
    for dtype in ("float64", "float16"):
        x = draw(("regions", dtype), (1, 2, 4, 5), dtype)
        book.add(op, dtype, [x, rois[[0, 2, 6]].astype(dtype)], pooled_size=[2, 2], spatial_scale=1.0, sample_ratio=2)
    book.add(op, "regions of another dtype", [data.astype("float64"), rois], pooled_size=[2, 2], spatial_scale=1.0)
    wide_data = draw("many channels", (1, 67, 3, 4), "float32")
    book.add(op, "more channels than a task has", [wide_data, rois[:1]], "torchvision", pooled_size=[1, 2], spatial_scale=1.0, sample_ratio=2)
    book.add(op, "a huge region", [data, np.array([[0, -1e6, 1, 1e6, 3]], "float32")], pooled_size=[2, 1], spatial_scale=1.0, sample_ratio=2)
    odd = rois.copy()
    odd[1, 2], odd[3, 3] = np.nan, np.inf
    book.add(op, "regions that are not finite", [data, odd], pooled_size=[1, 2], spatial_scale=1.0, sample_ratio=2)
    book.add(op, "no regions", [data, rois[:0]], pooled_size=[2, 2], spatial_scale=1.0)
    book.add(op, "one element", [data[:, :, :1, :1].copy(), rois], "torchvision", pooled_size=[2, 2], spatial_scale=1.0, sample_ratio=2)
    op = "vision.roi_pool"
    for size in ([2, 3], [1, 1], [4, 3]):
        for scale in (1.0, 0.5):
            book.add(op, f"{size} scale {scale}", [data, rois], "torchvision", exact=True, pooled_size=size, spatial_scale=scale)
    book.add(op, "NHWC", [last, rois], exact=True, pooled_size=[2, 2], spatial_scale=1.0, layout="NHWC")
    for dtype in ("float64", "float16"):
        book.add(op, dtype, [draw(("regions", dtype), (1, 2, 4, 5), dtype), rois[[0, 2]].astype(dtype)], exact=True, pooled_size=[2, 2], spatial_scale=1.0)
    book.add(op, "more channels than a task has", [wide_data, rois[:1]], "torchvision", exact=True, pooled_size=[1, 2], spatial_scale=1.0)
    book.add(op, "regions that are not finite", [data, odd], exact=True, pooled_size=[1, 2], spatial_scale=1.0)
    book.add(op, "no regions", [data, rois[:0]], exact=True, pooled_size=[2, 2], spatial_scale=1.0)
    holes = data.copy()
    holes[0, 0, 2, 2] = np.nan
    book.add(op, "not-a-number is the greatest", [holes, rois], exact=True, pooled_size=[2, 2], spatial_scale=1.0)
    x, r = Type("float32", 2, 3, 6, 7), Type("float32", 4, 5)
    for op in ("vision.roi_align", "vision.roi_pool"):
        good = {"pooled_size": [2, 2], "spatial_scale": 1.0}
        for image in (2.0, -1.0, math.nan):
            book.fail_running(op, f"image {image}", "the index of an image is below the extent of the batch", [data, np.array([[image, 0, 0, 1, 1]], "float32")], **good)
        book.fail(op, "regions of four numbers", "the shape of the regions is (n, 5)", [x, Type("float32", 4, 4)], **good)
        book.fail(op, "data of rank 3", "the data has rank 4", [Type("float32", 3, 6, 7), r], **good)
        book.fail(op, "no bins", "the extents of the result are positive", [x, r], pooled_size=[0, 2], spatial_scale=1.0)
        book.fail(op, "three extents", "pooled_size has two extents", [x, r], pooled_size=[2, 2, 2], spatial_scale=1.0)
        book.fail(op, "scale 0", "the scale is positive", [x, r], pooled_size=[2, 2], spatial_scale=0.0)
        book.fail(op, "another layout", "the layout is one of two", [x, r], **good, layout="CHWN")
        book.fail(op, "integers", "floats are sampled", [Type("int32", 2, 3, 6, 7), r], **good)
        book.fail(op, "data without elements", "the data has elements: its extents are positive", [Type("float32", 2, 3, 0, 7), r], **good)
    book.fail("vision.roi_align", "unknown mode", "there is no such mode", [x, r], pooled_size=[2, 2], spatial_scale=1.0, mode="sum")
    book.fail("vision.roi_align", "too many samples", "the number of samples does not exceed a limit", [x, r], pooled_size=[2, 2], spatial_scale=1.0, sample_ratio=5000)


# Proposals -------------------------------------------------------------------------------------------------------


@reference("vision.proposal")
def proposal(
    scores,
    deltas,
    info,
    *,
    scales=(4.0, 8.0, 16.0, 32.0),
    ratios=(0.5, 1.0, 2.0),
    feature_stride=16,
    threshold=0.7,
    rpn_pre_nms_top_n=6000,
    rpn_post_nms_top_n=300,
    rpn_min_size=16,
    iou_loss=False,
):
    s, d, m = wide(scores), wide(deltas), wide(info)
    batch, _, height, width = s.shape
    anchors = []
    for ratio, scale in itertools.product(ratios, scales):
        w = math.floor(math.sqrt(math.floor(feature_stride**2 / ratio)) + 0.5)
        h = math.floor(w * ratio + 0.5)
        half, middle = np.array([w * scale - 1, h * scale - 1]) / 2, (feature_stride - 1) / 2
        anchors.append(np.concatenate([middle - half, middle + half]))
    result = np.zeros((batch * rpn_post_nms_top_n, 5))
    for b in range(batch):
        found = []
        limit = np.array([m[b, 1], m[b, 0]] * 2) - 1
        least = m[b, 2] * rpn_min_size
        for y, x, k in itertools.product(range(height), range(width), range(len(anchors))):
            box = anchors[k] + np.array([x, y, x, y]) * feature_stride
            delta = d[b, 4 * k : 4 * k + 4, y, x]
            if iou_loss:
                box = box + delta
            else:
                size = box[2:] - box[:2] + 1
                middle, half = box[:2] + (size - 1) / 2 + delta[:2] * size, (np.exp(delta[2:]) * size - 1) / 2
                box = np.concatenate([middle - half, middle + half])
            box = np.maximum(np.minimum(box, limit), 0)
            score = s[b, len(anchors) + k, y, x]
            if y >= int(m[b, 0] / feature_stride) or x >= int(m[b, 1] / feature_stride):
                score = -1
            if (box[2:] - box[:2] + 1 < least).any():
                box, score = box + np.array([-1, -1, 1, 1]) * least / 2, -1
            found.append((score, box))
        found = [found[i] for i in sorted(range(len(found)), key=lambda i: -found[i][0])]
        found = found[:rpn_pre_nms_top_n] if rpn_pre_nms_top_n > 0 else found
        kept = []
        for _, box in found:
            area = lambda a: np.prod(a[2:] - a[:2] + 1)
            both = [np.prod(np.maximum(np.minimum(o[2:], box[2:]) - np.maximum(o[:2], box[:2]) + 1, 0)) for o in kept]
            if all(i / (area(o) + area(box) - i) <= threshold for i, o in zip(both, kept)):
                kept.append(box)
        for r in range(rpn_post_nms_top_n):
            result[b * rpn_post_nms_top_n + r] = [b, *kept[r % len(kept)]]
    return narrow(result, scores.dtype)


def build_proposals(book):
    op = "vision.proposal"

    def inputs(label, batch, anchors, height, width, dtype="float32"):
        count = batch * 2 * anchors * height * width
        order = np.random.default_rng(len(label)).permutation(count).reshape(batch, 2 * anchors, height, width)
        deltas = draw((op, label), (batch, 4 * anchors, height, width), dtype, -0.5, 0.5)
        info = np.tile(np.array([[height * 4, width * 4 - 2, 1]], dtype), (batch, 1))
        return [((order + 1) / (count + 1)).astype(dtype), deltas, info]

    small = {"scales": [1.0], "ratios": [0.5, 1.0], "feature_stride": 4, "rpn_min_size": 2}
    for label, arguments, attributes in (
        ("plain", inputs("plain", 1, 2, 3, 3), {**small, "rpn_post_nms_top_n": 5}),
        ("two images", inputs("two", 2, 2, 2, 3), {**small, "rpn_post_nms_top_n": 4, "threshold": 0.5}),
        ("more than there are", inputs("more", 1, 2, 2, 2), {**small, "rpn_post_nms_top_n": 9, "threshold": 0.2}),
        ("few candidates", inputs("few", 1, 2, 3, 3), {**small, "rpn_pre_nms_top_n": 4, "rpn_post_nms_top_n": 3}),
        ("all candidates", inputs("all", 1, 2, 3, 3), {**small, "rpn_pre_nms_top_n": -1, "rpn_post_nms_top_n": 6}),
        ("edges", inputs("edges", 1, 2, 3, 4), {**small, "iou_loss": True, "rpn_post_nms_top_n": 5}),
        ("small boxes", inputs("tiny", 1, 2, 3, 3), {**small, "rpn_min_size": 4, "rpn_post_nms_top_n": 6}),
        ("several scales", inputs("scales", 1, 4, 2, 3), {**small, "scales": [1.0, 2.0], "rpn_post_nms_top_n": 5}),
        ("float64", inputs("double", 1, 2, 2, 2, "float64"), {**small, "rpn_post_nms_top_n": 3}),
        ("no images", inputs("none", 0, 2, 2, 2), {**small, "rpn_post_nms_top_n": 3}),
    ):
        book.add(op, label, arguments, tolerance=1e-4, **attributes)
    t = [Type("float32", 1, 4, 3, 3), Type("float32", 1, 8, 3, 3), Type("float32", 1, 3)]
    book.fail(op, "scores of other anchors", "each anchor has two channels", [Type("float32", 1, 6, 3, 3), *t[1:]], **small)
    book.fail(op, "boxes of other anchors", "each anchor has four channels", [t[0], Type("float32", 1, 4, 3, 3), t[2]], **small)
    book.fail(op, "two extents", "scores and boxes have one shape", [t[0], Type("float32", 1, 8, 3, 2), t[2]], **small)
    book.fail(op, "information of other images", "the shape of the information has a row, three columns, for each image: rows and anchors", [*t[:2], Type("float32", 2, 3)], **small)
    book.fail(op, "no places", "there is a size above 0, anchors to make boxes of", [Type("float32", 1, 4, 0, 3), Type("float32", 1, 8, 0, 3), t[2]], **small)
    book.fail(op, "no scales", "there is an entry for each anchor", t, **{**small, "scales": []})
    book.fail(op, "ratio 0", "ratios are positive", t, **{**small, "ratios": [0.0, 1.0]})
    book.fail(op, "no boxes wanted", "there is a size above 0, anchors to make boxes of", t, **small, rpn_post_nms_top_n=0)


def build(book):
    build_boxes(book)
    build_regions(book)
    build_proposals(book)
