"""Containers by TVM's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["ADT", "Array", "Map", "ShapeTuple", "String", "tuple_object"]


class _Kept(type):
    """Classes of TVM's whose objects are Python's own here: lists, tuples and dictionaries are instances, as scripts ask."""

    kinds: tuple[type, ...] = ()

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, vars(cls).get("kinds", ())) or type.__instancecheck__(cls, instance)


class String(str, metaclass=_Kept):
    """A string. Each string is an instance of it."""

    kinds = (str,)


class ShapeTuple(tuple[int, ...]):
    """A list of extents."""

    def __new__(cls, shape: Iterable[int]) -> ShapeTuple:
        return super().__new__(cls, (int(extent) for extent in shape))


class ADT:
    """A tuple or a value of a data type, as an executor gives it: a tag and fields."""

    def __init__(self, tag: int, fields: Iterable[Any]) -> None:
        self.tag = int(tag)
        self._fields = list(fields)

    @property
    def fields(self) -> list[Any]:
        """The fields, in order."""
        return list(self._fields)

    def __getitem__(self, index: Any) -> Any:
        return self._fields[index]

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fields)

    def __repr__(self) -> str:
        return f"ADT({self.tag}, {self._fields})"


def tuple_object(fields: Iterable[Any] | None = None) -> ADT:
    """A tuple: an ADT of tag 0."""
    return ADT(0, fields or ())


def restored_array(items: list[Any]) -> Array:
    """A pickled list: its integers, which pickles have as plain ones, get their `value` back."""
    from ..tir import numbered

    return Array(numbered(item) for item in items)


def restored_map(items: dict[Any, Any]) -> Map:
    """A pickled dictionary, as `restored_array` gives lists."""
    from ..tir import numbered

    return Map({key: numbered(item) for key, item in items.items()})


class Array(list[Any], metaclass=_Kept):
    """A list. Lists and tuples, which attributes and types give, are instances of it."""

    kinds = (list, tuple)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (restored_array, (list(self),)) if type(self) is Array else super().__reduce_ex__(protocol)


class MapView(Mapping[Any, Any]):
    """What a module has by name, to be read. Its items are a list, since scripts index them: `mod.functions.items()[0]`."""

    def __init__(self, entries: Mapping[Any, Any]) -> None:
        self._entries = entries

    def __getitem__(self, key: Any) -> Any:
        return self._entries[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Any:
        """The keys with their values, as a list."""
        return list(self._entries.items())

    def __repr__(self) -> str:
        return repr(dict(self._entries))


class Map(dict[Any, Any], metaclass=_Kept):
    """A dictionary whose items are a list; keys may be nodes, which compare as they do everywhere. Each dictionary is an instance of it."""

    kinds = (dict, MappingProxyType, MapView)

    def items(self) -> Any:
        """The keys with their values, as a list."""
        return list(super().items())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (restored_map, (dict(self),)) if type(self) is Map else super().__reduce_ex__(protocol)
