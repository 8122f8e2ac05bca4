"""`relay.backend`: executors and how programs are built."""

from __future__ import annotations

from typing import Any

from ... import _absent
from . import executor, interpreter, name_transforms, runtime, te_compiler, utils, vm
from .options import Executor, Runtime

__all__ = ["Executor", "Runtime", "executor", "interpreter", "name_transforms", "runtime", "te_compiler", "utils", "vm"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
