"""The virtual machine: compiled programs and their runs."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any

import relay as _relay

from .._absent import missing_method, missing_property
from .._errors import UnknownFunctionError
from .module import BenchmarkResult, Module, measure
from .ndarray import require_cpu

__all__ = ["Executable", "VirtualMachine"]

_CONSTANTS = "constants beside the code of a program: Executable.save and relay.Executable.save write both as one"


class Executable(Module):
    """A compiled program."""

    def __init__(self, mod: Any, source: Any = None, compiled: Callable[[str], _relay.Executable] | None = None) -> None:
        if not isinstance(mod, _relay.Executable):
            raise TypeError(f"an Executable is made of a compiled program, not of {type(mod).__name__}")
        super().__init__(mod)
        # What it was compiled from, where that was in this process: it knows types of arguments and constructors of results.
        self._source = source if source is not None else _relay.IRModule()
        # Makes programs of functions other than `main`, which run inside of it where it calls them.
        self._compiled = compiled
        self._programs: dict[str, _relay.Executable] = {}

    def save(self) -> tuple[bytearray, Module]:  # type: ignore[override]
        """The program as bytes, and as a module whose `export_library` writes them. Both can call `main`; functions that it reaches run inside
        of it there."""
        return bytearray(self.program.bytes()), self.lib

    @staticmethod
    def load_exec(bytecode: Any, lib: Any) -> Executable:
        """A program of the bytes that `save` gave. Its machine code runs: load only what you would run."""
        return Executable(_relay._core.load_bytes(bytes(bytecode)))

    @property
    def lib(self) -> Module:
        """The machine code, which is one with the program here."""
        return Module(self.program)

    @property
    def module(self) -> Module:
        """The program as a module."""
        return self

    mod = module

    @property
    def globals(self) -> list[str]:
        """The names of functions that can be called: `main`, and those that it reaches where the program was compiled in this process. Files
        have `main` alone."""
        return list(self._known)

    @functools.cached_property
    def _known(self) -> dict[str, None]:
        """The names of `globals`, found once: calls ask for them."""
        return dict.fromkeys([*self.program.entries, *(_reached(self._source) if self._compiled is not None else [])])

    def _of(self, func_name: str) -> _relay.Executable:
        """A program that has a function. One that `main` calls is compiled by itself when it is first asked for."""
        if func_name in self.program.entries or self._compiled is None:
            return self.program
        if func_name not in self._programs:
            self._programs[func_name] = self._compiled(func_name)
        return self._programs[func_name]

    @property
    def stats(self) -> str:
        """What the program has, a line each: the target, the functions that can be called, and the kernels."""
        lines = [f"Target: {self.program.target}"]
        for what, found in (("Globals", self.globals), ("Primitive ops", self.primitive_ops)):
            lines.append(f"{what} (#{len(found)}): [{', '.join(found)}]")
        return "Statistics of a compiled program:\n" + "".join(f"  {line}\n" for line in lines)

    @property
    def primitive_ops(self) -> list[str]:
        """The names of the kernels."""
        return list(self.program.kernels)

    @property
    def bytecode(self) -> str:
        """The instructions of the program's functions, as text of the machine here, below the functions that run inside of others."""
        text = self.program.instructions
        inside = [name for name in self.globals if name not in self.program.entries and f"@{name}" not in text]
        return "".join(f"@{name} runs inside of @{self.program.entries[0]}\n" for name in inside) + text

    constants = missing_property("Executable.constants", _CONSTANTS)
    virtual_devices = missing_property("Executable.virtual_devices", "devices of a compiled program: all that it has runs on the CPU")
    move_late_bound_consts = missing_method("Executable.move_late_bound_consts", _CONSTANTS)
    get_late_bound_consts = missing_method("Executable.get_late_bound_consts", _CONSTANTS)
    load_late_bound_consts = missing_method("Executable.load_late_bound_consts", _CONSTANTS)
    load_late_bound_consts_from_map = missing_method("Executable.load_late_bound_consts_from_map", _CONSTANTS)

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of the parameters of a function. Raises ValueError for what is none."""
        if func_name not in self._known:
            raise ValueError(f"the program has no function {func_name}; it has {', '.join(self._known)}")
        return [name for name, _ in self._of(func_name).signatures[func_name][0]]


def _reached(mod: _relay.IRModule) -> list[str]:
    """The functions of a module that `main` reaches, but those of code generators."""
    if "main" not in mod:
        return []
    names, waiting = {"main": None}, deque(["main"])
    while waiting:
        found: dict[str, None] = {}
        at = mod[waiting.popleft()]
        _relay.analysis.post_order_visit(at, lambda expr: found.setdefault(expr.name_hint) if isinstance(expr, _relay.GlobalVar) else None)
        for name in found:
            if name not in names and name in mod and (mod[name].attrs is None or "Compiler" not in mod[name].attrs.keys()):
                names[name] = None
                waiting.append(name)
    return list(names)


class VirtualMachine:
    """Runs a compiled program."""

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(self, exe: Any, device: Any, memory_cfg: Any = None) -> None:
        require_cpu(device, "a virtual machine")
        if isinstance(exe, Module) and not isinstance(exe, Executable):
            exe = Executable(exe.program)
        if not isinstance(exe, Executable):
            raise TypeError(f"a VirtualMachine runs an Executable, not {type(exe).__name__}")
        self._exec = exe
        self._inputs: dict[str, list[Any]] = {}
        self._result: Any = None
        self._outputs: dict[str, list[Any]] = {}

    @property
    def module(self) -> Module:
        """The machine as a module of its functions: ``machine.module["invoke"]("main", x)``, or measured by ``time_evaluator("invoke", device)``."""
        return _Functions(self)

    def _arranged(self, func_name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        from ..relay.backend.interpreter import _arrange

        return _arrange(self._exec.get_function_params(func_name), args, kwargs)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """The arguments of the next calls of `invoke` or `run` that have none."""
        self._inputs[func_name] = self._arranged(func_name, args, kwargs)

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """One argument: its name or number and its value, or ``name=value``."""
        names = self._exec.get_function_params(func_name)
        key, value = next(iter(kwargs.items())) if kwargs else args
        at = names.index(key) if isinstance(key, str) else int(key)
        self._inputs.setdefault(func_name, [None] * len(names))[at] = value

    def set_outputs(self, func_name: str, *args: Any) -> None:
        """Arrays that calls of a function also write their results to."""
        self._require(func_name)
        self._outputs[func_name] = list(args)

    def _require(self, func_name: str) -> None:
        """Raises UnknownFunctionError, which is a TVMError, for what is no function of the program."""
        known = self._exec._known
        if func_name not in known:
            raise UnknownFunctionError(f"the program has no function {func_name}; it has {', '.join(known)}")

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a function; without arguments with the last ones that it had. Raises RelayError for one that is none, and for arguments
        that do not fit."""
        from ..relay.backend.values import from_program, to_program

        self._require(func_name)
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        given = self._inputs.get(func_name, [])
        mod = self._exec._source
        signature: Any = _relay._core.function_signature(mod, func_name) if func_name in mod else None
        kinds = [] if signature is None else list(signature.arg_types)
        kinds += [None] * (len(given) - len(kinds))
        result = self._exec._of(func_name).call(func_name, *(to_program(value, kind, mod, True) for value, kind in zip(given, kinds)))
        self._result = from_program(result, mod)
        for target, value in zip(self._outputs.get(func_name, ()), self.get_outputs()):
            target.copyfrom(value)
        return self._result

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Calls `main`."""
        return self.invoke("main", *args, **kwargs)

    def get_outputs(self) -> list[Any]:
        """The results of the last call, as a list."""
        from .container import ADT

        return list(self._result) if type(self._result) is ADT else [self._result]

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """The number of a parameter; -1 if there is none of that name."""
        names = self._exec.get_function_params(func_name)
        return names.index(input_name) if input_name in names else -1

    def invoke_stateful(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Calls a function; `get_outputs` gives the results."""
        self.invoke(func_name, *args, **kwargs)

    def invoke_with_outputs(self, func_name: str, input_args: dict[str, Any], output_args: list[Any]) -> None:
        """Calls a function and copies the results into arrays."""
        self.invoke(func_name, **input_args)
        for target, value in zip(output_args, self.get_outputs()):
            target.copyfrom(value)

    def benchmark(
        self, device: Any, *args: Any, func_name: str = "main", repeat: int = 5, number: int = 5, min_repeat_ms: Any = None,
        limit_zero_time_iterations: int = 100, end_to_end: bool = False, cooldown_interval_ms: int = 0, repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:  # fmt: skip
        """Seconds of one call, `repeat` means of `number` calls each."""
        require_cpu(device, "a measurement")
        self._require(func_name)
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        given = self._inputs.get(func_name, [])
        program = self._exec._of(func_name)
        return measure(lambda: program.call(func_name, *given), number, repeat)


class _Functions(Module):
    """A machine by the names of its functions."""

    def __init__(self, machine: VirtualMachine) -> None:
        super().__init__(machine._exec)
        self._machine = machine

    @property
    def type_key(self) -> str:
        """The kind of the module."""
        return "VirtualMachine"

    def __getitem__(self, name: str) -> Any:
        own = {
            "invoke": self._machine.invoke, "invoke_stateful": self._machine.invoke_stateful, "invoke_return_to_device": self._machine.invoke,
            "set_input": self._machine.set_input, "set_one_input": self._machine.set_one_input, "profile": getattr(self._machine, "profile", None),
            "get_num_outputs": lambda: len(self._machine.get_outputs()), "get_output": lambda index: self._machine.get_outputs()[index],
            "get_input_index": lambda input_name, func_name="main": self._machine.get_input_index(input_name, func_name),
        }  # fmt: skip
        return own[name] if own.get(name) is not None else super().__getitem__(name)

    def time_evaluator(self, func_name: str, dev: Any, number: int = 10, repeat: int = 1, **kwargs: Any) -> Any:
        """Something to call that measures: of "invoke" with a function's name and its arguments, or those that are set; of a function with its
        arguments."""
        machine = self._machine
        if func_name in machine._exec._known and func_name not in machine._exec.program.entries:
            require_cpu(dev, "a measurement")
            return lambda *args: measure(lambda: machine.invoke(func_name, *args), number, repeat)
        if func_name not in ("invoke", "invoke_stateful"):
            return super().time_evaluator(func_name, dev, number, repeat, **kwargs)
        require_cpu(dev, "a measurement")
        return lambda name="main", *args: measure(lambda: self._machine.invoke(name, *args), number, repeat)
