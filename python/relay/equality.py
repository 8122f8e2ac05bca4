"""Compares two programs, and finds the first difference."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Attrs, Constant, Expr, FuncType, IRModule, NDArray, TensorType, TupleType, Type
from .expr import TupleWrapper

__all__ = ["assert_structural_equal", "structural_difference", "structural_equal", "structural_hash"]


# The names of operands where they are not args[i] or the like.
_FIELDS = {
    "If": ("cond", "true_branch", "false_branch"),
    "Let": ("value", "body"),
    "Function": ("body",),
    "TupleGetItem": ("tuple_value",),
    "RefCreate": ("value",),
    "RefRead": ("ref",),
    "RefWrite": ("ref", "value"),
}

# Classes outside of programs whose objects are compared as they say themselves, and the text of one, which equal ones share: those of
# the package `tvm` add themselves.
plain_classes: dict[type, Callable[[Any], str]] = {}


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
    values = _array_difference(lhs.data, rhs.data) if isinstance(lhs, Constant) and isinstance(rhs, Constant) else ""
    told = f"{''.join(steps) or 'the whole'}: {text}{values}"
    left, right = _core.print_short(lhs), _core.print_short(rhs)
    return told if left == right else f"{told}\n  left:  {left}\n  right: {right}"


def _array_difference(lhs: NDArray, rhs: NDArray) -> str:
    """Which elements differ, bit by bit, of arrays of one shape and dtype; nothing for others."""
    if lhs.dtype != rhs.dtype or lhs.shape != rhs.shape or lhs.dtype == "bfloat16":
        return ""
    import numpy as np

    left, right = lhs.numpy(), rhs.numpy()
    size = left.itemsize
    differ = np.frombuffer(left.tobytes(), np.uint8).reshape(-1, size) != np.frombuffer(right.tobytes(), np.uint8).reshape(-1, size)
    places = np.flatnonzero(differ.any(axis=1))
    if places.size == 0:
        return ""
    index = tuple(int(i) for i in np.unravel_index(places[0], left.shape))
    first = f"at [{', '.join(map(str, index))}] {left[index]}, and {right[index]}" if index else f"{left[index]}, and {right[index]}"
    return f": {first}" + (f" ({places.size} of {left.size} elements differ)" if left.size > 1 else "")


def _type_difference(lhs: Type, rhs: Type) -> str | None:
    """The first difference of two types, as a path, and the parts of both there."""
    if lhs == rhs:
        return None
    parts: list[tuple[str, Any, Any]] = []
    if isinstance(lhs, TensorType) and isinstance(rhs, TensorType):
        parts.append((".dtype", lhs.dtype, rhs.dtype))
        left, right = list(lhs.shape), list(rhs.shape)
        parts += [(f".shape[{i}]", a, b) for i, (a, b) in enumerate(zip(left, right))] if len(left) == len(right) else []
    elif isinstance(lhs, TupleType) and isinstance(rhs, TupleType) and len(lhs.fields) == len(rhs.fields):
        parts += [(f".fields[{i}]", a, b) for i, (a, b) in enumerate(zip(lhs.fields, rhs.fields))]
    elif isinstance(lhs, FuncType) and isinstance(rhs, FuncType) and len(lhs.arg_types) == len(rhs.arg_types) and not lhs.type_params:
        parts += [(f".arg_types[{i}]", a, b) for i, (a, b) in enumerate(zip(lhs.arg_types, rhs.arg_types))]
        parts.append((".ret_type", lhs.ret_type, rhs.ret_type))
    for step, a, b in parts:
        if isinstance(a, Type) and isinstance(b, Type):
            inner = _type_difference(a, b)
            if inner is not None:
                return step + inner if inner.startswith(".") else f"{step}: {inner}"
        elif a != b:
            return f"{step}: {a}, and {b}\n  left:  {lhs}\n  right: {rhs}"
    return f"{lhs}, and {rhs}"


def _are_numbers(lhs: Any, rhs: Any) -> bool:
    """True for two integers or two floats: a subclass that says a dtype has the same value."""
    kind = next((kind for kind in (bool, int, float) if isinstance(lhs, kind)), None)
    return kind is not None and isinstance(rhs, kind) and not (kind is int and isinstance(rhs, bool))


def structural_difference(lhs: Any, rhs: Any, map_free_vars: bool = False) -> str | None:
    """The first difference of two programs, as a path to it and what either has there; None if they are equal.

    Expressions, modules, types, attributes, arrays, and lists, tuples and dictionaries of these. Names of bound variables do not
    matter, and neither do those of dimensions that a function uses without declaring them; with `map_free_vars` free variables stand
    for one another, whatever their names, otherwise each for itself.
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
            inner = _expr_difference(lhs[name], rhs[name], map_free_vars) or difference
            return f"@{name}{'' if inner.startswith('.') else ': '}{inner}"
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
        return None if same else f"{lhs!r}, and {rhs!r}{_array_difference(lhs, rhs)}"
    known = (Expr, IRModule, Type, Attrs, NDArray, _core.Dim, int, float, str, bool, type(None), list, tuple, dict, *plain_classes)
    for side in (lhs, rhs):
        if not isinstance(side, known):
            raise TypeError(f"{type(side).__name__} is not part of a program")
    if isinstance(lhs, Attrs) and isinstance(rhs, Attrs):
        if lhs.type_key != rhs.type_key:
            return f"{lhs.type_key}, and {rhs.type_key}"
        return structural_difference(dict(lhs.items()), dict(rhs.items()), map_free_vars)
    if (type(lhs) is type(rhs) or _are_numbers(lhs, rhs)) and lhs == rhs:
        return None
    if isinstance(lhs, Type) and isinstance(rhs, Type):
        return _type_difference(lhs, rhs)
    kinds = (Expr, IRModule, Type, Attrs, NDArray)
    if isinstance(lhs, kinds) or isinstance(rhs, kinds):
        return f"{type(lhs).__name__}, and {type(rhs).__name__}"
    return f"{lhs!r}, and {rhs!r}"


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """True if two programs are the same up to the names of bound variables; see `structural_difference`."""
    return structural_difference(lhs, rhs, map_free_vars) is None


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raises ValueError, which says where the first difference is and what either side has there, unless both are equal."""
    difference = structural_difference(lhs, rhs, map_free_vars)
    if difference is not None:
        raise ValueError(f"these are not structurally equal:\n{difference}")


def _digest(*parts: Any) -> int:
    """A number of 63 bits that says the parts, in every process the same."""
    made = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "little") + data)
    return int.from_bytes(made.digest(), "little") >> 1


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A number that is the same for structurally equal programs, and lists and dictionaries of such, in every process. Raises TypeError for
    other objects."""
    if isinstance(node, TupleWrapper):
        node = node.astuple()
    if isinstance(node, Expr):
        return _core.expr_hash(node, map_free_vars)
    if isinstance(node, IRModule):
        return _core.module_hash(node, map_free_vars)
    if isinstance(node, (list, tuple)):
        return _digest("list", *(structural_hash(item, map_free_vars) for item in node))
    if isinstance(node, dict):
        pairs = sorted((structural_hash(key), structural_hash(value, map_free_vars)) for key, value in node.items())
        return _digest("dict", *(number for pair in pairs for number in pair))
    if isinstance(node, Attrs):
        return _digest(node.type_key, structural_hash(dict(node.items()), map_free_vars))
    if isinstance(node, NDArray):
        return _digest(node.dtype, *node.shape, node.numpy().tobytes())
    if isinstance(node, (str, bytes, type(None))):
        return _digest(type(None).__name__ if node is None else "text", node)
    for kind, text in plain_classes.items():
        if isinstance(node, kind):
            return _digest(kind.__name__, text(node))
    if isinstance(node, (Type, _core.Dim, bool, int, float)):
        return hash(node)
    raise TypeError(f"{type(node).__name__} is not part of a program")
