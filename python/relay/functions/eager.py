"""Functions of `relay.numpy` on arrays with values: each is traced once for a signature, and what it became is kept.

Small ones run in the reference evaluator, which begins at once; large and frequent ones are compiled.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import Any, Callable, TypeVar

import numpy as np

from .. import _core
from .._core import Expr, Function, IRModule, NDArray, TensorType, Tuple
from ..execution import compile as compile_module
from . import tree
from .array import Array, BaseArray, Tracer, asarray, is_array, is_scalar
from .dtypes import can_hold, default_of, kind_of_scalar
from .places import shorten
from .trace import Trace, current, enter

__all__ = ["hashable", "operation", "results"]

# Up to so many elements the evaluator is at its end before the compiler would be.
_FEW_ELEMENTS = 2048
_OFTEN = 200
_MOST_ENTRIES = 4096

F = TypeVar("F", bound=Callable[..., Any])


class _Entry:
    """One signature of a function."""

    __slots__ = ("module", "form", "leaves", "calls", "program", "few")

    def __init__(self, module: IRModule | None, form: Any, leaves: list[Any], few: bool) -> None:
        self.module = module
        self.form = form
        self.leaves = leaves  # of the result: what is no array, and for arrays the positions
        self.calls = 0
        self.program: Any = None
        self.few = few

    def run(self, data: list[Any]) -> Any:
        if self.module is None:
            return tree.unflatten(self.form, self.leaves)
        if self.program is None:
            self.calls += 1
            if self.few and self.calls < _OFTEN:
                found = _core.evaluate(self.module, *data)
                return results(self.form, self.leaves, found)
            self.program = compile_module(self.module)
        return results(self.form, self.leaves, self.program(*data))


class Output:
    """An array among the leaves of a result: its position, and if it is weak."""

    __slots__ = ("position", "weak")

    def __init__(self, position: int, weak: bool) -> None:
        self.position = position
        self.weak = weak


def outputs(leaves: list[Any]) -> tuple[list[Tracer], list[Any]]:
    """The traced arrays among the leaves of a result, and the leaves with positions in their places."""
    traced: list[Tracer] = []
    kept: list[Any] = []
    for item in leaves:
        if isinstance(item, Expr):
            from ..numpy._common import lift

            item = lift(item)
        if isinstance(item, Tracer):
            kept.append(Output(len(traced), item.weak))
            # Integers stay wide, so that `results` sees what does not fit.
            traced.append(narrowed(item) if item.weak and item.dtype != "int64" else item)
        else:
            kept.append(item)
    return traced, kept


def narrowed(value: Tracer) -> Tracer:
    """A weak array in the dtype that numbers of Python have outside."""
    from ..numpy import cast

    made: Tracer = cast(value, default_of(value.dtype.kind))
    return made


def results(form: Any, leaves: list[Any], found: Any) -> Any:
    """The result of a call from what a program of the traced arrays gave."""
    if type(found) is not tuple:
        found = (found,)
    return tree.unflatten(form, [_array(found[item.position], item.weak) if type(item) is Output else item for item in leaves])


def _array(data: Any, weak: bool) -> Array:
    """A result. Raises OverflowError for an integer that came from numbers of Python alone and is beyond the dtype that they have."""
    made = Array(data, weak)
    if not weak or made.dtype != "int64":
        return made
    values, limits = np.asarray(made), np.iinfo("int32")
    for value in (values.min(), values.max()) if values.size else ():
        if not limits.min <= value <= limits.max:
            raise OverflowError(
                f"a result is {value}, and no int32, which results that come from numbers of Python alone are: give an array of int64 in place of the number"
            )
    return Array(values.astype("int32"), True)


_entries: OrderedDict[Any, _Entry] = OrderedDict()


def hashable(value: Any) -> Any:
    """A key that is equal for values which make the same program."""
    if isinstance(value, slice):
        return (slice, hashable(value.start), hashable(value.stop), hashable(value.step))
    if isinstance(value, float):
        return (float, np.float64(value).tobytes())
    return (type(value), value)


def beside(value: Any, array: Array) -> Array:
    """A number of Python in the dtype that it has beside an array. Raises OverflowError for an integer beyond its range."""
    kind = kind_of_scalar(value)
    dtype = array.dtype if can_hold(array.dtype, kind) else default_of(kind)
    with np.errstate(over="ignore"):  # a float beyond the range is infinite
        made = np.asarray(value, dtype="float32" if dtype == "bfloat16" else dtype.name)
    if kind == "int" and dtype.kind == "float" and not np.isfinite(made):
        raise OverflowError(f"{value} does not fit {dtype}")
    return Array(NDArray(made).astype("bfloat16") if dtype == "bfloat16" else made, array.weak)


def operation(fn: F, numbers: bool = False) -> F:
    """Makes a function over traced arrays one of arrays with values, too. Everything but arrays is part of the signature.

    With `numbers`, numbers of Python beside an array are arguments, so that a rate that changes makes no new program.
    """

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if current() is not None:
            return fn(*args, **kwargs)
        try:
            if numbers and len(args) == 2:
                first, second = args
                if is_scalar(second) and isinstance(first, Array):
                    args = first, beside(second, first)
                elif is_scalar(first) and isinstance(second, Array):
                    args = beside(first, second), second
            return _run(fn, args, kwargs)
        except Exception as error:
            raise shorten(error)

    return call  # type: ignore[return-value]


def _run(fn: Any, args: Any, kwargs: Any) -> Any:
    leaves, form = tree.flatten((args, kwargs))
    arrays: list[Array] = []
    places: list[int] = []
    key: list[Any] = [fn, form]
    for i, item in enumerate(leaves):
        if isinstance(item, BaseArray) or is_array(item):
            if isinstance(item, Tracer):
                item = _leaked(item)
            array = asarray(item)
            arrays.append(array)
            places.append(i)
            key.append((array.dtype, array.shape, array.weak))
        else:
            key.append(hashable(item))
    try:
        whole: Any = tuple(key)
        entry = _entries.get(whole)
    except TypeError:
        whole, entry = None, None
    if entry is None:
        entry = _traced(fn, form, leaves, arrays, places)
        if whole is not None:
            _entries[whole] = entry
            if len(_entries) > _MOST_ENTRIES:
                _entries.pop(next(iter(_entries)), None)
    return entry.run([array._data for array in arrays])


def _leaked(item: Tracer) -> Any:
    with enter(Trace("eager")) as trace:
        return trace.expr(item)


def _traced(fn: Any, form: Any, leaves: list[Any], arrays: list[Array], places: list[int]) -> _Entry:
    trace = Trace(getattr(fn, "__name__", "operation"))
    with enter(trace):
        params = [trace.parameter(f"x{i}", TensorType(array.shape, array.dtype), array.weak) for i, array in enumerate(arrays)]
        given = list(leaves)
        for place, param in zip(places, params):
            given[place] = param
        call_args, call_kwargs = tree.unflatten(form, given)
        found, out_form = tree.flatten(fn(*call_args, **call_kwargs))
        traced, kept = outputs(found)
        exprs = [trace.expr(item) for item in traced]
    if not traced:
        return _Entry(None, out_form, kept, True)
    body = exprs[0] if len(exprs) == 1 else Tuple(exprs)
    trace.module["main"] = Function([param.variable for param in params], trace.body(body))
    few = sum(array.size for array in arrays) <= _FEW_ELEMENTS and all(_is_few(item) for item in traced)
    return _Entry(trace.module, out_form, kept, few)


def _is_few(item: Tracer) -> bool:
    count = 1
    for extent in item._type.shape:
        count *= extent if isinstance(extent, int) else 1
    return count <= _FEW_ELEMENTS
