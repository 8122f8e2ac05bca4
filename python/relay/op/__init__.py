"""Operators as functions: `relay.op.add`, `relay.op.nn.conv2d`, …; and new ones: `relay.op.register`."""

from __future__ import annotations

import atexit as _atexit
import sys as _sys
from typing import TYPE_CHECKING, Any as _Any

from . import annotation as annotation, dyn as dyn, image as image, nn as nn, random as random, vision as vision
from .. import _core
from .._core import op as _op
from .generated.tensor import *  # noqa: F403 (which come with the next line, too, but checkers of types do not see it)
from .tensor import *  # noqa: F403
from .tensor import grad as grad, value_and_grad as value_and_grad, vjp as vjp

if TYPE_CHECKING:
    from .description import describe as describe, names as names
    from .facts import columns as columns, get_attr as get_attr, has_attr as has_attr, reset_attr as reset_attr, set_attr as set_attr
    from .registration import (
        REQUIRED as REQUIRED, Attr as Attr, Input as Input, Output as Output, function as function,
        gradients as gradients, register as register, registered as registered, unregister as unregister,
    )

get = _op

# Names that are found when they are first used: who declares no operators need not wait for what that takes.
_LAZY = {
    **dict.fromkeys(("describe", "names"), "description"),
    **dict.fromkeys(("columns", "get_attr", "has_attr", "reset_attr", "set_attr"), "facts"),
    **dict.fromkeys(
        ("REQUIRED", "Attr", "Input", "Output", "function", "gradients", "register", "registered", "unregister"), "registration"
    ),
}

# Functions of operators are let go of before the interpreter is taken apart. What users register for its end runs before.
_atexit.register(_core.drop_callbacks)


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        from importlib import import_module

        found = globals()[name] = getattr(import_module("." + _LAZY[name], __name__), name)
        return found
    if name == "contrib":  # tables of patterns, which few programs need
        from importlib import import_module

        return import_module(".contrib", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=_sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, "contrib"})
