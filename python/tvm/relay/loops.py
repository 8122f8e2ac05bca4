"""Loops as recursive functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay import Call, Expr, Function, If, Let, Tuple, Var, var


def while_loop(cond: Callable[..., Expr], loop_vars: Sequence[Var], loop_bodies: Callable[..., Sequence[Expr]]) -> Expr:
    """A function of the loop's variables that gives them, as a tuple, after the last round.

    `cond` and `loop_bodies` get fresh variables of the same types; the second gives the variables' next values.
    """
    loop = var("while_loop")
    fresh = [Var(v.name_hint, v.type_annotation) for v in loop_vars]
    bound: list[Any] = list(loop_bodies(*fresh))
    body = If(cond(*fresh), Call(loop, bound), Tuple(fresh))
    return Let(loop, Function(fresh, body), loop)
