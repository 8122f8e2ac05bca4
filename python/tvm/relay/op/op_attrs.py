"""Attributes of operators by the names of TVM's classes: `isinstance(call.attrs, op_attrs.Conv2DAttrs)`."""

from __future__ import annotations

from typing import Any

from relay import Attrs

from ... import _absent

__all__: list[str] = []


class _Meta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Attrs) and instance.type_key == f"relay.attrs.{cls.__name__}"


def __getattr__(name: str) -> Any:
    found = _absent.lookup(__name__, name)
    if not name.endswith("Attrs"):
        return found
    globals()[name] = made = _Meta(name, (), {"__doc__": f"Attributes of the type relay.attrs.{name}; calls make them."})
    return made
