"""IRModule with TVM's constructor and the members that only scripts of TVM use."""

from __future__ import annotations

from typing import Any

import relay as _relay
from relay import Function, GlobalVar, TypeData

Base = _relay.IRModule


def _import(self: Base, file_to_import: str) -> None:
    """Adds the definitions of a file of program text."""
    with open(file_to_import, encoding="utf-8") as stream:
        self.update(_relay.parse(stream.read(), file_to_import, self))


def _add(self: Base, var: GlobalVar | str, val: Any, update: bool = False) -> None:
    if isinstance(val, TypeData):
        self.add_type(val, replace=update)
    else:
        function = val if isinstance(val, Function) else Function(_relay._core.free_vars(val), val)
        self.add_function(var.name_hint if isinstance(var, GlobalVar) else var, function, replace=update)


def _setitem(self: Base, var: Any, val: Any) -> None:
    if isinstance(val, TypeData):
        self.add_type(val, replace=True)
    else:
        _raw_setitem(self, var, val)


_raw_setitem = Base.__setitem__
_raw_getitem = Base.__getitem__


def _getitem(self: Base, var: Any) -> Any:
    if isinstance(var, _relay.GlobalTypeVar):
        return self.type_data(var.name_hint)
    return _raw_getitem(self, var)


setattr(Base, "_import", _import)
setattr(Base, "_add", _add)
setattr(Base, "__setitem__", _setitem)
setattr(Base, "__getitem__", _getitem)

__all__ = ["IRModule"]
IRModule = Base
