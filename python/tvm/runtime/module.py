"""Modules of compiled code."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import relay as _relay

if TYPE_CHECKING:
    from ..relay.build_module import Weights

__all__ = ["BenchmarkResult", "Module", "enabled", "load_module", "measure"]


class BenchmarkResult:
    """Seconds of each repetition, and what follows from them."""

    def __init__(self, results: Sequence[float]) -> None:
        self.results = list(results)
        self.mean = statistics.fmean(self.results)
        self.median = statistics.median(self.results)
        self.min = min(self.results)
        self.max = max(self.results)
        self.std = statistics.pstdev(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        head = "".join(f"{name + ' (ms)':>16}" for name in names)
        return head + "\n" + "".join(f"{getattr(self, name) * 1000:16.4f}" for name in names)

    __repr__ = __str__


def measure(call: Callable[[], Any], number: int, repeat: int) -> BenchmarkResult:
    """Runs once to warm up, then `repeat` times `number` runs."""
    call()
    results = []
    for _ in range(max(1, repeat)):
        start = time.perf_counter()
        for _ in range(max(1, number)):
            call()
        results.append((time.perf_counter() - start) / max(1, number))
    return BenchmarkResult(results)


class Module:
    """A compiled program."""

    def __init__(self, handle: Any) -> None:
        self.program: _relay.Executable = handle.program if isinstance(handle, Module) else handle
        # The weights that became constants of the program, where it was built in this process.
        self.weights: Weights | None = handle.weights if isinstance(handle, Module) else None

    @property
    def type_key(self) -> str:
        """The kind of the module."""
        return "relay"

    @property
    def format(self) -> str:
        """The format of `get_source`."""
        return "rlx"

    @property
    def imported_modules(self) -> list[Module]:
        """Empty: everything is in one program."""
        return []

    def get_source(self, fmt: str = "") -> str:
        """Raises NotImplementedError: the command `relay compile` prints stages of a compilation."""
        raise NotImplementedError("Module.get_source: programs keep no source; the command relay compile prints the stages")

    get_source.__relay_missing__ = "the source of compiled programs"  # type: ignore[attr-defined]

    @property
    def is_dso_exportable(self) -> bool:
        """True: every program can be written as a file."""
        return True

    @property
    def is_binary_serializable(self) -> bool:
        """True: every program can be written as bytes."""
        return True

    @property
    def entry_name(self) -> str:
        """The name of the function that a call of the module runs."""
        return "main"

    @property
    def entry_func(self) -> Callable[..., Any]:
        """The function that a call of the module runs. Raises AttributeError where the module has none."""
        return self[self.entry_name]

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """True if the module has a function of the name."""
        try:
            return self.get_function(name, query_imports) is not None
        except AttributeError:
            return False

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """`default` makes something to run on a device, `debug_create` the same by name; other names are functions of the program."""
        if name in ("default", "debug_create", "cuda_graph_create"):
            from ..contrib.graph_executor import runner

            return (lambda *devices: runner(self, devices)) if name == "default" else (lambda _name, *devices: runner(self, devices))
        if name not in self.program.entries:
            raise AttributeError(f"the module has no function {name}; it has {', '.join(self.program.entries)}")
        return lambda *args: self.program.call(name, *args)

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """The same as ``module[name]``; nothing is imported, so `query_imports` changes nothing."""
        return self[name]

    def export_library(self, file_name: Any, *, fcompile: Any = None, addons: Any = None, workspace_dir: Any = None, **kwargs: Any) -> str:
        """Writes the program as a file that `load_module`, `relay.load` and the command `relay run` take."""
        path: str = os.fspath(file_name)
        self.program.save(path)
        return path

    def save(self, file_name: Any, fmt: str = "") -> None:
        """The same as `export_library`."""
        self.program.save(os.fspath(file_name))

    def time_evaluator(self, func_name: str, dev: Any, number: int = 10, repeat: int = 1, **kwargs: Any) -> Callable[..., BenchmarkResult]:
        """Something to call with arguments that measures a function."""
        function = "main" if func_name in ("run", "default") else func_name
        return lambda *args: measure(lambda: self.program.call(function, *args), number, repeat)


def load_module(path: Any, fmt: str = "") -> Module:
    """A program that was written by `export_library`. Its machine code runs: load only what you would run."""
    return Module(_relay.load(os.fspath(path)))


def enabled(target: str) -> bool:
    """True if code can be made for a target: CPUs."""
    return target.split(" ")[0] in ("llvm", "cpu")
