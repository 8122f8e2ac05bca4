"""Lists and maps by TVM's names."""

from __future__ import annotations

from typing import Any


class Array(list[Any]):
    """A list."""


class Map(dict[Any, Any]):
    """A dictionary; keys may be nodes, which compare as they do everywhere."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, default)
