"""`tvm._ffi`: the registry of functions, and classes that scripts register. There is no library behind it."""

from __future__ import annotations

from typing import Any

from .. import _absent
from . import base, registry, runtime_ctypes
from .registry import get_global_func, register_extension, register_func, register_object

__all__ = ["base", "get_global_func", "register_extension", "register_func", "register_object", "registry", "runtime_ctypes"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
