"""Patterns of dataflow: find parts of programs that look alike, replace them, or cut them out as functions.

    from relay.dataflow_pattern import DFPatternCallback, is_op, rewrite, wildcard

    class DoubleNegation(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("negative")(is_op("negative")(self.x))

        def callback(self, pre, post, node_map):
            return node_map[self.x][0]

    rewrite(DoubleNegation(), expr)

A pattern that stands twice in another one means the same node. Matching runs without Python's lock. The guide is docs/patterns.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _core
from ._core import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    Expr,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    IRModule,
    LetPattern,
    NamePattern,
    NodePattern,
    NumberPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    Type,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from ._checks import did_you_mean
from .expr import as_expr

__all__ = [
    "AltPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFPattern", "DFPatternCallback", "DataTypePattern", "DominatorPattern",
    "ExprPattern", "FunctionPattern", "IfPattern", "LetPattern", "NamePattern", "NodePattern", "NumberPattern", "ShapePattern", "TupleGetItemPattern",
    "TuplePattern", "TypePattern", "VarPattern", "WildcardPattern", "dominates", "has_attr", "has_dtype", "has_shape", "has_type", "is_constant", "is_expr",
    "is_if", "is_let", "is_number", "is_op", "is_tuple", "is_tuple_get_item", "is_var", "match", "matches", "parse", "partition",
    "patterns_equal", "rewrite", "wildcard",
]  # fmt: skip


def wildcard() -> WildcardPattern:
    """Fits anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """Fits a variable; one of this name, if one is given."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """Fits any constant."""
    return ConstantPattern()


def is_number(value: float) -> NumberPattern:
    """Fits a tensor that is known to have this number in all places."""
    return NumberPattern(value)


def is_expr(expr: Any) -> ExprPattern:
    """Fits an expression that is structurally equal to this one."""
    return ExprPattern(as_expr(expr))


def is_op(op_name: str) -> ExprPattern:
    """Fits an operator. Raises AttributeError, with the nearest names, if there is none."""
    try:
        return ExprPattern(_core.op(op_name))
    except KeyError:
        hint = did_you_mean(op_name, _core.op_names(), 3)
        raise AttributeError(f"there is no operator {op_name}" + (f"; {hint}" if hint else "")) from None


def is_tuple(fields: Sequence[DFPattern] | None) -> TuplePattern:
    """Fits a tuple of these fields; any tuple for None."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Fits a projection out of what `tuple_value` fits; of any index for None."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """Fits an `if`."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """Fits a `let`."""
    return LetPattern(var, value, body)


def has_type(ttype: Type, pattern: DFPattern | None = None) -> TypePattern:
    """Fits what has this type and fits `pattern`. Types are inferred where there are none."""
    return TypePattern(wildcard() if pattern is None else pattern, ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Fits a tensor of this dtype that fits `pattern`."""
    return DataTypePattern(wildcard() if pattern is None else pattern, dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> ShapePattern:
    """Fits a tensor of this shape that fits `pattern`."""
    return ShapePattern(wildcard() if pattern is None else pattern, shape)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Fits an operator, a call or a function that has attributes of these values and fits `pattern`.

    Attributes of an operator are what is registered for it, such as TOpPattern.
    """
    return AttrPattern(wildcard() if pattern is None else pattern, dict(attrs))


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """Fits `child` where every way to its inputs leads through nodes that fit `path` to one that fits `parent`, and nothing else uses
    what lies between, the parent included."""
    return DominatorPattern(parent, path, child)


def match(pattern: DFPattern, expr: Any) -> bool:
    """True if an expression, at its root, fits the pattern."""
    return _core.match_pattern(pattern, as_expr(expr))


def matches(pattern: DFPattern, expr: Any) -> dict[DFPattern, list[Expr]] | None:
    """The nodes that fit each part of the pattern, as lists by part; None if the expression does not fit."""
    found: dict[DFPattern, list[Expr]] | None = _core.match_nodes(pattern, as_expr(expr))
    return found


def _always(_: Expr) -> bool:
    return True


def partition(
    pattern: DFPattern, expr: Any, attrs: Mapping[str, Any] | None = None, check: Callable[[Expr], bool] = _always
) -> Expr:
    """Makes a call of a function of each match that `check` accepts.

    Functions have the attribute PartitionedFromPattern, the names of the operators inside joined by `_`, and those of `attrs`. Matches do
    not overlap, and nothing outside uses what is inside but the result. Constants that fit a pattern of a constant stand in the
    function; others become arguments.
    """
    return _core.partition_pattern(pattern, as_expr(expr), None if attrs is None else dict(attrs), None if check is _always else check)


class DFPatternCallback:
    """A rewrite of the matches of `pattern`; derive from it, set `pattern` and write `callback`.

    `require_type`: the expression is typed before each round, so that `checked_type` can be asked. `rewrite_once`: no further rounds after
    the first that changed something.
    """

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.pattern: DFPattern | None = None
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: Any) -> Expr:
        """Applies this callback alone, until nothing changes."""
        return rewrite(self, expr)

    def callback(self, pre: Expr, post: Expr, node_map: Mapping[DFPattern, Sequence[Expr]]) -> Expr:
        """The expression that stands in the place of a match: `pre` is its root as it was, `post` the same with what is below rewritten;
        `node_map` has what fits each part of the pattern, rewritten. `post` for no change."""
        raise NotImplementedError(f"{type(self).__name__} has no callback")


def rewrite(callbacks: DFPatternCallback | Iterable[DFPatternCallback], expr: Any, mod: IRModule | None = None) -> Expr:
    """Applies callbacks in order, round after round, until the expression stays as it is.

    `mod` has the functions that types depend on. Raises RelayError, with the place, if the expression still changes after 100 rounds.
    """
    if isinstance(callbacks, DFPatternCallback) or not isinstance(callbacks, Iterable):
        callbacks = [callbacks]
    if isinstance(expr, IRModule):
        raise TypeError("rewrite takes an expression, not an IRModule: rewrite its functions, rewrite(callbacks, mod[name], mod)")
    return _core.rewrite_pattern(list(callbacks), as_expr(expr), mod)


def parse(text: str) -> DFPattern:
    """A pattern from its text, which `str` gives: ``nn.relu(add(%x, const))``. Raises RelayError."""
    return _core.parse_pattern(text)


def patterns_equal(a: DFPattern, b: DFPattern) -> bool:
    """True if both say the same, with the same sharing."""
    return _core.patterns_equal(a, b)


# Members of all patterns.


def _call(self: DFPattern, *args: DFPattern | None) -> CallPattern:
    """Fits a call of what this pattern fits; of any arguments for None."""
    return CallPattern(self, None if len(args) == 1 and args[0] is None else list(args))


def _binary(name: str) -> Any:
    def make(self: DFPattern, other: DFPattern) -> Any:
        if not isinstance(other, DFPattern):
            return NotImplemented
        return is_op(name)(self, other)

    make.__doc__ = f"Fits a call of `{name}`."
    return make


def _or(self: DFPattern, other: DFPattern) -> Any:
    """Fits what this pattern fits, else what the other one fits."""
    return AltPattern(self, other) if isinstance(other, DFPattern) else NotImplemented


def _has_attr(self: DFPattern, attrs: Mapping[str, Any]) -> AttrPattern:
    """See `has_attr`."""
    return has_attr(attrs, self)


def _has_type(self: DFPattern, ttype: Type) -> TypePattern:
    """See `has_type`."""
    return has_type(ttype, self)


def _has_dtype(self: DFPattern, dtype: str) -> DataTypePattern:
    """See `has_dtype`."""
    return has_dtype(dtype, self)


def _has_shape(self: DFPattern, shape: Sequence[Any]) -> ShapePattern:
    """See `has_shape`."""
    return has_shape(shape, self)


def _optional(self: DFPattern, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
    """Fits `option_constructor(self)`, else this pattern."""
    return AltPattern(option_constructor(self), self)


def _dominates(self: DFPattern, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
    """See `dominates`; this pattern is the child."""
    return DominatorPattern(parent, wildcard() if path is None else path, self)


def _astext(self: DFPattern, show_meta_data: bool = True, annotate: Any = None) -> str:
    """The pattern's text, which `parse` reads."""
    if annotate is not None:
        raise NotImplementedError("astext(annotate=…): comments cannot be put beside patterns")
    return str(self)


def _field(self: TuplePattern, index: int) -> DFPattern:
    """The pattern of a field. Raises TypeError for any tuple, IndexError beyond the fields."""
    fields = self.fields
    if fields is None:
        raise TypeError("this pattern fits any tuple: it has no fields")
    if not -len(fields) <= index < len(fields):
        raise IndexError(f"TuplePattern has {len(fields)} fields, there is none of index {index}")
    found: DFPattern = fields[index]
    return found


def _length(self: TuplePattern) -> int:
    if self.fields is None:
        raise TypeError("this pattern fits any tuple: it has no fields")
    return len(self.fields)


for _name, _function in {
    "__call__": _call, "__or__": _or, "__add__": _binary("add"), "__sub__": _binary("subtract"), "__mul__": _binary("multiply"),
    "__truediv__": _binary("divide"), "has_attr": _has_attr, "has_type": _has_type, "has_dtype": _has_dtype, "has_shape": _has_shape,
    "optional": _optional, "dominates": _dominates, "match": match, "partition": partition, "astext": _astext,
}.items():  # fmt: skip
    setattr(DFPattern, _name, _function)
setattr(TuplePattern, "__getitem__", _field)
setattr(TuplePattern, "__len__", _length)
