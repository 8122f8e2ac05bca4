"""Places inside of objects: which member, element or key leads from an object to a part of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .. import _absent

__all__ = ["ArrayIndexPath", "AttributeAccessPath", "MapValuePath", "ObjectPath", "RootPath"]


class ObjectPath:
    """A place: the steps from a root. Equal ones have equal steps."""

    def __init__(self, parent: ObjectPath | None = None, step: Any = None) -> None:
        self.parent = parent
        self._step = step

    @staticmethod
    def root(root_name: str | None = None) -> ObjectPath:
        """The object itself."""
        return RootPath(None, root_name)

    def attr(self, attr_key: str) -> ObjectPath:
        """A member of what is at this place."""
        return AttributeAccessPath(self, attr_key)

    def array_index(self, index: int) -> ObjectPath:
        """An element of it."""
        return ArrayIndexPath(self, int(index))

    def map_value(self, key: Any) -> ObjectPath:
        """What it has by a key."""
        return MapValuePath(self, key)

    def get_prefix(self, length: int) -> ObjectPath:
        """The place after the first steps, with the root as one of them. Raises IndexError where there are fewer."""
        places = self._places()
        if not 1 <= length <= len(places):
            raise IndexError(f"a prefix has 1 to {len(places)} steps, not {length}")
        return places[length - 1]

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """True if the other place is this one, or inside of it."""
        return other._places()[len(self) - 1 : len(self)] == [self]

    def _places(self) -> list[ObjectPath]:
        """The root first, this place last."""
        places: list[ObjectPath] = []
        at: ObjectPath | None = self
        while at is not None:
            places.append(at)
            at = at.parent
        return places[::-1]

    def _steps(self) -> list[tuple[type, Any]]:
        return [(type(place), place._step) for place in self._places()]

    def __len__(self) -> int:
        return len(self._places())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self._steps() == other._steps()

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return "".join(place._text() for place in self._places())

    __repr__ = __str__

    def _text(self) -> str:
        raise NotImplementedError("ObjectPath is a base: use ObjectPath.root()")


class RootPath(ObjectPath):
    """The object itself."""

    def _text(self) -> str:
        return "<root>" if self._step is None else str(self._step)


class AttributeAccessPath(ObjectPath):
    """A member."""

    def _text(self) -> str:
        return f".{self._step}"


class ArrayIndexPath(ObjectPath):
    """An element."""

    def _text(self) -> str:
        return f"[{self._step}]"


class MapValuePath(ObjectPath):
    """What stands by a key."""

    def _text(self) -> str:
        return f"[{self._step!r}]"


_STEP = re.compile(r"(?:: )?(?:\.(\w+)|\[(\d+)\]|\['([^']*)'\])")


def path_of(difference: str, functions: Iterable[str] = ()) -> ObjectPath:
    """The place that the text of a difference begins with: ``@main.body.args[1]: …``, where @main is one of the functions."""
    place, at = ObjectPath.root(), 0
    for name in sorted(functions, key=len, reverse=True):
        if difference.startswith(f"@{name}"):
            place, at = place.attr("functions").map_value(name), len(name) + 1
            break
    while (found := _STEP.match(difference, at)) is not None:
        member, index, key = found.groups()
        place = place.attr(member) if member is not None else place.map_value(key) if index is None else place.array_index(int(index))
        at = found.end()
    return place


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
