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
_plain_equal: Any = Span.__eq__
_plain_hash: Any = Span.__hash__


def _equal(self: Span, other: object) -> Any:
    """True for the same place. An unknown place equals None, which TVM has for it."""
    return not self.known if other is None else _plain_equal(self, other)


def install() -> None:
    """Puts `source_name.name` onto places, and makes unknown ones equal to None, once."""
    setattr(Span, "source_name", property(lambda self: SourceName(_plain_name.__get__(self))))
    setattr(Span, "__eq__", _equal)
    setattr(Span, "__hash__", _plain_hash)
