"""The executors that `create_executor` makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import relay as _relay
from relay import Expr, Function, GlobalVar, IRModule

from ..._errors import MissingArgumentError
from ...ir.binders import apart_in
from ...runtime.ndarray import array, require_cpu
from ..qnn.rounding import settled
from .values import Closure, ConstructorValue, RefValue, from_program, to_program

__all__ = ["AotExecutor", "Closure", "ConstructorValue", "Executor", "GraphExecutor", "Interpreter", "RefValue"]


class Executor:
    """Runs expressions and functions of a module."""

    _strict = False  # whether the program takes the values inside of data for what its types say

    def __init__(self, mod: IRModule | None, device: Any, target: Any, params: Mapping[str, Any] | None = None) -> None:
        require_cpu(device, "an executor")
        self.mod = mod if mod is not None else IRModule()
        self.device = device
        self.target = target
        self.params = dict(params or {})

    def evaluate(self, expr: Any = None, binds: Mapping[Any, Any] | None = None) -> Any:
        """A function as something to call, another expression as its value; with no expression, the module's `main`.

        `binds`: values of free variables. Raises ValueError for variables that remain free.
        """
        if expr is None:
            if "main" not in self.mod:
                raise ValueError("the module has no function @main, and no expression was given")
            return self._callable(self.mod, "main", self.mod["main"])
        expr = expr.astuple() if isinstance(expr, _relay.TupleWrapper) else expr
        if binds:
            expr = _relay.bind(expr, {key: _as_expr(value) for key, value in binds.items()})
        if isinstance(expr, GlobalVar):
            return self._callable(self.mod, expr.name_hint, self.mod[expr])
        free = _relay._core.free_vars(expr)
        if free:
            raise ValueError(f"variables remain free: {', '.join('%' + v.name_hint for v in free)}; bind them or make a Function")
        mod = self.mod.copy()
        function = expr if isinstance(expr, Function) else Function([], expr)
        name = "main" if "main" not in mod or _all_unused(mod, "main", function) else mod.fresh_name("main")
        function = apart_in(mod, name, function)
        mod.add_function(name, function, replace=True)
        run = self._callable(mod, name, function)
        return run if isinstance(expr, Function) else run()

    def _callable(self, mod: IRModule, name: str, function: Function) -> Any:
        names = [param.name_hint for param in function.params]
        bound = {key: value for key, value in self.params.items() if key in names}
        open_names = [key for key in names if key not in bound]
        start = self._prepare(mod, name, bound)
        types = [param.type_annotation for param in function.params]
        if self._strict and any(not isinstance(kind, _relay.Type) or isinstance(kind, _relay.IncompleteType) for kind in types):
            signature: Any = _relay._core.function_signature(mod, name)
            types = list(signature.arg_types)
        kinds = [kind for kind, param in zip(types, function.params) if param.name_hint not in bound]

        def run(*args: Any, **kwargs: Any) -> Any:
            given = [self._fitted(arg, kind) for arg, kind in zip(_arrange(open_names, args, kwargs), kinds)]
            return from_program(start([to_program(arg, kind, mod, self._strict) for arg, kind in zip(given, kinds)]), mod)

        return run

    def _fitted(self, arg: Any, kind: Any) -> Any:
        """The argument in the dtype of its parameter, where the kind of executor converts arguments."""
        return arg

    def _prepare(self, mod: IRModule, name: str, bound: Mapping[str, Any]) -> Any:
        raise NotImplementedError("Executor is a base: use relay.create_executor")


def _as_expr(value: Any) -> Expr:
    return value if isinstance(value, Expr) else _relay.const(value)


def _all_unused(mod: IRModule, name: str, function: Function) -> bool:
    """True if the new function may take the place of an old one: nothing of the new one calls it."""
    return not any(isinstance(node, GlobalVar) and node.name_hint == name for node in _relay._core.post_order(function))


def _arrange(names: list[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """Arguments in order of the parameters. Raises MissingArgumentError where one is missing, TypeError where it is there twice.

    Other names are left out: scripts pass all weights of a network, also those that a pass has bound or dropped.
    """
    if len(args) > len(names):
        raise TypeError(f"the function takes {len(names)} arguments, {len(args)} were given")
    given = dict(enumerate(args))  # by place, since several parameters may have one name
    for key, value in kwargs.items():
        if key not in names:
            continue
        at = names.index(key)
        if at in given:
            raise TypeError(f"the parameter %{key} was given twice")
        given[at] = value
    missing = [name for at, name in enumerate(names) if at not in given]
    if missing:
        unknown = [key for key in kwargs if key not in names]
        hint = f", and no parameter is called %{unknown[0]}" if unknown else ""
        raise MissingArgumentError(f"the function takes {len(names)} arguments; there is none for %{missing[0]}{hint}")
    return [given[at] for at in range(len(names))]


class Interpreter(Executor):
    """Kind "debug": the reference evaluator."""

    def _prepare(self, mod: IRModule, name: str, bound: Mapping[str, Any]) -> Any:
        mod = settled(mod)
        if bound:
            from ..build_module import bind_params_by_name

            mod = mod.copy()
            mod[name] = bind_params_by_name(mod[name], bound)
        return lambda args: _relay.evaluate(mod, *args, entry=name)


class Compiled(Executor):
    """Kind "vm": the compiled program."""

    _strict = True

    def _prepare(self, mod: IRModule, name: str, bound: Mapping[str, Any]) -> Any:
        from ..build_module import compile_module

        program = compile_module(mod, self.target, bound, name)
        return lambda args: program(*args)


class GraphExecutor(Compiled):
    """Kind "graph": the compiled program. Arrays of NumPy get the dtype of their parameter, as `set_input` of a graph executor gives it."""

    def _fitted(self, arg: Any, kind: Any) -> Any:
        if not isinstance(arg, (np.ndarray, np.generic)) or not isinstance(kind, _relay.TensorType):
            return arg
        made: Any = array(arg)
        return made if made.dtype == kind.dtype else made.astype(kind.dtype)


class AotExecutor(GraphExecutor):
    """Kind "aot": the same."""
