"""Padding of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _absent

__all__ = ["get_pad_tuple", "get_pad_tuple1d", "get_pad_tuple3d", "get_pad_tuple_generic"]


def _both_sides(padding: Any, kernel: Sequence[int], rank: int) -> tuple[Any, ...]:
    """Padding before every axis, then behind every axis."""
    if isinstance(padding, (tuple, list)):
        values = list(padding)
        if len(values) == 2 * rank:
            return tuple(values)
        if len(values) == 1:
            values = values * rank
        if len(values) != rank:
            raise ValueError(f"padding of {rank} dimensions has {rank} or {2 * rank} numbers, not {len(values)}")
        total = [value * 2 for value in values]
    elif isinstance(padding, int):
        total = [padding * 2] * rank
    elif padding == "VALID":
        total = [0] * rank
    elif padding == "SAME":
        total = [extent - 1 for extent in kernel]
    else:
        raise ValueError(f"no padding is called {padding!r}: there are VALID and SAME")
    before = [(value + 1) // 2 for value in total]
    return (*before, *(value - first for value, first in zip(total, before)))


def get_pad_tuple(padding: Any, kernel: Sequence[int]) -> tuple[Any, ...]:
    """Padding at the top, left, bottom, right: of numbers, or "SAME" or "VALID" for a kernel."""
    return _both_sides(padding, kernel, 2)


def get_pad_tuple3d(padding: Any, kernel: Sequence[int]) -> tuple[Any, ...]:
    """Padding at the front, top, left, back, bottom, right."""
    return _both_sides(padding, kernel, 3)


def get_pad_tuple1d(padding: Any, kernel: Sequence[int]) -> tuple[Any, ...]:
    """Padding at the left and right."""
    return _both_sides(padding, [kernel] if isinstance(kernel, int) else kernel, 1)


def get_pad_tuple_generic(padding: Any, kernel: Sequence[int]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Padding before each axis, and behind each."""
    both = _both_sides(padding, kernel, len(kernel))
    return both[: len(kernel)], both[len(kernel) :]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
