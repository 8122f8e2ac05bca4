"""`relay.backend`: executors and how programs are built."""

from __future__ import annotations

import importlib
from typing import Any

from ... import _absent
from . import executor, interpreter, name_transforms, runtime, te_compiler, utils, vm
from .options import Executor, Runtime

__all__ = ["Executor", "Runtime", "executor", "interpreter", "name_transforms", "runtime", "te_compiler", "utils", "vm"]


# Modules that need what is made of this one.
_LATER = ("_backend", "executor_factory", "graph_executor_factory")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"{__name__}.{name}")
    return _absent.lookup(__name__, name)
