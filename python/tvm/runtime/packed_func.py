"""Functions that scripts hand to the library, or get from it: Python's own."""

from __future__ import annotations

from typing import Any

from .. import _absent

__all__ = ["PackedFunc"]


class _Callable(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return callable(instance) and not isinstance(instance, type)


class PackedFunc(metaclass=_Callable):
    """Stands for every function: nothing is packed, since functions take and give Python's own values."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("PackedFunc makes no functions: tvm.register_func and tvm.runtime.convert take those of Python as they are")


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
