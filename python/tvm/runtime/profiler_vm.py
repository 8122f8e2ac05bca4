"""A virtual machine that tells what each kernel took."""

from __future__ import annotations

from typing import Any

from .profiling import Report, profile
from .vm import VirtualMachine

__all__ = ["VirtualMachineProfiler", "enabled"]


def enabled() -> bool:
    """True: every program can be profiled."""
    return True


class VirtualMachineProfiler(VirtualMachine):
    """Runs a compiled program, and measures its kernels."""

    def profile(self, *args: Any, func_name: str = "main", collectors: Any = None, **kwargs: Any) -> Report:
        """One run of `main`, measured. Raises NotImplementedError for other functions and for collectors of further figures."""
        if func_name != "main" or collectors:
            raise NotImplementedError("profile measures the kernels of main, and their seconds, operations and bytes")
        given = self._arranged(func_name, args, kwargs) if args or kwargs else self._inputs.get(func_name, [])
        return profile(lambda: self._exec.program.profile(*given))
