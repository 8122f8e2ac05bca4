"""Branches and loops over traced arrays: cond, switch, while_loop, fori_loop, scan, map."""

from __future__ import annotations

import operator
from collections import OrderedDict
from typing import Any, Callable, Sequence

import numpy as np

from .. import _core
from .._core import Call, Function, If, Let, TensorType, Tuple, TupleType, Var
from ..execution import compile as compile_module
from ..numpy._common import cast, emit, is_array, is_scalar, lift, number
from ..numpy.elementwise import truth
from . import tree
from .array import Array, BaseArray, Tracer
from .dtypes import DTYPES, promote
from .eager import results
from .objects import State, Watch
from .traced import function
from .places import TraceError, span
from .trace import Size, Trace, current, dim_of, emit_tuple, enter

__all__ = ["cond", "dynamic_slice", "dynamic_update_slice", "fori_loop", "map", "scan", "stop_gradient", "switch", "while_loop"]


def _is_value(item: Any) -> bool:
    return isinstance(item, (BaseArray, Size)) or is_scalar(item) or is_array(item)


def _eagerly(body: Callable[..., Any], *args: Any) -> Any:
    """Runs control flow on arrays with values: as a function, whose program is found again if it is the same."""
    leaves, form = tree.flatten(args)
    arrays = [i for i, item in enumerate(leaves) if _is_value(item)]

    def call(values: Any) -> Any:
        given = list(leaves)
        for place, value in zip(arrays, values):
            given[place] = value
        return body(*tree.unflatten(form, given))

    made = function(call, control_flow=False)
    values = [leaves[i] for i in arrays]
    flat, inner, static, paths = made._flatten((values,), {})
    key, data = made._key(flat, inner, static, paths)
    traced, _ = made._traced(flat, inner, static, paths)
    code = _core.module_hash(traced.module)
    program = next((program for known, program in _programs.get(code, []) if _core.module_difference(known, traced.module) is None), None)
    if program is None:
        module = traced.module.copy()
        program = compile_module(traced.module)
        _programs.setdefault(code, []).append((module, program))
        while len(_programs) > 256:
            _programs.popitem(last=False)
    return results(traced.form, traced.leaves, program(*data))


_programs: OrderedDict[int, list[Any]] = OrderedDict()


def scalar_truth(value: Any, what: str) -> Any:
    """A condition as an array of bool of rank 0. Raises TypeError for another rank."""
    found = lift(value)
    if found.ndim and found.size != 1:
        raise TypeError(f"{what} is a truth value, not an array of {found._text()}: use .all() or .any()")
    found = truth(found)
    return found if not found.ndim else emit("reshape", found, newshape=[])


class Sides:
    """Two branches of a traced condition, both traced. Values of one side and the other become one by `add`; `emit` makes the program choose."""

    def __init__(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], handled: Sequence[Any] = ()) -> None:
        self._condition = scalar_truth(test, "the condition")
        self._watch = Watch((then, otherwise), handled)
        self._pairs: list[tuple[Any, Any]] = []
        self._chosen: list[Any] = []
        trace = current()
        assert trace is not None
        # What either side shares is bound in its branch.
        self._shared_before = len(trace.shared)
        self.first, self._after_first = self._watch.run(then)
        self._shared_between = len(trace.shared)
        self.second, self._after_second = self._watch.run(otherwise)

    def trees(self, a: Any, b: Any) -> tuple[tuple[list[Any], Any], tuple[list[Any], Any]]:
        """Leaves and form of a value of either side, as that side leaves it."""
        return self._watch.within(self._after_first, lambda: tree.flatten(a)), self._watch.within(self._after_second, lambda: tree.flatten(b))

    def labels(self, a: Any, name: str) -> list[str]:
        """Names for the leaves of a value of the first side."""
        return self._watch.within(self._after_first, lambda: tree.paths(a, name))  # type: ignore[no-any-return]

    def add(self, a: Any, b: Any, name: str | None = None) -> Callable[[], Any]:
        """What gives the value that stands for both once the program has the choice."""
        if a is b:
            return lambda: a
        (first, form), (second, other) = self.trees(a, b)
        if form != other:
            raise TraceError(
                f"{name + ': ' if name else ''}the two branches give different trees: as many values, with the same keys and fields, are needed on both "
                "sides"
            )
        labels = self.labels(a, name) if name else [f"value {i + 1}" for i in range(len(first))]
        leaves = [self._leaf(one, two, labels[i]) for i, (one, two) in enumerate(zip(first, second))]
        return lambda: tree.unflatten(form, [leaf() for leaf in leaves])

    def _leaf(self, a: Any, b: Any, label: str) -> Callable[[], Any]:
        if a is b:
            return lambda: a
        if _is_value(a) and _is_value(b):
            if type(a) is type(b) and is_scalar(a) and a == b:
                return lambda: a
            place = len(self._pairs)
            self._pairs.append(_matched(a, b, label))
            return lambda: self._chosen[place]
        if type(a) is type(b) and a == b:
            return lambda: a
        raise TraceError(
            f"{label} is {_said(a, b)} in one branch and {_said(b, a)} in the other: arrays of one type can be chosen, in trees too; anything else has to "
            "be the same value in both"
        )

    def emit(self) -> None:
        """Makes the choice a part of the program. Objects that a branch changed hold what the condition chooses from here on."""
        from .branches import Undefined

        trace = current()
        assert trace is not None
        merged = []
        for place, a, b, differ in self._watch.differing(self._after_first, self._after_second):
            values = list(a.values)
            made = []
            for i, name in differ:
                # A variable that one side alone gives a value has none behind.
                lost = next((one for one in (a.values[i], b.values[i]) if isinstance(one, Undefined)), None)
                made.append((i, self.add(a.values[i], b.values[i], name) if lost is None else self.add(lost, lost)))
            merged.append((place, State(a.keys, values), made))
        if self._pairs:
            acts = len(trace.shared) > self._shared_before
            first, second = (Tuple([trace.expr(pair[side]) for pair in self._pairs]) for side in (0, 1))
            otherwise = trace.body(second, self._shared_between)
            then = trace.body(first, self._shared_before)
            node = trace.once(If(trace.expr(self._condition), then, otherwise, span()), acts)
            self._chosen = emit_tuple(node, [a.weak for a, _ in self._pairs])
        for _, state, made in merged:
            for i, value in made:
                state.values[i] = value()
        self._watch.put({place: state for place, state, _ in merged})


def choose(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], handled: Sequence[Any] = ()) -> Any:
    """One of two trees of arrays by a traced condition. Both branches become part of the program; one of them runs."""
    sides = Sides(test, then, otherwise, handled)
    found = sides.add(sides.first, sides.second)
    sides.emit()
    return found()


def _said(value: Any, other: Any) -> str:
    if isinstance(value, Tracer):
        return f"an array of {value._text()}"
    if type(value) is type(other):  # the type alone would say nothing
        return repr(value) if is_scalar(value) or isinstance(value, (str, bytes)) and len(value) < 40 else f"a {type(value).__name__} of its own"
    return "None" if value is None else f"of the type {type(value).__name__}"


def _matched(a: Any, b: Any, label: str) -> tuple[Any, Any]:
    x, y = lift(a), lift(b)
    if x.dtype != y.dtype or x.weak != y.weak:
        from ..numpy._common import common

        dtype = common([x, y])
        weak = x.weak and y.weak
        x, y = (cast(one, dtype) if one.dtype != dtype or (one.weak and not weak) else one for one in (x, y))
    if [dim_of(extent) for extent in x.shape] != [dim_of(extent) for extent in y.shape]:
        raise TraceError(f"{label} is an array of {x._text()} in one branch and of {y._text()} in the other: both sides have one shape")
    return x, y


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """`true_fun(*operands)` if a truth value holds, else `false_fun(*operands)`. In a program both are there, and one of them runs.

    The branches give trees of one form, with arrays of the same shapes; dtypes are made the same as by arithmetic.
    """
    if current() is None or isinstance(pred, (bool, np.bool_)):
        return true_fun(*operands) if pred else false_fun(*operands)
    return choose(pred, lambda: true_fun(*operands), lambda: false_fun(*operands))


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """The result of the branch of a number; numbers outside take the nearest one."""
    if not branches:
        raise ValueError("switch needs a branch at least")
    if current() is None or isinstance(index, int):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)

    def from_(place: int) -> Any:
        if place == len(branches) - 1:
            return branches[place](*operands)
        return cond(lift(index) <= place, lambda: branches[place](*operands), lambda: from_(place + 1))

    return from_(0)


class _State:
    """What a loop carries: a tree whose leaves are arrays, or values that stay."""

    def __init__(self, init: Any, names: Sequence[str] | None) -> None:
        self.leaves, self.form = tree.flatten(init)
        self.labels = list(names) if names is not None else [f"the carried value{path}" for path in tree.paths(init)]
        self.places = [i for i, item in enumerate(self.leaves) if _is_value(item)]
        self.start = [lift(self.leaves[i]) for i in self.places]

    def rebuilt(self, arrays: Sequence[Any]) -> Any:
        leaves = list(self.leaves)
        for place, value in zip(self.places, arrays):
            leaves[place] = value
        return tree.unflatten(self.form, leaves)

    def taken(self, value: Any) -> list[Any]:
        """The arrays of what a turn gives. Raises TraceError if its form is another one."""
        leaves, form = tree.flatten(value)
        if form != self.form:
            raise TraceError("a turn of a loop gives another tree than it took: as many values, with the same keys and fields, are needed")
        for i, item in enumerate(leaves):
            if i not in self.places and not (item is self.leaves[i] or (type(item) is type(self.leaves[i]) and item == self.leaves[i])):
                raise TraceError(f"{self.labels[i]} is {_said(self.leaves[i], item)} before a turn of a loop and {_said(item, self.leaves[i])} after it")
        return [leaves[i] for i in self.places]

    def label(self, place: int) -> str:
        return self.labels[self.places[place]] if self.places[place] < len(self.labels) else f"value {place + 1}"


def _widened(have: Any, new: Any, label: str) -> tuple[Any, bool] | None:
    """The dtype that the state needs so that what a turn gives fits; None if it fits. Raises TraceError if none does."""
    if [dim_of(extent) for extent in have.shape] != [dim_of(extent) for extent in new.shape]:
        raise TraceError(
            f"{label} has the shape {tuple(have.shape)} before a turn of a loop and {tuple(new.shape)} after it: what a loop carries keeps its shape"
        )
    if have.dtype == new.dtype:
        return None if have.weak == new.weak or not have.weak else (new.dtype, False)
    if have.weak:
        return (new.dtype, new.weak) if not new.weak or promote(have.dtype, new.dtype) == new.dtype else None
    if new.weak or promote(have.dtype, new.dtype) == have.dtype:
        return None
    raise TraceError(f"{label} is {have.dtype} before a turn of a loop and {new.dtype} after it: start with {new.dtype}, or use astype in the loop")


def loop(init: Any, test: Callable[[Any], Any], step: Callable[[Any], Any], names: Sequence[str] | None = None) -> Any:
    """The state after turns of a loop: `step` while `test` holds. It is a function that calls itself, in tail position."""
    outer = current()
    assert outer is not None
    state = _State(init, names)
    if not state.start:
        with enter(Trace("loop", outer)):
            step(init)  # says which object it changes, if it does
        raise TraceError("a loop has nothing that changes: no array is carried")
    start = state.start
    for _ in range(8):
        inner = Trace("loop", outer)
        with enter(inner):
            params = [inner.parameter(f"state{i}", value._type, value.weak) for i, value in enumerate(start)]
            goes = scalar_truth(test(state.rebuilt(params)), "the condition of a loop")
            of_condition = len(inner.shared)
            turned = [lift(value) for value in state.taken(step(state.rebuilt(params)))]
            wider = [_widened(have, new, state.label(i)) for i, (have, new) in enumerate(zip(params, turned))]
            if not any(wider):
                turned = [_as_state(new, have) for new, have in zip(turned, params)]
                condition, exprs = inner.expr(goes), [inner.expr(value) for value in turned]
                break
        start = [_as(value, *want) if want is not None else value for value, want in zip(start, wider)]
    else:
        raise TraceError("the dtypes of what a loop carries grow with each turn: use astype in the loop")
    return state.rebuilt(_built(outer, inner, params, start, condition, exprs, of_condition))


def _as(value: Any, dtype: Any, weak: bool) -> Any:
    return cast(value, dtype) if not weak else emit("cast", value, dtype=dtype.name, weak=True)


def _as_state(new: Any, have: Any) -> Any:
    return new if new.dtype == have.dtype else emit("cast", new, dtype=have.dtype.name, weak=have.weak)


def _built(outer: Trace, inner: Trace, params: list[Any], start: list[Any], condition: Any, exprs: list[Any], of_condition: int) -> list[Any]:
    captured = list(inner.captured.items())
    name = Var("loop", None, span())
    variables = [param._expr for param in params]
    kept = [var for _, var in captured]
    acts = bool(inner.shared)
    again = inner.body(Call(name, [*exprs, *kept], None, span=span()), of_condition)
    body = inner.body(If(condition, again, Tuple(variables), span()))
    result = TupleType([param._type for param in params])
    made = Function([*variables, *kept], body, result, span=span())
    first = Call(name, [*[outer.expr(value) for value in start], *[expr for expr, _ in captured]], None, span=span())
    return emit_tuple(outer.once(Let(name, made, first, span()), acts), [param.weak for param in params])


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """`val = body_fun(val)` while `cond_fun(val)` holds, beginning with `init_val`, a tree of arrays that keep their shapes and dtypes.

    Its gradient can be taken: the turns are kept on a list.
    """
    if current() is None:
        return _eagerly(lambda init: loop(init, cond_fun, body_fun), init_val)
    return loop(init_val, cond_fun, body_fun)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """`val = body_fun(i, val)` for i from `lower` to below `upper`, beginning with `init_val`."""
    if current() is None:
        return _eagerly(lambda a, b, init: fori_loop(a, b, body_fun, init), lower, upper, init_val)
    start, end = lift(lower), lift(upper)
    if start.weak and not end.weak:
        start = cast(start, end.dtype)
    found = loop((start, init_val), lambda state: state[0] < end, lambda state: (state[0] + 1, body_fun(state[0], state[1])))
    return found[1]


def scan(f: Callable[[Any, Any], Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: int = 1) -> tuple[Any, Any]:
    """`carry, y = f(carry, x)` for each x along the first axis of `xs`, a tree of arrays: the last carry, and the ys stacked.

    `length` is the number of turns if there is no xs. `reverse` goes from the last x to the first. `unroll` has no effect.
    """
    if current() is None:
        found: tuple[Any, Any] = _eagerly(lambda a, b: scan(f, a, b, length, reverse), init, xs)
        return found
    leaves, form = tree.flatten(xs)
    arrays = [lift(leaf) for leaf in leaves]
    if any(not array.ndim for array in arrays):
        raise TypeError("scan goes along the first axis, which an array of rank 0 has not")
    count: Any = length
    for array in arrays:
        extent = array.shape[0]
        if isinstance(count, int) and isinstance(extent, int) and count != extent:
            raise ValueError(f"scan: arrays of {count} and {extent} elements along the first axis go together")
        count = extent if count is None or not isinstance(count, int) else count
    if count is None:
        raise ValueError("scan needs xs or a length")
    return _scanned(f, init, arrays, form, count, reverse)


def _scanned(f: Any, init: Any, arrays: list[Any], form: Any, count: Any, reverse: bool) -> tuple[Any, Any]:
    outer = current()
    assert outer is not None
    last = cast(lift(count), "int32")

    def at(index: Any) -> Any:
        return tree.unflatten(form, [emit("take", lift(array), index, axis=0) for array in arrays])

    # What a turn gives is found by tracing one; its program is not used.
    shapes, out_form, carry = _outputs(f, init, at, outer)
    from ..numpy.creation import full

    buffers = [full((count, *shape), number(0, dtype)) for shape, dtype in shapes]

    def step(state: Any) -> Any:
        index, held, written = state
        place = index if not reverse else emit("subtract", emit("subtract", lift(last), index), number(1, "int32"))
        new, given = f(held, at(place))
        rows = [lift(item) for item in tree.flatten(given)[0]]
        where = emit("reshape", place, newshape=[1, 1])
        after = [_row_written(buffer, where, emit("expand_dims", cast(row, buffer.dtype), axis=0)) for buffer, row in zip(written, rows)]
        return (emit("add", index, number(1, "int32")), new, after)

    found = loop((number(0, "int32"), carry, buffers), lambda state: emit("less", state[0], lift(last)), step)
    return found[1], tree.unflatten(out_form, found[2])


def _row_written(buffer: Any, where: Any, row: Any) -> Any:
    """A row of a buffer of zeros. Its gradient reads nothing of what was written before, so that no turn keeps the buffer, if it is added."""
    return emit("scatter_nd", buffer, where, row, mode="add" if buffer.dtype.kind == "float" else "update")


def _outputs(f: Any, init: Any, at: Any, outer: Trace) -> tuple[list[Any], Any, Any]:
    """Shapes and dtypes of what a turn gives, the form of it, and the first carry in the dtypes that it ends in."""
    state = _State(init, None)
    start = state.start
    for _ in range(8):
        inner = Trace("scan", outer)
        with enter(inner):
            params = [inner.parameter(f"carry{i}", value._type, value.weak) for i, value in enumerate(start)]
            found = f(state.rebuilt(params), at(inner.parameter("i", TensorType((), "int32"))))
            if not isinstance(found, tuple) or len(found) != 2:
                raise TypeError("the function of scan gives a pair: the next carry, and what is stacked")
            turned = [lift(value) for value in state.taken(found[0])]
            wider = [_widened(have, new, state.label(i)) for i, (have, new) in enumerate(zip(params, turned))]
            leaves, form = tree.flatten(found[1])
            rows = [lift(item) for item in leaves]
            shapes = [(row.shape, row.dtype if not row.weak else _narrow(row.dtype)) for row in rows]
        if not any(wider):
            return shapes, form, state.rebuilt(start)
        start = [_as(value, *want) if want is not None else value for value, want in zip(start, wider)]
    raise TraceError("the dtypes of what a scan carries grow with each turn: use astype in its function")


def _narrow(dtype: Any) -> Any:
    from .dtypes import default_of

    return default_of(DTYPES[dtype].kind)


def map(f: Callable[[Any], Any], xs: Any) -> Any:  # noqa: A001
    """`f` of each element along the first axis, one after another, stacked."""
    return scan(lambda carry, x: (carry, f(x)), Array(np.zeros((), "int32")), xs)[1]


def dynamic_slice(operand: Any, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> Any:
    """A part of fixed extents at a place that may be traced. A part that would reach over the border is moved inside."""
    from ..numpy._common import operation

    return operation(_dynamic_slice)(operand, list(start_indices), tuple(slice_sizes))


def _start(value: Any, starts: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    found = []
    for axis, start in enumerate(starts):
        place = cast(lift(start), "int32")
        most = value.shape[axis] - sizes[axis]
        limit = number(most, "int32") if isinstance(most, int) else cast(most.array(), "int32")
        place = emit("where", emit("less", place, number(0, "int32")), emit("add", place, number(0, "int32") + value.shape[axis]), place)
        found.append(emit("maximum", emit("minimum", place, limit), number(0, "int32")))
    return found


def _dynamic_slice(operand: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    value = lift(operand)
    for axis, start in enumerate(_start(value, starts, sizes)):
        places = emit("add", start, lift(Array(np.arange(sizes[axis], dtype="int32"))))
        value = emit("take", value, places, axis=axis)
    return value


def dynamic_update_slice(operand: Any, update: Any, start_indices: Sequence[Any]) -> Any:
    """The array with a part at a place that may be traced replaced."""
    from ..numpy._common import operation

    return operation(_dynamic_update)(operand, update, list(start_indices))


def _dynamic_update(operand: Any, update: Any, starts: Sequence[Any]) -> Any:
    value = lift(operand)
    given = cast(lift(update), value.dtype)
    sizes = [operator.index(extent) for extent in given.shape]
    key = []
    for axis, start in enumerate(_start(value, starts, sizes)):
        shape = [1] * given.ndim
        shape[axis] = sizes[axis]
        key.append(emit("reshape", emit("add", start, lift(Array(np.arange(sizes[axis], dtype="int32")))), newshape=shape))
    return value.at[tuple(key)].set(given)


def stop_gradient(x: Any) -> Any:
    """The tree itself; gradients do not flow through it."""
    from ..numpy._common import operation

    return operation(_stopped)(x)


def _stopped(x: Any) -> Any:
    # Bits have no gradient.
    def one(value: Any) -> Any:
        found = lift(value)
        if found.dtype.kind != "float":
            return found
        bits = emit("reinterpret", found, dtype=f"int{found.dtype.bits}")
        return emit("reinterpret", bits, dtype=found.dtype.name, weak=found.weak)

    return tree.map_tree(one, x)
