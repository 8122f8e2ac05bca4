"""Shared by the functions of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence, Union

from .. import _core
from .._core import Constant, Expr, NDArray, Tuple
from ..expr import TupleWrapper, as_expr, const

if TYPE_CHECKING:
    import numpy as np

    ExprLike = Union[Expr, TupleWrapper, NDArray, "np.ndarray[Any, Any]", float, Sequence[Any]]
    DTypeLike = Union[str, type, "np.dtype[Any]", None]
else:
    ExprLike = Any
    DTypeLike = Any


_MOST_NUMBERS = 2**20


def plain(value: Any) -> Any:
    """Arrays as lists of Python numbers, other values as they are. Raises ValueError for arrays that are no list of a few numbers."""
    if not hasattr(value, "tolist"):
        return value
    if getattr(value, "size", 0) > _MOST_NUMBERS:  # of which memory may have but one
        raise ValueError(f"an array of {value.size} elements stands where a list of a few numbers is needed")
    return value.tolist()


def sizes(value: Any, rank: int) -> Any:
    """One entry for each spatial dimension of a number for all; lists and None are kept."""
    if value is None or isinstance(value, (list, tuple)):
        return value
    return (value,) * rank


def pad_tuple(padding: Any, rank: int) -> tuple[int, ...]:
    """Padding before and after, `2 * rank` numbers, of one number, of one for each dimension, or of all. Raises ValueError."""
    if not isinstance(padding, (list, tuple)):
        return (padding,) * (2 * rank)
    if len(padding) == 1:
        return tuple(padding) * (2 * rank)
    if len(padding) == rank:
        return tuple(padding) * 2
    if len(padding) == 2 * rank:
        return tuple(padding)
    raise ValueError(f"padding has 1, {rank} or {2 * rank} entries, not {len(padding)}")


def is_expr(value: Any) -> bool:
    """True if a value is known only when the program runs: a constant counts as a number where a number is taken."""
    return isinstance(value, (Expr, TupleWrapper))


def number_of(value: Any) -> Any:
    """The Python number of a constant of rank 0 or of one element; other values are kept."""
    if isinstance(value, Constant) and value.data.size == 1:
        return value.data.item()
    return value


def static_list(value: Any) -> list[int] | None:
    """The integers of a shape, a list of numbers and constants, or an array; None where some are known only at run time."""
    if isinstance(value, Constant):
        return [int(item) for item in value.data.numpy().reshape(-1)]
    if isinstance(value, TupleWrapper) or (isinstance(value, Expr) and not isinstance(value, Tuple)):
        return None
    if isinstance(value, Tuple):
        value = value.fields
    elif not isinstance(value, (list, tuple)):
        value = plain(value)
        if not isinstance(value, list):
            value = [value]
    numbers = [number_of(item) for item in value]
    return None if any(is_expr(item) for item in numbers) else numbers


def shape_expr(value: Any, dtype: str = "int64") -> Expr:
    """A tensor of rank 1 of a shape, some of whose items are expressions of rank 0 (or of one element)."""
    if isinstance(value, TupleWrapper) or (isinstance(value, Expr) and not isinstance(value, Tuple)):
        return as_expr(value)
    items = value.fields if isinstance(value, Tuple) else plain(value)
    parts = [
        _core.call_op("cast", _core.call_op("reshape", item, newshape=(1,)), dtype=dtype) if is_expr(item) else const([item], dtype)
        for item in items
    ]
    return _core.call_op("concatenate", Tuple(parts), axis=0)


def as_const(value: Any, dtype: Any = None) -> Expr:
    """An expression of a number or a list of numbers as one tensor; expressions are kept."""
    return as_expr(value) if is_expr(value) else const(value, dtype)
