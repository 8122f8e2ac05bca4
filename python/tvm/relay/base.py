"""Places in source text."""

from relay import Span

from ..ir.spans import SequentialSpan, SourceName

__all__ = ["SequentialSpan", "SourceName", "Span"]
