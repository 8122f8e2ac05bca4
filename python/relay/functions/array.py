"""Arrays: `Array` has values, `Tracer` stands for one while a function is traced. Both have the same operators and methods."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from .._core import Expr, NDArray, TensorType, Var
from ..op._arrays import array_classes
from .constructs import advice
from .dtypes import DType, as_dtype, default_of, kind_of_scalar
from .places import TraceError
from .trace import Trace, dtype_of, sizes_of

__all__ = ["Array", "BaseArray", "Tracer", "asarray", "is_array", "is_scalar"]


def _names() -> Any:
    from .. import numpy

    return numpy


def is_scalar(value: Any) -> bool:
    """True for a number of Python, which takes the dtype of the array beside it."""
    return type(value) in (int, float, bool) or (isinstance(value, (int, float)) and not isinstance(value, np.generic))


def is_array(value: Any) -> bool:
    """True for arrays: ours, NumPy's, and those of any library with DLPack."""
    return isinstance(value, (BaseArray, np.ndarray, np.generic, NDArray)) or hasattr(type(value), "__dlpack__")


class BaseArray:
    """What both kinds of arrays can do."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100.0
    dtype: DType
    shape: tuple[Any, ...]
    weak: bool

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of elements."""
        count: Any = 1
        for extent in self.shape:
            count = count * extent
        return count

    @property
    def nbytes(self) -> Any:
        """The size of the elements in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> str:
        """Where the elements are: "cpu"."""
        return "cpu"

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array itself, which "cpu" holds. Raises ValueError for other devices."""
        if device != "cpu" or stream is not None:
            raise ValueError(f"the only device is 'cpu', without streams; not {device!r}")
        return self

    @property
    def T(self) -> Any:  # noqa: N802
        """The axes in the opposite order."""
        return _names().transpose(self)

    @property
    def mT(self) -> Any:  # noqa: N802
        """The last two axes changed."""
        return _names().matrix_transpose(self)

    @property
    def at(self) -> Any:
        """Changed copies: `x.at[1:3].set(0)`, `.add`, `.multiply`, `.min`, `.max`, `.get`."""
        from .indexing import At

        return At(self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version is not None and api_version not in _names().API_VERSIONS:
            raise ValueError(f"version {api_version!r} of the array API standard is not known; {', '.join(_names().API_VERSIONS)} are")
        return _names()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _names().protocols.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _names().protocols.function(func, args, kwargs)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("arrays do not change: x = x.at[index].set(value) gives a changed copy, which costs no copy where x is not used any more")

    def __getitem__(self, key: Any) -> Any:
        return _names().getitem(self, key)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("an array of rank 0 has no elements to go through")
        count = self.shape[0]
        if not isinstance(count, int):
            raise TraceError(f"a loop of Python cannot go through {count} elements, whose number is not known: use relay.scan or relay.fori_loop")
        return (self[i] for i in range(count))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of rank 0 has no length")
        return self.shape[0].__index__()  # type: ignore[no-any-return]

    def astype(self, dtype: Any, /, *, copy: bool = True) -> Any:
        """The elements in another dtype."""
        return _names().astype(self, dtype)

    def reshape(self, *shape: Any) -> Any:
        """The elements in row-major order under other extents; one may be -1."""
        return _names().reshape(self, shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order; in the opposite one by default."""
        order = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes or None
        return _names().transpose(self, order)

    def flatten(self) -> Any:
        """The elements as a vector."""
        return self.reshape(-1)

    ravel = flatten

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return _names().infix("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _names().infix("pow", other, self)


def _method(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(_names(), name)(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`relay.numpy.{name}` of the array."
    return method


def _infix(name: str, swap: bool) -> Any:
    def method(self: Any, other: Any) -> Any:
        return _names().infix(name, other, self) if swap else _names().infix(name, self, other)

    method.__doc__ = f"`relay.numpy.{name}`."
    return method


def _unary(name: str) -> Any:
    def method(self: Any) -> Any:
        return getattr(_names(), name)(self)

    method.__doc__ = f"`relay.numpy.{name}`."
    return method


array_classes.append(BaseArray)
for _python, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder",
    "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}.items():  # fmt: skip
    setattr(BaseArray, f"__{_python}__", _infix(_name, False))
    setattr(BaseArray, f"__r{_python}__", _infix(_name, True))
for _python, _name in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}.items():
    setattr(BaseArray, f"__{_python}__", _infix(_name, False))
setattr(BaseArray, "__hash__", None)
for _python, _name in {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}.items():
    setattr(BaseArray, f"__{_python}__", _unary(_name))
for _name in ("all", "any", "argmax", "argmin", "argsort", "clip", "conj", "cumprod", "cumsum", "dot", "max", "mean", "min", "nonzero", "prod", "repeat",
              "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var"):  # fmt: skip
    setattr(BaseArray, _name, _method(_name))


class Array(BaseArray):
    """An array with values. It never changes. NumPy and libraries with DLPack take it without a copy."""

    __slots__ = ("_data", "dtype", "shape", "weak", "__weakref__")

    def __init__(self, data: Any, weak: bool = False) -> None:
        if type(data) is np.ndarray and data.dtype.isnative:
            self.dtype = as_dtype(data.dtype)
            self.shape = data.shape
        else:
            array = data if isinstance(data, NDArray) else NDArray(data)
            self.dtype = as_dtype(array.dtype)
            self.shape = tuple(array.shape)
            data = array if self.dtype == "bfloat16" else array.numpy()
        self._data = data
        self.weak = weak

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self._data.astype("float32").numpy() if isinstance(self._data, NDArray) else self._data
        if array.dtype.names is not None:  # elements are numbers, but where the memory was donated
            raise RuntimeError(f"this array was {array.dtype.names[0]}")
        if copy is False and dtype is not None and array.dtype != np.dtype(dtype):
            raise ValueError(f"an array of {self.dtype} is no array of {dtype} without a copy")
        if dtype is not None and array.dtype != np.dtype(dtype):
            return array.astype(dtype)
        return array.copy() if copy else array

    def numpy(self) -> Any:
        """The elements as an array of NumPy that shares the memory, and is not to be written to."""
        array = self.__array__()
        view = array.view()
        view.flags.writeable = False
        return view

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        options = {name: value for name, value in given.items() if value is not None}
        if isinstance(self._data, NDArray):
            return self._data.__dlpack__(**options)
        self.__array__()  # which refuses an array that was given away
        if "max_version" not in options and not self._data.flags.writeable:
            return self._data.copy().__dlpack__(**options)
        return (self._data if _numpy_exports(self._data) else NDArray(self._data)).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def item(self) -> Any:
        """The only element as a number of Python."""
        return self._data.item() if isinstance(self._data, NDArray) else self.__array__().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python's numbers."""
        return self.__array__().tolist()

    def copy(self) -> Any:
        """The array itself, which does not change."""
        return self

    def block_until_ready(self) -> Any:
        """The array itself: results are there when a call returns."""
        return self

    def _number(self, what: str) -> Any:
        if self.size != 1 or self.shape:
            if self.size != 1:
                raise TypeError(f"an array of {self.size} elements is no {what}: use .all(), .any() or an element")
        return self.item()

    def __bool__(self) -> bool:
        return bool(self._number("truth value"))

    def __int__(self) -> int:
        return int(self._number("integer"))

    def __float__(self) -> float:
        return float(self._number("float"))

    def __complex__(self) -> complex:
        return complex(self._number("complex number"))

    def __index__(self) -> int:
        if self.dtype.kind not in ("int", "uint") or self.shape:
            raise TypeError(f"only an array of integers of rank 0 is an index, not one of {self.dtype}{list(self.shape)}")
        return int(self.item())

    def __repr__(self) -> str:
        text = np.array2string(self.__array__(), separator=", ", prefix="Array(")
        return f"Array({text}, dtype={self.dtype}{', weak' if self.weak else ''})"

    def __str__(self) -> str:
        return str(self.__array__())

    def __format__(self, form: str) -> str:
        return format(self.item(), form) if form and self.size == 1 else format(str(self), form)

    def __reduce__(self) -> Any:
        self.__array__()
        return Array, (self._data, self.weak)


def _numpy_exports(data: Any) -> bool:
    return bool(data.flags.writeable) and data.dtype != bool


class Tracer(BaseArray):
    """A traced array: a dtype and a shape, and the expression that computes it. It has no values before the program runs."""

    __slots__ = ("_trace", "_expr", "_type", "_origin", "dtype", "weak", "_shape")

    def __init__(self, trace: Trace, expr: Expr, type_: TensorType, weak: bool, origin: tuple[str, int, str]) -> None:
        self._trace = trace
        self._expr = expr
        self._type = type_
        self._origin = origin
        self.dtype = dtype_of(type_)
        self.weak = weak
        self._shape: tuple[Any, ...] | None = None

    @property
    def shape(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The extents: numbers, and sizes for those that only a run knows."""
        if self._shape is None:
            self._shape = sizes_of(self)
        return self._shape

    @property
    def expr(self) -> Expr:
        """The expression, for functions of the package that take expressions."""
        return self._expr

    @property
    def variable(self) -> Var:
        """The variable that a parameter is."""
        assert isinstance(self._expr, Var)
        return self._expr

    def _text(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self._type.shape))}]"

    def _refuse(self, what: str, instead: str) -> Any:
        raise TraceError(
            f"{what} of a traced array of {self._text()} is not known: it has a value only when the compiled program runs. {instead}"
        )

    def __bool__(self) -> bool:
        return self._refuse("the truth value", advice())  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return self._refuse("the number", "Make the argument static (static_argnames) if it has to be a number of Python")  # type: ignore[no-any-return]

    def __index__(self) -> int:
        return self._refuse(  # type: ignore[no-any-return]
            "the number", "An index of arrays may be traced; a shape, a bound of range() or an axis must be static (static_argnames), or use relay.fori_loop"
        )

    def __float__(self) -> float:
        return self._refuse("the number", "Use relay.numpy's functions in place of those of math and float")  # type: ignore[no-any-return]

    def __complex__(self) -> complex:
        return self._refuse("the number", "Use relay.numpy's functions")  # type: ignore[no-any-return]

    def item(self) -> Any:
        """Raises TraceError: there is no value yet."""
        return self._refuse("the element", "Return the array and look at it outside of the function")

    tolist = numpy = item

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._refuse("the array of NumPy", "Use relay.numpy's functions, or NumPy's that take arrays of others, instead of np.asarray")

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        return self._refuse("the memory", "Return the array from the function first")

    def copy(self) -> Any:
        """The array itself, which does not change."""
        return self

    def __repr__(self) -> str:
        return f"Traced<{self._text()}{', weak' if self.weak else ''}>"


def asarray(value: Any) -> Array:
    """A concrete array of an array of any library (without a copy where possible), or of a number, which is weak."""
    if type(value) is Array:
        return value
    if is_scalar(value):
        dtype = default_of(kind_of_scalar(value))
        try:
            return Array(np.asarray(value, dtype=dtype.name), weak=True)
        except OverflowError:
            raise OverflowError(f"{value} is no {dtype}, which numbers of Python are: give an array of a dtype that has it") from None
    if type(value) is np.ndarray:
        return Array(value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("=")))
    if isinstance(value, np.generic):
        return Array(np.asarray(value))
    return Array(NDArray(value))
