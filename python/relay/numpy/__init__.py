"""NumPy's functions on arrays of Relay, under the names of the array API standard and NumPy's own.

    import relay.numpy as rnp

    rnp.linspace(0, 1, 5) ** 2

The functions work on arrays with values, at once, and on those that a function of `relay.function` is traced with. The module is called
numpy because people write `jax.numpy` and `cupy` for the same purpose: a program becomes one of Relay by another import.
"""

from __future__ import annotations

import math as _math

from ..functions.array import Array as ndarray, BaseArray as _BaseArray
from ..functions.dtypes import DTYPES as _DTYPES
from . import fft, info as _info, linalg, protocols
from ._common import cast as cast, number as _number, operation as _operation
from .creation import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .info import API_VERSIONS, __array_namespace_info__, can_cast, finfo, iinfo, isdtype, issubdtype, result_type
from .linear import *  # noqa: F403
from .manipulation import *  # noqa: F403
from .more import *  # noqa: F403
from .reductions import *  # noqa: F403
from . import creation as _creation, elementwise as _elementwise, linear as _linear, manipulation as _manipulation, more as _more, reductions as _reductions
from ..functions.indexing import getitem
from .infixes import infix

# Names of NumPy.
arccos, arccosh, arcsin, arcsinh = _elementwise.acos, _elementwise.acosh, _elementwise.asin, _elementwise.asinh
arctan, arctan2, arctanh = _elementwise.atan, _elementwise.atan2, _elementwise.atanh
power, mod, absolute = _elementwise.pow, _elementwise.remainder, _elementwise.abs
amax, amin = _reductions.max, _reductions.min
invert, left_shift, right_shift = _elementwise.bitwise_invert, _elementwise.bitwise_left_shift, _elementwise.bitwise_right_shift

bool, int8, int16, int32, int64 = (_DTYPES[_name] for _name in ("bool", "int8", "int16", "int32", "int64"))  # noqa: A001
uint8, uint16, uint32, uint64 = (_DTYPES[_name] for _name in ("uint8", "uint16", "uint32", "uint64"))
float16, bfloat16, float32, float64 = (_DTYPES[_name] for _name in ("float16", "bfloat16", "float32", "float64"))
bool_ = bool

e, pi, inf, nan, newaxis = _math.e, _math.pi, _math.inf, _math.nan, None
__array_api_version__ = "2024.12"

__all__ = [
    "absolute", "amax", "amin", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "bfloat16", "bool", "bool_", "can_cast", "e",
    "fft", "finfo", "float16", "float32", "float64", "iinfo", "inf", "int16", "int32", "int64", "int8", "invert", "isdtype", "issubdtype", "left_shift",
    "linalg", "mod", "nan", "ndarray", "newaxis", "pi", "power", "result_type", "right_shift", "uint16", "uint32", "uint64", "uint8",
]  # fmt: skip
for _part in (_creation, _elementwise, _linear, _manipulation, _more, _reductions):
    __all__ += _part.__all__
