"""Modules: `parse`, `check`, and the members of `IRModule` that are written in Python."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Mapping, Sequence

from . import _core
from ._core import Constructor, Diagnostic, Expr, Function, GlobalTypeVar, GlobalVar, IRModule, RelayError, Type, TypeData

__all__ = ["IRModule", "check", "fromtext", "parse", "parse_expr", "parse_type"]


def parse(source: str, source_name: str = "from_string", init_module: IRModule | None = None) -> IRModule:
    """Program text as a module; with `init_module`, one that has its definitions too, which the text may use and not define again.

    Raises RelayError with all problems, each at its place in the text, which is called `source_name` there.
    """
    return _core.parse_module(source, source_name, init_module)


def fromtext(source: str, source_name: str = "from_string") -> IRModule | Expr:
    """Program text: a module where it defines something, else the expression that it is."""
    made = _core.parse_module(source, source_name)
    if made.function_names != ["main"]:
        return made
    try:
        return parse_expr(source)  # which a definition ends at its first word
    except _core.RelayError:
        return made


def parse_expr(source: str) -> Expr:
    """Text of one expression without definitions. Raises RelayError."""
    return _core.parse_expr(source)


def parse_type(source: str) -> Type:
    """Text of a type, such as `Tensor[(2, ?), float32]`. Raises RelayError."""
    return _core.parse_type(source)


def check(program: IRModule | Expr) -> list[Diagnostic]:
    """Checks a program: form, types, and the types of the instances of polymorphic functions that it needs.

    Types are published: afterwards nodes have a `checked_type`. Gives the warnings. Raises RelayError that has all errors, rendered
    as its text and in parts as `diagnostics`. An expression is checked as the function of its free variables.
    """
    mod = program if isinstance(program, IRModule) else IRModule.from_expr(program)
    found = _core.verify(mod)
    warnings = [diagnostic for diagnostic in found if diagnostic.severity != "error"]
    _raise_errors([diagnostic for diagnostic in found if diagnostic.severity == "error"])
    warnings += _core.infer_types(mod)
    instances = _core.check_instances(mod)
    _raise_errors([diagnostic for diagnostic in instances if diagnostic.severity == "error"])
    return warnings + instances


def _raise_errors(errors: list[Diagnostic]) -> None:
    if errors:
        raise _core.error_of(errors)


def _from_expr(
    expr: Expr, functions: Mapping[GlobalVar, Function] | None = None, type_defs: Mapping[Any, TypeData] | None = None
) -> IRModule:
    """A module whose `main` is a function, or the function of an expression's free variables, in order of their first use."""
    mod = IRModule(functions, type_defs)
    name = "main"
    if isinstance(expr, Function):
        if expr.attrs is not None:
            name = expr.attrs.get("global_symbol", "main")
        main = expr
    else:
        main = Function(_core.free_vars(expr), expr)
    mod.add_function(name, main)
    return mod


def _functions(self: IRModule) -> Mapping[GlobalVar, Function]:
    """Functions by GlobalVar, in order of definition; a view of the module as it is now."""
    return MappingProxyType({GlobalVar(name): self[name] for name in self.function_names})


def _get_global_var(self: IRModule, name: str) -> GlobalVar:
    """The GlobalVar of a function. Raises KeyError if there is no such function."""
    if name not in self:
        raise KeyError(f"the module has no function @{name}; it has {', '.join('@' + n for n in self.function_names) or 'none'}")
    return GlobalVar(name)


def _get_global_vars(self: IRModule) -> list[GlobalVar]:
    """The GlobalVars of all functions, in order of definition."""
    return [GlobalVar(name) for name in self.function_names]


def _get_global_type_var(self: IRModule, name: str) -> GlobalTypeVar:
    """The name of a data type, as a type. Raises KeyError."""
    return self.type_data(name).header


def _get_global_type_vars(self: IRModule) -> list[GlobalTypeVar]:
    """The names of all data types."""
    return list(self.type_definitions)


def _get_type(self: IRModule, name: str) -> tuple[Any, ...]:
    """The name of a data type and its constructors, to be unpacked: `List, cons, nil = mod.get_type("List")`."""
    data = self.type_data(name)
    return (data.header, *data.constructors)


def _get_constructor(self: IRModule, name: str) -> Constructor:
    """The constructor of a name. Raises KeyError."""
    return self.constructor(name)


def _update(self: IRModule, other: IRModule | Mapping[Any, Function]) -> None:
    """Adds what another module defines, in place of what has the same name."""
    if not isinstance(other, IRModule):
        other = IRModule(other)
    for data in other.type_definitions.values():
        self.add_type(data, replace=True)
    for name in other.function_names:
        self.add_function(name, other[name], replace=True)


def _import_from_std(self: IRModule, file_to_import: str) -> None:
    """Adds a file of the standard library, such as "prelude.rly", and what that imports; what is there already stays.

    Raises RelayError, and adds nothing, for an unknown file and if the module defines one of its names differently.
    """
    _core.import_standard(self, file_to_import)


def _update_func(self: IRModule, var: GlobalVar | str, func: Function) -> None:
    """Puts a function in place of the one of the same name, or adds it."""
    self[var] = func


def _error_of(cls: type[RelayError], diagnostics: Diagnostic | Sequence[Diagnostic]) -> RelayError:
    """An error that says what one or several diagnostics say, each at its place, and has them as `diagnostics`."""
    made: RelayError = _core.error_of(diagnostics)
    return made


setattr(RelayError, "of", classmethod(_error_of))
setattr(IRModule, "from_expr", staticmethod(_from_expr))
setattr(IRModule, "functions", property(_functions))
setattr(IRModule, "get_global_var", _get_global_var)
setattr(IRModule, "get_global_vars", _get_global_vars)
setattr(IRModule, "get_global_type_var", _get_global_type_var)
setattr(IRModule, "get_global_type_vars", _get_global_type_vars)
setattr(IRModule, "get_type", _get_type)
setattr(IRModule, "get_constructor", _get_constructor)
setattr(IRModule, "import_from_std", _import_from_std)
setattr(IRModule, "update", _update)
setattr(IRModule, "update_func", _update_func)
