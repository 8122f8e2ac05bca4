"""Functions with gradients of their own, for many lanes: what `vmap` writes in the place of calls of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import _core
from ._core import Expr, Function, GlobalVar, IRModule, Let, RelayError, Tuple, TupleGetItem, TupleType, Type, Var
from .expr import bind, var
from .expr_functor import ExprMutator
from .gradients import _result_type as result_type
from .gradients import _typed as typed
from .gradients import custom_gradient
from .op import tensor as _ops

__all__ = ["of_lanes"]


def of_lanes(fn: Function, slopes: Callable[..., list[Expr]], types: Sequence[Type], count: int | None) -> Callable[..., Expr]:
    """A function with a gradient of its own, and that gradient, for many lanes: all parameters have them along the first axis."""
    params = [var(param.name_hint, one) for param, one in zip(fn.params, types)]
    one = typed(Function(params, bind(fn.body, dict(zip(fn.params, params)))), IRModule())
    result = result_type(one)
    parts = list(result.fields) if isinstance(result, TupleType) else [result]

    def gradient(args: Sequence[Expr], value: Expr, *given: Expr | None) -> list[Expr]:
        inner = [var("x", each) for each in [*types, result, *parts]]
        asked = iter(inner[len(types) + 1 :])
        own = [None if one is None else each for one, each in zip(given, asked)]  # a tensor that is no float has none
        found = slopes(inner[: len(types)], inner[len(types)], own)
        values = [TupleGetItem(value, i) for i in range(len(parts))] if isinstance(result, TupleType) else [value]
        filled = [_ops.zeros_like(each) if one is None else one for one, each in zip(given, values)]
        all_of = _for_lanes(Function(inner, Tuple(found)), count)(*args, value, *filled)
        return [TupleGetItem(all_of, i) for i in range(len(types))]

    return custom_gradient(_for_lanes(one, count), gradient)


def _for_lanes(fn: Function, count: int | None) -> Function:
    """A function with lanes along the first axis of all parameters and results, which holds the functions that it needs."""
    module = IRModule()
    made = _core.batch(fn, module, [0] * len(fn.params), 0, count)
    loops = {each.name_hint: var(each.name_hint) for each in module.get_global_vars()}
    if not loops:
        return made
    inside = _Inside(loops)
    bodies: dict[str, Expr] = {}
    called: dict[str, set[str]] = {}
    for name in loops:
        inside.met = set()
        bodies[name] = inside.visit(module[name])
        called[name] = inside.met - {name}
    body = inside.visit(made.body)
    while bodies:  # functions that others call come before these
        last = next((one for one in bodies if all(one not in called[other] for other in bodies)), None)
        if last is None:
            raise RelayError("vmap: loops that call each other in turn cannot be inside of a function with a gradient of its own")
        body = Let(loops[last], bodies.pop(last), body)
    return Function(made.params, body, None, list(made.type_params))


class _Inside(ExprMutator):
    """Variables in the place of names of functions."""

    def __init__(self, loops: dict[str, Var]) -> None:
        super().__init__()
        self.loops = loops
        self.met: set[str] = set()

    def visit_global_var(self, gvar: GlobalVar) -> Expr:
        self.met.add(gvar.name_hint)
        return self.loops.get(gvar.name_hint, gvar)
