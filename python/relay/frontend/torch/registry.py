"""The table of converters: by operator of ATen, with arguments bound by the operator's schema."""

from __future__ import annotations

import inspect
import operator
from typing import Any, Callable

import torch

__all__ = ["converter", "find", "supported"]

_TABLE: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}


def converter(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares the converter of operators by name: "aten.add.Tensor", or "aten.add" for each overload that has no converter of its own.

    The function takes the context and those arguments of the schema that its parameters name; the schema's defaults stand in.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        wanted = tuple(inspect.signature(function).parameters)[1:]
        for name in names:
            if name in _TABLE:
                raise ValueError(f"{name} has two converters")
            _TABLE[name] = (function, wanted)
        return function

    return declare


def _entry(target: Any) -> tuple[Callable[..., Any], tuple[str, ...]] | None:
    if not isinstance(target, torch._ops.OpOverload):
        return None
    name = str(target)
    return _TABLE.get(name) or _TABLE.get(name.rpartition(".")[0])


def supported(target: Any) -> bool:
    """True for an operator that has a converter."""
    return _entry(target) is not None


def find(target: Any) -> Callable[..., Any] | None:
    """The converter of an operator as a function of the context and the call's arguments; None where the table has none."""
    entry = _entry(target)
    if entry is None:
        return None
    function, wanted = entry
    schema = target._schema.arguments

    def convert(context: Any, args: Any, kwargs: Any) -> Any:
        bound = {argument.name: argument.default_value for argument in schema if argument.has_default_value()}
        bound.update(zip((argument.name for argument in schema), args))
        bound.update(kwargs)
        bound.update({name.lower(): value for name, value in bound.items() if not name.islower()})  # matrices are in capitals
        given = {}
        for name in wanted:
            # Overloads that share a converter differ in some names.
            given[name] = bound.get("self" if name == "this" else name)
        return function(context, **given)

    return convert


# Arithmetic of Python on extents.
SCALAR: dict[Any, str] = {
    operator.add: "add", operator.sub: "subtract", operator.mul: "multiply", operator.floordiv: "floor_divide", operator.mod: "floor_mod",
    operator.eq: "equal", operator.ne: "not_equal", operator.lt: "less", operator.le: "less_equal", operator.gt: "greater",
    operator.ge: "greater_equal", operator.and_: "logical_and", operator.or_: "logical_or", torch.sym_max: "maximum", torch.sym_min: "minimum",
}  # fmt: skip
