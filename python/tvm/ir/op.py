"""Operators: facts about them by TVM's member names, and attributes that scripts attach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from relay import Op, RelayError
from relay import _core
from relay._checks import did_you_mean

from .op_patterns import PATTERNS

# Facts that scripts attached to operators: (operator, key) to level and value.
_attached: dict[tuple[str, str], tuple[int, Any]] = {}

# Keys that mean something to the compiler: what makes it take a value (None: taken away), with the level, or raises.
takes_effect: dict[str, Callable[[Op, Any, int], None]] = {}
# Keys that the compiler's own declarations answer where nothing is attached.
known_facts: dict[str, Callable[[Op], Any]] = {
    "TOpPattern": lambda op: PATTERNS.get(op.name),
    "TOpIsStateful": lambda op: not _core.op_info(op)["pure"],
}


def _get(op_name: str) -> Op:
    """The operator of a name. Raises AttributeError, with the nearest names, if there is none."""
    try:
        found = _core.op(op_name)
    except KeyError:
        hint = did_you_mean(op_name, _core.op_names(), 3)
        raise AttributeError(f"there is no operator {op_name}" + (f"; {hint}" if hint else "")) from None
    assert isinstance(found, Op)
    return found


def _get_attr(self: Op, attr_name: str) -> Any:
    """The value that a script attached under this key, or that the declaration has (TOpPattern, TOpIsStateful, FPrimalGradient); None if nothing."""
    if (self.name, attr_name) in _attached:
        return _attached[self.name, attr_name][1]
    known = known_facts.get(attr_name)
    return None if known is None else known(self)


def _has_attr(self: Op, attr_name: str) -> bool:
    return (self.name, attr_name) in _attached or _get_attr(self, attr_name) is not None


def _set_attr(self: Op, attr_name: str, value: Any, plevel: int = 10) -> None:
    """Attaches a value; one of a higher level stays, and RelayError for one of the same level. What the compiler reads of it (TOpPattern, TOpIsStateful, FPrimalGradient) takes
    effect for the whole process; where that cannot be, an error says why."""
    key = (self.name, attr_name)
    level = _attached[key][0] if key in _attached else -1
    if plevel < level:
        return
    if plevel == level:
        raise RelayError(f"operator {self.name} has {attr_name} of level {level} already: a higher level replaces it, and reset_attr takes it away")
    if attr_name in takes_effect:
        takes_effect[attr_name](self, value, plevel)
    _attached[key] = (plevel, value)
    _show_to_compiler(self, attr_name, value)


def _reset_attr(self: Op, attr_name: str) -> None:
    """Takes away what was attached."""
    if (self.name, attr_name) not in _attached:
        return
    if attr_name in takes_effect:
        takes_effect[attr_name](self, None, _attached[self.name, attr_name][0])
    del _attached[self.name, attr_name]
    _show_to_compiler(self, attr_name, None)


def _show_to_compiler(op: Op, attr_name: str, value: Any) -> None:
    """Lets patterns of dataflow, which are matched without Python, see what is attached, and passes such as Legalize call it."""
    try:
        _core.set_op_fact(op, attr_name, value)
        _core.attach_rewrite(op, attr_name, value if callable(value) else None)
    except KeyError:  # an operator that is not declared yet
        pass


def forget_attached(op_name: str) -> None:
    """Nothing is attached to an operator whose name begins anew."""
    for key in [key for key in _attached if key[0] == op_name]:
        del _attached[key]


class Argument(NamedTuple):
    """An input of an operator."""

    name: str
    description: str

    @property
    def type_info(self) -> str:
        """The kind of the input."""
        return "Tensor"


def _info(self: Op) -> dict[str, Any]:
    return _core.op_info(self.name)


def _list_op_names() -> list[str]:
    """The names of all operators."""
    return _core.op_names()


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Attaches a value to an operator under a key; a decorator where no value is given.

    The compiler reads TOpPattern, TOpIsStateful and FPrimalGradient; passes call what is attached as FTVMLegalize, FTVMQnnLegalize and
    FTVMAlterOpLayout; all others are for passes of the script.
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
setattr(Op, "attrs_type_key", property(lambda self: _info(self)["attrs_type"]))
setattr(Op, "num_inputs", property(lambda self: len(_info(self)["inputs"])))
setattr(Op, "support_level", property(lambda self: _info(self)["level"]))
setattr(Op, "description", property(lambda self: _info(self)["doc"]))
setattr(Op, "arguments", property(lambda self: [Argument(name, text) for name, text in _info(self)["inputs"]]))

__all__ = ["Op", "register_intrin_lowering", "register_op_attr"]
