"""Visitors and mutators of types, to subclass."""

from __future__ import annotations

from typing import Any

from ._core import (
    BaseType,
    DimType,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
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

__all__ = ["TypeFunctor", "TypeMutator", "TypeVisitor"]

_METHODS = {
    BaseType: "visit_base_type",
    DimType: "visit_dim_type",
    FuncType: "visit_func_type",
    GlobalTypeVar: "visit_global_type_var",
    IncompleteType: "visit_incomplete_type",
    RefType: "visit_ref_type",
    ShapeType: "visit_shape_type",
    TensorType: "visit_tensor_type",
    TupleType: "visit_tuple_type",
    TypeCall: "visit_type_call",
    TypeData: "visit_type_data",
    TypeRelation: "visit_type_relation",
    TypeVar: "visit_type_var",
}


class TypeFunctor:
    """Dispatches on the kind of a type. Methods that are not overridden raise NotImplementedError."""

    def visit(self, typ: Type) -> Any:
        """The result of the method for the type's kind."""
        name = _METHODS.get(type(typ))
        if name is None:
            raise TypeError(f"{type(self).__name__}.visit takes a type, not {type(typ).__name__}")
        method = getattr(self, name, None)
        if method is None:
            raise NotImplementedError(f"{type(self).__name__} has no {name}")
        return method(typ)


class TypeVisitor(TypeFunctor):
    """Visits everything inside a type, for what its methods do on the way."""

    def visit_base_type(self, typ: BaseType) -> Any:
        """Does nothing."""

    def visit_dim_type(self, typ: DimType) -> Any:
        """Does nothing."""

    def visit_func_type(self, typ: FuncType) -> Any:
        """Visits arguments, result, type parameters, relations."""
        for inner in (*typ.arg_types, typ.ret_type, *typ.type_params, *typ.type_constraints):
            self.visit(inner)

    def visit_global_type_var(self, typ: GlobalTypeVar) -> Any:
        """Does nothing."""

    def visit_incomplete_type(self, typ: IncompleteType) -> Any:
        """Does nothing."""

    def visit_ref_type(self, typ: RefType) -> Any:
        """Visits the type of the value in the reference."""
        self.visit(typ.value)

    def visit_shape_type(self, typ: ShapeType) -> Any:
        """Does nothing."""

    def visit_tensor_type(self, typ: TensorType) -> Any:
        """Does nothing."""

    def visit_tuple_type(self, typ: TupleType) -> Any:
        """Visits the fields."""
        for field in typ.fields:
            self.visit(field)

    def visit_type_call(self, typ: TypeCall) -> Any:
        """Visits the data type, then its arguments."""
        self.visit(typ.func)
        for arg in typ.args:
            self.visit(arg)

    def visit_type_data(self, typ: TypeData) -> Any:
        """Visits name, parameters and the fields of the constructors."""
        self.visit(typ.header)
        for var in typ.type_vars:
            self.visit(var)
        for constructor in typ.constructors:
            for field in constructor.inputs:
                self.visit(field)

    def visit_type_relation(self, typ: TypeRelation) -> Any:
        """Visits the arguments."""
        for arg in typ.args:
            self.visit(arg)

    def visit_type_var(self, typ: TypeVar) -> Any:
        """Does nothing."""


class TypeMutator(TypeFunctor):
    """Builds a new type of the results of its methods. A method that returns no type raises TypeError."""

    def visit(self, typ: Type) -> Type:
        result = super().visit(typ)
        if not isinstance(result, Type):
            name = _METHODS[type(typ)]
            raise TypeError(f"{type(self).__name__}.{name} must return a type, but returned {type(result).__name__} for {typ}")
        return result

    def _visit_parameter(self, var: TypeVar) -> TypeVar:
        result = self.visit(var)
        if not isinstance(result, TypeVar):
            raise TypeError(f"{type(self).__name__}.visit_type_var gave {result} for {var}, which is bound here: a variable is needed")
        return result

    def visit_base_type(self, typ: BaseType) -> Type:
        """The dtype."""
        return typ

    def visit_dim_type(self, typ: DimType) -> Type:
        """The extent."""
        return typ

    def visit_func_type(self, typ: FuncType) -> Type:
        """The function type with arguments, result and type parameters visited; relations stay."""
        return FuncType(
            [self.visit(arg) for arg in typ.arg_types],
            self.visit(typ.ret_type),
            [self._visit_parameter(var) for var in typ.type_params],
            typ.type_constraints,
        )

    def visit_global_type_var(self, typ: GlobalTypeVar) -> Type:
        """The name."""
        return typ

    def visit_incomplete_type(self, typ: IncompleteType) -> Type:
        """The hole."""
        return typ

    def visit_ref_type(self, typ: RefType) -> Type:
        """The reference to the visited type."""
        return RefType(self.visit(typ.value))

    def visit_shape_type(self, typ: ShapeType) -> Type:
        """The shape."""
        return typ

    def visit_tensor_type(self, typ: TensorType) -> Type:
        """The tensor type."""
        return typ

    def visit_tuple_type(self, typ: TupleType) -> Type:
        """The tuple of the visited fields."""
        return TupleType([self.visit(field) for field in typ.fields])

    def visit_type_call(self, typ: TypeCall) -> Type:
        """The data type applied to the visited arguments."""
        return TypeCall(self.visit(typ.func), [self.visit(arg) for arg in typ.args])

    def visit_type_data(self, typ: TypeData) -> Type:
        """The definition."""
        return typ

    def visit_type_relation(self, typ: TypeRelation) -> Type:
        """The relation."""
        return typ

    def visit_type_var(self, typ: TypeVar) -> Type:
        """The type variable."""
        return typ
