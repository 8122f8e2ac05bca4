"""NumPy's own functions on arrays of Relay: `np.sin(x)`, `np.concatenate([x, y])`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ..functions import tree
from ..functions.array import Array, Tracer
from ..functions.places import TraceError

__all__ = ["function", "ufunc"]

# Names of NumPy that stand for another name here.
_NAMES = {
    "absolute": "abs", "fabs": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "power": "pow", "float_power": "pow", "true_divide": "divide", "mod": "remainder", "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "conjugate": "conj", "rint": "round", "around": "round", "amax": "max",
    "amin": "min",
}  # fmt: skip
_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}


def _find(name: str) -> Any:
    from .. import numpy

    found = _NAMES.get(name, name)
    return getattr(numpy, found, None) if found in numpy.__all__ else None


def _by_numpy(called: Any, what: str, args: Any, kwargs: Any) -> Any:
    """A function that Relay has not, on the values of the arrays. Raises TraceError if one of them is traced."""
    leaves, form = tree.flatten((args, kwargs))
    for item in leaves:
        if isinstance(item, Tracer):
            raise TraceError(f"{what} has no counterpart in relay.numpy, and cannot be traced: call it on arrays with values, outside of the function")
    given, named = tree.unflatten(form, [np.asarray(item) if isinstance(item, Array) else item for item in leaves])
    return called(*given, **named)


def ufunc(called: Any, method: str, inputs: Any, kwargs: Any) -> Any:
    """What a ufunc of NumPy gives for arrays of Relay; NumPy itself runs those that Relay has not. Raises TypeError for `out`: arrays do not change."""
    name = called.__name__
    if any(isinstance(item, Array) for item in kwargs.get("out") or ()):
        raise TypeError(f"numpy.{name} cannot write to an array of Relay, which does not change")
    if method == "reduce" and name in _REDUCTIONS and not set(kwargs) - {"axis", "keepdims"}:
        return _find(_REDUCTIONS[name])(*inputs, axis=kwargs.get("axis", 0), keepdims=kwargs.get("keepdims", False))
    fn = _find(name) if method == "__call__" and not set(kwargs) - {"dtype"} else None
    if fn is None:
        return _by_numpy(called if method == "__call__" else getattr(called, method), f"numpy.{name}", inputs, kwargs)
    found = fn(*inputs)
    return found if kwargs.get("dtype") is None else found.astype(kwargs["dtype"])


def function(called: Any, args: Any, kwargs: Any) -> Any:
    """What a function of NumPy gives for arrays of Relay; NumPy itself runs those that Relay has not, on their values."""
    name = called.__name__
    module = getattr(called, "__module__", "numpy")
    if module.startswith("numpy.linalg"):
        from . import linalg

        fn = getattr(linalg, name, None) if name in linalg.__all__ else None
    else:
        fn = None if module.startswith("numpy.fft") else _find(name)
    given = {key: value for key, value in kwargs.items() if not (key in ("out", "initial", "where") and (value is None or repr(value) == "<no value>"))}
    if fn is None or not set(given) <= set(inspect.signature(fn).parameters):
        return _by_numpy(called, f"{module}.{name}", args, kwargs)
    return fn(*args, **given)
