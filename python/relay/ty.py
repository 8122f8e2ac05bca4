"""Types and dimensions: `TensorType((n, 3), "float32")`, `Any()`, `ShapeVar("n")`."""

from __future__ import annotations

from ._core import (
    BaseType,
    Dim,
    DimType,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeRelation,
    TypeVar,
)

TypeKind = Kind

__all__ = [
    "Any", "BaseType", "Dim", "DimType", "FuncType", "GlobalTypeVar", "IncompleteType", "RefType", "ShapeType", "ShapeVar",
    "TensorType", "TupleType", "Type", "TypeCall", "TypeData", "TypeKind", "TypeRelation", "TypeVar", "scalar_type",
]  # fmt: skip


def Any() -> Dim:  # noqa: N802 (a constructor in programs)
    """An extent that is known only at run time: `?` in program text. Two of them need not be the same number."""
    return Dim.any()


def ShapeVar(name: str) -> Dim:  # noqa: N802
    """A new symbolic extent, for shapes and for arithmetic with other extents.

    A function that mentions it lists it among its type parameters: `Function([x], body, type_params=[n.symbol])`.
    """
    return Dim(TypeVar(name, Kind.ShapeVar))


def scalar_type(dtype: str) -> TensorType:
    """The type of a tensor of rank 0. Raises ValueError for a dtype that does not exist."""
    return TensorType((), dtype)
