"""Tracing: Python code runs on arrays without values, and every operation on them becomes a node of a program."""

from __future__ import annotations

import threading
from typing import Any, Sequence

from .. import _core
from .._core import Call, Constant, Dim, Expr, IRModule, Kind, Let, NDArray, RelayError, TensorType, Tuple, TupleGetItem, TupleType, Type, TypeVar, Var
from ..expr import const
from .dtypes import DTYPES, DType
from .places import TraceError, located, place, span

__all__ = ["Lanes", "Size", "Trace", "current", "emit", "emit_tuple", "enter", "wrap"]


class _State(threading.local):
    trace: Trace | None = None


_state = _State()


def current() -> Trace | None:
    """The function that this thread traces now; None outside of any."""
    return _state.trace


class Lanes:
    """The lanes of the outermost `vmap` around a function."""

    def __init__(self, keep: bool) -> None:
        self.keep = keep  # lanes inside of these leave gradients as calls
        self.nested = False  # there are lanes inside


class Trace:
    """One function that is traced. Functions inside of it, such as bodies of loops, have traces of their own."""

    def __init__(self, name: str, parent: Trace | None = None) -> None:
        self.name = name
        self.parent = parent
        # Inside of a function that `vmap` makes one of many lanes.
        self.lanes: Lanes | None = None if parent is None else parent.lanes
        self.module: IRModule = IRModule() if parent is None else parent.module
        self.finished = False
        # Values from outside that this function reads, each with the parameter that brings it in.
        self.captured: dict[Expr, Var] = {}
        self.constants: dict[int, tuple[Any, Constant]] = {} if parent is None else parent.constants
        # What has effects and is read in several places, such as a gradient that uses references: lets of the body, in order.
        self.shared: list[tuple[Var, Expr]] = []

    def parameter(self, name: str, type_: TensorType, weak: bool = False) -> Any:
        """A new parameter, as a traced array."""
        return wrap(self, Var(name, type_, span()), type_, weak)

    def once(self, expr: Expr, acts: bool | None = None) -> Expr:
        """An expression to be read in several places: a variable of the body if it has effects, which `acts` says if it is known."""
        if not (_core.has_effect(expr, self.module) if acts is None else acts):
            return expr
        var = Var("found", type_of(self, expr), span())
        self.shared.append((var, expr))
        return var

    def body(self, expr: Expr, since: int = 0) -> Expr:
        """An expression below the lets of what was shared from the `since`-th on, which end with it."""
        for var, value in reversed(self.shared[since:]):
            expr = Let(var, value, expr, span())
        del self.shared[since:]
        return expr

    def expr(self, value: Any) -> Expr:
        """The expression of a traced array in this function. A value from a function around it comes in as a parameter."""
        if value._trace is self:
            return value._expr  # type: ignore[no-any-return]
        if not self._is_inside(value._trace):
            raise TraceError(_leaked(value))
        assert self.parent is not None
        outer = self.parent.expr(value)
        if isinstance(outer, Constant):
            return outer
        if outer not in self.captured:
            type_ = value._type
            self.captured[outer] = Var(f"from_{self.parent.name}", type_, span())
        return self.captured[outer]

    def _is_inside(self, other: Trace) -> bool:
        up: Trace | None = self
        while up is not None and up is not other:
            up = up.parent
        return up is not None

    def constant(self, array: Any) -> Any:
        """A concrete array as a traced one: a constant of the program."""
        known = self.constants.get(id(array))
        if known is None:
            data = array._data
            known = self.constants[id(array)] = (array, Constant(data if isinstance(data, NDArray) else NDArray(data)))
        return wrap(self, known[1], TensorType(array.shape, array.dtype), array.weak)


def _leaked(value: Any) -> str:
    name, line, function = value._origin
    return (
        f"a traced array of {value._text()} was kept after the function {value._trace.name} was traced, and is used now. It stands for a value "
        "only while that function is traced: return it instead of storing it in a global, an attribute or a list"
        + (f'. It was made at "{name}", line {line}, in {function}' if line else "")
    )


class enter:  # noqa: N801 (a with block)
    """Traces with a trace inside of a with block; the trace is finished at its end."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> Trace:
        self.before = _state.trace
        _state.trace = self.trace
        return self.trace

    def __exit__(self, *_: Any) -> None:
        _state.trace = self.before
        self.trace.finished = True


def wrap(trace: Trace, expr: Expr, type_: Type, weak: bool = False) -> Any:
    """An expression as a traced array; one of a tuple as a tuple of them."""
    from .array import Tracer

    if isinstance(type_, TupleType):
        return tuple(wrap(trace, TupleGetItem(expr, i), field, weak) for i, field in enumerate(type_.fields))
    assert isinstance(type_, TensorType)
    return Tracer(trace, expr, type_, weak, place())


def type_of(trace: Trace, expr: Expr) -> Type:
    """The type of an expression. An error names the user's line."""
    try:
        return _core.infer_expr_type(expr, trace.module)
    except RelayError as error:
        raise located(error) from None


def closed(expr: Expr) -> Expr:
    """An expression that somebody gives a function which is traced. Raises TraceError if it has variables, for they are no arguments of that."""
    free = _core.free_vars(expr)
    if free:
        raise TraceError(f"an expression of the variable %{free[0].name_hint} stands beside traced arrays, whose function has no such variable")
    return expr


def emit(name: str, *operands: Any, weak: bool = False, **attrs: Any) -> Any:
    """Calls an operator. Operands are traced arrays, expressions, or lists of those; the result is a traced array or a tuple of them."""
    trace = _state.trace
    assert trace is not None
    args = [_operand(trace, operand) for operand in operands]
    try:
        made: Any = _core.call_op(name, *args, **attrs)
    except RelayError as error:
        raise located(error) from None
    call = Call(made.op, made.args, made.attrs, span=span())
    return wrap(trace, call, type_of(trace, call), weak)


def _operand(trace: Trace, operand: Any) -> Expr:
    if isinstance(operand, (list, tuple)):
        return Tuple([_operand(trace, item) for item in operand])
    return operand if isinstance(operand, Expr) else trace.expr(operand)


def emit_tuple(expr: Expr, weak: Sequence[bool]) -> list[Any]:
    """The fields of an expression that is a tuple of tensors, as traced arrays. The expression runs once."""
    trace = _state.trace
    assert trace is not None
    type_ = type_of(trace, expr)
    assert isinstance(type_, TupleType)
    return [wrap(trace, TupleGetItem(expr, i), field, weak[i]) for i, field in enumerate(type_.fields)]


def retyped(value: Any, shape: Sequence[Any]) -> Any:
    """The same array, known to have extents; the run fails if it has not."""
    trace = _state.trace
    assert trace is not None
    type_ = TensorType([dim_of(extent) for extent in shape], value.dtype)
    var = Var("sized", type_, span())
    return wrap(trace, Let(var, trace.expr(value), var), type_, value.weak)


class Size:
    """An extent that is known at run time alone. Sums and products with integers are sizes; beside arrays it is an int64."""

    __slots__ = ("dim", "_make")

    def __init__(self, dim: Dim, make: Any) -> None:
        self.dim = dim
        self._make = make

    def array(self) -> Any:
        """The extent as a traced array of rank 0."""
        return self._make()

    def _with(self, other: Any, name: str, swap: bool = False) -> Any:
        if isinstance(other, Size):
            dim = other.dim
        elif isinstance(other, int) and not isinstance(other, bool):
            dim = Dim(other)
        else:
            return NotImplemented
        left, right = (dim, self.dim) if swap else (self.dim, dim)
        found = _ON_DIMS[name](left, right)
        first, second = (other, self) if swap else (self, other)

        def make() -> Any:
            return emit(name, _scalar(first), _scalar(second), weak=True)

        return found if isinstance(found, int) else Size(found, make)

    def __add__(self, other: Any) -> Any:
        return self._with(other, "add")

    def __radd__(self, other: Any) -> Any:
        return self._with(other, "add", True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, "subtract")

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, "subtract", True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, "multiply")

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, "multiply", True)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, "floor_divide")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, "floor_divide", True)

    def __mod__(self, other: Any) -> Any:
        return self._with(other, "floor_mod")

    def __truediv__(self, other: Any) -> Any:
        return self.array() / (other.array() if isinstance(other, Size) else other)

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.array()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and not self.dim.is_any and self.dim == other.dim

    def __hash__(self) -> int:
        return hash(self.dim)

    def _refuse(self, *_: Any) -> Any:
        raise TraceError(
            f"the extent {self.dim} is not known while a function is traced: it is any number that the caller has. It can be an extent of other "
            "arrays and a number beside arrays (x.shape[0].array()), but no number of Python"
        )

    __index__ = __int__ = __float__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _refuse

    def __repr__(self) -> str:
        return str(self.dim)


_ON_DIMS: dict[str, Any] = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "floor_divide": lambda a, b: a // b,
    "floor_mod": lambda a, b: a % b,
}  # fmt: skip


def _scalar(extent: Any) -> Any:
    return extent.array() if isinstance(extent, Size) else const(int(extent), "int64")


def dim_of(extent: Any) -> Any:
    """An extent for a type: a number, a term of names, or `?`."""
    return extent.dim if isinstance(extent, Size) else extent if isinstance(extent, int) else Dim.any()


def sizes_of(value: Any) -> tuple[Any, ...]:
    """The extents of a traced array: numbers, and sizes for those that are known at run time alone."""
    return tuple(
        extent if isinstance(extent, int) else Size(extent, lambda axis=axis: size_at(value, axis))
        for axis, extent in enumerate(value._type.shape)
    )


def size_at(value: Any, axis: int) -> Any:
    """An extent as a traced array of rank 0, read when the program runs."""
    return emit("take", emit("shape_of", value, dtype="int64"), const(axis, "int64"), axis=0, weak=True)


def vector_of(extents: Sequence[Any]) -> Any:
    """Extents as a vector of int64, for operators that take them as an argument."""
    parts: list[Any] = []
    for extent in extents:
        if isinstance(extent, int):
            parts.append(const([extent], "int64"))
        else:
            value = extent.array() if isinstance(extent, Size) else emit("cast", extent, dtype="int64")
            parts.append(emit("reshape", value, newshape=[1]))
    return emit("concatenate", parts, axis=0) if parts else const([], "int64")


def named(name: str, known: dict[str, Dim]) -> Dim:
    """The dimension of a name, the same one for all parameters of a function."""
    if name not in known:
        known[name] = Dim(TypeVar(name, Kind.ShapeVar))
    return known[name]


def dtype_of(type_: TensorType) -> DType:
    """The dtype of a type as a value."""
    return DTYPES[str(type_.dtype)]
