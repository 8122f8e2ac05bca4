"""Functions by global name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_functions: dict[str, Callable[..., Any]] = {}


def register_func(func_name: Any, f: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Registers a function under a name, or decorates one. Raises ValueError if the name is taken, unless `override`."""
    if callable(func_name):
        return register_func(func_name.__name__, func_name, override)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if func_name in _functions and not override:
            raise ValueError(f"a global function {func_name} is already registered")
        _functions[func_name] = function
        compiler = _external_compiler(func_name)
        if compiler is not None:
            from relay import codegen

            codegen.register(compiler, _generator(function), replace=True)
        return function

    return register(f) if f is not None else register


def _generator(function: Callable[..., Any]) -> Callable[..., Any]:
    """A code generator of a script, which may give a module of `tvm.build` or of C source."""

    @functools.wraps(function)
    def generate(func: Any) -> Any:
        from .c_source import CSourceModule, kernel_of
        from .packed import BuiltFunctions

        made = function(func)
        if not isinstance(made, (BuiltFunctions, CSourceModule)) or isinstance(made, BuiltFunctions) and not made.functions:
            return made
        symbol = str(func.attrs["global_symbol"]) if func.attrs is not None and "global_symbol" in func.attrs.keys() else ""
        if isinstance(made, CSourceModule):
            return kernel_of(made, symbol, func)
        return made.functions.get(symbol, made.functions[made.entry_name])

    return generate


def _external_compiler(name: str) -> str | None:
    """The code generator that a function "relay.ext.NAME" is, as `Compiler="NAME"` names it."""
    prefix, _, compiler = name.rpartition(".")
    return compiler if prefix == "relay.ext" else None


def _own(name: str) -> Any:
    """A function of this package that TVM's scripts reach by name; None for other names."""
    from .. import relay, runtime
    from ..contrib import graph_executor
    from . import c_source, threads

    def create(graph: Any, lib: Any, *devices: int) -> Any:
        return graph_executor.create(graph, lib, [runtime.device(*devices[at : at + 2]) for at in range(0, len(devices), 2)]).module

    own = {
        "runtime.config_threadpool": threads.config_threadpool, "runtime.NumThreads": threads.num_threads, "runtime.ModuleLoadFromFile": runtime.load_module,
        "runtime.RuntimeEnabled": runtime.enabled, "runtime.SaveParams": runtime.save_param_dict, "runtime.LoadParams": runtime.load_param_dict,
        "runtime.CSourceModuleCreate": c_source.create, "tvm.graph_executor.create": create, "tvm.graph_runtime.create": create,
    }  # fmt: skip
    prefix, _, last = name.rpartition(".")
    if prefix != "relay._transform":
        return own.get(name)
    # Makers of passes, by names of passes: classes and helpers of the module are no functions that TVM registers.
    found = getattr(relay.transform, last) if last in relay.transform.__all__ and last[:1].isupper() else None
    return None if isinstance(found, type) else found


def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """The function that a script registered, or one of the few of this package that scripts reach by TVM's names (`runtime.config_threadpool`,
    `runtime.ModuleLoadFromFile`, passes as `relay._transform.NAME`). Others of the compiler are not reached by name.

    Raises ValueError if there is none; with `allow_missing`, gives None.
    """
    if name in _functions:
        return _functions[name]
    own = _own(name) if "." in name else None
    if own is not None:
        return own
    if allow_missing:
        return None
    raise ValueError(f"cannot find a global function {name}: only functions of register_func are found by name")


def list_global_func_names() -> list[str]:
    """The names of all functions that scripts registered."""
    return list(_functions)


def remove_global_func(name: str) -> None:
    """Takes a function off. Raises ValueError if there is none."""
    if name not in _functions:
        raise ValueError(f"cannot find a global function {name}: only functions of register_func are found by name")
    del _functions[name]
    compiler = _external_compiler(name)
    if compiler is not None:
        from relay import codegen

        codegen.unregister(compiler)
