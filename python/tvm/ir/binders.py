"""Programs in which a variable is bound in several places.

Scripts of TVM use one variable in several functions and lets: TVM looks at the innermost binding. Here each variable is bound once, so
functions that come into a module get fresh variables where they need them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import relay as _relay
from relay import Clause, Expr, Function, Let, Match, PatternConstructor, PatternTuple, PatternVar, Var

_annotation: Any = vars(Var)["type_annotation"].__get__
_result: Any = vars(Function)["ret_type"].__get__


def apart(function: Function, others: Iterable[Function] = ()) -> Function:
    """The function with fresh variables for those that it binds twice, or that one of the others binds; itself if nothing is to be done."""
    taken: set[Var] = set()
    own = set(_relay.analysis.bound_vars(function))
    for other in others:
        if other is not function:
            taken |= own & set(_relay.analysis.bound_vars(other))
        else:
            taken |= own
    if not taken and _relay.analysis.well_formed(function):
        return function
    made = _Apart(taken, {}).visit(function)
    assert isinstance(made, Function)
    return made


def apart_in(module: _relay.IRModule, name: str, function: Function) -> Function:
    """The function as it can stand in a module under a name."""
    return apart(function, (module[other] for other in module.function_names if other != name))


class _Apart(_relay.ExprMutator):
    """Gives each binding of a variable that is taken a fresh one. A scope with fresh variables has a mutator of its own."""

    def __init__(self, taken: set[Var], fresh: dict[Var, Var]) -> None:
        super().__init__()
        self.taken, self.fresh = taken, fresh

    def _bind(self, var: Var) -> Var:
        if var not in self.taken:
            self.taken.add(var)
            return var
        return Var(var.name_hint, _annotation(var), var.span)

    def _scope(self, bound: dict[Var, Var]) -> _Apart:
        if all(old is new and old not in self.fresh for old, new in bound.items()):
            return self
        return _Apart(self.taken, {**self.fresh, **bound})

    def visit(self, expr: Any) -> Expr:
        # A chain of lets from its beginning: the variables of the first are in scope of the others.
        if type(expr) is not Let:
            made: Expr = super().visit(expr)
            return made
        if expr not in self.memo_map:
            self.memo_map[expr] = self.visit_let(expr)
        made = self.memo_map[expr]
        return made

    def visit_var(self, var: Var) -> Expr:
        return self.fresh.get(var, var)

    def visit_function(self, fn: Function) -> Expr:
        bound = {param: self._bind(param) for param in fn.params}
        body = self._scope(bound).visit(fn.body)
        params = list(bound.values())
        if body is fn.body and all(old is new for old, new in bound.items()):
            return fn
        return Function(params, body, _result(fn), fn.type_params, fn.attrs or None, fn.span, type_constraints=fn.type_constraints)

    def visit_let(self, let: Let) -> Expr:
        walker, chain = self, []
        while True:
            var, outer = self._bind(let.var), walker
            walker = walker._scope({let.var: var})
            # A function may call itself; another value means the variable of an outer scope.
            chain.append((let, var, (walker if isinstance(let.value, Function) else outer).visit(let.value)))
            if type(let.body) is not Let:
                result = walker.visit(let.body)
                break
            let = let.body
        for old, var, value in reversed(chain):
            result = old if var is old.var and value is old.value and result is old.body else Let(var, value, result, old.span)
        return result

    def visit_match(self, match: Match) -> Expr:
        data = self.visit(match.data)
        clauses = []
        for clause in match.clauses:
            bound = {var: self._bind(var) for var in _relay.analysis.bound_vars(clause.lhs)}
            clauses.append(Clause(_renamed(clause.lhs, bound), self._scope(bound).visit(clause.rhs)))
        same = data is match.data and all(new.lhs is old.lhs and new.rhs is old.rhs for new, old in zip(clauses, match.clauses))
        return match if same else Match(data, clauses, match.complete, match.span)


def _renamed(pattern: Any, bound: dict[Var, Var]) -> Any:
    if all(old is new for old, new in bound.items()):
        return pattern
    if isinstance(pattern, PatternVar):
        return PatternVar(bound[pattern.var])
    if isinstance(pattern, PatternConstructor):
        return PatternConstructor(pattern.constructor, [_renamed(inner, bound) for inner in pattern.patterns])
    if isinstance(pattern, PatternTuple):
        return PatternTuple([_renamed(inner, bound) for inner in pattern.patterns])
    return pattern
