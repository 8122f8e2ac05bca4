"""Instruments: what watches passes run. Give them to a PassContext.

    timing = PassTimingInstrument()
    with relay.transform.PassContext(opt_level=3, instruments=[timing]):
        mod = relay.transform.standard_pipeline()(mod)
    print(timing.render())
"""

from __future__ import annotations

import abc
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._checks import require_texts
from ._core import PrintWhen

__all__ = ["DumpIR", "MemoryInstrument", "OpCountInstrument", "PassInstrument", "PassTimingInstrument", "PrintAfterAll",
           "PrintBeforeAll", "PrintChanged", "PrintDifference", "ProgressInstrument", "VerifyInstrument", "pass_instrument"]

Write = Callable[[str], Any]

_METHODS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")


class _ClassName:
    """The name of an object's class, unless the object has a name of its own."""

    def __get__(self, instance: Any, owner: type) -> str:
        return owner.__name__


class PassInstrument(abc.ABC):
    """Base of instruments written in Python. Define what is wanted of

    - ``enter_pass_ctx(self)``, ``exit_pass_ctx(self)``: the context becomes current, and no longer is;
    - ``should_run(self, mod, info) -> bool``: whether a pass runs at all (what a context requires does anyway);
    - ``run_before_pass(self, mod, info)``, ``run_after_pass(self, mod, info)``.

    What one of them raises ends the pass and comes out as it is.
    """

    name = _ClassName()


def pass_instrument(pi_cls: type | None = None) -> Any:
    """Decorates a class that has some of an instrument's methods: its instances count as ones of PassInstrument, and have a name."""

    def decorate(cls: Any) -> type:
        if not isinstance(cls, type):
            raise TypeError(f"pass_instrument decorates classes, not {type(cls).__name__}")
        if not any(callable(getattr(cls, method, None)) for method in _METHODS):
            raise TypeError(f"class {cls.__name__} has none of the methods {', '.join(_METHODS)}")
        PassInstrument.register(cls)
        if not hasattr(cls, "name"):
            setattr(cls, "name", _ClassName())
        return cls

    return decorate if pi_cls is None else decorate(pi_cls)


class _Library(PassInstrument):
    """An instrument of the library; a context asks for it by `_as_instrument`."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def _as_instrument(self) -> Any:
        return self._native


class PassTimingInstrument(_Library):
    """The time of each pass."""

    def __init__(self) -> None:
        self.times = _core.PassTimes()
        super().__init__(_core.time_passes(self.times))

    def render(self) -> str:
        """A table: milliseconds, share, number of runs and of changes of each pass, longest first."""
        return self.times.table()

    def chrome_trace(self) -> str:
        """When each pass ran, as JSON in Chrome's trace format."""
        return self.times.chrome_trace()


class OpCountInstrument(_Library):
    """The number of calls of each operator that every pass added and removed."""

    def __init__(self) -> None:
        self.counts = _core.OpCounts()
        super().__init__(_core.count_ops(self.counts))

    def render(self) -> str:
        """A line for each pass that changed something."""
        return self.counts.table()


class MemoryInstrument(_Library):
    """The memory that the process has allocated, before and after each pass."""

    def __init__(self) -> None:
        self.memory = _core.PassMemory()
        super().__init__(_core.measure_memory(self.memory))

    def render(self) -> str:
        """Megabytes after each pass, and the difference to before."""
        return self.memory.table()


class VerifyInstrument(_Library):
    """Checks each result to be well formed and well typed; raises InternalError that names the pass."""

    def __init__(self) -> None:
        super().__init__(_core.verify_each())


class DumpIR(_Library):
    """Writes every module that a pass changed to ``folder/NNN-PASS.rly``, the first one to ``000-input.rly``."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__(_core.dump_passes(os.fspath(folder)))


def _printer(when: PrintWhen, write: Write | None, passes: Sequence[str], show_types: bool, colour: bool) -> Any:
    return _core.print_passes(write if write is not None else _standard_output, when, require_texts("passes", passes), show_types, colour)


def _standard_output(text: str) -> None:
    sys.stdout.write(text)  # looked up each time, since tests and notebooks replace it


class PrintBeforeAll(_Library):
    """Prints the module before each pass (or those of `passes`), by `write` or to standard output."""

    def __init__(self, write: Write | None = None, passes: Sequence[str] = (), show_types: bool = False) -> None:
        super().__init__(_printer(PrintWhen.BEFORE, write, passes, show_types, False))


class PrintAfterAll(_Library):
    """Prints the module after each pass (or those of `passes`)."""

    def __init__(self, write: Write | None = None, passes: Sequence[str] = (), show_types: bool = False) -> None:
        super().__init__(_printer(PrintWhen.AFTER, write, passes, show_types, False))


class PrintChanged(_Library):
    """Prints a line for each pass, and the module where it changed."""

    def __init__(self, write: Write | None = None, passes: Sequence[str] = (), show_types: bool = False) -> None:
        super().__init__(_printer(PrintWhen.CHANGED, write, passes, show_types, False))


class PrintDifference(_Library):
    """Prints what each pass changed, line by line; in colour on a terminal, or where `colour` says so."""

    def __init__(self, write: Write | None = None, passes: Sequence[str] = (), show_types: bool = False,
                 colour: bool | None = None) -> None:
        if colour is None:
            colour = write is None and sys.stdout.isatty()
        super().__init__(_printer(PrintWhen.DIFFERENCE, write, passes, show_types, colour))


class ProgressInstrument(_Library):
    """One line that says which pass runs, once they have taken `threshold` seconds; removed at the end."""

    def __init__(self, write: Write | None = None, threshold: float = 1.0) -> None:
        def standard_error(text: str) -> None:
            if sys.stderr.isatty():
                sys.stderr.write(text)
                sys.stderr.flush()

        super().__init__(_core.show_progress(write if write is not None else standard_error, threshold))
