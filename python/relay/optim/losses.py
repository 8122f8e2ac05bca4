"""Losses, as expressions. Names and results are those of torch.nn.functional; `reduction` is "mean", "sum" or "none".

What is compared has one type: extents are not broadcast. An error names the loss and its argument once types are known.
"""

from __future__ import annotations

from typing import Callable

from .. import _core
from .._checks import require_int
from .._core import Call, Expr, Function, Kind, Let, RelayError, TensorType, Type, TypeVar, Var
from ..expr import as_expr, const
from ..op import nn
from ..op._arrays import current_module, over_arrays
from ..op.tensor import abs as abs_of
from ..op.tensor import (
    add, cast, cast_like, divide, equal, exp, expand_dims, gather, less, log, logical_not, maximum, mean, multiply, negative, shape_of, squeeze,
    subtract, take, where, zeros_like,
)  # fmt: skip
from ..op.tensor import max as max_of
from ..op.tensor import sum as sum_of
from ._tree import is_float
from .schedules import _number

__all__ = ["binary_cross_entropy_with_logits", "cross_entropy", "huber_loss", "l1_loss", "mse_loss", "nll_loss"]


def _reduced(losses: Expr, reduction: str) -> Expr:
    if reduction == "mean":
        return mean(losses)
    if reduction == "sum":
        return sum_of(losses)
    if reduction == "none":
        return losses
    raise ValueError(f'reduction is "mean", "sum" or "none", not {reduction!r}')


def _of_one_type(loss: str, arguments: dict[str, Expr], body: Callable[..., Expr], others: dict[str, Expr] | None = None) -> Expr:
    """A call of a function of `arguments` of one type, whatever it is, and of `others`: errors show the names of loss and argument."""
    one = TypeVar("T", Kind.Type)
    params = [Var(name, one) for name in arguments]
    types = [TypeVar("U", Kind.Type) for _ in others or {}]
    params += [Var(name, type_) for name, type_ in zip(others or {}, types)]
    function = Var(loss)
    values = [as_expr(value) for value in (*arguments.values(), *(others or {}).values())]
    return Let(function, Function(params, body(*params), None, [one, *types]), Call(function, values))


def _type_of(labels: Expr) -> Type | None:
    try:
        return _core.infer_expr_type(labels, current_module())
    except RelayError:  # it needs a module, or is wrong by itself: the pass that has both says so
        return None


def _are_probabilities(labels: Expr, logits: Expr) -> bool:
    found, scores = _type_of(labels), _type_of(logits)
    if not isinstance(found, TensorType) or not isinstance(scores, TensorType):
        return False
    return is_float(found) and len(found.shape) == len(scores.shape)


def _check_labels(loss: str, labels: Expr) -> None:
    found = _type_of(labels)
    if isinstance(found, TensorType) and isinstance(found.dtype, str) and not found.dtype.lstrip("u").startswith("int"):
        raise TypeError(f"{loss}: labels are numbers of classes, int32 or int64, not {found}")


def nll_loss(log_probabilities: Expr, labels: Expr, reduction: str = "mean", ignore_index: int = -100) -> Expr:
    """Minus the log-probability (…, classes) of each label (…), int32 or int64. Labels that are `ignore_index` do not count.

    Other labels below 0, and those from the number of classes on, are errors when the program runs.
    """
    return _negative_log_likelihood("nll_loss", "log_probabilities", as_expr(log_probabilities), as_expr(labels), reduction, ignore_index)


def cross_entropy(
    logits: Expr, labels: Expr, reduction: str = "mean", ignore_index: int = -100, label_smoothing: float = 0.0
) -> Expr:  # fmt: skip
    """Cross entropy of the softmax of logits (…, classes) against labels (…), int32 or int64; labels are those of `nll_loss`.

    Labels may be probabilities of the classes, too: (…, classes), of the logits' dtype. Then none is ignored, and the mean is one over labels.

    `label_smoothing` is the share of the probability, from 0 to 1, that all classes get alike; the label has the rest.
    """
    logits, labels = as_expr(logits), as_expr(labels)
    smooth = _number("label_smoothing", label_smoothing)
    if smooth > 1:
        raise ValueError(f"label_smoothing is from 0 to 1, not {label_smoothing!r}")
    likely = nn.log_softmax(logits, -1)
    if _are_probabilities(labels, logits):

        def body(_: Expr, labels: Expr, likely: Expr) -> Expr:
            losses = negative(sum_of(multiply(labels, likely), -1))
            if smooth:
                losses = subtract(multiply(losses, 1 - smooth), multiply(mean(likely, -1), smooth))
            return _reduced(losses, reduction)

        return _of_one_type("cross_entropy", {"logits": logits, "labels": labels}, body, {"likely": likely})
    return _negative_log_likelihood("cross_entropy", "logits", logits, labels, reduction, ignore_index, likely, smooth)


def _negative_log_likelihood(
    loss: str, name: str, scores: Expr, labels: Expr, reduction: str, ignore_index: int, likely: Expr | None = None,
    smooth: float = 0.0,
) -> Expr:
    _check_labels(loss, labels)
    ignored_label = const(require_int("ignore_index", ignore_index, -(2**31), 2**31 - 1), "int64")

    def body(_: Expr, labels: Expr, likely: Expr) -> Expr:
        labels = cast(labels, "int64")
        ignored = equal(labels, ignored_label)
        # A label below 0 would count from the end: one that is as far below stays outside, and the error shows it as it was.
        classes = take(shape_of(likely, "int64"), const(-1, "int64"), mode="wrap")
        places = where(less(labels, const(0, "int64")), subtract(labels, classes), labels)
        places = where(ignored, const(0, "int64"), places)
        picked = squeeze(gather(likely, -1, expand_dims(places, -1)), [-1])
        if smooth:
            picked = add(multiply(picked, 1 - smooth), multiply(mean(likely, -1), smooth))
        losses = where(ignored, zeros_like(picked), negative(picked))
        if reduction != "mean":
            return _reduced(losses, reduction)
        return divide(mean(losses), mean(cast_like(logical_not(ignored), losses)))

    # The extents of the labels are those of the scores without their last one.
    arguments = {f"best_of_{name}": cast_like(max_of(scores, -1), labels), "labels": labels}
    return _of_one_type(loss, arguments, body, {"likely": scores if likely is None else likely})


def _of_differences(loss: str, prediction: Expr, target: Expr, reduction: str, of: Callable[[Expr], Expr]) -> Expr:
    arguments = {"prediction": prediction, "target": target}
    return _of_one_type(loss, arguments, lambda a, b: _reduced(of(subtract(a, b)), reduction))


def mse_loss(prediction: Expr, target: Expr, reduction: str = "mean") -> Expr:
    """The squared differences."""
    return _of_differences("mse_loss", prediction, target, reduction, lambda difference: multiply(difference, difference))


def l1_loss(prediction: Expr, target: Expr, reduction: str = "mean") -> Expr:
    """The absolute differences."""
    return _of_differences("l1_loss", prediction, target, reduction, abs_of)


def huber_loss(prediction: Expr, target: Expr, delta: float = 1.0, reduction: str = "mean") -> Expr:
    """Half the squared difference up to `delta`, and straight on from there."""
    if not delta > 0:
        raise ValueError(f"delta is above 0, not {delta!r}")

    def of(difference: Expr) -> Expr:
        size = abs_of(difference)
        near = multiply(multiply(size, size), 0.5)
        far = multiply(subtract(size, 0.5 * delta), float(delta))
        return where(less(size, float(delta)), near, far)

    return _of_differences("huber_loss", prediction, target, reduction, of)


def binary_cross_entropy_with_logits(logits: Expr, target: Expr, reduction: str = "mean") -> Expr:
    """Cross entropy of the sigmoid of logits against probabilities of the same shape and dtype; exact for large logits, too."""

    def body(logits: Expr, target: Expr) -> Expr:
        rest = log(add(exp(negative(abs_of(logits))), 1.0))
        return _reduced(add(subtract(maximum(logits, 0.0), multiply(logits, target)), rest), reduction)

    return _of_one_type("binary_cross_entropy_with_logits", {"logits": logits, "target": target}, body)


over_arrays(globals(), __all__)
