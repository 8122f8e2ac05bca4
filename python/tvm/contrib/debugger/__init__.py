"""Executors that run graphs node by node and tell what each took."""

from __future__ import annotations

from typing import Any

from ... import _absent
from ..._submodules import submodule
from . import debug_executor, debug_result

__all__ = ["debug_executor", "debug_result", "debug_runtime"]

# The name before TVM 0.8.
debug_runtime = submodule(__name__, "debug_runtime", GraphModuleDebug=debug_executor.GraphModuleDebug, create=debug_executor.create)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
