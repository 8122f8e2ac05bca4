"""The base of everything, by name."""

from __future__ import annotations

from typing import Any

class _Meta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or cls is Object and hasattr(type(instance), "same_as")


class Object(metaclass=_Meta):
    """The class that `isinstance` asks for: all that has `same_as` is an object, such as nodes, types, modules of programs,
    arrays and targets. Devices, and what builds make, are none, as in TVM."""

    def same_as(self, other: object) -> bool:
        """True if both are one object."""
        return self is other


def make_objects(*classes: type) -> None:
    """Gives classes the member that all of TVM's objects have."""
    for cls in classes:
        if not hasattr(cls, "same_as"):
            setattr(cls, "same_as", Object.same_as)


class ObjectGeneric:
    """Marks classes that stand for an object; `asobject` gives it."""

    def asobject(self) -> Any:
        """The object. Raises NotImplementedError where a subclass does not say."""
        raise NotImplementedError("asobject of a subclass")
