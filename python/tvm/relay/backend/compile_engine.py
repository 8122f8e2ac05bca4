"""The name of `te_compiler` before TVM 0.9."""

from __future__ import annotations

from typing import Any

from ... import _absent
from .te_compiler import TECompiler as CompileEngine, get as get

__all__ = ["CompileEngine", "get"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
