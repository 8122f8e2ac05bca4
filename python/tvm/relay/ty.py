"""Types."""

from __future__ import annotations

from typing import Any as _AnyType

import relay as _relay
from relay.ty import *  # noqa: F403
from relay.ty import __all__ as __all__

from ..tir import Any as Any


def is_dynamic(tensor_type: _AnyType) -> bool:
    """True if an extent of the type is known only when the program runs. Raises TypeError for what is no type."""
    if not isinstance(tensor_type, _relay.Type):
        raise TypeError(f"is_dynamic asks about a type, not {type(tensor_type).__name__}")
    work = [tensor_type]
    while work:
        kind = work.pop()
        if isinstance(kind, _relay.TensorType) and any(not isinstance(extent, int) for extent in kind.shape):
            return True
        if isinstance(kind, _relay.TupleType):
            work += kind.fields
        elif isinstance(kind, _relay.FuncType):
            work += [*kind.arg_types, kind.ret_type]
        elif isinstance(kind, _relay.TypeCall):
            work += kind.args
    return False
