"""Functions that build expressions, on arrays of `relay.numpy`: traced ones in a function that is traced, and ones with values outside."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Sequence

from .._core import Expr, IRModule, RelayError
from ..expr import TupleWrapper, as_expr

__all__ = ["array_classes", "current_module", "over_arrays"]

# The class of arrays, once there is one: importing the package does not import NumPy.
array_classes: list[type] = []


def current_module() -> IRModule:
    """The module of the function that is traced; an empty one outside of any."""
    if not array_classes:
        return IRModule()
    from ..functions.trace import current

    trace = current()
    return IRModule() if trace is None else trace.module


def _found(values: Any, classes: Any) -> bool:
    return any(isinstance(value, classes) or (type(value) in (list, tuple) and _found(value, classes)) for value in values)


def _mapped(value: Any, fn: Callable[[Any], Any]) -> Any:
    return type(value)(_mapped(item, fn) for item in value) if type(value) in (list, tuple) else fn(value)


def over_arrays(names: dict[str, Any], exported: Sequence[str]) -> None:
    """Makes the functions among `exported` of a module take arrays in place of expressions; then they give arrays, too."""
    for name in exported:
        if callable(names[name]) and not isinstance(names[name], type):
            names[name] = _over_arrays(names[name])


@functools.cache
def _numbers(fn: Callable[..., Any]) -> frozenset[int | str]:
    """Positions and names of the parameters that are numbers of Python, and never arrays."""
    parameters = inspect.signature(fn).parameters.values()
    return frozenset(key for i, one in enumerate(parameters) if one.annotation in ("float", "int") for key in (i, one.name))


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    import numpy as np

    return value.item() if isinstance(value, (np.floating, np.integer)) else value


def _over_arrays(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        classes = tuple(array_classes)
        if not classes or not (_found(args, classes) or (kwargs and _found(kwargs.values(), classes))):
            return fn(*args, **kwargs)
        numbers = _numbers(fn)
        args = tuple(_plain(value) if position in numbers else value for position, value in enumerate(args))
        kwargs = {name: _plain(value) if name in numbers else value for name, value in kwargs.items()}
        from ..functions.trace import current

        if current() is not None:
            return traced(*args, **kwargs)
        # Beside expressions, which wait for a program, an array is a constant.
        if _found([*args, *kwargs.values()], (Expr, TupleWrapper)):
            return fn(*args, **kwargs)
        from ..functions.eager import operation

        return operation(traced)(*args, **kwargs)

    @functools.wraps(fn)
    def traced(*args: Any, **kwargs: Any) -> Any:
        from ..functions.eager import narrowed
        from ..functions.places import located
        from ..functions.trace import closed, current, type_of, wrap
        from ..numpy._common import lift

        trace = current()
        assert trace is not None
        classes = tuple(array_classes)

        def expr_of(value: Any) -> Any:
            if isinstance(value, (Expr, TupleWrapper)):
                return closed(as_expr(value))
            if not isinstance(value, classes):
                return value
            lifted = lift(value)
            return trace.expr(narrowed(lifted) if lifted.weak else lifted)

        def array_of(value: Any) -> Any:
            return wrap(trace, as_expr(value), type_of(trace, as_expr(value))) if isinstance(value, (Expr, TupleWrapper)) else value

        try:
            made = fn(*(_mapped(value, expr_of) for value in args), **{name: _mapped(value, expr_of) for name, value in kwargs.items()})
        except RelayError as error:
            raise located(error) from None
        return _mapped(made, array_of)

    return call
