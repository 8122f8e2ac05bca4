"""Python's operators between arrays and numbers."""

from __future__ import annotations

from typing import Any

from .._core import Expr
from ..expr import TupleWrapper
from ..functions.array import BaseArray, is_array, is_scalar
from ..functions.trace import Size, current
from . import elementwise, linear

__all__ = ["infix"]

_FUNCTIONS = {name: getattr(elementwise, name) for name in elementwise.__all__} | {"matmul": linear.matmul}


def infix(name: str, x1: Any, x2: Any) -> Any:
    """An operator of Python; NotImplemented for what is neither an array nor a number."""
    for value in (x1, x2):
        if isinstance(value, (Expr, TupleWrapper)) and current() is not None:
            continue  # what functions of operators gave without an array among their arguments
        if not (isinstance(value, (BaseArray, Size)) or is_scalar(value) or is_array(value)):
            return NotImplemented
    return _FUNCTIONS[name](x1, x2)
