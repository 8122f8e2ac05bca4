"""Python's operators between arrays and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..functions.array import Array, BaseArray, is_array, is_scalar
from ..functions.dtypes import can_hold, default_of, kind_of_scalar
from ..functions.trace import Size, current
from . import elementwise, linear
from .creation import asarray

__all__ = ["infix"]

_FUNCTIONS = {name: getattr(elementwise, name) for name in elementwise.__all__} | {"matmul": linear.matmul}


def infix(name: str, x1: Any, x2: Any) -> Any:
    """An operator of Python; NotImplemented for what is neither an array nor a number."""
    for value in (x1, x2):
        if not (isinstance(value, (BaseArray, Size)) or is_scalar(value) or is_array(value)):
            return NotImplemented
    if current() is None and name != "pow":
        # A number is an argument of the kept program and no part of its signature: a rate that changes makes no new program.
        if is_scalar(x2) and type(x1) is Array:
            x2 = _beside(x2, x1)
        elif is_scalar(x1) and type(x2) is Array:
            x1 = _beside(x1, x2)
    return _FUNCTIONS[name](x1, x2)


def _beside(value: Any, array: Array) -> Any:
    """A number in the dtype that it has beside an array."""
    kind = kind_of_scalar(value)
    dtype = array.dtype if can_hold(array.dtype, kind) else default_of(kind)
    if dtype == "bfloat16":
        return asarray(float(value), dtype=dtype)
    made = Array(np.asarray(value, dtype=dtype.name))
    made.weak = array.weak
    return made
