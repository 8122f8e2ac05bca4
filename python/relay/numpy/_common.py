"""What the functions share: operands as traced arrays of one dtype, axes, shapes."""

from __future__ import annotations

import operator
from typing import Any, Sequence

import numpy as np

from .._core import Constant, Expr, TensorType
from ..expr import TupleWrapper, as_expr, const
from ..functions.array import Array, BaseArray, Tracer, asarray as concrete, is_array, is_scalar
from ..functions.dtypes import DTYPES, DType, as_dtype, can_hold, default_of, finfo, kind_of_scalar, promote
from ..functions.eager import operation
from ..functions.places import TraceError
from ..functions.trace import Size, closed, current, dim_of, emit, retyped, type_of, vector_of, wrap

__all__ = [
    "Any", "Sequence", "Size", "TraceError", "axes_of", "axis_of", "cast", "common", "emit", "extents", "floating", "is_array", "is_scalar", "lift", "number", "operation",
    "operands", "result_dtype", "same_shape", "scalar_like", "sized",
]  # fmt: skip


def lift(value: Any, dtype: Any = None) -> Any:
    """An array, a number or nested lists as a traced array."""
    trace = current()
    assert trace is not None
    if isinstance(value, Tracer):
        found: Any = value
    elif type(value) is Array:
        found = trace.constant(value)
    elif isinstance(value, Size):
        found = value.array()
    elif is_scalar(value):
        kind = kind_of_scalar(value)
        if dtype is not None:
            return number(value, dtype)
        wide = {"bool": "bool", "int": "int64", "float": "float64"}[kind]
        return wrap(trace, _constant(value, wide), TensorType((), wide), True)
    elif isinstance(value, (list, tuple)):
        found = _of_list(value, dtype)
    elif is_array(value):
        found = trace.constant(concrete(value))
    elif isinstance(value, (Expr, TupleWrapper)):
        found = wrap(trace, expr := closed(as_expr(value)), type_of(trace, expr))
    else:
        raise TypeError(f"an array or a number is needed, not {type(value).__name__}: {str(value)[:60]}")
    return found if dtype is None else cast(found, dtype)


def _of_list(value: Any, dtype: Any) -> Any:
    trace = current()
    assert trace is not None
    if _holds_arrays(value):
        from .manipulation import stack

        rows = [lift(item) for item in value]
        strong = common(rows)
        return stack([cast(row, strong) for row in rows])
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise TypeError(f"a list of numbers of one shape is needed, not {str(value)[:60]}")
    natural = default_of("float") if array.dtype.kind == "f" or not array.size else default_of("int") if array.dtype.kind in "iu" else DTYPES["bool"]
    if array.dtype.kind in "iu" and array.size and dtype is None and (array.max() > 2**31 - 1 or array.min() < -(2**31)):
        raise OverflowError("a number of the list is no int32, which numbers of Python are: give a dtype that has it")
    wanted = as_dtype(dtype) if dtype is not None else natural
    return trace.constant(Array(_numpy_array(array, wanted)))


def _numpy_array(array: Any, dtype: DType) -> Any:
    with np.errstate(over="ignore"):  # a float beyond the range is infinite
        if dtype == "bfloat16":
            from .._core import NDArray

            return NDArray(np.ascontiguousarray(array, dtype="float32").reshape(array.shape)).astype("bfloat16")
        return np.ascontiguousarray(array.astype(dtype.name)).reshape(array.shape)


def _holds_arrays(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_arrays(item) for item in value)
    return is_array(value) or isinstance(value, Size)


def _constant(value: Any, dtype: str) -> Constant:
    return const(value, dtype)


def number(value: Any, dtype: str) -> Any:
    """A number of Python as an array of rank 0. A float beyond the dtype's range is infinite; raises OverflowError for integers that the dtype has not got."""
    trace = current()
    assert trace is not None
    found = DTYPES[str(dtype)]
    if found.kind == "bool":
        value = bool(value)
    elif found.kind in ("int", "uint"):
        value = int(value)
    beyond = isinstance(value, float) and found.kind == "float" and abs(value) > finfo(found).max
    made = Constant(concrete(_numpy_array(np.asarray(value), found))._data) if beyond else const(value, found.name)
    return wrap(trace, made, TensorType((), found))


def cast(value: Any, dtype: Any) -> Any:
    """An array in a dtype; a weak one becomes strong."""
    wanted = DTYPES[str(dtype)]
    if value.weak and isinstance(value._expr, Constant) and not value._type.shape:
        plain = value._expr.data.item()
        if wanted.kind in ("float", "bool") or not isinstance(plain, float):
            return number(plain, wanted)
    if value.dtype == wanted:
        if not value.weak:
            return value
        trace = current()
        assert trace is not None
        return wrap(trace, trace.expr(value), value._type)
    return emit("cast", value, dtype=wanted.name)


def common(values: Sequence[Any]) -> DType:
    """The dtype in which traced arrays are computed with together."""
    strong: DType | None = None
    kinds = []
    for value in values:
        if value.weak:
            kinds.append(value.dtype.kind)
        else:
            strong = value.dtype if strong is None else promote(strong, value.dtype)
    if strong is None:
        widest: DType = max((value.dtype for value in values), key=lambda dtype: ({"bool": 0, "int": 1, "uint": 1, "float": 2}[dtype.kind], dtype.bits))
        return widest
    for kind in kinds:
        if not can_hold(strong, kind):
            strong = default_of(kind)
    return strong


def operands(*values: Any) -> tuple[list[Any], bool]:
    """Operands of one dtype, and True if all are weak, so that the result is."""
    lifted = [lift(value) for value in values]
    weak = all(value.weak for value in lifted)
    dtype = common(lifted)
    return [value if value.dtype == dtype and (weak or not value.weak) else cast(value, dtype) for value in lifted], weak


def floating(value: Any) -> Any:
    """An array of floats: integers and bool become the default dtype."""
    found = lift(value)
    if found.dtype.kind == "float":
        return found
    if found.weak:
        trace = current()
        assert trace is not None
        made = number(found._expr.data.item(), "float64") if isinstance(found._expr, Constant) else emit("cast", found, dtype="float64")
        return wrap(trace, made._expr, made._type, True)
    return cast(found, default_of("float"))


def scalar_like(value: Any, plain: Any) -> Any:
    """A number in the dtype of an array."""
    return number(plain, value.dtype)


def result_dtype(*values: Any) -> DType:
    """The common dtype of arrays, dtypes and numbers of Python."""
    strong: DType | None = None
    kinds = []
    for value in values:
        if is_scalar(value):
            kinds.append(kind_of_scalar(value))
            continue
        dtype = value.dtype if isinstance(value, BaseArray) else as_dtype(getattr(value, "dtype", value))
        if isinstance(value, BaseArray) and value.weak:
            kinds.append(dtype.kind)
        else:
            strong = dtype if strong is None else promote(strong, dtype)
    if strong is None:
        if not kinds:
            raise ValueError("result_type needs an array or a dtype")
        return default_of(max(kinds, key=["bool", "int", "uint", "float"].index))
    for kind in kinds:
        if not can_hold(strong, kind):
            strong = default_of(kind)
    return strong


def axis_of(axis: Any, rank: int, what: str = "axis") -> int:
    """An axis counted from the front. Raises IndexError outside."""
    place = _whole(axis, what)
    if not -rank <= place < rank:
        raise IndexError(f"{what} {place} is outside of an array of rank {rank}")
    return place % rank


def _whole(value: Any, what: str) -> int:
    if isinstance(value, Tracer):
        raise TraceError(f"{what} must be known while a function is traced: make the argument static (static_argnames)")
    return operator.index(value)


def axes_of(axis: Any, rank: int) -> list[int]:
    """Axes counted from the front: all of them for None."""
    if axis is None:
        return list(range(rank))
    found = [axis_of(one, rank) for one in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    if len(set(found)) != len(found):
        raise ValueError(f"an axis is named twice: {axis}")
    return found


def extents(shape: Any) -> list[Any]:
    """The extents of a shape: numbers, sizes, and traced arrays of rank 0."""
    items = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    found = []
    for item in items:
        if isinstance(item, Tracer):
            raise TraceError("an extent must be known while a function is traced, or be an extent of an argument: make the argument static (static_argnames)")
        found.append(item if isinstance(item, Size) else operator.index(item))
    return found


def sized(name: str, data: list[Any], sizes: Sequence[Any], attribute: str = "shape") -> Any:
    """Calls an operator that takes a shape: with numbers, or its dynamic form where some are known at run time alone."""
    if all(isinstance(size, int) for size in sizes):
        attributes: dict[str, Any] = {attribute: list(sizes)}
        return emit(name, *data, **attributes)
    return retyped(emit("dyn." + name, *data, vector_of(sizes)), sizes)


def same_shape(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """True if two shapes are known to be the same."""
    return len(a) == len(b) and all(dim_of(x) == dim_of(y) for x, y in zip(a, b))
