"""The numbers that integers stand for: ``scale * (integer - zero_point)``."""

from __future__ import annotations

from typing import Any

import relay as _relay


class AffineType:
    """A tensor's, or a tuple's."""


class TensorAffineType(AffineType):
    """Scale and zero point of a tensor: numbers, or vectors along an axis; expressions of Relay."""

    def __init__(self, scale: Any, zero_point: Any, dtype: Any, axis: int = -1) -> None:
        self.scale = _relay.expr.as_expr(scale)
        self.zero_point = _relay.expr.as_expr(zero_point)
        self.dtype, self.axis = str(dtype), int(axis)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorAffineType) and all(
            _relay.structural_equal(a, b) if isinstance(a, _relay.Expr) else a == b for a, b in zip(self._parts(), other._parts())
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.axis))

    def __repr__(self) -> str:
        return f"TensorAffineType({self.scale}, {self.zero_point}, {self.dtype}, {self.axis})"

    def _parts(self) -> tuple[Any, ...]:
        return self.scale, self.zero_point, self.dtype, self.axis


class TupleAffineType(AffineType):
    """Those of the fields of a tuple."""

    def __init__(self, types: Any) -> None:
        self.types = list(types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TupleAffineType) and self.types == other.types

    def __hash__(self) -> int:
        return hash(tuple(self.types))


class TypeMap(dict[Any, AffineType]):
    """The affine types of expressions, by expression; an expression is found by identity."""


def attach(op: Any, function: Any, optional: bool) -> None:
    """Makes FakeQuantizationToInteger call a function of a call on integers and of what its arguments stand for, which gives the new
    expression and what that stands for."""
    from relay import _core

    def form(call: Any, tensors: list[list[Any]], wanted: Any) -> Any:
        types = TypeMap()
        for arg, fields in zip(call.args, tensors):
            known = [None if field is None else TensorAffineType(*field) for field in fields]
            if len(known) == 1 and known[0] is not None:
                types[arg] = known[0]
            elif len(known) > 1 and all(known):
                types[arg] = TupleAffineType(known)
        if wanted is not None:
            types[call] = TensorAffineType(*wanted)
        made = function(call, types)
        if made is None:
            return None
        expr, kind = made
        kinds = kind.types if isinstance(kind, TupleAffineType) else [kind]
        return expr, [(one.scale, one.zero_point, one.dtype, one.axis) for one in kinds]

    _core.attach_integer_form(op, None if function is None else form, optional)
