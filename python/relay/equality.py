"""Whether two programs are the same, and where they first differ."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Attrs, Expr, IRModule, NDArray, Type
from .expr import TupleWrapper

__all__ = ["assert_structural_equal", "structural_difference", "structural_equal", "structural_hash"]


# What operands are called where it is not args[i] or the like.
_FIELDS = {
    "If": ("cond", "true_branch", "false_branch"),
    "Let": ("value", "body"),
    "Function": ("body",),
    "TupleGetItem": ("tuple_value",),
    "RefCreate": ("value",),
    "RefRead": ("ref",),
    "RefWrite": ("ref", "value"),
}


def _step(node: Expr, operand: int) -> str:
    kind = type(node).__name__
    if kind == "Call":
        return ".op" if operand == 0 else f".args[{operand - 1}]"
    if kind == "Tuple":
        return f".fields[{operand}]"
    if kind == "Match":
        return ".data" if operand == 0 else f".clauses[{operand - 1}].rhs"
    return "." + _FIELDS[kind][operand] if kind in _FIELDS else f".operands[{operand}]"


def _expr_difference(lhs: Expr, rhs: Expr, map_free_vars: bool) -> str | None:
    found = _core.expr_difference(lhs, rhs, map_free_vars)
    if found is None:
        return None
    text, path = found
    steps = []
    for operand in path:
        steps.append(_step(lhs, operand))
        lhs, rhs = lhs.operands[operand], rhs.operands[operand]
    if len(steps) > 40:
        steps[20:-20] = [f" … {len(steps) - 40} steps … "]
    return f"{''.join(steps) or 'the whole'}: {text}\n  left:  {_core.print_short(lhs)}\n  right: {_core.print_short(rhs)}"


def structural_difference(lhs: Any, rhs: Any, map_free_vars: bool = False) -> str | None:
    """The first difference of two programs, as a path to it and what either has there; None if they are equal.

    Expressions, modules, types, attributes, arrays, and lists, tuples and dictionaries of these. Names of bound variables do not
    matter; with `map_free_vars` free variables of one name are the same, otherwise only one object is.
    """
    if isinstance(lhs, TupleWrapper):
        lhs = lhs.astuple()
    if isinstance(rhs, TupleWrapper):
        rhs = rhs.astuple()
    if isinstance(lhs, Expr) and isinstance(rhs, Expr):
        return _expr_difference(lhs, rhs, map_free_vars)
    if isinstance(lhs, IRModule) and isinstance(rhs, IRModule):
        difference = _core.module_difference(lhs, rhs, map_free_vars)
        if difference is None:
            return None
        name = difference.partition(": ")[0].removeprefix("@")
        if difference.startswith("@") and name in lhs and name in rhs:
            return f"@{name}" + (_expr_difference(lhs[name], rhs[name], map_free_vars) or difference)
        return difference
    if isinstance(lhs, (list, tuple)) and isinstance(rhs, (list, tuple)):
        for i, (a, b) in enumerate(zip(lhs, rhs)):
            difference = structural_difference(a, b, map_free_vars)
            if difference is not None:
                return f"[{i}]: {difference}"
        return None if len(lhs) == len(rhs) else f"{len(lhs)} items, and {len(rhs)}"
    if isinstance(lhs, dict) and isinstance(rhs, dict):
        if lhs.keys() != rhs.keys():
            return f"keys {list(lhs)}, and {list(rhs)}"
        for key in lhs:
            difference = structural_difference(lhs[key], rhs[key], map_free_vars)
            if difference is not None:
                return f"[{key!r}]: {difference}"
        return None
    if isinstance(lhs, NDArray) and isinstance(rhs, NDArray):
        same = lhs.dtype == rhs.dtype and lhs.shape == rhs.shape and lhs.numpy().tobytes() == rhs.numpy().tobytes()
        return None if same else f"{lhs!r}, and {rhs!r}"
    known = (Expr, IRModule, Type, Attrs, NDArray, _core.Dim, int, float, str, bool, type(None), list, tuple, dict)
    for side in (lhs, rhs):
        if not isinstance(side, known):
            raise TypeError(f"{type(side).__name__} is no part of a program")
    if isinstance(lhs, Attrs) and isinstance(rhs, Attrs):
        if lhs.type_key != rhs.type_key:
            return f"{lhs.type_key}, and {rhs.type_key}"
        return structural_difference(dict(lhs.items()), dict(rhs.items()), map_free_vars)
    if type(lhs) is type(rhs) and lhs == rhs:
        return None
    return f"{lhs}, and {rhs}"


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two programs are the same up to the names of bound variables; see `structural_difference`."""
    return structural_difference(lhs, rhs, map_free_vars) is None


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raises ValueError, which says where the first difference is and what either side has there, unless both are equal."""
    difference = structural_difference(lhs, rhs, map_free_vars)
    if difference is not None:
        raise ValueError(f"these are not structurally equal:\n{difference}")


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A number that is the same for structurally equal programs, in every process. Raises TypeError for other objects."""
    if isinstance(node, TupleWrapper):
        node = node.astuple()
    if isinstance(node, Expr):
        return _core.expr_hash(node, map_free_vars)
    if isinstance(node, IRModule):
        return _core.module_hash(node, map_free_vars)
    if isinstance(node, Type):
        return hash(node)
    raise TypeError(f"{type(node).__name__} is no part of a program")
