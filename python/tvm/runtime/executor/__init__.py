"""Modules of executors by TVM's names."""

from __future__ import annotations

from typing import Any

from ... import _absent
from . import aot_executor
from .aot_executor import AotModule

__all__ = ["AotModule", "aot_executor"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
