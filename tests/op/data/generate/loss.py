"""Losses, by PyTorch in float64."""

import numpy as np
import torch
import torch.nn.functional as F

from .core import FLOATS, Type, draw, narrow, reference, shape_label, wide


def double(x):
    return torch.from_numpy(np.asarray(wide(x)))


@reference("nn.cross_entropy")
def cross_entropy(x, y):
    return narrow(-(double(y) * double(x).log()).sum(1).mean().numpy(), x.dtype)


@reference("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(x, y):
    return narrow(-(double(y) * double(x)).sum(1).mean().numpy(), x.dtype)


@reference("nn.nll_loss")
def nll_loss(x, targets, weights, *, reduction="mean", ignore_index=-100):
    result = F.nll_loss(
        double(x),
        torch.from_numpy(np.asarray(targets, np.int64)),
        double(weights),
        ignore_index=ignore_index,
        reduction=reduction,
    )
    return narrow(result.numpy(), x.dtype)


def entropies(book):
    for op in ("nn.cross_entropy", "nn.cross_entropy_with_logits"):
        for shape in [(2, 3), (1, 4), (5, 1), (1, 1), (0, 3), (3, 0), (4, 300)]:
            x = draw((op, shape), shape, "float32", 0.05, 1)
            y = draw((op, shape, "y"), shape, "float32", 0, 1)
            book.add(op, shape_label(shape), [x, y], "torch")
        for dtype in FLOATS:
            x = draw((op, dtype), (3, 4), dtype, 0.125, 1)
            book.add(op, dtype, [x, draw((op, dtype, "y"), (3, 4), dtype, 0, 1)], "torch")
        m = Type("float32", 2, 3)
        for label, why, args in [
            ("classes differ", "one shape", [m, Type("float32", 2, 4)]),
            ("batches differ", "one shape", [m, Type("float32", 3, 3)]),
            ("rank one", "both are matrices", [Type("float32", 3), Type("float32", 3)]),
            ("rank of the targets", "both are matrices", [m, Type("float32", 2)]),
            ("integers", "needs floats", [Type("int32", 2, 3), Type("int32", 2, 3)]),
            ("dtypes differ", "one dtype", [m, Type("float16", 2, 3)]),
        ]:
            book.fail(op, label, why, args)
    zero = np.array([[0, 1], [0.5, 0.5]], "float32")
    y = np.array([[0.5, 0.5], [1, 0]], "float32")
    book.add("nn.cross_entropy", "probability zero", [zero, y], "torch")


def likelihoods(book):
    op = "nn.nll_loss"
    for shape in [(3, 4), (1, 2), (2, 3, 2), (2, 3, 2, 2), (0, 3), (5, 1), (4,), (40, 17)]:
        x = draw((op, shape), shape, "float32", -4, 0)
        classes = shape[min(1, len(shape) - 1)]
        rest = shape[:1] + shape[2:] if len(shape) > 1 else ()
        targets = draw((op, shape, "t"), rest, "int32", 0, classes - 1)
        weights = draw((op, shape, "w"), (classes,), "float32", 0.25, 2)
        for reduction in ("mean", "sum", "none"):
            label = f"{shape_label(shape)} {reduction}"
            book.add(op, label, [x, targets, weights], "torch", reduction=reduction)
            book.add(
                op,
                f"{label} ignoring",
                [x, targets, weights],
                "torch",
                reduction=reduction,
                ignore_index=0,
            )
    outside = np.array([0, -100, 2, -100], "int64")
    x = draw((op, "outside"), (4, 3), "float32", -4, 0)
    weights = draw((op, "outside w"), (3,), "float32", 0.25, 2)
    for reduction in ("mean", "sum", "none"):
        label = f"no class at all {reduction}"
        book.add(op, label, [x, outside, weights], "torch", reduction=reduction)
    book.add(op, "all ignored", [x, np.full(4, -100, "int32"), weights], "torch")
    for dtype in FLOATS:
        x = draw((op, dtype), (5, 4), dtype, -4, 0)
        weights = draw((op, dtype, "w"), (4,), dtype, 0.25, 2)
        for index in ("int32", "int64"):
            targets = draw((op, dtype, "t"), (5,), index, 0, 3)
            book.add(op, f"{dtype} {index}", [x, targets, weights], "torch")
    x, t, w = Type("float32", 3, 4), Type("int32", 3), Type("float32", 4)
    for label, why, args, attributes in [
        ("float targets", "targets are integers", [x, Type("float32", 3), w], {}),
        ("batch of the targets", "the extents differ", [x, Type("int32", 2), w], {}),
        ("rank of the targets", "no axis of classes", [x, Type("int32", 3, 4), w], {}),
        ("weights", "the length is the number of classes", [x, t, Type("float32", 3)], {}),
        ("weights of rank two", "a vector", [x, t, Type("float32", 4, 1)], {}),
        ("dtype of the weights", "one dtype", [x, t, Type("float16", 4)], {}),
        ("integers", "needs floats", [Type("int32", 3, 4), t, Type("int32", 4)], {}),
        ("a number", "there is an axis of classes", [Type("float32"), Type("int32"), w], {}),
        ("unknown reduction", "no such word", [x, t, w], {"reduction": "max"}),
    ]:
        book.fail(op, label, why, args, **attributes)
    values = [draw((op, "bad"), (2, 3), "float32"), np.array([0, 3], "int32"), np.ones(3, "float32")]
    book.fail_running(op, "class out of range", "the class is out of range for the extent 3", values)
    values[1] = np.array([-1, 0], "int32")
    book.fail_running(op, "negative class", "the class is out of range for the extent 3", values)


def build(book):
    entropies(book)
    likelihoods(book)
