"""Compiled functions of tensor expressions, which write their outputs into arrays that they get."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import relay as _relay

from relay.codegen import _leaves, _rebuilt

from .module import BenchmarkResult, Module, measure
from .ndarray import require_cpu
from .threads import configured

__all__ = ["NOTE", "BuiltFunctions", "build", "of_program"]

# The note of a file with a function of tensor expressions: JSON, by its name which of its arrays are inputs.
NOTE = "arrays"


class BuiltFunctions(Module):
    """Functions by name, each with the places of its inputs and outputs among its arguments. `functions` are those of Relay, which files keep not."""

    def __init__(self, programs: Mapping[str, Any], is_input: Mapping[str, Sequence[bool]], functions: Mapping[str, Any] | None = None) -> None:
        self.functions = dict(functions or {})
        self._programs, self._is_input = dict(programs), {name: list(each) for name, each in is_input.items()}
        super().__init__(next(iter(self._programs.values())))

    def _notes(self) -> dict[str, str]:
        """Which arrays are inputs. Raises NotImplementedError for several functions: each is a program of its own."""
        if len(self._programs) > 1:
            raise NotImplementedError(f"a file has one function of tvm.build, and the module has {', '.join(self._programs)}: build and export each by itself")
        return {**super()._notes(), NOTE: json.dumps(self._is_input)}

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
        types = [_relay.parse_type(text) for _, text in program.results["main"]]

        def call(*arrays: Any) -> None:
            if len(arrays) != len(is_input):
                raise TypeError(f"{name} takes {len(is_input)} arrays, inputs and outputs, not {len(arrays)}")
            outputs = [array for array, given in zip(arrays, is_input) if not given]
            for wanted, output in zip(types, outputs):
                _require_output(name, wanted, output)
            result = program(*(array for array, given in zip(arrays, is_input) if given))
            for output, value in zip(outputs, result if len(outputs) > 1 else [result]):
                output.copyfrom(value)

        call.__name__ = call.__qualname__ = name
        return call

    def time_evaluator(self, func_name: str, dev: Any, number: int = 10, repeat: int = 1, **kwargs: Any) -> Callable[..., BenchmarkResult]:
        """Something to call with arrays that measures a function."""
        require_cpu(dev, "a measurement")
        function = self[func_name]
        return lambda *arrays: measure(lambda: function(*arrays), number, repeat)


def _require_output(name: str, wanted: Any, given: Any) -> None:
    """Raises TypeError for an output that is no array or has another dtype, ValueError for one of another shape."""
    if not isinstance(given, _relay.NDArray):
        raise TypeError(f"{name} writes to a tvm.nd.array, not to {type(given).__name__}")
    if str(given.dtype) != str(wanted.dtype):
        raise TypeError(f"{name} writes {wanted.dtype}, and the array for it is {given.dtype}")
    if tuple(given.shape) != tuple(wanted.shape):
        raise ValueError(f"{name} writes an array of shape {tuple(wanted.shape)}, and the one for it has {tuple(given.shape)}")


def build(functions: Mapping[str, Any], args: Mapping[str, Sequence[Any]], target: Any) -> BuiltFunctions:
    """Compiles functions of Relay by name; `args` are the tensors that each is called with."""
    from ..target import Target

    machine = Target.machine_of(target)
    programs = {name: _relay.compile(_relay.IRModule.from_expr(function), target=machine, threads=configured()) for name, function in functions.items()}
    return BuiltFunctions(programs, {name: [each.op.kind == "placeholder" for each in given] for name, given in args.items()}, functions)


def of_function(name: str, function: Any) -> BuiltFunctions:
    """A function of Relay as one of all arrays, inputs and outputs; those in tuples one after the other."""
    params = [[_relay.var(f"p{i}_{k}", kind) for k, kind in enumerate(_leaves(param.checked_type))] for i, param in enumerate(function.params)]
    given = [_rebuilt(iter(leaves), param.checked_type) for leaves, param in zip(params, function.params)]
    inputs = [leaf for leaves in params for leaf in leaves]
    flat = _relay.Function(inputs, _relay.Call(function, given))
    program = _relay.compile(_relay.IRModule.from_expr(flat), threads=configured())
    return BuiltFunctions({name: program}, {name: [True] * len(inputs) + [False] * len(_leaves(function.checked_type.ret_type))}, {name: flat})


def of_program(program: Any) -> BuiltFunctions:
    """The function that a file has, by its note. Raises ValueError for a note that does not fit the program."""
    try:
        note = json.loads(program.notes[NOTE])
        ((name, is_input),) = note.items()
        fits = all(isinstance(each, bool) for each in is_input) and (is_input.count(True), is_input.count(False)) == (
            len(program.parameters), len(program.results["main"]))  # fmt: skip
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        fits = False
    if not fits:
        raise ValueError(f"the program's note {NOTE!r} does not say which arrays of its function are inputs")
    return BuiltFunctions({name: program}, {name: is_input})
