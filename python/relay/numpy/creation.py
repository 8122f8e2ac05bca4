"""Arrays from nothing, from numbers and from arrays of others."""

from __future__ import annotations

import math

import numpy as np

from .._core import NDArray
from ..functions.array import Array, Tracer, asarray as concrete
from ..functions.dtypes import as_dtype, default_of, kind_of_scalar
from ..functions.trace import current
from ._common import Any, Size, cast, emit, extents, is_array, is_scalar, lift, number, operation, sized
from .elementwise import add, multiply

__all__ = [
    "arange", "array", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "identity", "linspace", "meshgrid", "ones", "ones_like",
    "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip


def require_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"the only device is 'cpu', not {device!r}")


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """An array of a number, nested lists or an array of any library. An array of NumPy is copied unless `copy` is False."""
    require_device(device)
    if current() is not None:
        return _lifted(obj, dtype=dtype)
    if type(obj) is Array:
        return _converted(obj, dtype=dtype) if dtype is not None and as_dtype(dtype) != obj.dtype else Array(obj._data) if obj.weak else obj
    if isinstance(obj, (np.ndarray, np.generic, NDArray)) or (is_array(obj) and not isinstance(obj, Tracer)):
        made = concrete(obj)
        if dtype is not None and as_dtype(dtype) != made.dtype:
            if copy is False:
                raise ValueError(f"an array of {made.dtype} becomes no array of {as_dtype(dtype)} without a copy")
            return _converted(made, dtype=dtype)
        return made if copy is False or not isinstance(made._data, np.ndarray) else Array(made._data.copy())
    if copy is False:
        raise ValueError("numbers and lists become an array by a copy alone")
    return _converted(obj, dtype=dtype)


def _lifted(obj: Any, dtype: Any = None) -> Any:
    found = lift(obj, None if dtype is None else as_dtype(dtype))
    return cast(found, default_of(found.dtype.kind) if dtype is None else as_dtype(dtype)) if found.weak else found


_converted = operation(_lifted)


def array(obj: Any, dtype: Any = None, copy: bool | None = True) -> Any:
    """`asarray`, under NumPy's name."""
    return asarray(obj, dtype=dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array of another library, which shares its memory."""
    require_device(device)
    if isinstance(x, Tracer):
        return x
    made = concrete(x)
    return Array(made._data.copy()) if copy else made


@operation
def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """One value everywhere."""
    require_device(device)
    if dtype is None and is_scalar(fill_value):
        dtype = default_of(kind_of_scalar(fill_value))
    value = lift(fill_value, None if dtype is None else as_dtype(dtype))
    return sized("full" if not value.ndim else "broadcast_to", [value], extents(shape))


@operation
def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros."""
    return full(shape, number(0, as_dtype(dtype or "float32")), device=device)


@operation
def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones."""
    return full(shape, number(1, as_dtype(dtype or "float32")), device=device)


@operation
def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros: no memory of Relay is without a value."""
    return zeros(shape, dtype=dtype, device=device)


@operation
def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """One value everywhere, in the shape and dtype of another array."""
    value = lift(x)
    return full(value.shape, fill_value, dtype=as_dtype(dtype) if dtype is not None else value.dtype, device=device)


@operation
def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros in the shape and dtype of another array."""
    return full_like(x, 0, dtype=dtype, device=device)


@operation
def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones in the shape and dtype of another array."""
    return full_like(x, 1, dtype=dtype, device=device)


@operation
def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros in the shape and dtype of another array."""
    return full_like(x, 0, dtype=dtype, device=device)


@operation
def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Any:
    """start, start + step, … before stop; from 0 if there is one number alone. The numbers are static, but stop may be an extent."""
    require_device(device)
    first, last = (0, start) if stop is None else (start, stop)
    if isinstance(last, Size):
        if (first, step) != (0, 1):
            raise ValueError("an arange up to an extent that is not known begins at 0 and has steps of 1")
        return _counted(last, as_dtype(dtype or "int32"))
    numbers = [_static(item) for item in (first, last, step)]
    kind = "float" if any(isinstance(item, float) for item in numbers) else "int"
    wanted = as_dtype(dtype) if dtype is not None else default_of(kind)
    if numbers[2] == 0:
        raise ValueError("arange: the step is 0")
    count = max(0, math.ceil((numbers[1] - numbers[0]) / numbers[2]))
    if kind == "int":
        wide = np.arange(count, dtype="int64") * int(numbers[2]) + int(numbers[0]) if _small(numbers) else np.arange(*numbers, dtype="uint64")
    else:
        wide = np.arange(count, dtype="float64") * numbers[2] + numbers[0]
    return lift(Array(wide), wanted) if wanted != Array(wide).dtype else lift(Array(wide))


def _small(numbers: Any) -> bool:
    return all(-(2**63) <= item < 2**63 for item in numbers)


def _counted(extent: Size, dtype: Any) -> Any:
    from .reductions import cumulative_sum

    counted = cumulative_sum(full((extent,), 1, dtype=dtype), dtype=dtype)
    return add(counted, number(-1, dtype))


def _static(value: Any) -> Any:
    if isinstance(value, Tracer):
        from ._common import TraceError

        raise TraceError("the numbers of arange must be known while a function is traced: make the argument static (static_argnames)")
    return value if isinstance(value, float) else value.item() if hasattr(value, "item") else int(value)


@operation
def linspace(start: Any, stop: Any, /, num: int = 50, *, dtype: Any = None, device: Any = None, endpoint: bool = True) -> Any:
    """`num` numbers from start to stop, evenly spread."""
    require_device(device)
    wanted = as_dtype(dtype or "float32")
    wide = "float64" if wanted.kind == "float" else wanted
    if is_scalar(start) and is_scalar(stop):
        return lift(Array(np.linspace(start, stop, num, endpoint=endpoint)), wanted)
    steps = max(num - 1 if endpoint else num, 1)
    first, last = lift(start, wide), lift(stop, wide)
    turns = lift(Array(np.arange(num) / steps), wide)
    made = add(multiply(first, add(1, multiply(turns, -1))), multiply(last, turns))
    return cast(made, wanted)


@operation
def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Any:
    """Ones on a diagonal, zeros elsewhere."""
    require_device(device)
    return lift(Array(np.eye(n_rows, n_cols, k=k, dtype="float32")), as_dtype(dtype or "float32"))


def identity(n: int, *, dtype: Any = None) -> Any:
    """Ones on the main diagonal of a square, zeros elsewhere."""
    return eye(n, dtype=dtype)


@operation
def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """Coordinates of a grid from those of its axes."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', not {indexing!r}")
    values = [lift(one) for one in arrays]
    return list(emit("meshgrid", values, indexing=indexing)) if values else []


def _triangle(x: Any, k: int, upper: bool) -> Any:
    value = lift(x)
    if value.ndim < 2:
        raise ValueError(f"a triangle is of matrices, not of an array of rank {value.ndim}")
    return emit("trilu", value, number(k, "int32"), upper=upper)


@operation
def tril(x: Any, /, *, k: int = 0) -> Any:
    """The lower triangle of matrices, up to diagonal k; zeros elsewhere."""
    return _triangle(x, k, False)


@operation
def triu(x: Any, /, *, k: int = 0) -> Any:
    """The upper triangle of matrices, from diagonal k on; zeros elsewhere."""
    return _triangle(x, k, True)
