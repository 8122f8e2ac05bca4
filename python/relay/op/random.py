"""Random numbers: each function takes a key and gives a tuple of a new key and what was drawn."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from .._core import Constant, Expr, call_op
from ..expr import const
from ._common import DTypeLike, ExprLike, as_const, is_expr, static_list
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


# In the form that they have in JAX, on keys that are arrays: relay/functions/keys.py.
_WITH_ARRAYS = ("bernoulli", "categorical", "choice", "exponential", "fold_in", "gumbel", "key", "permutation", "randint", "split")

if TYPE_CHECKING:
    from ..functions.keys import (
        bernoulli as bernoulli, categorical as categorical, choice as choice, exponential as exponential, fold_in as fold_in, gumbel as gumbel, key as key,
        permutation as permutation, randint as randint, split as split,
    )  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _WITH_ARRAYS or name == "PRNGKey":
        from ..functions import keys

        return getattr(keys, "key" if name == "PRNGKey" else name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def uniform(
    key: Any, shape: Any = (), dtype: DTypeLike = "float32", low: Any = 0.0, high: Any = 1.0, *, minval: Any = None, maxval: Any = None
) -> Any:
    """A tuple of a new key and numbers that are evenly spread over [low, high). With a key that is an array, the numbers alone, as in JAX."""
    low, high = low if minval is None else minval, high if maxval is None else maxval
    if not is_expr(key):
        from ..functions import keys

        return keys.uniform(key, shape, dtype, low, high)
    bounds = (as_const(low, dtype), as_const(high, dtype))
    return call_op("random.uniform", key, *bounds, out_shape=_shape(shape), out_dtype=dtype)


def normal(key: Any, shape: Any = (), dtype: DTypeLike = "float32", mean: ExprLike = 0.0, scale: ExprLike = 1.0) -> Any:
    """A tuple of a new key and normally distributed numbers. With a key that is an array, the numbers alone, as in JAX."""
    if not is_expr(key):
        from ..functions import keys

        return mean + scale * keys.normal(key, shape, dtype)
    bounds = (as_const(mean, dtype), as_const(scale, dtype))
    return call_op("random.normal", key, *bounds, out_shape=_shape(shape), out_dtype=dtype)
