"""`Call.type_args` as scripts of TVM know it: after inference it has the types that a polymorphic callee was used at."""

from __future__ import annotations

from typing import Any

import relay as _relay
from relay import Call, FuncType, RefType, TupleType, Type, TypeCall, TypeVar

__all__ = ["type_args", "written_type_args"]

# The answer of `relay` itself: what is written at the call.
written_type_args: Any = vars(Call)["type_args"].__get__


def type_args(call: Call) -> list[Type]:
    """The type arguments that are written, else those that inference found: for an operator the types of its arguments. Empty before
    inference, and where a parameter of the callee's type is no type or does not follow from the call."""
    written: list[Type] = written_type_args(call)
    if written:
        return written
    given = [_inferred(arg) for arg in call.args]
    if None in given:
        return []
    if isinstance(call.op, _relay.Op):
        return given
    scheme, result = _inferred(call.op), _inferred(call)
    if not isinstance(scheme, FuncType) or not scheme.type_params or result is None:
        return []
    found: dict[TypeVar, Any] = {}
    _match([*zip(scheme.arg_types, given), (scheme.ret_type, result)], frozenset(scheme.type_params), found)
    return [found[param] for param in scheme.type_params] if len(found) == len(scheme.type_params) else []


def _inferred(expr: _relay.Expr) -> Any:
    """The type of an expression; None before inference."""
    try:
        return expr.checked_type
    except (ValueError, AttributeError, _relay.RelayError):
        return None


def _match(pairs: list[tuple[Any, Any]], params: frozenset[TypeVar], found: dict[TypeVar, Any]) -> None:
    """Finds what stands in the place of each parameter."""
    work = pairs[::-1]
    while work:
        formal, actual = work.pop()
        if isinstance(formal, TypeVar):
            if formal in params:
                found.setdefault(formal, actual)
        elif type(formal) is not type(actual):
            continue
        elif isinstance(formal, TupleType):
            work += zip(formal.fields, actual.fields)
        elif isinstance(formal, TypeCall):
            work += zip(formal.args, actual.args)
        elif isinstance(formal, FuncType):
            work += [*zip(formal.arg_types, actual.arg_types), (formal.ret_type, actual.ret_type)]
        elif isinstance(formal, RefType):
            work.append((formal.value, actual.value))
