"""Facts that are attached to operators, by key: those that the compiler reads (`columns()`), and any others for passes of one's own."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._checks import require_int, require_type
from .._core import Op, RelayError

__all__ = ["columns", "get_attr", "has_attr", "reset_attr", "set_attr"]

# Facts that Python attached: for each operator and key the values by level.
_attached: dict[tuple[Op, str], dict[int, Any]] = {}


def _op(op: str | Op) -> Op:
    node = op if isinstance(op, Op) else _core.op(getattr(op, "op_name", op))
    assert isinstance(node, Op)
    return node


def columns() -> dict[str, str]:
    """The keys that the compiler itself reads, with what they say."""
    return dict(_core.op_columns())


def get_attr(op: str | Op, key: str, default: Any = None) -> Any:
    """The fact of the highest level that is attached to an operator under a key; `default` if there is none.

    A function that the compiler's own declarations attach is True.
    """
    node = _op(op)
    values = _attached.get((node, key))
    said = _core.op_column(node, key) if key in columns() else None
    if values and (said is None or max(values) >= 10):
        return values[max(values)]
    return default if said is None else said


def has_attr(op: str | Op, key: str) -> bool:
    """True if a fact is attached to an operator under a key."""
    missing = object()
    return get_attr(op, key, missing) is not missing


def set_attr(op: str | Op, key: str, value: Any, level: int = 10) -> None:
    """Attaches a value. That of the highest level counts. Raises RelayError where the level is taken.

    The keys of `columns()` change what the compiler does with calls of the operator, for the whole process: set them before other
    threads compile. A function under another key is one that passes call: `Legalize` (a function of attributes, arguments and types,
    FTVMLegalize), `QnnLegalize` (FTVMQnnLegalize) and `AlterOpLayout` (of attributes, arguments, their types and the result's,
    FTVMAlterOpLayout). It gives an expression, or None for a call that stays.
    """
    node = _op(op)
    require_type("key", key, str)
    level = require_int("level", level, -(2**31), 2**31 - 1)
    values = _attached.setdefault((node, key), {})
    if level in values:
        raise RelayError(f"operator {node.name} already has {key} of level {level}")
    if key in columns():
        _core.set_op_column(node, key, value, level)
    elif callable(value):
        _core.attach_rewrite(node, key, value, level)
    values[level] = value


def reset_attr(op: str | Op, key: str) -> None:
    """Takes away what Python attached under a key of one's own. Raises ValueError for a key of the compiler."""
    if key in columns():
        raise ValueError(f"{key} is read by the compiler: it can be set with a higher level, not taken away")
    if _attached.pop((_op(op), key), None) is not None:
        _core.attach_rewrite(_op(op), key, None)
