"""Places in source text."""

from __future__ import annotations

from collections.abc import Iterable

from relay import Span


class SourceName:
    """What a piece of source text is called."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return self.name == (other.name if isinstance(other, SourceName) else other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


class SequentialSpan:
    """Several places that belong to one node."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = list(spans)
