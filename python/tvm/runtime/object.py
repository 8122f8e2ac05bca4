"""The base of everything, by name."""

from __future__ import annotations

from typing import Any

import relay as _relay

_NODES = (_relay.Expr, _relay.Type, _relay.IRModule, _relay.NDArray, _relay.Value, _relay.Attrs, _relay.Span, _relay.Pattern,
          _relay._core.DFPattern)


class _Meta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or cls is Object and isinstance(instance, _NODES)


class Object(metaclass=_Meta):
    """The class that `isinstance` asks for: nodes, types, modules, arrays and values are objects."""


class ObjectGeneric:
    """Marks classes that stand for an object; `asobject` gives it."""

    def asobject(self) -> Any:
        """The object. Raises NotImplementedError where a subclass does not say."""
        raise NotImplementedError("asobject of a subclass")
