"""Groups of weights with settings of their own, such as biases that do not decay."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

from ._tree import Place
from .schedules import Schedule, _number, schedule_of

__all__ = ["Group", "Settings", "group", "require_groups"]


class Settings(NamedTuple):
    """What groups of weights may differ in."""

    rate: Schedule
    weight_decay: float


class Group:
    """Some of the weights, and their settings; `group` makes them."""

    def __init__(self, where: Callable[[str, Any], Any], rate: Schedule | None, weight_decay: float | None) -> None:
        self._where = where
        self._rate = rate
        self._weight_decay = weight_decay

    def has(self, place: Place) -> bool:
        """True for tensors of the group."""
        found = self._where(place.path, place.type)
        if not isinstance(found, bool):
            raise TypeError(f"where of a group says True or False for {place.path or 'the tensor'}, not {found!r}")
        return found

    def settings(self, others: Settings) -> Settings:
        """The group's settings, and those of the optimiser where it has none."""
        return Settings(
            others.rate if self._rate is None else self._rate, others.weight_decay if self._weight_decay is None else self._weight_decay
        )


def group(where: Callable[[str, Any], bool], *, lr: float | Schedule | None = None, weight_decay: float | None = None) -> Group:
    """Weights that have their own settings, as PyTorch's groups of parameters: for `groups` of an optimiser.

    Args:
        where: Called with the path and the type of each tensor of floats; True for those of the group. A path is what one writes in Python
            after the weights, such as `['layer']['w']` of dictionaries or `[0][1]` of tuples; in a data type it begins with the constructor, as
            in `Dense[0]`. The type has a `shape` and a `dtype`.
        lr: A number or a schedule in the place of the optimiser's.
        weight_decay: A number in the place of the optimiser's.

    ::

        relay.optim.AdamW(1e-3, weight_decay=0.1, groups=[relay.optim.group(lambda path, type: len(type.shape) < 2, weight_decay=0.0)])
    """
    if not callable(where):
        raise TypeError(f"where of a group is a function of the path and the type of a tensor, not {where!r}")
    if lr is None and weight_decay is None:
        raise ValueError("a group has settings of its own: give lr, weight_decay, or both")
    return Group(where, None if lr is None else schedule_of(lr, "lr"), None if weight_decay is None else _number("weight_decay", weight_decay))


def require_groups(groups: Any) -> list[Group]:
    """The groups as a list. Raises TypeError for others, such as PyTorch's dictionaries."""
    found = list(groups) if isinstance(groups, Sequence) and not isinstance(groups, str) else None
    if found is None or not all(isinstance(one, Group) for one in found):
        raise TypeError("groups is a list of relay.optim.group(where, ...)")
    return found
