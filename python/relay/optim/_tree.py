"""Maps and sums over trees of tensors: a tensor, a tuple of trees, or a value of a data type with trees as fields."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

from .._core import (
    Clause,
    Diagnostic,
    Expr,
    Function,
    GlobalTypeVar,
    GlobalVar,
    IRModule,
    Match,
    PatternConstructor,
    PatternVar,
    RelayError,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    Var,
)
from ..expr import const
from ..op.tensor import add
from ..type_functor import TypeMutator

__all__ = ["Leaf", "Place", "Trees", "is_float"]


class Place(NamedTuple):
    """A tensor of a tree: where it is, as `[0][1]` or, in a data type, `Dense[0]`, and its type."""

    path: str
    type: TensorType

    @property
    def dtype(self) -> str:
        """The dtype of the tensor."""
        return str(self.type.dtype)


# Builds what becomes of one tensor: the tensors at this place in each tree, the place, the scalars that all places share.
Leaf = Callable[[Sequence[Expr], Place, Sequence[Expr]], Expr]

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def is_float(type_: Type) -> bool:
    """True for a tensor of floats. Others are no parameters: they stay as they are."""
    return isinstance(type_, TensorType) and type_.dtype in _FLOATS


class _Substitution(TypeMutator):
    def __init__(self, types: dict[Type, Type]) -> None:
        super().__init__()
        self._types = types

    def visit_type_var(self, var: Any) -> Any:
        return self._types.get(var, var)


def _error(text: str) -> RelayError:
    made: RelayError = RelayError.of(Diagnostic(text))
    return made


class Trees:
    """Trees of one type. `mod` defines the data types in it, and gets a function for each of them in each map.

    `names` are the paths of the fields of a tuple, if they are not `[0]`, `[1]`, ….

    Raises RelayError for a type that is no tree of tensors: functions, references, type variables, data types that `mod` lacks.
    """

    def __init__(self, type_: Type, mod: IRModule | None = None, names: Sequence[str] | None = None) -> None:
        self.type = type_
        self._mod = mod
        self._names = names
        self._check(type_, set())

    def _check(self, type_: Type, seen: set[str]) -> None:
        waiting = [type_]
        while waiting:
            this = waiting.pop()
            if isinstance(this, TensorType):
                if not isinstance(this.dtype, str):
                    raise _error(f"the dtype of {this} is not known: parameters have known dtypes")
            elif isinstance(this, TupleType):
                waiting.extend(this.fields)
            elif self._is_data(this):
                if str(this) not in seen:
                    seen.add(str(this))
                    for _, fields in self._constructors(this):
                        waiting.extend(fields)
                    if len(seen) > 256:
                        raise _error(f"{type_} has more than 256 data types in it: is one defined with ever larger arguments?")
            else:
                raise _error(f"{this} is no tree of tensors: parameters are tensors, tuples and data types of them")

    @staticmethod
    def _is_data(type_: Type) -> bool:
        return isinstance(type_, (GlobalTypeVar, TypeCall))

    def _constructors(self, type_: Type) -> list[tuple[Any, list[Type]]]:
        """The constructors of a data type, each with the types of its fields."""
        header = type_.func if isinstance(type_, TypeCall) else type_
        if self._mod is None:
            raise _error(f"{type_} is a data type: give the module that defines it, `mod`")
        assert isinstance(header, GlobalTypeVar)
        try:
            data: TypeData = self._mod.type_data(header.name)
        except KeyError:
            raise _error(f"the module does not define the data type {header.name}") from None
        if data.is_extern:
            raise _error(f"{header.name} is opaque: its values have no tensors that could be learned")
        given = list(type_.args) if isinstance(type_, TypeCall) else []
        known = _Substitution(dict(zip(data.type_vars, given)))
        return [(made, [known.visit(field) for field in made.inputs]) for made in data.constructors]

    def map(self, leaf: Leaf, trees: Sequence[Expr], scalars: Sequence[Expr] = (), label: str = "map") -> Expr:
        """The tree whose tensors are `leaf` of the tensors at their place in `trees`. Tensors of integers are those of the first tree."""
        return _Map(self, leaf, len(trees), len(scalars), label).at(self.type, list(trees), list(scalars))

    def sum(self, leaf: Leaf, tree: Expr, label: str = "sum") -> Expr:
        """The sum of `leaf`, a scalar of float64, over all tensors of floats."""
        return _Sum(self, leaf, 1, 0, label).at(self.type, [tree], [])


class _Walk:
    """Builds an expression along a type; for each data type a function of the module that matches on its values."""

    def __init__(self, trees: Trees, leaf: Leaf, count: int, scalars: int, label: str) -> None:
        self._trees = trees
        self._leaf = leaf
        self._count = count
        self._scalars = scalars
        self._label = label
        self._made: dict[str, GlobalVar] = {}

    def at(self, type_: Type, values: list[Expr], scalars: list[Expr], path: str = "") -> Expr:
        if isinstance(type_, TensorType):
            return self._leaf(values, Place(path, type_), scalars) if is_float(type_) else self.other(values)
        if isinstance(type_, TupleType):
            names = self._trees._names if type_ is self._trees.type else None
            fields = [
                self.at(field, [TupleGetItem(value, i) for value in values], scalars, f"{path}[{i}]" if names is None else names[i])
                for i, field in enumerate(type_.fields)
            ]
            return self.joined(fields, None)
        return self._function(type_)(*values, *scalars)

    def _function(self, type_: Type) -> GlobalVar:
        if str(type_) in self._made:
            return self._made[str(type_)]
        mod = self._trees._mod
        assert mod is not None
        number = 0
        while f"optim.{self._label}{number}" in mod or f"optim.{self._label}{number}" in (v.name_hint for v in self._made.values()):
            number += 1
        made = GlobalVar(f"optim.{self._label}{number}")
        self._made[str(type_)] = made
        params = [Var(f"tree{i}", type_) for i in range(self._count)]
        scalars = [Var(f"scalar{i}", TensorType((), "float64")) for i in range(self._scalars)]
        clauses = []
        for constructor, fields in self._trees._constructors(type_):
            clauses.append(self._clause(params, scalars, constructor, fields))
        mod.add_function(
            made.name_hint, Function([*params, *scalars], Match(params[0], clauses), self.result(type_))
        )
        return made

    def _clause(self, params: list[Var], scalars: list[Var], constructor: Any, types: list[Type]) -> Clause:
        """The clause for values of one constructor. All trees have the same constructors at the same places."""
        variables = [[Var(f"field{i}_{j}", t) for j, t in enumerate(types)] for i in range(len(params))]
        patterns = [PatternConstructor(constructor, [PatternVar(v) for v in row]) for row in variables]
        fields: list[Expr] = [
            self.at(type_, [row[j] for row in variables], list(scalars), f"{constructor.name_hint}[{j}]") for j, type_ in enumerate(types)
        ]
        body = self.joined(fields, constructor)
        for param, pattern in reversed(list(zip(params, patterns))[1:]):
            body = Match(param, [Clause(pattern, body)], complete=False)
        return Clause(patterns[0], body)

    def other(self, values: list[Expr]) -> Expr:
        raise NotImplementedError

    def joined(self, fields: list[Expr], constructor: Any) -> Expr:
        raise NotImplementedError

    def result(self, type_: Type) -> Type:
        raise NotImplementedError


class _Map(_Walk):
    def other(self, values: list[Expr]) -> Expr:
        return values[0]

    def joined(self, fields: list[Expr], constructor: Any) -> Expr:
        return Tuple(fields) if constructor is None else constructor(*fields)

    def result(self, type_: Type) -> Type:
        return type_


class _Sum(_Walk):
    def other(self, values: list[Expr]) -> Expr:
        return const(0.0, "float64")

    def joined(self, fields: list[Expr], constructor: Any) -> Expr:
        total: Expr | None = None
        for field in fields:
            total = field if total is None else add(total, field)
        return const(0.0, "float64") if total is None else total

    def result(self, type_: Type) -> Type:
        return TensorType((), "float64")
