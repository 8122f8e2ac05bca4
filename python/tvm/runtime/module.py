"""Modules of compiled code."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import relay as _relay

from .params import digest
from .threads import configured

if TYPE_CHECKING:
    from ..relay.build_module import Weights

__all__ = ["BenchmarkResult", "Module", "enabled", "load_module", "measure"]


# The name of programs that were built without one.
_NAME = "default"
# The note of a file with digests of values that became constants.
_WEIGHTS = "weights"


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
        return "\n".join(["Execution time summary:", " ".join(f"{name + ' (ms)':^12}" for name in names),
                          " ".join(f"{getattr(self, name) * 1000:^12.4f}" for name in names)])  # fmt: skip

    def __repr__(self) -> str:
        return f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, max={self.max}, std={self.std}, results={self.results})"


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
        # The name that the program was built with.
        self.name: str = handle.name if isinstance(handle, Module) else self.program.notes.get("name", _NAME)

    @property
    def type_key(self) -> str:
        """The kind of the module, by TVM's names: what `relay.build` of a graph wrote is a "GraphExecutorFactory", another file a "library",
        machine code of this process "llvm"."""
        if "graph" in self.program.notes:
            return "GraphExecutorFactory"
        return "library" if self.weights is None else "llvm"

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

    def import_module(self, module: Any) -> None:
        """Raises NotImplementedError: everything is in one program."""
        raise NotImplementedError("Module.import_module: a program has all that it calls; build one module of both")

    import_module.__relay_missing__ = "modules of several parts"  # type: ignore[attr-defined]

    def clear_imports(self) -> None:
        """Does nothing: nothing is imported."""

    @property
    def is_runnable(self) -> bool:
        """True: every program can be run."""
        return True

    @property
    def is_device_module(self) -> bool:
        """False: programs run on the CPU."""
        return False

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
        """`default`, and the name that the program was built with, make something to run on a device, `debug_create` the same by name; other
        names are functions of the program, and of the graph's nodes: these are compiled by themselves, and take their outputs as arguments. A program
        from a file has none of the latter."""
        notes = self.program.notes
        if "graph" in notes and name in ("get_graph_json", "get_graph_params"):
            return (lambda: notes["graph"]) if name == "get_graph_json" else dict
        if name in (_NAME, self.name, "debug_create", "cuda_graph_create"):
            from ..contrib.graph_executor import runner

            by_name = name in ("debug_create", "cuda_graph_create")
            return (lambda _name, *devices: runner(self, devices)) if by_name else (lambda *devices: runner(self, devices))
        if name not in self.program.entries:
            kernels = {} if self.weights is None else self.weights.graph().functions
            if name in kernels:
                from . import packed

                return packed.of_function(name, kernels[name])[name]
            raise AttributeError(f"the module has no function {name}; it has {', '.join(self.program.entries)}")
        return lambda *args: self.program.call(name, *args)

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """The same as ``module[name]``; nothing is imported, so `query_imports` changes nothing."""
        return self[name]

    def export_library(self, file_name: Any, *, fcompile: Any = None, addons: Any = None, workspace_dir: Any = None, **kwargs: Any) -> str:
        """Writes the program as a file that `load_module`, `relay.load` and the command `relay run` take."""
        path: str = os.fspath(file_name)
        notes = {**self.program.notes, **self._notes()}
        (self.program if notes == self.program.notes else self.program.with_notes(notes)).save(path)
        return path

    def kept_weights(self) -> dict[str, str]:
        """Digests of the values that became constants of the program, as its file says. Raises RelayError for a damaged note."""
        try:
            kept = json.loads(self.program.notes.get(_WEIGHTS, "{}"))
        except (ValueError, RecursionError):
            kept = None
        if not isinstance(kept, dict) or not all(isinstance(value, str) for value in kept.values()):
            raise _relay.RelayError("the program's note of its weights is damaged")
        return kept

    def names_of_graph(self) -> list[str]:
        """The names of inputs and constants in the graph that a file of a build has; none for other programs and a damaged note."""
        try:
            graph = json.loads(self.program.notes.get("graph", "{}"))
            return [str(graph["nodes"][at]["name"]) for at in graph.get("arg_nodes", [])]
        except (ValueError, RecursionError, TypeError, KeyError, IndexError, AttributeError):
            return []

    def _notes(self) -> dict[str, str]:
        """What files say of the program beside it."""
        weights = {} if self.weights is None else {name: digest(value) for name, value in self.weights.given().items()}
        return {**({"name": self.name} if self.name != _NAME else {}), **({_WEIGHTS: json.dumps(weights)} if weights else {})}

    def save(self, file_name: Any, fmt: str = "") -> None:
        """The same as `export_library`."""
        self.export_library(file_name)

    def time_evaluator(self, func_name: str, dev: Any, number: int = 10, repeat: int = 1, **kwargs: Any) -> Callable[..., BenchmarkResult]:
        """Something to call with arguments that measures a function."""
        function = "main" if func_name in ("run", "default") else func_name
        return lambda *args: measure(lambda: self.program.call(function, *args), number, repeat)


def load_module(path: Any, fmt: str = "") -> Module:
    """A program that was written by `export_library`; that of `tvm.build` is called with its outputs again. Its machine code runs: load only what
    you would run."""
    from . import c_program, packed

    if c_program.is_file(os.fspath(path)):
        return c_program.load(os.fspath(path))
    program = _relay.load(os.fspath(path), threads=configured())
    return packed.of_program(program) if packed.NOTE in program.notes else Module(program)


def enabled(target: str) -> bool:
    """True if code can be made for a target: CPUs."""
    return target.split(" ")[0] in ("llvm", "cpu")
