"""`tvm.driver`: the helper of the command line, in Python."""

from __future__ import annotations

from typing import Any

from .. import _absent
from . import tvmc

__all__ = ["tvmc"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
