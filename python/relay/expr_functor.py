"""Visitors and mutators of expressions, to subclass.

Override `visit_call`, `visit_function`, …; call `self.visit` for what is inside, and `super().visit_call(call)` for what the base class
does. Each node is visited once, and its result remembered, so that what is shared stays shared.

Programs may be a million nodes deep. From a depth of 400 on, a visitor or mutator visits dataflow (calls, tuples, projections,
references) from the operands up: then a `visit_call` finds its operands visited. Let chains are walked in order without recursion as
long as `visit_let` and `visit` are not overridden; where one is, this thread may recurse as deep as the chain needs (from Python 3.11) until `visit`
returns. The recursion limit of Python stays as it is, and so does what other threads may do.
Choices, matches and functions inside of each other may be 2000 deep, twice what program text may; beyond, `visit` raises RelayError.
"""

from __future__ import annotations

import sys
from typing import Any, Callable

from . import _core
from ._checks import shown
from ._core import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Literal,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    RelayError,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from .expr import TupleWrapper, as_expr

__all__ = [
    "ExprFunctor", "ExprMutator", "ExprVisitor", "MixedModeMutator", "MixedModeVisitor", "post_order_visit", "rewrite",
]  # fmt: skip

_METHODS = {
    Call: "visit_call",
    Constant: "visit_constant",
    Constructor: "visit_constructor",
    Function: "visit_function",
    GlobalVar: "visit_global_var",
    If: "visit_if",
    Let: "visit_let",
    Literal: "visit_literal",
    Match: "visit_match",
    Op: "visit_op",
    RefCreate: "visit_ref_create",
    RefRead: "visit_ref_read",
    RefWrite: "visit_ref_write",
    TempExpr: "visit_temp_expr",
    Tuple: "visit_tuple",
    TupleGetItem: "visit_tuple_getitem",
    Var: "visit_var",
}
_DATAFLOW = (Call, Tuple, TupleGetItem, RefCreate, RefRead, RefWrite)
_DEEP = 400
# Levels that room is made for at once.
_ROOM = 64
# Frames of a level in a recursion through a method that is overridden: visit, the method, that of the base class, and some to spare.
_FRAMES = 12
# Levels that a recursion may have: twice what program text may be nested.
_MOST_LEVELS = 2000


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], Any]) -> None:
    """Calls `fvisit` with every node that can be reached, once, operands before the node."""
    _core.post_order_visit(as_expr(expr), fvisit)


def rewrite(expr: Expr, fn: Callable[[Expr], Expr | TupleWrapper | None]) -> Expr:
    """Rewrites from the leaves up: `fn` is called once with every node, whose operands are rewritten already, and gives what
    stands in its place, or None to keep it. Nodes in which nothing changed stay the same objects. An exception of `fn` comes out."""
    if not callable(fn):
        raise TypeError(f"fn is a function of an expression, not {shown(fn)}")
    return _core.rewrite_post_order(as_expr(expr), fn)


class ExprFunctor:
    """Dispatches on the kind of an expression. Each `visit_…` raises NotImplementedError until it is overridden."""

    # True if a script's own `visit` is to see each use of a node, and its results count, as where methods recurse.
    _own_visit = False
    # True if deep dataflow is visited from the operands up.
    _expands = False
    _depth = 0
    _lets_left = 0
    _lets = 0  # met in chains that are recursed into
    _raised = 0
    # The node whose operands have all been visited, while it is visited from below.
    _below: Expr | None = None

    def __init__(self) -> None:
        self.memo_map: dict[Expr, Any] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._own_visit = getattr(cls.visit, "__module__", None) != __name__

    def visit(self, expr: Expr) -> Any:
        """The result of the method for the expression's kind, remembered from the first visit."""
        memo = self.memo_map
        if expr in memo:
            return memo[expr]
        depth = self._depth
        if depth >= _DEEP and self._expands and not self._is_deep_let(expr):
            return self._visit_from_below(expr)
        self._depth = depth + 1
        if depth % _ROOM == _ROOM - 1:
            self._make_room()
        try:
            result = self._dispatch(expr)
        finally:
            self._depth = depth
            if depth == 0 and self._raised:
                self._take_room_back()
        memo[expr] = result
        return result

    def _make_room(self, levels: int = _ROOM) -> None:
        """Lets this thread recurse through some more levels."""
        if self._depth > _MOST_LEVELS + self._lets:
            raise RelayError(f"an expression is nested deeper than {_MOST_LEVELS} levels, which is the limit of {type(self).__name__}.visit")
        room = _FRAMES * levels
        if sys.version_info < (3, 11):  # a frame takes of the C stack there
            room = min(room, 12000 - self._raised)
        _core.add_recursion_room(room)
        self._raised += room

    def _take_room_back(self) -> None:
        _core.add_recursion_room(-self._raised)
        self._raised = self._lets_left = self._lets = 0

    def _dispatch(self, expr: Expr) -> Any:
        """The result of the method for the expression's kind."""
        try:
            name = _METHODS[type(expr)]
        except KeyError:
            if isinstance(expr, TupleWrapper):
                return self.visit(expr.astuple())
            raise TypeError(f"{type(self).__name__}.visit takes an expression, not {type(expr).__name__}") from None
        return getattr(self, name)(expr)

    def _visit_from_below(self, expr: Expr) -> Any:
        memo = self.memo_map
        # The method of each kind that is met, and whether nodes of the kind are dataflow.
        kinds: dict[type[Expr], tuple[Callable[[Expr], Any], bool]] = {}
        depth = self._depth
        self._depth = depth + 1
        if depth % _ROOM == _ROOM - 1:
            self._make_room()
        try:
            for node in _core.pending(as_expr(expr), memo):
                if node not in memo:
                    kind = type(node)
                    if kind not in kinds:
                        kinds[kind] = getattr(self, _METHODS[kind]), kind in _DATAFLOW
                    method, dataflow = kinds[kind]
                    self._below = node if dataflow else None
                    # A script's own `visit` gets the node as an operand of its users, as where methods recurse.
                    memo[node] = self._dispatch(node) if self._own_visit else method(node)
        finally:
            self._depth = depth
            self._below = None
            if depth == 0 and self._raised:
                self._take_room_back()
        return memo[expr]

    def _is_deep_let(self, expr: Expr) -> bool:
        """True if this is a let that an overridden method takes; there is then room for the recursion."""
        if type(expr) is not Let or not self._overrides_let():
            return False
        if self._lets_left <= 0:
            self._lets_left = _core.let_chain_length(expr)
            self._lets += self._lets_left
            self._make_room(self._lets_left)
        self._lets_left -= 1
        return True

    def _overrides_let(self) -> bool:
        return True

    def visit_call(self, call: Call) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_call")

    def visit_constant(self, const: Constant) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_constant")

    def visit_constructor(self, con: Constructor) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_constructor")

    def visit_function(self, fn: Function) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_function")

    def visit_global_var(self, gvar: GlobalVar) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_global_var")

    def visit_if(self, if_: If) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_if")

    def visit_let(self, let: Let) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_let")

    def visit_literal(self, literal: Literal) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_literal")

    def visit_match(self, match: Match) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_match")

    def visit_op(self, op: Op) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_op")

    def visit_ref_create(self, ref: RefCreate) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_ref_create")

    def visit_ref_read(self, ref: RefRead) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_ref_read")

    def visit_ref_write(self, ref: RefWrite) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_ref_write")

    def visit_temp_expr(self, temp: TempExpr) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_temp_expr")

    def visit_tuple(self, tup: Tuple) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_tuple")

    def visit_tuple_getitem(self, t: TupleGetItem) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_tuple_getitem")

    def visit_var(self, var: Var) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no visit_var")


class ExprVisitor(ExprFunctor):
    """Visits everything, for the effects of its methods. Their results are remembered as those of `visit`."""

    _expands = True

    def _overrides_let(self) -> bool:
        return self._own_visit or type(self).visit_let is not ExprVisitor.visit_let

    def _visit_operands(self, expr: Expr) -> None:
        if expr is self._below and not self._own_visit:
            return
        visit = self.visit
        memo = self.memo_map
        for operand in expr.operands:
            if self._own_visit or operand not in memo:
                visit(operand)

    def visit_call(self, call: Call) -> Any:
        """Visits the callee, then the arguments."""
        self._visit_operands(call)

    def visit_constant(self, const: Constant) -> Any:
        """Does nothing."""

    def visit_constructor(self, con: Constructor) -> Any:
        """Does nothing."""

    def visit_function(self, fn: Function) -> Any:
        """Visits the parameters, then the body."""
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_global_var(self, gvar: GlobalVar) -> Any:
        """Does nothing."""

    def visit_if(self, if_: If) -> Any:
        """Visits the condition, then the branches."""
        self._visit_operands(if_)

    def visit_let(self, let: Let) -> Any:
        """Visits the variable, the value, the body; of a chain of lets, one after the other."""
        memo = self.memo_map
        chain: list[Let] = []
        while True:
            self.visit(let.var)
            self.visit(let.value)
            body = let.body
            if type(body) is not Let or self._overrides_let() or body in memo:
                self.visit(body)
                break
            chain.append(body)
            let = body
        for met in chain:
            memo[met] = None

    def visit_literal(self, literal: Literal) -> Any:
        """Does nothing."""

    def visit_match(self, match: Match) -> Any:
        """Visits the data, then the bodies of the clauses; not the variables of patterns."""
        self._visit_operands(match)

    def visit_op(self, op: Op) -> Any:
        """Does nothing."""

    def visit_ref_create(self, ref: RefCreate) -> Any:
        """Visits the value."""
        self._visit_operands(ref)

    def visit_ref_read(self, ref: RefRead) -> Any:
        """Visits the reference."""
        self._visit_operands(ref)

    def visit_ref_write(self, ref: RefWrite) -> Any:
        """Visits the reference, then the value."""
        self._visit_operands(ref)

    def visit_temp_expr(self, temp: TempExpr) -> Any:
        """Visits the expression inside."""
        self._visit_operands(temp)

    def visit_tuple(self, tup: Tuple) -> Any:
        """Visits the fields."""
        self._visit_operands(tup)

    def visit_tuple_getitem(self, t: TupleGetItem) -> Any:
        """Visits the tuple."""
        self._visit_operands(t)

    def visit_var(self, var: Var) -> Any:
        """Does nothing."""


class ExprMutator(ExprFunctor):
    """Builds a new expression from the results of its methods. It is the same object if nothing changes.

    A method that returns None, or anything that is no expression, raises TypeError.
    """

    _expands = True

    def _overrides_let(self) -> bool:
        return self._own_visit or type(self).visit_let is not ExprMutator.visit_let

    def _dispatch(self, expr: Expr) -> Expr:
        result = super()._dispatch(expr)
        if isinstance(result, Expr):
            return result
        if isinstance(result, TupleWrapper):
            return result.astuple()
        name = _METHODS.get(type(expr), "visit")
        raise TypeError(
            f"{type(self).__name__}.{name} must return an expression, but returned {type(result).__name__} for {_core.print_short(expr)}"
        )

    def _rebuild(self, expr: Expr) -> Expr:
        if not self._own_visit:
            rebuilt = _core.rebuild_from(expr, self.memo_map)
            if rebuilt is not None:
                return rebuilt
        visit = self.visit
        return _core.rebuild(expr, [visit(operand) for operand in expr.operands])

    def _visit_binder(self, var: Var) -> Var:
        result = self.visit(var)
        if not isinstance(result, Var):
            raise TypeError(
                f"{type(self).__name__}.visit_var gave {type(result).__name__} for %{var.name_hint}, which is bound here: a variable is "
                "needed. To replace its uses, use relay.bind"
            )
        return result

    def visit_call(self, call: Call) -> Expr:
        """The call with callee and arguments visited."""
        return self._rebuild(call)

    def visit_constant(self, const: Constant) -> Expr:
        """The constant."""
        return const

    def visit_constructor(self, con: Constructor) -> Expr:
        """The constructor."""
        return con

    def visit_function(self, fn: Function) -> Expr:
        """The function with parameters and body visited."""
        params = [self._visit_binder(param) for param in fn.params]
        body = self.visit(fn.body)
        return fn.with_body(body, params)

    def visit_global_var(self, gvar: GlobalVar) -> Expr:
        """The global variable."""
        return gvar

    def visit_if(self, if_: If) -> Expr:
        """The choice with its parts visited."""
        return self._rebuild(if_)

    def visit_let(self, let: Let) -> Expr:
        """The let with variable, value and body visited; of a chain of lets, one after the other."""
        memo = self.memo_map
        chain: list[tuple[Let, Var, Expr]] = []
        while True:
            chain.append((let, self._visit_binder(let.var), self.visit(let.value)))
            body = let.body
            if type(body) is not Let or self._overrides_let() or body in memo:
                result: Expr = self.visit(body)
                break
            let = body
        for old, var, value in reversed(chain):
            if var is old.var:
                result = _core.rebuild(old, [value, result])
            else:
                result = Let(var, value, result, old.span)
            memo[old] = result
        return result

    def visit_literal(self, literal: Literal) -> Expr:
        """The literal."""
        return literal

    def visit_match(self, match: Match) -> Expr:
        """The match with data and bodies visited; the patterns stay."""
        return self._rebuild(match)

    def visit_op(self, op: Op) -> Expr:
        """The operator."""
        return op

    def visit_ref_create(self, ref: RefCreate) -> Expr:
        """The reference's creation with the value visited."""
        return self._rebuild(ref)

    def visit_ref_read(self, ref: RefRead) -> Expr:
        """The read with the reference visited."""
        return self._rebuild(ref)

    def visit_ref_write(self, ref: RefWrite) -> Expr:
        """The write with reference and value visited."""
        return self._rebuild(ref)

    def visit_temp_expr(self, temp: TempExpr) -> Expr:
        """The annotation with the expression inside visited."""
        return self._rebuild(temp)

    def visit_tuple(self, tup: Tuple) -> Expr:
        """The tuple with its fields visited."""
        return self._rebuild(tup)

    def visit_tuple_getitem(self, t: TupleGetItem) -> Expr:
        """The projection with the tuple visited."""
        return self._rebuild(t)

    def visit_var(self, var: Var) -> Expr:
        """The variable."""
        return var


class MixedModeVisitor(ExprVisitor):
    """A visitor that visits dataflow from the operands up at every depth."""

    def visit(self, expr: Expr) -> Any:
        memo = self.memo_map
        if expr in memo:
            return memo[expr]
        if type(expr) in (Call, Tuple, TupleGetItem):
            return self._visit_from_below(expr)
        return super().visit(expr)


class MixedModeMutator(ExprMutator):
    """A mutator that visits dataflow from the operands up, with one hook after each node's operands.

    Override `rewrite_call`, `rewrite_tuple`, `rewrite_tuple_getitem`: they get the node as it was and as it is with its new operands.
    """

    def visit(self, expr: Expr) -> Any:
        memo = self.memo_map
        if expr in memo:
            return memo[expr]
        if type(expr) in (Call, Tuple, TupleGetItem):
            return self._visit_from_below(expr)
        return super().visit(expr)

    def visit_call(self, call: Call) -> Expr:
        return self.rewrite_call(call, self._rebuild(call))

    def visit_tuple(self, tup: Tuple) -> Expr:
        return self.rewrite_tuple(tup, self._rebuild(tup))

    def visit_tuple_getitem(self, t: TupleGetItem) -> Expr:
        return self.rewrite_tuple_getitem(t, self._rebuild(t))

    def rewrite_call(self, pre: Call, post: Expr) -> Expr:
        """Returns the replacement of a call."""
        return post

    def rewrite_tuple(self, pre: Tuple, post: Expr) -> Expr:
        """Returns the replacement of a tuple."""
        return post

    def rewrite_tuple_getitem(self, pre: TupleGetItem, post: Expr) -> Expr:
        """Returns the replacement of a projection."""
        return post

