"""Places in source text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from relay import Span


class SourceName(str):
    """The name of a piece of source text."""

    def __new__(cls, name: str) -> SourceName:
        return super().__new__(cls, name)

    @property
    def name(self) -> str:
        """The name."""
        return str(self)


class SequentialSpan:
    """Several places that belong to one node."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = list(spans)


_plain_name: Any = Span.source_name


def install() -> None:
    """Puts `source_name.name` onto places, once."""
    setattr(Span, "source_name", property(lambda self: SourceName(_plain_name.__get__(self))))
