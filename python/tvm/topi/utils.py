"""Helpers with extents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .. import _absent

__all__ = [
    "InvalidShapeError", "ceil_div", "equal_const_int", "get_const_float", "get_const_int", "get_const_tuple", "get_float_tuple", "get_max_power2_factor",
    "get_shape", "is_dynamic_shape", "is_empty_shape", "is_target", "prod", "ravel_index", "simplify", "swap", "unravel_index",
]  # fmt: skip


class InvalidShapeError(ValueError):
    """A shape that an operator does not take."""


def get_const_tuple(in_tuple: Any) -> tuple[Any, ...]:
    """Extents as integers; names stay what they are."""
    return tuple(int(extent) if isinstance(extent, int) else extent for extent in in_tuple)


def get_const_int(expr: Any) -> int:
    """An extent as an integer. Raises ValueError for one that is not known."""
    if not isinstance(expr, int):
        raise ValueError(f"{expr} is no known number")
    return int(expr)


def get_const_float(expr: Any) -> float:
    """A number as a float. Raises ValueError for what is none."""
    if not isinstance(expr, (int, float)):
        raise ValueError(f"{expr} is no known number")
    return float(expr)


def get_float_tuple(in_tuple: Any) -> tuple[float, ...]:
    """Numbers as floats."""
    return tuple(get_const_float(value) for value in in_tuple)


def equal_const_int(expr: Any, value: int) -> bool:
    """True if an extent is known and has this value."""
    return isinstance(expr, int) and int(expr) == value


def prod(x: Iterable[Any]) -> Any:
    """The product of extents; 1 of none."""
    out: Any = 1
    for extent in x:
        out = out * extent
    return out


def simplify(expr: Any) -> Any:
    """The extent itself: terms are simplified as they are made."""
    return int(expr) if isinstance(expr, int) else expr


def ceil_div(a: Any, b: Any) -> Any:
    """The quotient of extents, rounded up."""
    return (a + b - 1) // b


def ravel_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The place in memory of an element of a tensor."""
    out: Any = 0
    for index, extent in zip(indices, shape):
        out = out * extent + index
    return out


def unravel_index(idx: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of the element at a place in memory."""
    out = []
    for extent in reversed(list(shape)):
        out.append(idx % extent)
        idx = idx // extent
    return out[::-1]


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """The largest power of two that divides a number and is no larger than another one."""
    factor = 1
    while n % (factor * 2) == 0 and n > 0 and (max_value is None or factor * 2 <= max_value):
        factor *= 2
    return factor


def get_shape(src_shape: Sequence[Any], src_layout: str, dst_layout: str) -> tuple[Any, ...]:
    """A shape in another layout of the same axes."""
    if sorted(src_layout) != sorted(dst_layout):
        raise ValueError(f"the layouts {src_layout} and {dst_layout} have different axes")
    return tuple(src_shape[src_layout.index(axis)] for axis in dst_layout)


def is_empty_shape(shape: Sequence[Any]) -> bool:
    """True if an extent is 0."""
    return any(equal_const_int(extent, 0) for extent in shape)


def is_dynamic_shape(shape: Sequence[Any]) -> bool:
    """True if an extent is not known."""
    return any(not isinstance(extent, int) for extent in shape)


def is_target(names: Any) -> bool:
    """True if the target in force is of one of these kinds."""
    from ..target import Target

    current = Target.current(allow_none=True)
    return current is not None and bool(({names} if isinstance(names, str) else set(names)) & {current.kind.name, *current.keys})


def swap(arr: Sequence[Any], axis: int) -> list[Any]:
    """A list with the element at an axis and the last one exchanged."""
    out = list(arr)
    out[axis], out[-1] = out[-1], out[axis]
    return out


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
