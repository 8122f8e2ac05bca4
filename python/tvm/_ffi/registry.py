"""Functions by name, and classes that scripts register."""

from __future__ import annotations

from typing import Any

from .. import _absent
from ..runtime.registry import get_global_func, list_global_func_names, register_func, remove_global_func

__all__ = ["get_global_func", "list_global_func_names", "register_extension", "register_func", "register_object", "remove_global_func"]


def register_object(type_key: Any = None) -> Any:
    """Gives the class back: nodes of the library are not made of classes of a script."""
    return type_key if isinstance(type_key, type) else (lambda cls: cls)


def register_extension(cls: Any, fcreate: Any = None) -> Any:
    """Gives the class back."""
    return cls


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
