"""Instruments of passes: those of `relay.instrument`, where they print with TVM's words."""

from __future__ import annotations

from typing import Any

import relay as _relay
from relay import _core
from relay.instrument import *  # noqa: F403
from relay.instrument import PassInstrument, PassTimingInstrument as _Timing, __all__ as __all__


class PassTimingInstrument(_Timing):  # type: ignore[no-redef]
    """The time of each pass, as long as a context with the instrument is in force: leaving it forgets the times, as in TVM."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        """Begins anew: the context that had the instrument ended."""
        self.times = _core.PassTimes()
        self._native = _core.time_passes(self.times)

    def render(self) -> str:
        """A table of the passes that ran under the context; nothing if none did."""
        return super().render() if self.times.entries else ""


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
