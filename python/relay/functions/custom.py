"""Functions of Python over arrays that have a gradient of the user's own."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Sequence

from .._core import Call, Expr, Function, Tuple, TupleGetItem
from ..expr import bind
from ..op.tensor import zeros_like
from . import tree
from .array import BaseArray, Tracer, is_array, is_scalar
from .grads import _beside, _compiled, _lift, _python
from .places import TraceError
from .trace import Trace, current, enter, type_of, wrap

__all__ = ["custom_gradient"]


class _Form:
    """The trees of a call: those of its arguments, of which some leaves are arrays, and that of its result."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.leaves, self.form = tree.flatten(args)
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, BaseArray) or is_scalar(leaf) or is_array(leaf)]
        self.counts = [len(tree.flatten(arg)[0]) for arg in args]
        self.paths = [path for i, arg in enumerate(args) for path in tree.paths(arg, f"argument {i + 1}")]
        self.result: Any = None
        self.weak: list[bool] = []  # of the result's tensors
        self.weak_inputs: list[bool] = []

    def args(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        given = list(self.leaves)
        for place, array in zip(self.places, arrays):
            given[place] = array
        found: tuple[Any, ...] = tree.unflatten(self.form, given)
        return found


def _traced_once(python: Callable[..., Any], form: _Form, inputs: Sequence[Tracer]) -> Function:
    """The function as a program of its arrays alone."""
    trace = Trace("custom_gradient", current())
    trace.lanes = None  # an operator has its gradients written out
    with enter(trace):
        params = [trace.parameter("x", value._type, value.weak) for value in inputs]
        leaves, form.result = tree.flatten(python(*form.args(params)))
        results = [_lift(leaf) for leaf in leaves]
        exprs = [trace.expr(value) for value in results]
    if trace.captured:
        kind = next(iter(trace.captured.values())).type_annotation
        raise TraceError(f"a function with a gradient of its own reads a traced array of {kind} from outside: give it as an argument, which the gradient is for, too")
    form.weak = [value.weak for value in results]
    form.weak_inputs = [value.weak for value in inputs]
    return Function([param.variable for param in params], trace.body(Tuple(exprs)))


def _gradient_of(gradient: Callable[..., Any], form: _Form) -> Callable[..., list[Expr | None]]:
    """The user's gradient on arrays as one on expressions."""

    def derive(args: Sequence[Expr], result: Expr, *given: Expr | None) -> list[Expr | None]:
        trace = Trace("gradient")
        fields = type_of(trace, result).fields  # type: ignore[attr-defined]
        results = [TupleGetItem(result, i) for i in range(len(fields))]
        # Tensors that are no floats have no gradients: zeros.
        outer = [*args, *results, *[zeros_like(value) if one is None else one for one, value in zip(given, results)]]
        types = [*[type_of(trace, arg) for arg in args], *fields, *fields]
        with enter(trace):
            weak = [*form.weak_inputs, *form.weak, *form.weak]
            inner = [trace.parameter("x", type_, its) for type_, its in zip(types, weak)]
            arrays, rest = inner[: len(args)], inner[len(args) :]
            found = gradient(form.args(arrays), *[tree.unflatten(form.result, part) for part in (rest[: len(fields)], rest[len(fields) :])])
            exprs = [None if value is None else trace.expr(value) for value in _slopes(found, form, arrays)]
        # One tuple, so that work for several gradients stays one.
        known = dict(zip([param.variable for param in inner], outer))
        made = bind(trace.body(Tuple([expr for expr in exprs if expr is not None])), known)
        places = iter(range(len(exprs)))
        return [None if expr is None else TupleGetItem(made, next(places)) for expr in exprs]

    return derive


def _slopes(found: Any, form: _Form, arrays: Sequence[Tracer]) -> list[Tracer | None]:
    """The gradients that the user's function gave, one for each array of the arguments."""
    if not isinstance(found, (tuple, list)):
        raise TypeError(f"the gradient of custom_gradient gives a tuple with a gradient for each argument, not a {type(found).__name__}")
    if len(found) != len(form.counts):
        raise ValueError(f"the gradient of custom_gradient gives {len(found)} gradients for {len(form.counts)} argument" + "s" * (len(form.counts) != 1))
    from ..numpy._common import cast

    whole = [leaf for i, (one, arg) in enumerate(zip(found, form.args(arrays))) for leaf in _beside_tree(one, arg, i)]
    slopes: list[Tracer | None] = []
    for place, array in zip(form.places, arrays):
        one = None if array.dtype.kind != "float" else whole[place]  # nobody differentiates by what is no float
        if one is not None and array.weak:
            one = cast(_lift(one), array.dtype)
        slopes.append(None if one is None else _beside(one, array, form.paths[place], "gradient"))
    return slopes


def _beside_tree(found: Any, arg: Any, place: int) -> list[Any]:
    """The gradient of each leaf of an argument; None stands for all leaves that it is in the place of."""
    if found is None:
        return [None] * len(tree.flatten(arg)[0])
    wanted, given = tree._parts(arg), tree._parts(found)
    if wanted is None and given is None:
        return [found]
    if wanted is None or given is None or wanted[0] != given[0] or len(wanted[2]) != len(given[2]):
        raise TypeError(f"the gradient of custom_gradient for argument {place + 1} has another form than the argument")
    return [leaf for one, inner in zip(given[2], wanted[2]) for leaf in _beside_tree(one, inner, place)]


def custom_gradient(fun: Any, gradient: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives what `fun` does, with a gradient of its own; see `relay.custom_gradient`."""
    from ..gradients import custom_gradient as of_program

    python, back = _python(fun), _python(gradient)
    try:
        signature = inspect.signature(fun)
    except ValueError:  # a function of C
        signature = inspect.signature(lambda *args: None)

    def traced(*args: Any, **kwargs: Any) -> Any:
        outer = current()
        assert outer is not None
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(f"a function with a gradient of its own has no arguments by name alone; {next(iter(bound.kwargs))!r} is one")
        form = _Form(bound.args)
        inputs = [_lift(form.leaves[place]) for place in form.places]
        for place in form.places:  # the operator lives on, and this trace is not to live with it
            form.leaves[place] = None
        made = of_program(_traced_once(python, form, inputs), _gradient_of(back, form))
        call = Call(made, [outer.expr(value) for value in inputs])
        type_ = type_of(outer, call)
        found = [wrap(outer, TupleGetItem(call, i), field, weak) for (i, field), weak in zip(enumerate(type_.fields), form.weak)]  # type: ignore[attr-defined]
        return tree.unflatten(form.result, found)

    return _compiled(traced, fun)
