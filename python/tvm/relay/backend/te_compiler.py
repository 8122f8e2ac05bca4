"""TVM's cache of lowered kernels, which scripts that tune clear between measurements: nothing is kept here, so clearing does nothing."""

from __future__ import annotations

from typing import Any

from ... import _absent

__all__ = ["TECompiler", "get"]


class TECompiler:
    """The cache. It is empty."""

    def clear(self) -> None:
        """Does nothing: compilation keeps no kernels that tuning could change."""

    def items(self) -> list[Any]:
        """No kernels."""
        return []

    lower = _absent.missing_method(
        "TECompiler.lower", "schedules of TIR: `relay opt --emit=loops` shows the loops of a program"
    )


_cache = TECompiler()


def get() -> TECompiler:
    """The one cache."""
    return _cache


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
