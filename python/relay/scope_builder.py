"""Builds let chains and branches statement by statement."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

from ._core import Expr, If, Let, Type, Var
from .expr import as_expr

__all__ = ["ScopeBuilder"]


class _Scope:
    def __init__(self) -> None:
        self.bindings: list[tuple[Var, Expr]] = []
        self.result: Expr | None = None
        # A branch whose other side is still missing: the condition and what it gives.
        self.branch: tuple[Expr, Expr] | None = None


class ScopeBuilder:
    """Collects bindings; `get` gives the expression.

    sb = relay.ScopeBuilder()
    y = sb.let("y", x + 1.0)
    with sb.if_scope(relay.less(i, limit)):
        sb.ret(y)
    with sb.else_scope():
        sb.ret(x)
    body = sb.get()
    """

    def __init__(self) -> None:
        self._scopes = [_Scope()]

    def _open(self, what: str) -> _Scope:
        scope = self._scopes[-1]
        if scope.branch is not None:
            raise RuntimeError(f"{what} between if_scope and its else_scope")
        if scope.result is not None:
            raise RuntimeError(f"{what} after ret")
        return scope

    def let(self, var: Var | str | tuple[str, Type], value: Any) -> Var:
        """Binds a value to a variable, or to a new one of a name, or of a name and a type. Gives the variable."""
        scope = self._open("let")
        if isinstance(var, (tuple, list)):
            if len(var) != 2:
                raise ValueError(f"a name and a type make a variable, not {len(var)} things")
            var = Var(*var)
        elif isinstance(var, str):
            var = Var(var)
        scope.bindings.append((var, as_expr(value)))
        return var

    def ret(self, value: Any) -> None:
        """Sets the result of the scope. Once in each."""
        self._open("ret").result = as_expr(value)

    @contextmanager
    def if_scope(self, cond: Any) -> Iterator[None]:
        """The scope that runs where `cond` is true; an else_scope follows."""
        outer = self._open("if_scope")
        self._scopes.append(_Scope())
        try:
            yield
            outer.branch = (as_expr(cond), self._finish(self._scopes[-1]))
        finally:
            self._scopes.pop()

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """The scope that runs otherwise. The result of the two is the result of the scope around them."""
        outer = self._scopes[-1]
        if outer.branch is None:
            raise RuntimeError("else_scope without an if_scope before it")
        cond, true_branch = outer.branch
        self._scopes.append(_Scope())
        try:
            yield
            outer.result = If(cond, true_branch, self._finish(self._scopes[-1]))
            outer.branch = None
        finally:
            self._scopes.pop()

    def type_of(self, expr: Expr) -> Type | None:
        """The type that an expression has, or is annotated with; None when it is not known yet."""
        return expr.type_annotation if isinstance(expr, Var) else expr.type

    def get(self) -> Expr:
        """The built expression. Raises RuntimeError if a `ret` or an else_scope is missing."""
        if len(self._scopes) != 1:
            raise RuntimeError("get inside an if_scope or else_scope")
        return self._finish(self._scopes[0])

    @staticmethod
    def _finish(scope: _Scope) -> Expr:
        if scope.branch is not None:
            raise RuntimeError("an if_scope has no else_scope")
        if scope.result is None:
            raise RuntimeError("the scope gives nothing: ret is missing")
        result = scope.result
        for var, value in reversed(scope.bindings):
            result = Let(var, value, result)
        return result
