"""TVM's cache of lowered kernels, which scripts that tune clear between measurements: nothing is kept here, so clearing does nothing."""

from __future__ import annotations

from typing import Any

from ... import _absent
from ...target import Target

__all__ = ["TECompiler", "get", "get_valid_implementations", "select_implementation"]


class TECompiler:
    """The cache. It is empty."""

    def clear(self) -> None:
        """Does nothing: compilation keeps no kernels that tuning could change."""

    def items(self) -> list[Any]:
        """No kernels."""
        return []

    lower = _absent.missing_method(
        "TECompiler.lower", "schedules of TIR: `relay opt --emit=loops` shows the loops of a program"
    )


_cache = TECompiler()


def get() -> TECompiler:
    """The one cache."""
    return _cache


def get_valid_implementations(op: Any, attrs: Any, inputs: Any, out_type: Any, target: Any) -> list[Any]:
    """The implementations of an operator's strategy whose conditions hold for tensors of `te.placeholder`. Raises ValueError for an operator
    without a strategy."""
    strategy = op.get_attr("FTVMStrategy")
    if strategy is None:
        raise ValueError(f"{op.name} has no FTVMStrategy: register_strategy gives it one")
    with Target(target):
        found = strategy(attrs, inputs, out_type, Target(target))
    return [way for one in found.specializations if one.condition is None or one.condition.holds() for way in one.implementations]


def select_implementation(op: Any, attrs: Any, inputs: Any, out_type: Any, target: Any, use_autotvm: bool = True) -> tuple[Any, Any]:
    """The valid implementation of the highest priority, and the tensors that it makes. Logs of tuners, which have no records, choose none."""
    ways = get_valid_implementations(op, attrs, inputs, out_type, target)
    if not ways:
        raise ValueError(f"{op.name} has no implementation for these tensors")
    best = max(ways, key=lambda way: way.plevel)
    return best, best.compute(attrs, inputs, out_type)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
