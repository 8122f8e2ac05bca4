"""Operators: facts about them by TVM's member names, and attributes that scripts attach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay import Op
from relay import _core

# What scripts attached to operators: (operator, key) to value.
_attached: dict[tuple[str, str], tuple[int, Any]] = {}


def _get(op_name: str) -> Op:
    """The operator of a name. Raises AttributeError, with the nearest names, if there is none."""
    try:
        found = _core.op(op_name)
    except KeyError:
        import difflib

        near = difflib.get_close_matches(op_name, _core.op_names(), 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise AttributeError(f"there is no operator {op_name}{hint}") from None
    assert isinstance(found, Op)
    return found


def _get_attr(self: Op, attr_name: str) -> Any:
    """What a script attached under this key; None if nothing."""
    return _attached.get((self.name, attr_name), (0, None))[1]


def _has_attr(self: Op, attr_name: str) -> bool:
    return (self.name, attr_name) in _attached


def _set_attr(self: Op, attr_name: str, value: Any, plevel: int = 10) -> None:
    """Attaches a value; one of a higher level stays."""
    key = (self.name, attr_name)
    level = _attached[key][0] if key in _attached else -1
    if plevel < level:
        return
    _attached[key] = (plevel, value)


def _reset_attr(self: Op, attr_name: str) -> None:
    """Takes away what was attached."""
    _attached.pop((self.name, attr_name), None)


def _info(self: Op) -> dict[str, Any]:
    return _core.op_info(self.name)


def _list_op_names() -> list[str]:
    """The names of all operators."""
    return _core.op_names()


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Attaches a value to an operator under a key, for passes of the script; a decorator where no value is given.

    The compiler's own passes take facts about operators from their declarations, not from here.
    """

    def attach(v: Any) -> Any:
        _set_attr(_get(op_name), attr_key, v, level)
        return v

    return attach(value) if value is not None else attach


def register_intrin_lowering(op_name: str, target: str, *, f: Callable[..., Any] | None = None, level: int = 10) -> Any:
    """Raises NotImplementedError: intrinsics of TIR are not part of Relay."""
    raise NotImplementedError("register_intrin_lowering: lowering of TIR intrinsics has no counterpart, operators are lowered by their declarations")


setattr(Op, "get", staticmethod(_get))
setattr(Op, "list_op_names", staticmethod(_list_op_names))
setattr(Op, "get_attr", _get_attr)
setattr(Op, "has_attr", _has_attr)
setattr(Op, "set_attr", _set_attr)
setattr(Op, "reset_attr", _reset_attr)
setattr(Op, "num_inputs", property(lambda self: len(_info(self)["inputs"])))
setattr(Op, "support_level", property(lambda self: _info(self)["level"]))
setattr(Op, "description", property(lambda self: _info(self)["doc"]))
setattr(Op, "arguments", property(lambda self: _info(self)["inputs"]))

__all__ = ["Op", "register_intrin_lowering", "register_op_attr"]
