"""What a function became: its program, and its kernels with what they took."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from .._core import Executable, IRModule
from ..display import size_text, table_html
from ..execution import compile as compile_module

if TYPE_CHECKING:
    from .traced import Compiled, Traced

__all__ = ["Explanation", "Lowered"]


class Lowered:
    """The program of a function for one signature."""

    def __init__(self, traced: Traced, options: dict[str, Any]) -> None:
        self._traced = traced
        self._options = options

    @property
    def module(self) -> IRModule:
        """The program as a module, whose `main` takes the arrays of the arguments, and gives those of the result as a tuple (or the only one)."""
        return self._traced.module

    @property
    def text(self) -> str:
        """Program text."""
        return str(self._traced.module)

    def compile(self) -> Executable:
        """The program as an executable, which can be saved."""
        return compile_module(self._traced.module, **self._options)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from .. import display

        return display.html(self._traced.module)


class Explanation:
    """What became of a function for one signature. `print` shows it; the parts are attributes.

    `kernels`: for each kernel its name and, if the arguments had values, how often it ran, how long, and how much it computed and moved.
    `constants`: arrays that the function found outside of its arguments. `trace_seconds`, `compile_seconds`. `text`: the program.
    """

    def __init__(self, name: str, compiled: Compiled, data: list[Any] | None, programs: int) -> None:
        self.name = name
        self.programs = programs
        self.executable = compiled.program
        self.text = str(compiled.traced.module)
        self.constants = list(compiled.traced.constants)
        self.trace_seconds = compiled.traced.seconds
        self.compile_seconds = compiled.seconds
        self.parameters = compiled.program.parameters
        if data is None:
            self.kernels: list[dict[str, Any]] = [{"name": kernel} for kernel in compiled.program.kernels]
        else:
            self.kernels = compiled.program.profile(*data)
        self.measured = data is not None

    def _rows(self) -> list[list[str]]:
        if not self.measured:
            return [[kernel["name"]] for kernel in self.kernels]
        return [
            [kernel["name"], str(kernel["calls"]), f"{kernel['seconds'] * 1e6:.1f} µs", f"{kernel['flops']:,}", size_text(kernel["bytes"])]
            for kernel in self.kernels
        ]

    def _heads(self) -> list[str]:
        return ["kernel", "calls", "time", "operations", "moved"] if self.measured else ["kernel"]

    def _facts(self) -> list[str]:
        held = sum(array.nbytes for array in self.constants)
        facts = [
            f"{self.name}({', '.join(f'{name}: {kind}' for name, kind in self.parameters)})",
            f"traced in {self.trace_seconds * 1e3:.1f} ms, compiled in {self.compile_seconds * 1e3:.1f} ms; {self.programs} "
            f"program{'s' if self.programs != 1 else ''} kept",
        ]
        if self.constants:
            facts.append(f"{len(self.constants)} constant{'s' if len(self.constants) > 1 else ''} from outside of the arguments, {size_text(held)}")
        facts.append(f"{len(self.kernels)} kernel{'s' if len(self.kernels) != 1 else ''}")
        return facts

    def __str__(self) -> str:
        rows = [self._heads(), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))) for row in rows]
        return "\n".join([*self._facts(), *("  " + line.rstrip() for line in lines)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        facts = "<br>".join(escape(fact) for fact in self._facts())
        table = table_html(self._heads(), self._rows())
        return f"<p>{facts}</p>{table}<details><summary>program</summary><pre>{escape(self.text)}</pre></details>"
