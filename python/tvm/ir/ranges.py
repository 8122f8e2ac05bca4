"""Ranges of extents."""

from __future__ import annotations

from typing import Any

from .. import tir
from ..runtime.object import make_objects

__all__ = ["Range"]


class Range:
    """The numbers from `min` on, as many as `extent` says: of an end alone from 0, of a begin and an end up to before the end."""

    def __init__(self, begin: Any, end: Any = None, span: Any = None) -> None:
        self.min = tir.numbered(0 if end is None else begin)
        self.extent = tir.numbered(begin if end is None else end - begin)
        self.span = span

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any, span: Any = None) -> Range:
        """A range of its first number and its extent."""
        made = Range(extent, span=span)
        made.min = tir.numbered(min_value)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and bool(self.min == other.min) and bool(self.extent == other.extent)

    def __hash__(self) -> int:
        return hash((self.min, self.extent))

    def __repr__(self) -> str:
        return f"range(min={self.min}, ext={self.extent})"


make_objects(Range)
