"""Instruments of passes: those of `relay.instrument`, where they print with TVM's words."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Sequence
from typing import Any

import relay as _relay
from relay import _core
from relay.instrument import *  # noqa: F403
from relay.instrument import _METHODS, PassInstrument, PassTimingInstrument as _Timing, __all__ as __all__, pass_instrument as _pass_instrument

from .._errors import with_failures_of_here


def pass_instrument(pi_cls: type | None = None) -> Any:  # type: ignore[no-redef]
    """Decorates a class that has some of an instrument's methods: its instances count as ones of PassInstrument, and have a name. A
    RuntimeError of one of the methods is also a TVMError."""

    def decorate(cls: Any) -> type:
        made: type = _pass_instrument(cls)
        for name in _METHODS:
            method = vars(made).get(name)
            if isinstance(method, types.FunctionType):
                setattr(made, name, with_failures_of_here(method))
        return made

    return decorate if pi_cls is None else decorate(pi_cls)


class PassTimingInstrument(_Timing):  # type: ignore[no-redef]
    """The time of each pass, as long as a context with the instrument is in force: leaving it forgets the times, as in TVM."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        """Begins anew: the context that had the instrument ended."""
        self.times = _core.PassTimes()
        self._native = _core.time_passes(self.times)

    def render(self) -> str:
        """The passes that ran under the context, one a line, as TVM writes them: those that a pass ran are behind it and further right. A line
        has the time, that without what the pass ran itself, and the shares of the whole and of the line above. Nothing if none ran."""
        roots = _nested(self.times.entries, self.times.depths)
        whole = sum(each.seconds for each in roots)
        lines: list[str] = []
        stack = [(each, 0, whole) for each in reversed(roots)]
        while stack:
            one, depth, around = stack.pop()
            own = one.seconds - sum(inner.seconds for inner in one.inside)
            shares = "; ".join(f"{100 * one.seconds / total if total > 0 else 0:.2f}%" for total in (whole, around))
            lines.append("\t" * depth + f"{one.name}: {one.seconds * 1e6:.0f}us [{own * 1e6:.0f}us] ({shares})\n")
            stack += [(inner, depth + 1, one.seconds) for inner in reversed(one.inside)]
        return "".join(lines)


@dataclasses.dataclass
class _Run:
    """One run of a pass, and those that it started."""

    name: str
    seconds: float
    inside: list[_Run] = dataclasses.field(default_factory=list)


def _nested(entries: Sequence[tuple[str, float, float, bool]], depths: Sequence[int]) -> list[_Run]:
    """The outermost runs, in order. Runs stand in the order in which they began, with how many each began inside of: times alone cannot say
    which of two runs is inside where both took none."""
    roots: list[_Run] = []
    around: list[_Run] = []
    for (name, _, seconds, _), depth in zip(entries, depths):
        made = _Run(name, seconds)
        del around[depth:]
        (around[-1].inside if around else roots).append(made)
        around.append(made)
    return roots


class PrintBeforeAll(PassInstrument):  # type: ignore[no-redef]
    """Prints the module before each pass."""

    def run_before_pass(self, mod: _relay.IRModule, info: Any) -> None:
        print("Before Running Pass:", info)
        print(mod)


class PrintAfterAll(PassInstrument):  # type: ignore[no-redef]
    """Prints the module after each pass."""

    def run_after_pass(self, mod: _relay.IRModule, info: Any) -> None:
        print("After Running Pass:", info)
        print(mod)
