"""Compiling and running: `compile`, `load`, `evaluate`."""

from __future__ import annotations

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Mapping, Sequence

from . import _core
from ._checks import did_you_mean, require_int, require_type, shown
from ._core import Cancel, Executable, Expr, GlobalVar, IRModule, RelayError
from ._progress import working
from .expr import TupleWrapper, as_expr

__all__ = ["Cancel", "RunCancelled", "RunTimeout", "compile", "evaluate", "load", "release_memory"]

_MOST_THREADS = 1024


class RunCancelled(RelayError):
    """A run was ended by a `Cancel`."""


class RunTimeout(RelayError, TimeoutError):
    """A run did not end within its `timeout`."""


_PRECISIONS = {"bf16": "bfloat16", "fp16": "float16"}


def _module(program: Any) -> IRModule:
    if isinstance(program, IRModule):
        return program
    if isinstance(program, (Expr, TupleWrapper)):
        return IRModule.from_expr(as_expr(program))
    raise TypeError(f"mod is an IRModule or an expression, not {shown(program)}")


def _entry(mod: IRModule, entry: Any) -> str:
    """The name of a function of a module. Raises RelayError that says which there are."""
    require_type("entry", entry, str, GlobalVar)
    name: str = entry.name_hint if isinstance(entry, GlobalVar) else entry
    if name not in mod:
        near = did_you_mean(name, mod.function_names, sign="@")
        known = ", ".join("@" + one for one in mod.function_names[:20]) or "none"
        raise RelayError(f"there is no function @{name}{': ' + near if near else ';'} {'The' if near else 'the'} module has {known}{', …' if len(mod.function_names) > 20 else ''}")
    return name


def compile(  # noqa: A001 (the verb of the package)
    mod: IRModule | Expr,
    params: Mapping[Any, Any] | None = None,
    target: str = "host",
    opt_level: int | None = None,
    entry: str | None = None,
    threads: int = 0,
    cache: bool = True,
    donate: int | str | Sequence[int | str] = (),
    precision: str | None = None,
) -> Executable:
    """Compiles a function of a module (`entry`; `main` by default), and all that it calls, to machine code.

    The result is called with arrays: NumPy's, anything with DLPack, numbers and lists; by position or by name of the parameter. Arrays
    are neither copied in nor out. Several threads may call at the same time: the GIL is released while it runs.

    `params`: values of parameters, by name, that become constants of the program; do not write to them afterwards.
    `target`: "host", or "baseline", "avx2", "avx2-vnni", "avx512", "avx512-vnni", "avx512-bf16", "avx512-amx", "aarch64" for a program that is saved for other machines.
    `opt_level`: 0 to 4; None stands for the level of the PassContext that this runs in (one above 4 is 4), 3 outside of any.
    `threads`: how many a call uses, the caller's among them; 0 stands for all cores.
    `cache`: whether kernels are looked up in, and put into, the user's cache on disk.

    `donate`: positions or names of parameters that callers have no use for after the call, such as weights that a step replaces. Results
    may be written over their arrays, and to use these is an error then. That goes for arrays that a program of Relay gave; others are left alone.
    A call whose arguments are refused takes nothing; one that fails, or is stopped, while it runs has taken them. Views of NumPy that were made
    before hold anything afterwards, and so does what NumPy only copies (`np.save`, `tolist`).
    A call raises ValueError if another argument shares the memory of such an array.

    `precision`: "bf16" or "fp16" computes products and convolutions of float32 on numbers of bfloat16 or float16 (the pass
    ToMixedPrecision), with sums of float32. Parameters and results keep their types, constants are converted now. None: as the program says.

    The passes run under the current PassContext: its config, instruments, trace, required and disabled passes. What the machine cannot do
    without runs even if it is disabled: InferType, ExpandOps, and FuseOps as at level 0, where each operator is a kernel alone.

    Raises RelayError for what is wrong with the program.
    """
    mod = _module(mod)
    require_type("target", target, str)
    if entry is not None:
        entry = _entry(mod, entry)
    level = None if opt_level is None else require_int("opt_level", opt_level, 0, 4)
    donate = [donate] if isinstance(donate, (int, str)) else list(donate)
    count = require_int("threads", threads, 0, _MOST_THREADS)
    if precision is not None and require_type("precision", precision, str) not in _PRECISIONS:
        raise ValueError(f"precision is {' or '.join(_PRECISIONS)}, not {shown(precision)}")
    with working("compiling"):
        narrow = "" if precision is None else _PRECISIONS[precision]
        return _core.compile(mod, params, target, level, entry, count, bool(cache), donate, narrow)


def load(path: str | os.PathLike[str], threads: int = 0) -> Executable:
    """A program that `Executable.save` or `relay compile` wrote. Its machine code runs: load only what you would run."""
    return _core.load(os.fspath(path), require_int("threads", threads, 0, _MOST_THREADS))


def release_memory() -> None:
    """Gives back memory that nothing needs now: blocks that are kept for later runs and, on systems with glibc, what the compiler used.

    Call it once all programs are compiled, in a process that then runs them for long: it saves some tens of megabytes. The next compilation
    takes some milliseconds longer. Other threads keep their blocks of less than 16 KiB, up to 8 MiB in each.
    """
    _core.release_memory()


def evaluate(mod: IRModule | Expr, *args: Any, entry: str | None = None) -> Any:
    """Runs a function of a module, or an expression as a function of its free variables, in the reference evaluator.

    That one is slow and defines what programs mean. Arrays come back as arrays of NumPy, tuples as tuples, values of data types and
    functions as `relay.Value`. Raises RelayError, and ExecutionError for failures while it runs.
    """
    mod = _module(mod)
    if entry is not None:
        entry = _entry(mod, entry)
    return _core.evaluate(mod, *args, entry=entry)


def _value_of_rows(rows: list[Any], contents: list[Any], root: int) -> Any:
    return _core.value_of_rows(rows, contents, root)


def _load_bytes(data: bytes) -> Executable:
    return _core.load_bytes(data)


def _run(
    self: Executable,
    arguments: Sequence[Any] | Mapping[str, Any] = (),
    *,
    entry: str | None = None,
    timeout: float | None = None,
    cancel: Cancel | None = None,
) -> Any:
    """Calls a function of the program, and ends the call early where that is wanted.

    Args:
        arguments: A sequence of arguments, or a dictionary of them by name.
        entry: The function; the first one by default.
        timeout: Seconds after which the call ends with RunTimeout; None for no end.
        cancel: An object of `relay.Cancel` whose `cancel()`, from another thread, ends the call with RunCancelled.

    Several threads may call. A call ends at the next call, jump backwards or kernel of the program, and the program stays usable. Raises
    what calling the program raises, too.
    """
    if isinstance(arguments, Mapping):
        positional, named = (), dict(arguments)
    elif isinstance(arguments, Sequence) and not isinstance(arguments, (str, bytes)):
        positional, named = tuple(arguments), {}
    else:
        raise TypeError(f"arguments are a sequence, or a dictionary by names of parameters, not {shown(arguments)}")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or math.isnan(timeout)):
        raise TypeError(f"timeout is a number of seconds, not {shown(timeout)}")
    program: Any = self  # stubs leave out what begins with an underscore
    return program._run(positional, named, entry, math.inf if timeout is None else float(timeout), cancel)


class _Pool:
    """The threads that run programs for `run_async`: as many as there are processors. A child process makes its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: ThreadPoolExecutor | None = None

    def get(self) -> ThreadPoolExecutor:
        with self.lock:
            if self.pool is None:
                self.pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)), "relay-run")
            return self.pool


_pool = _Pool()
os.register_at_fork(after_in_child=_pool.__init__)  # type: ignore[misc]


async def _run_async(
    self: Executable, arguments: Sequence[Any] | Mapping[str, Any] = (), *, entry: str | None = None, timeout: float | None = None
) -> Any:
    """The same as `run`, for asyncio: the event loop goes on meanwhile. If the task is cancelled, the run ends, too.

    Calls run on threads of their own, as many at a time as there are processors; `timeout` counts from where the run begins.
    """
    import asyncio  # which takes as long to import as all of this package

    cancel = Cancel()
    future = asyncio.get_running_loop().run_in_executor(
        _pool.get(), lambda: self.run(arguments, entry=entry, timeout=timeout, cancel=cancel)
    )
    try:
        return await future
    except asyncio.CancelledError:
        cancel.cancel()
        raise


setattr(Executable, "run", _run)
setattr(Executable, "run_async", _run_async)
