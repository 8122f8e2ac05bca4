"""`relay.vm`: programs for the virtual machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import relay as _relay
from relay import IRModule
from relay.transform import PassContext

from ...runtime.vm import Executable
from .interpreter import Compiled

__all__ = ["VMCompiler", "VMExecutor", "compile"]

VMExecutor = Compiled


def compile(mod: IRModule, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None) -> Executable:  # noqa: A001
    """Compiles a module. `params`: values of parameters of `main`, by name, that become constants."""
    compiler = VMCompiler()
    if params:
        compiler.set_params(params)
    compiler.lower(mod, target, target_host)
    compiler.codegen()
    return compiler.get_exec()


class VMCompiler:
    """Compiles a module in the steps that scripts know."""

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._mod: IRModule | None = None
        self._program: _relay.Executable | None = None
        self._made: Executable | None = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Values of parameters of `main` that become constants."""
        self._params = dict(params)

    def get_params(self) -> dict[str, Any]:
        """The parameters that `set_params` got."""
        return dict(self._params)

    def lower(self, mod: IRModule, target: Any = None, target_host: Any = None) -> None:
        """Compiles a module under the current context. Raises RelayError for what is wrong with it."""
        from ..build_module import compile_module

        self._mod, self._target, self._context = mod, target, PassContext.current()
        self._program = compile_module(mod, target, self._params)

    def _compiled(self, name: str) -> _relay.Executable:
        """The program of a function that is not `main`, compiled as that was."""
        from ..build_module import compile_module

        assert self._mod is not None
        with self._context:
            return compile_module(self._mod, self._target, None, name)

    def codegen(self) -> None:
        """Makes what `get_exec` gives. Raises RuntimeError before `lower`."""
        if self._program is None:
            raise RuntimeError("codegen before lower: there is no module")
        self._made = Executable(self._program, self._mod, self._compiled)

    def optimize(self, mod: IRModule, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        """The module after the passes of the current context's level, and the parameters."""
        from ..build_module import optimize

        if params:
            self.set_params(params)
        return optimize(mod, target, self._params)

    def get_exec(self) -> Executable:
        """The executable that `codegen` made. Raises RuntimeError before it."""
        if self._made is None:
            raise RuntimeError("get_exec before codegen")
        return self._made
