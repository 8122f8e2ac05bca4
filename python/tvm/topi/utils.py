"""Helpers of tests."""

from __future__ import annotations

from typing import Any


def get_const_tuple(in_tuple: Any) -> tuple[Any, ...]:
    """Extents as integers; names stay what they are."""
    return tuple(int(extent) if isinstance(extent, int) else extent for extent in in_tuple)


def get_const_int(expr: Any) -> int:
    """An extent as an integer. Raises ValueError for one that is not known."""
    if not isinstance(expr, int):
        raise ValueError(f"{expr} is no known number")
    return int(expr)
