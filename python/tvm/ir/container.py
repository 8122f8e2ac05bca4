"""Lists and maps by TVM's names."""

from ..runtime.container import Array, Map

__all__ = ["Array", "Map"]
