"""Simplification and bounds of extents: sums, products, quotients, remainders, minima and maxima over names."""

from __future__ import annotations

import enum
import math
from types import TracebackType
from typing import Any

import relay as _relay
from relay import Dim

from .. import _absent, tir as _tir

__all__ = ["Analyzer", "ConstIntBound", "ConstraintScope", "ModularSet", "ProofStrength"]


class ProofStrength(enum.IntEnum):
    """How hard to try; terms are in a normal form, so both are the same here."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class ConstIntBound:
    """The least and the greatest value of a term."""

    POS_INF = (1 << 63) - 1
    NEG_INF = -POS_INF

    def __init__(self, min_value: int, max_value: int) -> None:
        self.min_value = min_value
        self.max_value = max_value

    def __repr__(self) -> str:
        return f"ConstIntBound({self.min_value}, {self.max_value})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstIntBound) and (self.min_value, self.max_value) == (other.min_value, other.max_value)

    __hash__ = None  # type: ignore[assignment]


class ModularSet:
    """The values coeff * k + base."""

    def __init__(self, coeff: int, base: int) -> None:
        self.coeff = coeff
        self.base = base

    def __repr__(self) -> str:
        return f"ModularSet({self.coeff}, {self.base})"


class ConstraintScope:
    """A block in which a constraint holds."""

    def __init__(self, analyzer: Analyzer, constraint: Any) -> None:
        self._analyzer, self._constraint = analyzer, constraint

    def __enter__(self) -> None:
        if not isinstance(self._constraint, bool):
            raise NotImplementedError("constraint_scope takes what is known to be true or false: terms over extents have no order here")
        if not self._constraint:
            raise ValueError("the constraint is never true")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """The constraint says nothing that was not known, so nothing is taken back."""


class Analyzer:
    """Answers questions about terms over extents, numbers and names that `bind` gave a value. A name stands for any extent from 0."""

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}
        self._bounds: dict[Any, ConstIntBound] = {}

    def bind(self, var: Any, expr: Any, allow_override: bool = False) -> None:
        """Gives a name a value: a term or number. Raises TypeError for what is no name, ValueError for another value than before."""
        symbol = _symbol_of(var)
        value = self.simplify(expr)
        if symbol in self._values and self._values[symbol] != value and not allow_override:
            raise ValueError(f"{var} is {self._values[symbol]} already")
        self._values[symbol] = value

    def update(self, var: Any, info: Any, override: bool = False) -> None:
        """Sets the bounds of a name. Raises TypeError for what is no name, NotImplementedError for what is no ConstIntBound, ValueError for
        other bounds than before."""
        symbol = _symbol_of(var)
        if not isinstance(info, ConstIntBound):
            raise NotImplementedError(f"Analyzer.update takes a ConstIntBound, not {type(info).__name__}")
        if self._bounds.get(symbol, info) != info and not override:
            raise ValueError(f"{var} is between {self._bounds[symbol].min_value} and {self._bounds[symbol].max_value} already")
        self._bounds[symbol] = info

    def simplify(self, expr: Any, steps: int = 2) -> Any:
        """The term in its normal form, a number where it is one."""
        if not isinstance(expr, Dim) or not self._values:
            return _tir.numbered(expr)
        found = _fold(expr, lambda leaf: self._values.get(leaf, leaf if isinstance(leaf, int) else Dim(leaf)), _TERMS)
        return _tir.numbered(found)

    rewrite_simplify = canonical_simplify = simplify

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """True if both have one normal form."""
        return bool(self.simplify(lhs) == self.simplify(rhs))

    def can_prove(self, expr: Any, strength: ProofStrength = ProofStrength.DEFAULT) -> bool:
        """True if a comparison, which Python has decided, is true."""
        return isinstance(expr, (bool, int)) and bool(expr)

    def can_prove_greater_equal(self, expr: Any, lower_bound: int) -> bool:
        """True if the term is never below the number."""
        return self.const_int_bound(expr).min_value >= int(lower_bound)

    def can_prove_less(self, expr: Any, upper_bound: int) -> bool:
        """True if the term is always below the number."""
        return self.const_int_bound(expr).max_value < int(upper_bound)

    def const_int_bound(self, expr: Any) -> ConstIntBound:
        """The bounds of a term, from those of its parts."""
        value = self.simplify(expr)
        if not isinstance(value, Dim):
            return ConstIntBound(int(value), int(value))
        low, high = _fold(value, self._interval, _INTERVALS)
        return ConstIntBound(_number(low), _number(high))

    def _interval(self, leaf: Any) -> tuple[float | int, float | int]:
        if isinstance(leaf, int):
            return leaf, leaf
        known = self._bounds.get(leaf)
        if known is None:
            return 0, math.inf
        low, high = known.min_value, known.max_value
        return (-math.inf if low <= ConstIntBound.NEG_INF else low), (math.inf if high >= ConstIntBound.POS_INF else high)

    def modular_set(self, expr: Any) -> ModularSet:
        """coeff and base of a term: 4 * n + 3 is (4, 3), a number (0, itself), what is not known (1, 0)."""
        value = self.simplify(expr)
        if not isinstance(value, Dim):
            return ModularSet(0, int(value))
        coeff, base = _fold(value, lambda leaf: (0, leaf) if isinstance(leaf, int) else (1, 0), _REMAINDERS)
        return ModularSet(coeff, base % coeff if coeff else base)

    def constraint_scope(self, constraint: Any) -> ConstraintScope:
        """A block in which a comparison that is decided holds."""
        return ConstraintScope(self, constraint)


def _symbol_of(var: Any) -> Any:
    symbol = getattr(var, "symbol", None)
    if symbol is None:
        raise TypeError(f"an Analyzer knows values of named extents, not of {var!r}")
    return symbol


def _number(bound: float | int) -> int:
    if isinstance(bound, float):
        return ConstIntBound.POS_INF if bound > 0 else ConstIntBound.NEG_INF
    return max(min(bound, ConstIntBound.POS_INF), ConstIntBound.NEG_INF)


class _Meaning:
    """The results of operations on parts of a term; `other` stands for those that are not in it."""

    def __init__(self, add: Any, scale: Any, other: Any, **operations: Any) -> None:
        self.add, self.scale, self.other, self.operations = add, scale, other, operations


def _fold(term: Dim, leaf: Any, meaning: _Meaning) -> Any:
    """A value of a term from those of its parts, which come before it."""
    values: list[Any] = []
    for row in _relay._core.dim_rows(term):
        if not isinstance(row, tuple):
            values.append(leaf(row))
        elif row[0] == "+":
            total = leaf(row[1])
            for factor, part in zip(row[2::2], row[3::2]):
                total = meaning.add(total, meaning.scale(values[part], factor))
            values.append(total)
        elif row[0] in meaning.operations:
            values.append(meaning.operations[row[0]](*(values[part] for part in row[1:])))
        else:
            values.append(meaning.other(row, values))
    return values[-1]


def _rebuilt(row: tuple[Any, ...], values: list[Any]) -> Any:
    raise NotImplementedError(f"a value for a name inside of {row[0]}")


def _product(a: Any, b: Any) -> Any:
    corners = [0 if 0 in (x, y) else x * y for x in a for y in b]
    return min(corners), max(corners)


def _quotient(a: Any, b: Any) -> Any:
    if b[0] != b[1] or b[0] <= 0:
        return (0, a[1]) if a[0] >= 0 and b[0] > 0 else (-math.inf, math.inf)
    return tuple(x if isinstance(x, float) else x // b[0] for x in a)


def _remainder(a: Any, b: Any) -> Any:
    if b[0] != b[1] or b[0] <= 0 or isinstance(b[0], float):
        return (0, math.inf) if b[0] > 0 else (-math.inf, math.inf)
    return a if a[0] >= 0 and a[1] < b[0] else (0, b[0] - 1)


_UNKNOWN = (1, 0)
_TERMS = _Meaning(
    lambda a, b: a + b, lambda a, factor: a * factor, _rebuilt,
    mul=lambda a, b: a * b, floordiv=lambda a, b: a // b, floormod=lambda a, b: a % b, max=_tir.max, min=_tir.min,
)  # fmt: skip
_INTERVALS = _Meaning(
    lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda a, factor: _product(a, (factor, factor)), lambda row, values: (-math.inf, math.inf),
    mul=_product, floordiv=_quotient, floormod=_remainder,
    max=lambda a, b: (max(a[0], b[0]), max(a[1], b[1])), min=lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
)  # fmt: skip
_REMAINDERS = _Meaning(
    lambda a, b: (math.gcd(a[0], b[0]), a[1] + b[1]), lambda a, factor: (abs(a[0] * factor), a[1] * factor), lambda row, values: _UNKNOWN,
    mul=lambda a, b: (math.gcd(a[0] * b[0], a[0] * b[1], a[1] * b[0]), a[1] * b[1]),
    floordiv=lambda a, b: _UNKNOWN, floormod=lambda a, b: _UNKNOWN, max=lambda a, b: _UNKNOWN, min=lambda a, b: _UNKNOWN,
)  # fmt: skip


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
