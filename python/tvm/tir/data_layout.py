"""Layouts of tensors as objects: ``NCHW16c`` has the axes N, C, H, W, in capitals, and 16 elements of C innermost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .. import _absent
from ..runtime.container import Array
from . import numbered

__all__ = ["BijectiveLayout", "Layout", "bijective_layout", "layout"]

_AXIS = re.compile(r"([A-Z])|([1-9][0-9]{0,8})([a-z])")
_UNDEFINED = "__undef__"


class Layout:
    """The order of a tensor's axes. A small letter is a part of the axis of the capital: as many of its elements as the number before it says."""

    def __init__(self, name: str, dtype: str = "int32") -> None:
        self.name, self.dtype = name, dtype
        self._axes: list[tuple[str, int]] = []  # each with its number of elements; 1 for a capital
        if name == _UNDEFINED:
            return
        place = 0
        while place < len(name):
            found = _AXIS.match(name, place)
            if found is None:
                raise ValueError(f"{name!r} is no layout: at {name[place:]!r} a capital, or a number and a small letter, is expected")
            self._axes.append((found[1], 1) if found[1] else (found[3], int(found[2])))
            place = found.end()
        letters = [axis for axis, _ in self._axes]
        for axis in letters:
            if letters.count(axis) > 1:
                raise ValueError(f"the layout {name!r} has the axis {axis} twice")
            if axis.upper() not in letters:
                raise ValueError(f"the layout {name!r} has a part {axis} of the axis {axis.upper()}, which it lacks")

    def __len__(self) -> int:
        return len(self._axes)

    def __contains__(self, axis: object) -> bool:
        return isinstance(axis, str) and any(axis == letter for letter, _ in self._axes)

    def __getitem__(self, index: int) -> str:
        """The letter of an axis; negative numbers count from the last. Raises IndexError."""
        if not -len(self._axes) <= index < len(self._axes):
            raise IndexError(f"the layout {self.name!r} has {len(self._axes)} axes, and none at {index}")
        return self._axes[index][0]

    def index_of(self, axis: str) -> int:
        """The position of an axis; -1 if there is none."""
        return next((at for at, (letter, _) in enumerate(self._axes) if letter == axis), -1)

    def factor_of(self, axis: str) -> int:
        """How many elements of an axis, of either letter, are innermost; -1 for an axis that is whole, or not there."""
        return next((size for letter, size in self._axes if letter == axis.lower()), -1)

    def same_as(self, other: object) -> bool:
        """True for the same object."""
        return self is other

    def __eq__(self, other: object) -> bool:
        return self.name == other.name if isinstance(other, Layout) else self.name == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Layout({self.name})"


class BijectiveLayout:
    """The way from one layout to another of the same axes, and back. Raises ValueError where the axes differ."""

    def __init__(self, src_layout: Layout | str, dst_layout: Layout | str) -> None:
        self.src_layout, self.dst_layout = layout(src_layout), layout(dst_layout)
        capitals = [sorted(axis for axis, _ in each._axes if axis.isupper()) for each in (self.src_layout, self.dst_layout)]
        if capitals[0] != capitals[1] or not capitals[0]:
            raise ValueError(f"there is no way from the layout {self.src_layout.name!r} to {self.dst_layout.name!r}: their axes differ")

    def forward_index(self, index: Sequence[Any]) -> Array:
        """The position of an element in the second layout, of that in the first."""
        return _moved(index, self.src_layout, self.dst_layout, False)

    def backward_index(self, index: Sequence[Any]) -> Array:
        """The position of an element in the first layout, of that in the second."""
        return _moved(index, self.dst_layout, self.src_layout, False)

    def forward_shape(self, shape: Sequence[Any]) -> Array:
        """The shape in the second layout, of that in the first."""
        return _moved(shape, self.src_layout, self.dst_layout, True)

    def backward_shape(self, shape: Sequence[Any]) -> Array:
        """The shape in the first layout, of that in the second."""
        return _moved(shape, self.dst_layout, self.src_layout, True)

    def __repr__(self) -> str:
        return f"BijectiveLayout({self.src_layout.name}->{self.dst_layout.name})"


def _moved(values: Sequence[Any], source: Layout, target: Layout, extents: bool) -> Array:
    """Positions or extents along the axes of a layout as those of another. Extents are rounded up to whole parts."""
    values = list(values)
    if len(values) != len(source):
        raise ValueError(f"the layout {source.name!r} has {len(source)} axes, and {len(values)} values were given")
    given = {axis: value for (axis, _), value in zip(source._axes, values)}

    def whole(axis: str) -> Any:
        """Along the axis without parts."""
        size, outer = source.factor_of(axis), given[axis]
        return outer if size < 0 else outer * size if extents else outer * size + given[axis.lower()]

    found: list[Any] = []
    for axis, size in target._axes:
        if axis.islower():
            found.append(size if extents else whole(axis.upper()) % size)
            continue
        part = target.factor_of(axis)
        found.append(whole(axis) if part < 0 else (whole(axis) + (part - 1 if extents else 0)) // part)
    return Array(numbered(value) for value in found)


def layout(layout_str: Layout | str, dtype: str = "int32") -> Layout:
    """A layout of its text. Raises ValueError for a text that is none."""
    if isinstance(layout_str, Layout):
        return layout_str
    if not isinstance(layout_str, str):
        raise TypeError(f"a layout is a text such as NCHW16c, not {type(layout_str).__name__}")
    return Layout(layout_str, dtype)


def bijective_layout(src_layout: Layout | str, dst_layout: Layout | str) -> BijectiveLayout:
    """The way from one layout to another. Raises ValueError where their axes differ."""
    return BijectiveLayout(src_layout, dst_layout)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
