"""Compiled functions of tensor expressions, which write their outputs into arrays that they get."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import relay as _relay

from .module import BenchmarkResult, Module, measure
from .ndarray import require_cpu

__all__ = ["BuiltFunctions"]


class BuiltFunctions(Module):
    """Functions by name, each with the places of its inputs and outputs among its arguments."""

    def __init__(self, functions: Mapping[str, Any], args: Mapping[str, Sequence[Any]], target: Any) -> None:
        from ..target import Target

        self.functions = dict(functions)
        self._is_input = {name: [each.op.kind == "placeholder" for each in given] for name, given in args.items()}
        machine = Target.machine_of(target)
        self._programs = {name: _relay.compile(_relay.IRModule.from_expr(function), target=machine) for name, function in self.functions.items()}
        super().__init__(next(iter(self._programs.values())))

    @property
    def type_key(self) -> str:
        """The kind of the module."""
        return "llvm"

    @property
    def entry_name(self) -> str:
        """The name of the first function."""
        return next(iter(self._programs))

    def __getitem__(self, name: str) -> Callable[..., None]:
        """A function of all arrays, inputs and outputs. Raises AttributeError for a name that is none."""
        if name not in self._programs:
            raise AttributeError(f"the module has no function {name}; it has {', '.join(self._programs)}")
        program, is_input = self._programs[name], self._is_input[name]

        def call(*arrays: Any) -> None:
            if len(arrays) != len(is_input):
                raise TypeError(f"{name} takes {len(is_input)} arrays, inputs and outputs, not {len(arrays)}")
            result = program(*(array for array, given in zip(arrays, is_input) if given))
            outputs = [array for array, given in zip(arrays, is_input) if not given]
            for output, value in zip(outputs, result if len(outputs) > 1 else [result]):
                output.copyfrom(value)

        call.__name__ = call.__qualname__ = name
        return call

    def time_evaluator(self, func_name: str, dev: Any, number: int = 10, repeat: int = 1, **kwargs: Any) -> Callable[..., BenchmarkResult]:
        """Something to call with arrays that measures a function."""
        require_cpu(dev, "a measurement")
        function = self[func_name]
        return lambda *arrays: measure(lambda: function(*arrays), number, repeat)
