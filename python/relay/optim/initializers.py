"""First values of parameters, drawn by a key of threefry: the same key gives the same numbers on every machine.

Each function takes a key (Tensor[(10), uint64], `relay.random.threefry_key(seed)`) and a shape, and gives two expressions: the key to go on with, and the
values. Bounds and spreads are those of torch.nn.init; a weight has its outputs first (dense: (units, inputs), conv2d: OIHW).
"""

from __future__ import annotations

import math
from typing import Sequence

from .._core import Expr, TupleGetItem
from ..expr import const
from ..op import random
from ..op._arrays import over_arrays

__all__ = ["gain", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform", "normal",
           "uniform", "xavier_normal", "xavier_uniform"]  # fmt: skip

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "conv": 1.0, "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 0.75}


def gain(nonlinearity: str) -> float:
    """The factor that keeps the spread of values through a nonlinearity."""
    if nonlinearity not in _GAINS:
        raise ValueError(f"nonlinearity is one of {', '.join(_GAINS)}, not {nonlinearity!r}")
    return _GAINS[nonlinearity]


def _fans(shape: Sequence[int]) -> tuple[int, int]:
    """How many values an output is made of, and how many outputs a value goes to."""
    if len(shape) < 2:
        raise ValueError(f"a weight of shape {tuple(shape)} has no inputs and outputs: it needs 2 dimensions or more")
    taps = math.prod(shape[2:])
    return max(shape[1] * taps, 1), max(shape[0] * taps, 1)


def normal(key: Expr, shape: Sequence[int], mean: float = 0.0, std: float = 1.0, dtype: str = "float32") -> tuple[Expr, Expr]:
    """Numbers of a normal distribution."""
    drawn = random.normal(key, shape, dtype, const(float(mean), dtype), const(float(std), dtype))
    return TupleGetItem(drawn, 0), TupleGetItem(drawn, 1)


def uniform(key: Expr, shape: Sequence[int], low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> tuple[Expr, Expr]:
    """Numbers evenly spread from low to below high."""
    drawn = random.uniform(key, shape, dtype, const(float(low), dtype), const(float(high), dtype))
    return TupleGetItem(drawn, 0), TupleGetItem(drawn, 1)


def xavier_uniform(key: Expr, shape: Sequence[int], gain: float = 1.0, dtype: str = "float32") -> tuple[Expr, Expr]:
    """Glorot and Bengio 2010: up to gain · √(6 / (inputs + outputs))."""
    bound = gain * math.sqrt(6.0 / sum(_fans(shape)))
    return uniform(key, shape, -bound, bound, dtype)


def xavier_normal(key: Expr, shape: Sequence[int], gain: float = 1.0, dtype: str = "float32") -> tuple[Expr, Expr]:
    """Glorot and Bengio 2010: a spread of gain · √(2 / (inputs + outputs))."""
    return normal(key, shape, 0.0, gain * math.sqrt(2.0 / sum(_fans(shape))), dtype)


def kaiming_uniform(key: Expr, shape: Sequence[int], nonlinearity: str = "relu", dtype: str = "float32") -> tuple[Expr, Expr]:
    """He and others 2015: up to gain · √(3 / inputs)."""
    bound = gain(nonlinearity) * math.sqrt(3.0 / _fans(shape)[0])
    return uniform(key, shape, -bound, bound, dtype)


def kaiming_normal(key: Expr, shape: Sequence[int], nonlinearity: str = "relu", dtype: str = "float32") -> tuple[Expr, Expr]:
    """He and others 2015: a spread of gain / √inputs."""
    return normal(key, shape, 0.0, gain(nonlinearity) / math.sqrt(_fans(shape)[0]), dtype)


glorot_uniform = xavier_uniform
glorot_normal = xavier_normal
he_uniform = kaiming_uniform
he_normal = kaiming_normal


over_arrays(globals(), __all__)
