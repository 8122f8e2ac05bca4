"""Random numbers by keys, in JAX's form: a key is used once, and split for more."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..numpy._common import Size, cast, emit, extents, lift, number, operation
from ..numpy.elementwise import floor, log, multiply
from ..numpy.manipulation import broadcast_to, reshape
from ..numpy.reductions import argmax, argsort, cumsum, searchsorted, take
from .array import Array
from .dtypes import as_dtype

__all__ = ["bernoulli", "categorical", "choice", "exponential", "fold_in", "gumbel", "key", "normal", "permutation", "randint", "split", "uniform"]

_WORDS = 10


def key(seed: Any) -> Any:
    """The key of a number of up to 256 bits, which may be traced (then of up to 64)."""
    if isinstance(seed, int):
        from ..op.random import threefry_key

        return Array(threefry_key(seed).data)
    return _key_of(seed)


@operation
def _key_of(seed: Any) -> Any:
    words = np.zeros(_WORDS, "uint64")
    words[8] = 1 << 63
    return lift(Array(words)).at[0].set(cast(lift(seed), "uint64"))


def _checked(key: Any) -> Any:
    value = lift(key)
    if value.dtype != "uint64" or tuple(value.shape) != (_WORDS,):
        raise TypeError(f"a key of relay.random.key or split is needed, not an array of {value._text()}")
    return value


@operation
def split(key: Any, num: int = 2) -> Any:
    """`num` keys of a key, as rows; the key itself is used up."""
    count = operator.index(num)
    # Random bits are the 256 bits of a new key.
    _, bits = emit("random.threefry_generate", _checked(key), out_shape=[count, 4])
    rest = np.zeros((count, _WORDS - 4), "uint64")
    rest[:, 4] = 1 << 63
    return emit("concatenate", [bits, lift(Array(rest))], axis=1)


@operation
def fold_in(key: Any, data: Any) -> Any:
    """A key of a key and a number: another one for each number."""
    value = _checked(key)
    _, bits = emit("random.threefry_generate", value, out_shape=[1])
    return value.at[0].set(emit("bitwise_xor", bits[0], multiply(cast(lift(data), "uint64"), number(0x9E3779B97F4A7C15, "uint64")))).at[1].add(bits[0])


def _numbers(name: str, key: Any, shape: Any, dtype: Any, first: float, second: float) -> Any:
    wanted = as_dtype(dtype)
    if wanted.kind != "float":
        raise TypeError(f"random numbers are floats, not {wanted}: use randint")
    drawn = wanted if wanted.bits >= 32 else as_dtype("float32")
    sizes = extents(shape)
    if any(isinstance(size, Size) for size in sizes):
        raise TypeError("the shape of random numbers is known while a function is traced: its extents are numbers")
    found = emit("random." + name, _checked(key), number(first, drawn), number(second, drawn), out_shape=sizes, out_dtype=drawn.name)[1]
    return cast(found, wanted)


@operation
def uniform(key: Any, shape: Any = (), dtype: Any = "float32", minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Numbers evenly spread over [minval, maxval)."""
    unit = _numbers("uniform", key, shape, dtype, 0.0, 1.0)
    if minval == 0.0 and isinstance(minval, float) and isinstance(maxval, float) and maxval == 1.0:
        return unit
    low, high = lift(minval, unit.dtype), lift(maxval, unit.dtype)
    return low + unit * (high - low)


@operation
def normal(key: Any, shape: Any = (), dtype: Any = "float32") -> Any:
    """Normally distributed numbers: mean 0, standard deviation 1."""
    return _numbers("normal", key, shape, dtype, 0.0, 1.0)


@operation
def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
    """True with a probability."""
    chance = lift(p)
    return uniform(key, chance.shape if shape is None else shape) < chance


@operation
def exponential(key: Any, shape: Any = (), dtype: Any = "float32") -> Any:
    """Exponentially distributed numbers of mean 1."""
    return -log(1.0 - uniform(key, shape, dtype))


@operation
def gumbel(key: Any, shape: Any = (), dtype: Any = "float32") -> Any:
    """Gumbel-distributed numbers."""
    return -log(exponential(key, shape, dtype))


@operation
def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = "int32") -> Any:
    """Integers from minval to below maxval."""
    wanted = as_dtype(dtype)
    low, high = lift(minval, "float64"), lift(maxval, "float64")
    return cast(low + floor(_numbers("uniform", key, shape, "float64", 0.0, 1.0) * (high - low)), wanted)


@operation
def permutation(key: Any, x: Any, axis: int = 0) -> Any:
    """The elements along an axis in a random order; for a number n, those from 0 to n - 1."""
    from ..numpy.creation import arange

    value = arange(x) if isinstance(x, int) else lift(x)
    order = argsort(_numbers("uniform", key, (value.shape[axis],), "float64", 0.0, 1.0))
    return take(value, order, axis=axis)


@operation
def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> Any:
    """Elements along an axis, drawn with the given probabilities; a number n stands for those from 0 to n - 1."""
    from ..numpy.creation import arange

    value = arange(a) if isinstance(a, int) else lift(a)
    sizes = extents(shape)
    count = int(np.prod(sizes, dtype=int))
    extent = value.shape[axis]
    if not replace:
        if count > extent:
            raise ValueError(f"{count} of {extent} elements cannot be drawn without putting back")
        weight = -gumbel(key, (extent,), "float64") if p is None else -(gumbel(key, (extent,), "float64") + log(lift(p, "float64")))
        places = argsort(weight)[:count]
    elif p is None:
        places = randint(key, (count,), 0, extent)
    else:
        edges = cumsum(lift(p, "float64"))
        places = searchsorted(edges, _numbers("uniform", key, (count,), "float64", 0.0, 1.0) * edges[-1], side="right")
    places = reshape(places, tuple(sizes)) if sizes else places[0]
    return take(value, places, axis=axis)


@operation
def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None) -> Any:
    """Positions along an axis, with probabilities that are the softmax of it."""
    value = lift(logits)
    place = axis % value.ndim
    batch = (*value.shape[:place], *value.shape[place + 1 :])
    sizes = tuple(extents(shape)) if shape is not None else batch
    extra = len(sizes) - len(batch)
    noisy = broadcast_to(value, (*sizes[:extra], *value.shape)) + gumbel(key, (*sizes[:extra], *value.shape), value.dtype)
    return argmax(noisy, axis=place + extra)
