"""What rewritten statements ask: on values of Python they do as Python does, on traced arrays they build control flow."""

from __future__ import annotations

import builtins
import functools
from typing import Any, Callable, Sequence

from . import control, tree
from .array import BaseArray, Tracer
from .objects import Watch
from .places import TraceError
from .trace import Size, current

__all__ = ["Undefined", "and_", "for_", "if_", "if_else", "not_", "or_", "plain", "range_", "returned", "undefined", "while_"]


class Undefined:
    """The value of a local variable that has none yet. Its use is Python's UnboundLocalError."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Undefined)

    def __hash__(self) -> int:
        return 0

    def _raise(self, *_: Any, **__: Any) -> Any:
        raise UnboundLocalError(f"local variable {self.name!r} is used before it has a value, or was given one in one branch alone")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._raise()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _raise
    __matmul__ = __rmatmul__ = __mod__ = __floordiv__ = __neg__ = __getitem__ = __call__ = __iter__ = __len__ = __bool__ = _raise
    __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = __index__ = __float__ = __int__ = _raise


def undefined(name: str) -> Undefined:
    """A local variable without a value."""
    return Undefined(name)


def _decides(test: Any) -> bool:
    return isinstance(test, Tracer) and current() is not None


def if_(test: Any, then: Any, otherwise: Any, get: Any, put: Any, names: Sequence[str], used: Sequence[str]) -> None:
    """An `if` without return. `used` are the names that are read later: the others may differ on both sides."""
    if not _decides(test):
        (then if test else otherwise)()
        return
    before = get()

    def side(body: Callable[[], None]) -> Callable[[], Any]:
        def run() -> Any:
            put(before)
            body()
            return get()

        return run

    try:
        sides = control.Sides(test, side(then), side(otherwise), put.__closure__ or ())
    finally:
        put(before)
    made: list[Any] = []
    for name, a, b in zip(names, sides.first, sides.second):
        if a is not b and (isinstance(a, Undefined) or isinstance(b, Undefined) or not (name in used or _fits(sides, a, b))):
            # It has a value on one side alone, and must not be read.
            made.append(functools.partial(Undefined, name))
        else:
            made.append(sides.add(a, b, name))
    sides.emit()
    put(tuple(value() for value in made))


def _fits(sides: control.Sides, a: Any, b: Any) -> bool:
    (x, form), (y, other) = sides.trees(a, b)
    return form == other and all(_same(one, two) for one, two in zip(x, y))


def _same(a: Any, b: Any) -> bool:
    arrays = control._is_value(a), control._is_value(b)
    if arrays == (True, True):
        return [*map(str, getattr(a, "shape", ()))] == [*map(str, getattr(b, "shape", ()))]
    return arrays == (False, False) and (a is b or a == b)


def _labels(names: Sequence[str], values: dict[str, Any]) -> list[str]:
    return [path for name in names for path in tree.paths(values[name], name)]


def returned(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], get: Any, put: Any) -> Any:
    """An `if` both of whose sides return."""
    if not _decides(test):
        return then() if test else otherwise()
    before = get()

    def side(body: Callable[[], Any]) -> Any:
        put(before)
        return body()

    return control.choose(test, lambda: side(then), lambda: side(otherwise), put.__closure__ or ())


def if_else(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """`a if test else b`."""
    if not _decides(test):
        return then() if test else otherwise()
    return control.choose(test, then, otherwise)


def and_(first: Any, second: Callable[[], Any]) -> Any:
    """`first and second`: for traced arrays of bool, and of the truth of both."""
    if not _decides(first):
        return first and second()
    return _both("logical_and", first, second, True)


def or_(first: Any, second: Callable[[], Any]) -> Any:
    """`first or second`."""
    if not _decides(first):
        return first or second()
    return _both("logical_or", first, second, False)


def _both(name: str, first: Any, second: Callable[[], Any], goes_on: bool) -> Any:
    """Both operands are computed; what the second one does to objects happens where Python would compute it."""
    from .. import numpy

    def nothing() -> None:
        return None

    sides = control.Sides(first, *((second, nothing) if goes_on else (nothing, second)))
    sides.emit()
    other = sides.first if goes_on else sides.second
    return getattr(numpy, name)(control.scalar_truth(first, "an operand of and and or"), control.scalar_truth(other, "an operand of and and or"))


def not_(value: Any) -> Any:
    """`not value`."""
    if not _decides(value):
        return not value
    from .. import numpy

    return numpy.logical_not(control.scalar_truth(value, "an operand of not"))


class Range:
    """`range` with a traced bound."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step

    def __iter__(self) -> Any:
        raise TraceError(
            "a loop over a range() with a traced bound is left by return, or by break or continue inside of `with` or `try`, or has an else, so that it "
            "cannot become a loop of the program: use relay.while_loop"
        )


def range_(own: Any, *args: Any) -> Any:
    """`range(…)`, if that is Python's; with traced bounds a range of the program."""
    if own is not builtins.range or not any(isinstance(one, (Tracer, Size)) for one in args):
        return own(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (args[0], args[1], args[2] if len(args) > 2 else 1)
    if not isinstance(step, int) or step == 0:
        raise TraceError("the step of range() must be a number that is known while a function is traced, and not 0")
    return Range(start, stop, step)


def plain(over: Any) -> Any:
    """What a loop goes through that Python runs itself."""
    return over


def _carried(get: Any, put: Any, names: Sequence[str], used: Sequence[str]) -> tuple[list[str], Any, Any]:
    """The names that a loop carries: those with a value that something reads. The others begin each turn without one."""
    start = dict(zip(names, get()))
    kept = [name for name in names if name in used and not isinstance(start[name], Undefined)]

    def set_(values: Any) -> None:
        now = {**{name: Undefined(name) for name in names}, **dict(zip(kept, values))}
        put(tuple(now[name] for name in names))

    def get_() -> Any:
        now = dict(zip(names, get()))
        return tuple(now[name] for name in kept)

    return kept, set_, get_


def while_(test: Callable[[], Any], body: Callable[[], None], get: Any, put: Any, names: Sequence[str], used: Sequence[str]) -> None:
    """A `while` without return."""
    goes = test()
    if not _decides(goes):
        while goes:
            body()
            goes = test()
            if _decides(goes):
                while_(test, body, get, put, names, used)
                return
        return
    kept, set_, get_ = _carried(get, put, names, used)
    start = get_()

    def asks(state: Any) -> Any:
        set_(state)
        return test()

    def turn(state: Any) -> Any:
        set_(state)
        Watch((test, body), put.__closure__ or ()).turn(body)
        return get_()

    set_(control.loop(start, asks, turn, _labels(kept, dict(zip(kept, start)))))


def for_(over: Any, body: Callable[[Any], None], get: Any, put: Any, names: Sequence[str], used: Sequence[str], left: Any = None) -> None:
    """A `for` without return. Over a traced array, or a range with a traced bound, it is a loop of the program. `left` says if it was left."""
    if not isinstance(over, (Range, Tracer)) or current() is None:
        for item in over:
            body(item)
            if left is not None:
                ended = left()
                # If a traced array decides it, the turns that follow ask the flag.
                if not _decides(ended) and ended:
                    break
        return
    if isinstance(over, Tracer) and not over.ndim:
        raise TypeError("an array of rank 0 has no elements to go through")
    kept, set_, get_ = _carried(get, put, names, used)
    start = get_()
    first, stop, step = (over.start, over.stop, over.step) if isinstance(over, Range) else (0, over.shape[0], 1)
    begin: Any = first
    if isinstance(stop, BaseArray) and not stop.weak and not isinstance(first, BaseArray):
        from .. import numpy

        begin = numpy.full((), first, dtype=stop.dtype)

    def asks(state: Any) -> Any:
        bound = stop.array() if isinstance(stop, Size) else stop
        goes = state[0] < bound if step > 0 else state[0] > bound
        if left is None:
            return goes
        set_(state[1])
        return and_(not_(left()), lambda: goes)

    def turn(state: Any) -> Any:
        set_(state[1])
        item = state[0] if isinstance(over, Range) else over[state[0]]
        Watch((body,), put.__closure__ or ()).turn(lambda: body(item))
        return (state[0] + step, get_())

    found = control.loop((begin, start), asks, turn, ["the counter", *_labels(kept, dict(zip(kept, start)))])
    set_(found[1])
