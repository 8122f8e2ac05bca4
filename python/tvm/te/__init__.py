"""`tvm.te`: names of dimensions, numbers, and tensor expressions in the functions that `register_compute` attaches."""

from __future__ import annotations

from typing import Any

from .. import _absent
from ..tir import SizeVar, Var, const as const
from . import described as _described, expressions
from .described import create_prim_func as create_prim_func, placeholder as placeholder
from .expressions import SpecializedCondition as SpecializedCondition, Tensor as Tensor


def var(name: str = "tindex", dtype: str = "int32", span: Any = None) -> Any:
    """A named dimension."""
    return Var(name, dtype, span)


def size_var(name: str = "size", dtype: str = "int32", span: Any = None) -> Any:
    """A named dimension that is not negative; all dimensions are."""
    return SizeVar(name, dtype, span)


def __getattr__(name: str) -> Any:
    inside = expressions.functions.get(name)
    return _absent.lookup(__name__, name) if inside is None else inside
