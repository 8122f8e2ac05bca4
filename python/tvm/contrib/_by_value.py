"""Pickles whose functions and classes need no module: those of `__main__`, lambdas and functions inside of functions go to another process
of the same Python as their code.

What a module defines goes by its name. Functions of one module share their globals where they are read, as they did before.
"""

from __future__ import annotations

import importlib
import io
import marshal
import pickle
import sys
import types
import uuid
import weakref
from collections.abc import Iterable
from typing import Any

__all__ = ["dumps", "loads"]

_OF_OBJECTS = {"__dict__", "__weakref__", "_abc_impl", "__firstlineno__", "__static_attributes__"}

# The globals of functions that were read, by the name of the module that they were of.
_globals: dict[str, dict[str, Any]] = {}
# Classes that went or came, so that one that comes back is the same.
_classes: dict[str, Any] = {}
_tokens: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def dumps(value: Any) -> bytes:
    """The bytes of a value. Raises what pickle raises for one that cannot be pickled."""
    out = io.BytesIO()
    _Pickler(out, pickle.HIGHEST_PROTOCOL).dump(value)
    return out.getvalue()


def loads(data: bytes) -> Any:
    """The value of bytes that `dumps` gave. They run code: read only what this program wrote."""
    return pickle.loads(data)


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, types.FunctionType):
            return NotImplemented if _is_importable(value) else _reduced_function(value)
        if isinstance(value, type):
            return NotImplemented if _is_importable(value) else _reduced_class(value)
        if isinstance(value, types.ModuleType):
            return importlib.import_module, (value.__name__,)
        if isinstance(value, types.CellType):
            return _cell, (), _contents(value), None, None, _fill_cell
        if isinstance(value, property):
            return property, (value.fget, value.fset, value.fdel, value.__doc__)
        if isinstance(value, (staticmethod, classmethod)):
            return type(value), (value.__func__,)
        return NotImplemented


def _is_importable(value: Any) -> bool:
    """True for what another process finds under its module and name."""
    if value.__module__ == "__main__":
        return False
    found: Any = sys.modules.get(value.__module__) if value.__module__ else None
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value or value.__module__ == "builtins"


def _names_in(code: types.CodeType) -> Iterable[str]:
    """The names that code, and what it defines, may read of its globals."""
    stack = [code]
    while stack:
        top = stack.pop()
        yield from top.co_names
        stack += [inner for inner in top.co_consts if isinstance(inner, types.CodeType)]


def _reduced_function(value: types.FunctionType) -> Any:
    known = value.__globals__
    state = {
        "globals": {name: known[name] for name in _names_in(value.__code__) if name in known},
        "defaults": value.__defaults__, "keywords": value.__kwdefaults__, "attributes": dict(vars(value)), "doc": value.__doc__,
    }  # fmt: skip
    made = (marshal.dumps(value.__code__), value.__name__, value.__qualname__, value.__module__ or "", value.__closure__)
    return _function, made, state, None, None, _fill_function


def _function(code: bytes, name: str, qualname: str, module: str, closure: Any) -> types.FunctionType:
    read: types.CodeType = marshal.loads(code)
    space = _globals.setdefault(module, {"__builtins__": __builtins__, "__name__": module})
    made = types.FunctionType(read, space, name, None, closure)
    made.__qualname__, made.__module__ = qualname, module
    return made


def _fill_function(function: types.FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state["globals"])
    function.__defaults__, function.__kwdefaults__, function.__doc__ = state["defaults"], state["keywords"], state["doc"]
    vars(function).update(state["attributes"])


def _cell() -> types.CellType:
    return types.CellType()


def _contents(cell: types.CellType) -> list[Any]:
    """What is in a cell, as a list; an empty one for an empty cell."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def _fill_cell(cell: types.CellType, contents: list[Any]) -> None:
    if contents:
        cell.cell_contents = contents[0]


def _reduced_class(value: type) -> Any:
    token = _tokens.get(value)
    if token is None:
        token = _tokens[value] = uuid.uuid4().hex
        _classes[token] = value
    given = vars(value).get("__slots__", ())
    slots = {given} if isinstance(given, str) else set(given)
    members = {name: member for name, member in vars(value).items() if name not in _OF_OBJECTS and name not in slots}
    made = (token, type(value), value.__name__, value.__bases__, value.__module__, value.__qualname__, members.pop("__slots__", None))
    return _class, made, members, None, None, _fill_class


def _class(token: str, kind: type, name: str, bases: tuple[type, ...], module: str, qualname: str, slots: Any) -> type:
    if token in _classes:
        found: type = _classes[token]
        return found
    body = {"__module__": module, "__qualname__": qualname, **({} if slots is None else {"__slots__": slots})}
    made: type = types.new_class(name, bases, {"metaclass": kind}, lambda space: space.update(body))
    _classes[token], _tokens[made] = made, token
    return made


def _fill_class(made: type, members: dict[str, Any]) -> None:
    for name, member in members.items():
        if name not in ("__module__", "__qualname__"):
            setattr(made, name, member)
