"""The names that TVM 0.8 has in one module, and later versions in several."""

from __future__ import annotations

from typing import Any

from ... import _absent
from .model import TVMCException

__all__ = ["TVMCException"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
