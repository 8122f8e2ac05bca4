"""How `qnn.requantize` computes where a call leaves it open: the innermost ``with requantize_config(…)`` says."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import relay as _relay
from relay import Call, Expr, IRModule, Op

from ...ir.members import with_functions

__all__ = ["RequantizeConfig", "current_requantize_config", "in_force", "requantize_config", "settled"]

_CHOICES = {"rounding": ("UPWARD", "TONEAREST"), "compute_dtype": ("int64", "float32", "float64")}
_local = threading.local()


class RequantizeConfig:
    """The rounding and the dtype of products of calls that name none; a context manager. `handle`: what is not the default, by name."""

    def __init__(self, handle: Mapping[str, str] | None = None) -> None:
        given = dict(handle or {})
        self.rounding = given.pop("rounding", "UPWARD")
        self.compute_dtype = given.pop("compute_dtype", "int64")
        if given:
            raise ValueError(f"requantize_config has no {min(given)!r}: it has {' and '.join(_CHOICES)}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} of requantize_config is one of {', '.join(choices)}, not {getattr(self, name)!r}")

    def __enter__(self) -> RequantizeConfig:
        if not hasattr(_local, "stack"):
            _local.stack = []
        _local.stack.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _local.stack.pop()


def current_requantize_config() -> RequantizeConfig:
    """The innermost one of this thread, or the default."""
    stack = getattr(_local, "stack", None)
    return stack[-1] if stack else RequantizeConfig()


def requantize_config(**kwargs: Any) -> RequantizeConfig:
    """A context manager that sets `rounding` ("UPWARD", "TONEAREST") and `compute_dtype` ("int64", "float32", "float64"); what it leaves out is
    UPWARD and int64, also inside of another. Builds, executors and passes under it take them for calls of qnn.requantize that name none.
    Raises ValueError for other names and words."""
    return RequantizeConfig(kwargs)


def in_force() -> bool:
    """True inside of a ``with requantize_config(…)``."""
    return bool(getattr(_local, "stack", None))


def settled(mod: IRModule) -> IRModule:
    """The module with the settings in force written at calls that leave them open; the same module outside of any context."""
    if not in_force():
        return mod
    config = current_requantize_config()

    def write(expr: Expr) -> Expr | None:
        if not (isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == "qnn.requantize"):
            return None
        open_ones = [name for name in _CHOICES if expr.attrs[name] == "None"]
        if not open_ones:
            return None
        attrs = {**{key: expr.attrs[key] for key in expr.attrs.keys()}, **{name: getattr(config, name) for name in open_ones}}
        return _relay.Call(expr.op, expr.args, _relay.Attrs(attrs, "relay.attrs.RequantizeAttrs"), None, expr.span)

    return with_functions(mod, lambda function: _relay.rewrite(function, write))
