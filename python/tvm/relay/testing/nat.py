"""Natural numbers of the standard library."""

from __future__ import annotations

from typing import Any

from relay import Call, Expr

from ..backend.values import ConstructorValue
from ..prelude import Prelude


def _ctors(prelude: Prelude) -> tuple[Any, Any]:
    _, zero, succ = prelude.mod.get_type("nat")
    return zero, succ


def add_nat_definitions(prelude: Prelude) -> None:
    """Adds the type and the functions of natural numbers to a module: the name before TVM 0.7 of ``prelude.mod.import_from_std("nat.rly")``."""
    prelude.mod.import_from_std("nat.rly")


def count(prelude: Prelude, n: ConstructorValue) -> int:
    """The number that a value stands for. Raises TypeError for a value of another type."""
    zero, succ = _ctors(prelude)
    rounds = 0
    while True:
        name = getattr(n.constructor, "name_hint", n.constructor)
        if name == zero.name_hint:
            return rounds
        if name != succ.name_hint:
            raise TypeError(f"{name} is no constructor of nat")
        n, rounds = n.fields[0], rounds + 1


def make_nat_value(prelude: Prelude, n: int) -> ConstructorValue:
    """A number as a value."""
    zero, succ = _ctors(prelude)
    value = ConstructorValue(zero.tag, [], zero)
    for _ in range(n):
        value = ConstructorValue(succ.tag, [value], succ)
    return value


def make_nat_expr(prelude: Prelude, n: int) -> Expr:
    """A number as an expression. Raises ValueError for a negative one."""
    if n < 0:
        raise ValueError(f"{n} is no natural number")
    zero, succ = _ctors(prelude)
    made: Expr = Call(zero, [])
    for _ in range(n):
        made = Call(succ, [made])
    return made
