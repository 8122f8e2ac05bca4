"""IRModule with TVM's constructor and the members that only scripts of TVM use."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

import relay as _relay
from relay import Function, GlobalVar, TypeData

from .._errors import UnknownNameError
from .binders import apart, apart_in

Base = _relay.IRModule


def _import(self: Base, file_to_import: str) -> None:
    """Adds the definitions of a file of program text."""
    with open(file_to_import, encoding="utf-8") as stream:
        self.update(_relay.parse(stream.read(), file_to_import, self))


def _import_from_std(self: Base, file_to_import: str) -> None:
    """Adds a file of the standard library, such as "prelude.rly", and what that imports, with types; what is there already stays.

    Raises RelayError, and adds nothing, for an unknown file and if the module defines one of its names differently.
    """
    _raw_import_from_std(self, file_to_import)
    # A function of the script that is wrong is for the script to find: what was imported then has no types until that is mended.
    with contextlib.suppress(_relay.RelayError):
        _relay.check(self)


def _function_of(self: Base, val: Any) -> Any:
    """An expression as a function of a module: a name stands for its function, another expression becomes the body of one."""
    if isinstance(val, GlobalVar):
        return self[val]
    return Function(_relay._core.free_vars(val), val) if isinstance(val, _relay.Expr) and not isinstance(val, Function) else val


def _add(self: Base, var: GlobalVar | str, val: Any, update: bool = False) -> None:
    if isinstance(val, TypeData):
        self.add_type(val, replace=update)
    else:
        function = _function_of(self, val)
        name = var.name_hint if isinstance(var, GlobalVar) else var
        self.add_function(name, apart_in(self, name, function), replace=update)


def _setitem(self: Base, var: Any, val: Any) -> None:
    if isinstance(val, TypeData):
        self.add_type(val, replace=True)
    else:
        name = var.name_hint if isinstance(var, GlobalVar) else var
        val = _function_of(self, val)
        _raw_setitem(self, var, apart_in(self, name, val) if isinstance(val, Function) and isinstance(name, str) else val)


_raw_setitem = Base.__setitem__
_raw_getitem = Base.__getitem__
_raw_import_from_std = getattr(Base, "import_from_std")


def _by_name(find: Any) -> Any:
    """A method that finds something by its name, with TVM's error."""

    @functools.wraps(find)
    def found(self: Base, *args: Any, **kwargs: Any) -> Any:
        try:
            return find(self, *args, **kwargs)
        except KeyError as error:
            raise UnknownNameError(*error.args) from None

    return found


def _functions_items(self: Base) -> list[tuple[GlobalVar, Any]]:
    """The functions with their variables, by name."""
    return sorted(self.functions.items(), key=lambda item: str(item[0].name_hint))


@_by_name
def _getitem(self: Base, var: Any) -> Any:
    if isinstance(var, _relay.GlobalTypeVar):
        return self.type_data(var.name_hint)
    return _raw_getitem(self, var)


def _all_apart(functions: Any) -> Any:
    """Functions by name, each with variables of its own."""
    if not hasattr(functions, "items"):
        return functions
    seen: list[Function] = []
    made = {}
    for key, function in functions.items():
        made[key] = apart(function, seen) if isinstance(function, Function) else function
        if isinstance(made[key], Function):
            seen.append(made[key])
    return made


def from_expr(expr: Any, functions: Any = None, type_defs: Any = None) -> Base:
    """A module whose `main` is a function, or gives the value of an expression; with further functions and data types."""
    expr = expr.astuple() if isinstance(expr, _relay.TupleWrapper) else expr
    more = _all_apart(functions)
    if isinstance(expr, _relay.Expr):
        main = expr if isinstance(expr, Function) else Function(_relay._core.free_vars(expr), expr)
        fresh = apart(main, (f for f in (more or {}).values() if isinstance(f, Function)))
        expr = expr if fresh is main else fresh
    return Base.from_expr(expr, more, type_defs)


setattr(Base, "_import", _import)
setattr(Base, "import_from_std", _import_from_std)
setattr(Base, "_add", _add)
setattr(Base, "__setitem__", _setitem)
setattr(Base, "__getitem__", _getitem)
setattr(Base, "functions_items", _functions_items)
for _name in ("get_global_var", "get_global_type_var", "get_type"):
    setattr(Base, _name, _by_name(getattr(Base, _name)))

__all__ = ["IRModule", "from_expr"]

if TYPE_CHECKING:
    IRModule = Base
else:

    class _Meta(type):
        """The class of modules with another constructor: `isinstance`, and members of the class, are those of relay's."""

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, Base)

        def __subclasscheck__(cls, subclass: Any) -> bool:
            return issubclass(subclass, Base) or type.__subclasscheck__(cls, subclass)

        def __getattr__(cls, name: str) -> Any:
            return getattr(Base, name)

        def __dir__(cls) -> list[str]:
            return dir(Base)

    class IRModule(metaclass=_Meta):
        """Global functions and data types by name. Each function has variables of its own."""

        def __new__(cls, functions: Any = None, type_definitions: Any = None, attrs: Any = None, global_infos: Any = None) -> Base:
            """Attributes are those of `with_attr`. Raises NotImplementedError for `global_infos`, which modules do not have."""
            made = Base(_all_apart(functions), type_definitions, None, global_infos)
            return getattr(made, "with_attr")(attrs) if attrs else made

        from_expr = staticmethod(from_expr)
