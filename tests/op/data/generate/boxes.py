"""Non-maximum suppression by plain NumPy, a pair of boxes at a time."""

import itertools

import numpy as np

from .core import Type, draw, reference, wide


def overlap(a, b):
    """The share that two boxes have in common of what they cover, by two opposite corners each."""
    (a, b) = (np.sort(box.reshape(2, 2), axis=0) for box in (a, b))
    sides = np.maximum(np.minimum(a[1], b[1]) - np.maximum(a[0], b[0]), 0)
    shared = sides.prod()
    return shared / ((a[1] - a[0]).prod() + (b[1] - b[0]).prod() - shared) if shared > 0 else 0.0


def best(boxes, order, threshold, most, same=lambda i, j: True):
    """The boxes of `order` that overlap with no kept one before them that is the same kind."""
    kept = []
    for i in order:
        if len(kept) < most and all(overlap(boxes[i], boxes[j]) < threshold or not same(i, j) for j in kept):
            kept.append(i)
    return kept


def ordered(scores, among):
    return sorted(among, key=lambda i: -scores[i])  # equal ones keep their order


@reference("vision.get_valid_counts")
def get_valid_counts(data, threshold, *, id_index=0, score_index=1, score_threshold=None):
    boxes, indices = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    counts = np.zeros(data.shape[0], np.int32)
    for b, i in itertools.product(range(data.shape[0]), range(data.shape[1])):
        if data[b, i, score_index] > threshold and (id_index < 0 or data[b, i, id_index] >= 0):
            boxes[b, counts[b]], indices[b, counts[b]] = data[b, i], i
            counts[b] += 1
    return counts, boxes, indices


@reference("vision.non_max_suppression")
def non_max_suppression(
    data, counts, indices, most, threshold, *, force_suppress=False, top_k=-1, coord_start=2, score_index=1, id_index=0,
    return_indices=True, invalid_to_bottom=False,
):
    boxes, found = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    numbers = np.zeros((data.shape[0], 1), np.int32)
    most = data.shape[1] if most < 0 else int(most)
    for b, rows in enumerate(wide(data)):
        order = ordered(rows[:, score_index], range(counts[b]))
        order = order[:top_k] if top_k > 0 else order
        corners = rows[:, coord_start : coord_start + 4]
        one_kind = force_suppress or id_index < 0
        same = lambda i, j: one_kind or rows[i, id_index] == rows[j, id_index]
        # With no threshold the boxes stay as they are.
        order = order if threshold > 0 else range(counts[b])
        kept = best(corners, order, threshold, most, same) if threshold > 0 else list(order)
        for place, i in enumerate(kept if invalid_to_bottom else order):
            if i in kept:
                boxes[b, place] = data[b, i]
        found[b, : len(kept)] = [indices[b, i] for i in kept]
        numbers[b] = len(kept)
    return (found, numbers) if return_indices else boxes


@reference("vision.all_class_non_max_suppression")
def all_class(boxes, scores, most, threshold, least, *, output_format="onnx"):
    most = boxes.shape[1] if most < 0 else int(most)
    found = []
    for b, c in itertools.product(range(scores.shape[0]), range(scores.shape[1])):
        row = scores[b, c]
        order = ordered(row, [i for i in range(len(row)) if row[i] > least])
        found += [(b, c, i) for i in best(wide(boxes)[b], order, threshold, most)]
    if output_format == "onnx":
        return np.array(found, np.int64).reshape(-1, 3), np.array([len(found)], np.int64)
    each = [[place for place in found if place[0] == b] for b in range(scores.shape[0])]
    width = max(map(len, each), default=0)
    pairs, values = np.full((len(each), width, 2), -1, np.int64), np.zeros((len(each), width), scores.dtype)
    for b, places in enumerate(each):
        for k, (_, c, i) in enumerate(places):
            pairs[b, k], values[b, k] = (c, i), scores[b, c, i]
    return pairs, values, np.array([len(places) for places in each], np.int64)


@reference("vision.regular_non_max_suppression")
def regular(boxes, scores, *, max_detections_per_class=100, max_detections=100, num_classes, iou_threshold=0.5, score_threshold=0.0):
    batch, first = boxes.shape[0], scores.shape[2] - num_classes
    result = [np.zeros((batch, max_detections, *shape), boxes.dtype) for shape in ((4,), (), ())]
    counts = np.zeros(batch, np.int32)
    for b in range(batch):
        found = []
        for c in range(num_classes):
            row = scores[b, :, first + c]
            order = ordered(row, [i for i in range(len(row)) if row[i] >= score_threshold])
            found += [(i, c, row[i]) for i in best(wide(boxes)[b], order, iou_threshold, max_detections_per_class)]
        found = sorted(found, key=lambda each: -each[2])[:max_detections]
        for k, (i, c, score) in enumerate(found):
            result[0][b, k], result[1][b, k], result[2][b, k] = boxes[b, i], c, score
        counts[b] = len(found)
    return *result, counts


# Cases ------------------------------------------------------------------------------------------------------------


def corners(key, shape, dtype):
    """Boxes that overlap often."""
    low = draw((key, "low"), (*shape, 2), dtype, 0, 4)
    return np.concatenate([low, low + draw((key, "size"), (*shape, 2), dtype, 1, 4)], axis=-1).astype(dtype)


def distinct_scores(key, shape, dtype):
    count = int(np.prod(shape))
    order = np.random.default_rng(len(str(key)) + count).permutation(count)
    return ((order + 1) / 64).astype(dtype).reshape(shape)


def rows(key, batch, count, dtype):
    """Class, score and corners."""
    kinds = draw((key, "class"), (batch, count, 1), "int32", 0, 2).astype(dtype)
    return np.concatenate([kinds, distinct_scores(key, (batch, count, 1), dtype), corners(key, (batch, count), dtype)], axis=-1)


def build(book):
    integer, real = np.int32, lambda value, dtype="float32": np.asarray(value, dtype)
    for dtype in ("float32", "float64", "float16"):
        data = rows(dtype, 2, 7, dtype)
        data[0, 3, 0] = -1
        book.add("vision.get_valid_counts", dtype, [data, real(0.1)], exact=True)
        indices = np.tile(np.arange(7, dtype=integer), (2, 1)) + 10
        boxes = [rows(dtype, 2, 7, dtype), np.array([7, 4], integer), indices]
        for label, most, threshold, attributes in (
            ("indices", -1, 0.3, {}),
            ("boxes", -1, 0.3, {"return_indices": False}),
            ("boxes in front", -1, 0.3, {"return_indices": False, "invalid_to_bottom": True}),
            ("all classes", -1, 0.2, {"force_suppress": True}),
            ("no classes", -1, 0.2, {"id_index": -1}),
            ("best three", -1, 0.5, {"top_k": 3}),
            ("at most two", 2, 0.3, {}),
        ):
            arguments = [*boxes, integer(most), real(threshold)]
            book.add("vision.non_max_suppression", f"{label} {dtype}", arguments, exact=True, **attributes)
        both = [corners((dtype, "boxes"), (2, 8), dtype), distinct_scores(dtype, (2, 3, 8), dtype)]
        for form, kind in (
            ("onnx", "(Tensor[(?, 3), int64], Tensor[(1), int64])"),
            ("tensorflow", f"(Tensor[(2, ?, 2), int64], Tensor[(2, ?), {dtype}], Tensor[(2), int64])"),
        ):
            for most, threshold, least in ((-1, 0.3, 0.0), (2, 0.5, 0.25), (-1, 1.0, 0.5)):
                arguments = [*both, np.int64(most), real(threshold), real(least)]
                label = f"{form} {most} {threshold} {least} {dtype}"
                book.add("vision.all_class_non_max_suppression", label, arguments, exact=True, type=kind, output_format=form)
        both = [corners((dtype, "boxes"), (2, 6), dtype), distinct_scores(dtype, (2, 6, 4), dtype)]
        for label, attributes in (
            ("all columns", {"num_classes": 4}),
            ("background", {"num_classes": 3, "max_detections": 5}),
            ("one of a class", {"num_classes": 2, "max_detections_per_class": 1, "max_detections": 3}),
            ("thresholds", {"num_classes": 3, "max_detections": 20, "iou_threshold": 0.25, "score_threshold": 0.375}),
            ("no classes", {"num_classes": 0, "max_detections": 2}),
        ):
            book.add("vision.regular_non_max_suppression", f"{label} {dtype}", both, exact=True, **attributes)
    book.add("vision.get_valid_counts", "columns", [rows("c", 1, 5, "float32")[:, :, ::-1].copy(), real(0.05)], exact=True, id_index=-1, score_index=4)
    boxes, scores = Type("float32", 1, 6, 4), Type("float32", 1, 6, 2)
    book.fail("vision.regular_non_max_suppression", "too many classes", "num_classes columns of scores", [boxes, scores], num_classes=3)
    book.fail("vision.get_valid_counts", "no such column", "score_index is a column of the rows", [boxes, Type("float32")], score_index=4)
