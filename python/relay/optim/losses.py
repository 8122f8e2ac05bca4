"""Losses, as expressions. Names and results are those of torch.nn.functional; `reduction` is "mean", "sum" or "none"."""

from __future__ import annotations

from .._core import Expr
from ..op import nn
from ..op.tensor import abs as abs_of
from ..op.tensor import add, exp, expand_dims, gather, less, log, maximum, mean, multiply, negative, squeeze, subtract, where
from ..op.tensor import sum as sum_of

__all__ = ["binary_cross_entropy_with_logits", "cross_entropy", "huber_loss", "l1_loss", "mse_loss", "nll_loss"]


def _reduced(losses: Expr, reduction: str) -> Expr:
    if reduction == "mean":
        return mean(losses)
    if reduction == "sum":
        return sum_of(losses)
    if reduction == "none":
        return losses
    raise ValueError(f'reduction is "mean", "sum" or "none", not {reduction!r}')


def nll_loss(log_probabilities: Expr, labels: Expr, reduction: str = "mean") -> Expr:
    """Minus the log-probability (…, classes) of each label (…), int32 or int64."""
    picked = squeeze(gather(log_probabilities, -1, expand_dims(labels, -1)), [-1])
    return _reduced(negative(picked), reduction)


def cross_entropy(logits: Expr, labels: Expr, reduction: str = "mean") -> Expr:
    """Cross entropy of the softmax of logits (…, classes) against labels (…), int32 or int64."""
    return nll_loss(nn.log_softmax(logits, -1), labels, reduction)


def mse_loss(prediction: Expr, target: Expr, reduction: str = "mean") -> Expr:
    """The squared differences."""
    difference = subtract(prediction, target)
    return _reduced(multiply(difference, difference), reduction)


def l1_loss(prediction: Expr, target: Expr, reduction: str = "mean") -> Expr:
    """The absolute differences."""
    return _reduced(abs_of(subtract(prediction, target)), reduction)


def huber_loss(prediction: Expr, target: Expr, delta: float = 1.0, reduction: str = "mean") -> Expr:
    """Half the squared difference up to `delta`, and straight on from there."""
    if not delta > 0:
        raise ValueError(f"delta is above 0, not {delta!r}")
    size = abs_of(subtract(prediction, target))
    near = multiply(multiply(size, size), 0.5)
    far = multiply(subtract(size, 0.5 * delta), float(delta))
    return _reduced(where(less(size, float(delta)), near, far), reduction)


def binary_cross_entropy_with_logits(logits: Expr, target: Expr, reduction: str = "mean") -> Expr:
    """Cross entropy of the sigmoid of logits against probabilities of the same shape and dtype; exact for large logits, too."""
    rest = log(add(exp(negative(abs_of(logits))), 1.0))
    return _reduced(add(subtract(maximum(logits, 0.0), multiply(logits, target)), rest), reduction)
