"""Random numbers: each function takes a key and gives a tuple of a new key and what was drawn."""

from __future__ import annotations

import operator
from typing import Any

from .._core import Constant, Expr, call_op
from ..expr import const
from ._common import DTypeLike, ExprLike, as_const, static_list
from .generated import random as _generated
from .generated.random import *  # noqa: F403

__all__ = ["normal", "threefry_generate", "threefry_key", "uniform"]
__all__ += _generated.__all__


def threefry_key(seed: int) -> Constant:
    """The key of a number of up to 256 bits. Raises ValueError beyond, TypeError for anything but an integer."""
    import numpy as np

    seed = operator.index(seed)
    if not 0 <= seed < 2**256:
        raise ValueError("a seed has up to 256 bits and is not negative")
    words = np.frombuffer(seed.to_bytes(32, "little"), dtype="<u8")
    return const(np.concatenate([words, np.array([0, 0, 0, 0, 1 << 63, 0], dtype="uint64")]).astype("uint64"))


def _shape(shape: Any) -> list[int]:
    static = static_list(shape)
    if static is None:
        raise TypeError("the shape of random numbers is a list of numbers, not an expression")
    return static


def threefry_generate(key: ExprLike, shape: Any) -> Expr:
    """A tuple of a new key and random integers of dtype uint64 of a shape."""
    return call_op("random.threefry_generate", key, out_shape=_shape(shape))


def uniform(key: ExprLike, shape: Any, dtype: DTypeLike = "float32", low: ExprLike = 0.0, high: ExprLike = 1.0) -> Expr:
    """A tuple of a new key and numbers that are evenly spread over [low, high)."""
    bounds = (as_const(low, dtype), as_const(high, dtype))
    return call_op("random.uniform", key, *bounds, out_shape=_shape(shape), out_dtype=dtype)


def normal(key: ExprLike, shape: Any, dtype: DTypeLike = "float32", mean: ExprLike = 0.0, scale: ExprLike = 1.0) -> Expr:
    """A tuple of a new key and normally distributed numbers."""
    bounds = (as_const(mean, dtype), as_const(scale, dtype))
    return call_op("random.normal", key, *bounds, out_shape=_shape(shape), out_dtype=dtype)
