#!/usr/bin/env python3
"""Writes the types of relay._core for type checkers and editors: PYTHONPATH=build/python scripts/python_stubs.py OUTPUT

nanobind says what the extension module has; what the package adds to its classes when it is imported is in ADDED.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import types
from pathlib import Path

from nanobind.stubgen import StubGen

EXPR = """
    def astype(self, dtype: Any) -> Expr: ...
    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str: ...
    def __call__(self, *args: Any) -> Call: ...
    def __neg__(self) -> Expr: ...
""" + "".join(
    f"    def __{prefix}{name}__(self, other: Any) -> Expr: ...\n"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
    for prefix in ("", "r")
) + "".join(f"    def __{name}__(self, other: Any) -> Expr: ...\n" for name in ("lt", "le", "gt", "ge"))

ADDED = {
    "Expr": EXPR,
    "Call": "\n    def __bool__(self) -> bool: ...\n",
    "Tuple": "\n    def __iter__(self) -> Iterator[Expr]: ...\n",
    "DFPattern": """
    def __call__(self, *args: DFPattern | None) -> CallPattern: ...
    def __or__(self, other: DFPattern) -> AltPattern: ...
    def __add__(self, other: DFPattern) -> CallPattern: ...
    def __sub__(self, other: DFPattern) -> CallPattern: ...
    def __mul__(self, other: DFPattern) -> CallPattern: ...
    def __truediv__(self, other: DFPattern) -> CallPattern: ...
    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern: ...
    def has_type(self, ttype: Type) -> TypePattern: ...
    def has_dtype(self, dtype: str) -> DataTypePattern: ...
    def has_shape(self, shape: Sequence[Any]) -> ShapePattern: ...
    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern: ...
    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern: ...
    def match(self, expr: Any) -> bool: ...
    def partition(self, expr: Any, attrs: Mapping[str, Any] | None = None, check: Callable[[Expr], bool] = ...) -> Expr: ...
    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str: ...
""",
    "TuplePattern": "\n    def __getitem__(self, index: int) -> DFPattern: ...\n    def __len__(self) -> int: ...\n",
    "Var": "\n    @property\n    def vid(self) -> Var: ...\n",
    "Function": """
    def with_attr(self, attr_key_or_dict: str | Mapping[str, Any], attr_value: Any = None) -> Function: ...
    def without_attr(self, attr_key: str) -> Function: ...
""",
    "Executable": """
    def run(
        self, arguments: Sequence[Any] | Mapping[str, Any] = (), *, entry: str | None = None, timeout: float | None = None,
        cancel: Cancel | None = None,
    ) -> Any: ...
    async def run_async(
        self, arguments: Sequence[Any] | Mapping[str, Any] = (), *, entry: str | None = None, timeout: float | None = None
    ) -> Any: ...
""",
    "IRModule": """
    @staticmethod
    def from_expr(
        expr: Expr, functions: Mapping[GlobalVar, Function] | None = None, type_defs: Mapping[Any, TypeData] | None = None
    ) -> IRModule: ...
    @property
    def functions(self) -> Mapping[GlobalVar, Function]: ...
    def get_global_var(self, name: str) -> GlobalVar: ...
    def get_global_vars(self) -> list[GlobalVar]: ...
    def get_global_type_var(self, name: str) -> GlobalTypeVar: ...
    def get_global_type_vars(self) -> list[GlobalTypeVar]: ...
    def get_type(self, name: str) -> tuple[Any, ...]: ...
    def get_constructor(self, name: str) -> Constructor: ...
    def import_from_std(self, file_to_import: str) -> None: ...
    def update(self, other: IRModule | Mapping[Any, Function]) -> None: ...
    def update_func(self, var: GlobalVar | str, func: Function) -> None: ...
""",
}
ERRORS = '''
__version__: str

class RelayError(Failure):
    """Something is wrong with a program or its data; `diagnostics` has it in parts."""

    diagnostics: list[Diagnostic]
    @classmethod
    def of(cls, diagnostics: Diagnostic | Sequence[Diagnostic]) -> RelayError: ...

class ExecutionError(RelayError):
    """A program failed while it ran."""

class InternalError(Failure, RuntimeError):
    """A defect of Relay itself."""

    diagnostics: list[Diagnostic]
'''


def main() -> None:
    # The extension module alone, before the package adds to its classes.
    spec = importlib.util.find_spec("relay")
    if spec is None:
        raise SystemExit("the package is not built")
    package = sys.modules["relay"] = types.ModuleType("relay")
    package.__path__ = list(spec.submodule_search_locations or [])
    core = importlib.import_module("relay._core")
    generator = StubGen(core)
    generator.put(core)
    text = generator.get()
    text = re.sub(r"from relay import \([^)]*\)\n", "", text)
    text = re.sub(r"^from typing import .*$", "from typing import Any, overload", text, flags=re.M)
    # An object that is made at run time, of NumPy or of one of several classes.
    text = text.replace("-> object", "-> Any")
    text = re.sub(r"def __(eq|ne)__\(self, arg: \w+, /\)", r"def __\1__(self, arg: object, /)", text)
    text = re.sub(r"(def __(?:add|radd|sub|rsub|mul|rmul|floordiv|rfloordiv|mod|rmod)__\(self, arg: object, /\)) -> Any", r"\1 -> Dim", text)
    text = re.sub(r"(\*\*?(?:args|kwargs|attrs))(?=[,)])", r"\1: Any", text)
    for bare, full in {"tuple": "tuple[Any, ...]", "dict": "dict[Any, Any]", "list": "list[Any]"}.items():
        text = re.sub(rf"(-> |: |\| ){bare}(?=[:,) ]| \||$)", rf"\1{full}", text, flags=re.M)
    text = re.sub(r"(: )Callable(?=[,)])", r"\1Callable[..., Any]", text)
    text = text.replace("-> Iterator:", "-> Iterator[str]:")
    for name, result in {"any": "Dim", "rebuild_from": "Expr | None"}.items():
        text = re.sub(rf"(def {name}\([^)]*\)) -> Any", rf"\1 -> {result}", text)
    text = text.replace("\ndef op(name: str) -> Expr:", "\ndef op(name: str) -> Op:")
    text = text.replace("def __call__(self, mod: object | None) -> Any:", "def __call__(self, mod: IRModule) -> IRModule:")
    for what in ("required_pass", "disabled_pass"):
        text = text.replace(f"{what}: object | None", f"{what}: Sequence[str] | set[str] | None")
    text = text.replace("is_interesting: Callable[..., Any]", "is_interesting: Callable[[IRModule], bool]")
    # CPython 3.12 and later show the buffer protocol as a method.
    text = re.sub(r'\n    def __buffer__\(self, flags, /\):\n        """\n(?:        .*\n)*?        """\n', "", text)
    # Comparisons of scalars of tensor expressions are scalars.
    text = re.sub(r"(def __(?:eq|ne)__\(self, other: object, /\) -> Scalar: \.\.\.)", r"\1  # type: ignore[override]", text)
    text = re.sub(r"__hash__: None = (?:None|\.\.\.)|__hash__: None$", "__hash__: None  # type: ignore[assignment]", text, flags=re.M)
    text = re.sub(r"\n\n\n+", "\n\n", text)
    for name, members in ADDED.items():
        # Behind the class's last member: before the next thing that is not indented.
        found = re.search(rf"^class {name}(?:\([^)]*\))?:\n(?:(?:    .*)?\n)*", text, flags=re.M)
        if found is None:
            raise SystemExit(f"the extension module has no class {name}")
        body = found.group(0).rstrip("\n") + "\n"
        # A class without members has dots in place of a body.
        body = body.replace(":\n    pass\n", ":\n")
        text = text[: found.start()] + body + members + "\n" + text[found.end() :]
    Path(sys.argv[1]).write_text(text + ERRORS)


if __name__ == "__main__":
    main()
