"""Ways to compute an operator that a script registers: a strategy gives them, and the one of the highest priority is taken.

There are no schedules: what a script gives for one is kept, and nothing reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...te.expressions import SpecializedCondition

__all__ = ["OpImplementation", "OpSpecialization", "OpStrategy", "chosen"]


class OpImplementation:
    """One way: `compute` is a function of attributes, tensors and the type of the result."""

    def __init__(self, fcompute: Callable[..., Any], fschedule: Any, name: str, plevel: int) -> None:
        self.fcompute, self.fschedule, self.name, self.plevel = fcompute, fschedule, str(name), int(plevel)

    def compute(self, attrs: Any, inputs: Any, out_type: Any) -> list[Any]:
        """The tensors of the result."""
        found = self.fcompute(attrs, inputs, out_type)
        return list(found) if isinstance(found, (list, tuple)) else [found]


class OpSpecialization:
    """Ways that hold under one condition; None: always."""

    def __init__(self, condition: SpecializedCondition | None) -> None:
        self.condition = condition
        self.implementations: list[OpImplementation] = []

    def add_implementation(self, compute: Any, schedule: Any, name: str = "default", plevel: int = 10) -> None:
        """One way more."""
        if not callable(compute):
            raise TypeError(f"the compute of implementation {name} is a function of attributes, tensors and a type, not {type(compute).__name__}")
        self.implementations.append(OpImplementation(compute, schedule, name, plevel))


class OpStrategy:
    """All ways to compute an operator."""

    def __init__(self) -> None:
        self.specializations: list[OpSpecialization] = []

    def add_implementation(self, compute: Any, schedule: Any, name: str = "default", plevel: int = 10) -> None:
        """One way more, under the `SpecializedCondition` that is entered, if one is."""
        condition = SpecializedCondition.current()
        found = next((one for one in self.specializations if one.condition is condition), None)
        if found is None:
            found = OpSpecialization(condition)
            self.specializations.append(found)
        found.add_implementation(compute, schedule, name, plevel)


def chosen(strategy: Any, op_name: str) -> OpImplementation:
    """The way of the highest priority whose conditions hold, the first of equals. Raises ValueError if there is none."""
    if not isinstance(strategy, OpStrategy):
        raise TypeError(f"the strategy of {op_name} gives an OpStrategy, not {type(strategy).__name__}")
    ways = [way for one in strategy.specializations if one.condition is None or one.condition.holds() for way in one.implementations]
    if not ways:
        raise ValueError(f"the strategy of {op_name} has no implementation for these tensors")
    return max(ways, key=lambda way: way.plevel)
