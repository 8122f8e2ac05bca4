"""Operators of object detection that take more than a plain call."""

from __future__ import annotations

from .._core import Expr, call_op
from ..expr import TupleWrapper
from ._arrays import over_arrays
from ._common import ExprLike, as_const
from .generated import vision as _generated
from .generated.vision import *  # noqa: F403

__all__ = ["all_class_non_max_suppression", "get_valid_counts", "non_max_suppression"]
__all__ += _generated.__all__


def get_valid_counts(data: ExprLike, score_threshold: ExprLike, id_index: int = 0, score_index: int = 1) -> TupleWrapper:
    """Moves the boxes whose score exceeds the threshold to the front of each batch element: how many they are, boxes, indices.

    Args:
        data: Boxes: (batch, boxes, columns), floats.
        score_threshold: Number that a score must exceed: a number or a scalar.
        id_index: Column of the class; -1: none.
        score_index: Column of the score.
    """
    threshold = as_const(score_threshold, "float32")
    return TupleWrapper(call_op("vision.get_valid_counts", data, threshold, id_index=id_index, score_index=score_index), 3)


def non_max_suppression(
    data: ExprLike,
    valid_count: ExprLike,
    indices: ExprLike,
    max_output_size: ExprLike = -1,
    iou_threshold: ExprLike = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> Expr | TupleWrapper:
    """Non-maximum suppression of the first valid_count boxes of each batch element.

    Args:
        data: Boxes: (batch, boxes, columns), floats.
        valid_count: Number of boxes of each batch element to look at.
        indices: Identifiers of the boxes in the result.
        max_output_size: Largest number of kept boxes; negative: all.
        iou_threshold: The overlap that suppresses.
        force_suppress: True if boxes of other classes are suppressed too.
        top_k: Number of the best boxes to look at; below 1: all.
        coord_start: The first of four columns of coordinates.
        score_index: Column of the score.
        id_index: Column of the class; -1: none.
        return_indices: True if the results are indices and their number, which unpack in Python; else they are boxes.
        invalid_to_bottom: True if the remaining boxes are moved to the front.
    """
    call = call_op(
        "vision.non_max_suppression", data, valid_count, indices, as_const(max_output_size, "int32"),
        as_const(iou_threshold, "float32"), force_suppress=bool(force_suppress), top_k=top_k, coord_start=coord_start,
        score_index=score_index, id_index=id_index, return_indices=bool(return_indices), invalid_to_bottom=bool(invalid_to_bottom),
    )  # fmt: skip
    return TupleWrapper(call, 2) if return_indices else call


def all_class_non_max_suppression(
    boxes: ExprLike,
    scores: ExprLike,
    max_output_boxes_per_class: ExprLike = -1,
    iou_threshold: ExprLike = -1.0,
    score_threshold: ExprLike = -1.0,
    output_format: str = "onnx",
) -> TupleWrapper:
    """Non-maximum suppression of the boxes of each class by itself.

    Args:
        boxes: (batch, boxes, 4): two opposite corners each.
        scores: (batch, classes, boxes).
        max_output_boxes_per_class: Largest number of kept boxes; negative: all.
        iou_threshold: The overlap that suppresses.
        score_threshold: Number that a score must exceed.
        output_format: "onnx": rows of batch, class and box, and their number. "tensorflow": for each batch element pairs of class and
            box, their scores, how many they are.
    """
    call = call_op(
        "vision.all_class_non_max_suppression", boxes, scores, as_const(max_output_boxes_per_class, "int64"),
        as_const(iou_threshold, "float32"), as_const(score_threshold, "float32"), output_format=output_format,
    )  # fmt: skip
    return TupleWrapper(call, 3 if output_format == "tensorflow" else 2)


over_arrays(globals(), __all__)
