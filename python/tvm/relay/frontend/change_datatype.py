"""`ChangeDatatype`: a network in another dtype."""

from __future__ import annotations

from typing import Any

import relay as _relay
from relay import (
    Attrs,
    BaseType,
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    TensorType,
    Type,
    Var,
)
from relay.type_functor import TypeMutator

from ..transform import function_pass

__all__ = ["ChangeDatatype"]


class _Types(TypeMutator):
    """Types with one dtype in the place of another."""

    def __init__(self, src: str, dst: str) -> None:
        self.src, self.dst = src, dst

    def visit_tensor_type(self, typ: TensorType) -> Type:
        return TensorType(typ.shape, self.dst) if str(typ.dtype) == self.src else typ

    def visit_base_type(self, typ: BaseType) -> Type:
        return BaseType(self.dst) if str(typ) == self.src else typ


@function_pass(opt_level=0)
class ChangeDatatype(_relay.ExprMutator):
    """Makes what has the dtype `src` of the dtype `dst`: parameters, types that are written, attributes that name a dtype. Constants are cast.

    ``ChangeDatatype("float32", "float16")(mod)``; parameters' values are the caller's to cast.
    """

    def __init__(self, src: str, dst: str) -> None:
        super().__init__()
        self.src, self.dst = str(src), str(dst)
        self._types = _Types(self.src, self.dst)

    def transform_function(self, func: Function, mod: _relay.IRModule, ctx: Any) -> Function:
        """The function in the other dtype."""
        made = self.visit(func)
        assert isinstance(made, Function)
        return made

    def visit_var(self, var: Var) -> Expr:
        """A variable of the other dtype."""
        kind = var.type_annotation
        changed = self._types.visit(kind) if kind is not None else None
        return var if changed == kind else Var(var.name_hint, changed, var.span)

    def visit_constant(self, const: Constant) -> Expr:
        """The constant, cast."""
        return _relay.cast(const, self.dst) if const.data.dtype == self.src else const

    def visit_call(self, call: Call) -> Expr:
        """The call with the dtypes that its attributes name."""
        made = super().visit_call(call)
        if not isinstance(made, Call) or made.attrs is None:
            return made
        named = {key: self.dst for key, value in made.attrs.items() if key.endswith("dtype") and str(value) == self.src}
        if not named:
            return made
        return Call(made.op, made.args, Attrs({**dict(made.attrs.items()), **named}, made.attrs.type_key), None, made.span)

    def visit_match(self, match: Match) -> Expr:
        """The match with variables of the other dtype in its patterns."""
        made = super().visit_match(match)
        if not isinstance(made, Match):
            return made
        return Match(made.data, [Clause(self._pattern(clause.lhs), clause.rhs) for clause in made.clauses], made.complete, made.span)

    def _pattern(self, pattern: Pattern) -> Pattern:
        if isinstance(pattern, PatternVar):
            var = self.visit(pattern.var)
            assert isinstance(var, Var)
            return PatternVar(var)
        if isinstance(pattern, PatternConstructor):
            return PatternConstructor(pattern.constructor, [self._pattern(part) for part in pattern.patterns])
        if isinstance(pattern, PatternTuple):
            return PatternTuple([self._pattern(part) for part in pattern.patterns])
        return pattern

    def visit_function(self, fn: Function) -> Expr:
        """The function with the result's type in the other dtype."""
        made = super().visit_function(fn)
        if not isinstance(made, Function) or fn.ret_type is None:
            return made
        return Function(made.params, made.body, self._types.visit(fn.ret_type), made.type_params, made.attrs or None, made.span)
