"""Learning rates over time. A schedule maps the number of updates made so far, a scalar of int64, to a rate, a scalar of float64.

Both are expressions, so that the rate is computed in the program. Rates are those that PyTorch's scheduler of the same kind gives
when it is stepped after each update.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Callable, Sequence

from .._checks import shown
from .._core import Expr
from ..expr import const
from ..op.tensor import (
    add, cast, cos, divide, floor_divide, greater_equal, less, maximum, minimum, multiply, power, subtract, where,
)  # fmt: skip

__all__ = ["Schedule", "constant", "cosine", "exponential", "multi_step", "schedule_of", "step", "warm_up"]

Schedule = Callable[[Expr], Expr]


def _number(name: str, value: Any, positive: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):  # which NumPy's numbers are, too
        raise TypeError(f"{name} is a number, not {value!r}")
    if not math.isfinite(value) or value < 0 or (positive and value == 0):
        raise ValueError(f"{name} is a finite number {'above 0' if positive else 'of 0 or more'}, not {value!r}")
    return float(value)


def _steps(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} is a number of updates, an integer, not {value!r}")
    if not 1 <= int(value) < 2**53:
        raise ValueError(f"{name} is a number of updates, 1 or more, not {value}")
    return int(value)


def _f64(value: float) -> Expr:
    return const(float(value), "float64")


class _Made:
    """A schedule of a function of this module, which is pickled and copied as the call that made it."""

    def __init__(self, at: Schedule, maker: Callable[..., Schedule], *args: Any) -> None:
        self._at, self._maker, self._args = at, maker, args

    def __call__(self, t: Expr) -> Expr:
        return self._at(t)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._maker, self._args


def schedule_of(rate: Any, name: str = "rate") -> Schedule:
    """A schedule as it is; a number as a constant one. `name` is what messages call it."""
    if callable(rate):
        return rate  # type: ignore[no-any-return]
    if not isinstance(rate, Real):
        weights = ": an optimiser holds no weights. Its init and update take them" if name == "lr" else ""
        raise TypeError(f"{name} is a number or a schedule, not {shown(rate)}{weights}")
    return constant(_number(name, rate))


def constant(rate: float) -> Schedule:
    """The same rate at all times."""
    value = _number("rate", rate)
    return _Made(lambda _: _f64(value), constant, value)


def step(rate: float, step_size: int, gamma: float = 0.1) -> Schedule:
    """`rate`, times `gamma` after each `step_size` updates (StepLR)."""
    value, size, factor = _number("rate", rate), _steps("step_size", step_size), _number("gamma", gamma)
    at = lambda t: multiply(_f64(value), power(_f64(factor), cast(floor_divide(t, const(size, "int64")), "float64")))  # noqa: E731
    return _Made(at, step, value, size, factor)


def multi_step(rate: float, milestones: Sequence[int], gamma: float = 0.1) -> Schedule:
    """`rate`, times `gamma` from each of the given numbers of updates on (MultiStepLR)."""
    value, factor = _number("rate", rate), _number("gamma", gamma)
    places = [_steps("a milestone", place) for place in milestones]

    def at(t: Expr) -> Expr:
        result = _f64(value)
        for place in places:
            result = multiply(result, where(greater_equal(t, const(place, "int64")), _f64(factor), _f64(1)))
        return result

    return _Made(at, multi_step, value, places, factor)


def exponential(rate: float, gamma: float) -> Schedule:
    """`rate`, times `gamma` after each update (ExponentialLR)."""
    value, factor = _number("rate", rate), _number("gamma", gamma)
    return _Made(lambda t: multiply(_f64(value), power(_f64(factor), cast(t, "float64"))), exponential, value, factor)


def cosine(rate: float, steps: int, final: float = 0.0) -> Schedule:
    """From `rate` to `final` along half a wave of `steps` updates, and `final` from then on (CosineAnnealingLR up to T_max)."""
    value, count, end = _number("rate", rate), _steps("steps", steps), _number("final", final)

    def at(t: Expr) -> Expr:
        turned = divide(cast(minimum(t, const(count, "int64")), "float64"), _f64(count))
        share = multiply(add(cos(multiply(turned, _f64(math.pi))), _f64(1)), _f64(0.5))
        return add(_f64(end), multiply(_f64(value - end), share))

    return _Made(at, cosine, value, count, end)


def warm_up(after: Schedule | float, steps: int, start_factor: float = 0.0) -> Schedule:
    """From `start_factor` times the first rate of `after` straight to that rate in `steps` updates, then as `after` from its beginning
    (SequentialLR of LinearLR and another)."""
    rest, count, start = schedule_of(after), _steps("steps", steps), _number("start_factor", start_factor)

    def at(t: Expr) -> Expr:
        share = divide(cast(t, "float64"), _f64(count))
        factor = add(_f64(start), multiply(_f64(1 - start), share))
        rising = multiply(rest(const(0, "int64")), factor)
        later = rest(maximum(subtract(t, const(count, "int64")), const(0, "int64")))
        return where(less(t, const(count, "int64")), rising, later)

    return _Made(at, warm_up, rest, count, start)
