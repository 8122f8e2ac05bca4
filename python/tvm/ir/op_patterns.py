"""The fusion patterns that TVM 0.14 has for its operators, by its numbers: what `Op.get_attr("TOpPattern")` gives."""

from __future__ import annotations

from relay import _core


class _Patterns:
    """The library's table, which patterns of dataflow read too."""

    def get(self, name: str) -> int | None:
        """The number of an operator's fusion pattern; None if TVM has none for it."""
        return _core.fusion_pattern(name)


PATTERNS = _Patterns()
