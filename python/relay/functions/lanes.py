"""`relay.vmap` of Python functions: one axis of arguments becomes lanes that the function does not see."""

from __future__ import annotations

from typing import Any, Callable

from .. import _core
from .._core import Call, Function, RelayError, TensorType, Tuple, TupleGetItem
from . import tree
from .grads import _compiled, _lift, _python
from .places import located
from .trace import Lanes, Trace, current, enter, type_of, wrap

__all__ = ["vmap"]


def _spread(axes: Any, value: Any, name: str) -> list[int | None]:
    """The axis of each leaf of a tree. A number or None stands for all leaves below it."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return [axes] * len(tree.flatten(value)[0])
    found, wanted = tree._parts(value), tree._parts(axes)
    if wanted is None:
        raise TypeError(f"{name} is made of integers, None and trees of them, not {type(axes).__name__}")
    # A list may stand for a tuple.
    alike = found is not None and (found[0] == wanted[0] or {found[0][0], wanted[0][0]} <= {"tuple", "list", "named"})
    if found is None or not alike or len(found[2]) != len(wanted[2]):
        raise ValueError(f"{name} has another form than the values that it is about")
    return [axis for inner, child in zip(wanted[2], found[2]) for axis in _spread(inner, child, name)]


def vmap(fun: Any, in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None) -> Callable[..., Any]:
    """A function that works on many lanes at once; see `relay.vmap`."""
    python = _python(fun)

    def traced(*args: Any, **kwargs: Any) -> Any:
        outer = current()
        assert outer is not None
        if outer.lanes is not None:
            outer.lanes.nested = True
            return of_lanes(outer, outer.lanes, args, kwargs)
        lanes = Lanes(keep=False)
        try:
            return of_lanes(outer, lanes, args, kwargs)
        except RelayError:
            # Gradients are written out for the lanes inside, and then these cannot part in them any more.
            if not lanes.nested:
                raise
            return of_lanes(outer, Lanes(keep=True), args, kwargs)

    def of_lanes(outer: Trace, around: Lanes, args: Any, kwargs: Any) -> Any:
        spread = [in_axes] * len(args) if in_axes is None or isinstance(in_axes, int) else list(in_axes)
        if len(spread) != len(args):
            raise ValueError(f"in_axes has {len(spread)} entries for {len(args)} arguments")
        leaves, form = tree.flatten((tuple(args), kwargs))
        # Arguments by name have their lanes along the first axis, as in JAX.
        axes = [axis for spec, item in zip(spread, args) for axis in _spread(spec, item, "in_axes")]
        axes += [0] * (len(leaves) - len(axes))
        if axis_size is None and all(axis is None for axis in axes):
            raise ValueError("in_axes gives no argument an axis of lanes: give axis_size")
        inputs = [_lift(leaf) if axis is not None else None for leaf, axis in zip(leaves, axes)]
        trace = Trace("vmap", outer)
        trace.lanes = around
        params, places, lanes = [], [], []
        with enter(trace):
            given = list(leaves)
            for i, (value, axis) in enumerate(zip(inputs, axes)):
                if value is None or axis is None:
                    continue
                shape = list(value._type.shape)
                if not -len(shape) <= axis < len(shape):
                    raise ValueError(f"vmap goes along axis {axis}, which an array of {value._text()} has not: say None in in_axes for what all lanes share")
                places.append(axis % len(shape))
                lanes.append(shape[axis])
                del shape[axis]
                given[i] = trace.parameter("x", TensorType(shape, value._type.dtype), value.weak)
                params.append(given[i])
            call_args, call_kwargs = tree.unflatten(form, given)
            found = python(*call_args, **call_kwargs)
            results, result_form = tree.flatten(found)
            lifted = [_lift(item) for item in results]
            exprs = [trace.expr(item) for item in lifted]
        out = _spread(out_axes, found, "out_axes")
        captured = dict(trace.captured)
        one = Function([*[param.variable for param in params], *captured.values()], trace.body(Tuple(exprs)))
        known = list(dict.fromkeys(extent for extent in [axis_size, *lanes] if isinstance(extent, int)))
        if len(known) > 1:
            raise ValueError(f"vmap: arrays of {' and '.join(map(str, known))} lanes go together")
        number = known[0] if known else None
        try:
            made = _core.batch(one, outer.module, [*places, *[None] * len(captured)], out, number, around.keep)
        except RelayError as error:
            raise located(error) from None
        operands = [*[outer.expr(value) for value in inputs if value is not None], *captured]
        # With an open number of lanes the function has a name for it, which the call gives its meaning.
        body = _core.substitute(made.body, dict(zip(made.params, operands))) if number is not None else Call(made, operands)
        body = outer.once(body)
        type_ = type_of(outer, body)
        values = [wrap(outer, TupleGetItem(body, i), field, value.weak) for (i, field), value in zip(enumerate(type_.fields), lifted)]  # type: ignore[attr-defined]
        return tree.unflatten(result_form, values)

    return _compiled(traced, fun)
