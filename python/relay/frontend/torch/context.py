"""The tools of converters: values that know PyTorch's dtype and shape, calls that know their place, extents as expressions."""

from __future__ import annotations

import math
import os
import re
from typing import Any, Callable, Sequence

import sympy
import torch

from ... import _core
from ..._core import Call, Constant, Dim, Expr, Function, Kind, NDArray, Span, TensorType, Tuple, TupleGetItem, TypeVar, Var
from ...expr import const
from ...functions.places import line_span
from ...gradients import vjp

__all__ = ["Context", "Later", "Value", "dtype_of", "place_of"]

_DTYPES = {
    torch.float32: "float32", torch.float64: "float64", torch.float16: "float16", torch.bfloat16: "bfloat16", torch.bool: "bool",
    torch.int8: "int8", torch.int16: "int16", torch.int32: "int32", torch.int64: "int64", torch.uint8: "uint8", torch.uint16: "uint16",
    torch.uint32: "uint32", torch.uint64: "uint64",
}  # fmt: skip

_TORCH = os.path.dirname(torch.__file__) + os.sep
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def dtype_of(dtype: torch.dtype) -> str:
    """Relay's name of a dtype. Raises NotImplementedError for those that Relay has not."""
    if dtype not in _DTYPES:
        raise NotImplementedError(f"dtype {dtype} is not supported")
    return _DTYPES[dtype]


def place_of(node: Any) -> Span:
    """The user's line that a node of a graph comes from: the innermost frame outside of PyTorch, else the innermost one."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    if not frames:
        return Span()
    own = [frame for frame in frames if not frame[0].startswith((_TORCH, "torch/"))] or frames
    name, line = own[-1]
    return line_span(name, int(line))


class Value:
    """An expression and the tensor that PyTorch says it is."""

    __slots__ = ("expr", "meta")

    def __init__(self, expr: Expr, meta: torch.Tensor) -> None:
        self.expr = expr
        self.meta = meta

    @property
    def dtype(self) -> str:
        """Relay's dtype."""
        return dtype_of(self.meta.dtype)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self.meta.dim()

    @property
    def shape(self) -> list[Any]:
        """Extents, whole numbers or PyTorch's symbolic ones."""
        return list(self.meta.shape)

    @property
    def floating(self) -> bool:
        """True for a tensor of floats."""
        return self.meta.dtype.is_floating_point

    def axis(self, axis: int) -> int:
        """An axis counted from the front."""
        return axis % max(self.rank, 1)

    def axes(self, axes: Any) -> list[int]:
        """Axes counted from the front; all of them for None and for an empty list."""
        if isinstance(axes, int):
            axes = [axes]
        return [self.axis(axis) for axis in axes] if axes else list(range(self.rank))


class Later:
    """A result that is made when somebody uses it, because it costs much and mostly nobody does; `make` may raise NotImplementedError."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Expr]) -> None:
        self.make = make


class Context:
    """One conversion: symbols and their expressions, and the node that is converted: its operator's `name`, `out`, its tensor or tuple of tensors."""

    def __init__(self) -> None:
        self.span = Span()
        self.name = ""
        self.out: Any = None
        self.names: dict[Any, Dim] = {}
        self.words: dict[Any, str] = {}  # symbols that a person gave a name
        self.extents: dict[Any, Expr] = {}
        self.own: dict[str, Any] = {}  # converters that the caller gave, by name of the operator

    # Calls

    def call(self, name: str, *args: Any, **attrs: Any) -> Expr:
        """A call of an operator at the place of the node."""
        made = _core.call_op(name, *(self.expr(arg) for arg in args), **attrs)
        return Call(made.op, made.args, made.attrs, span=self.span)

    def expr(self, value: Any) -> Any:
        """The expression of a value, of a tuple of values, or what is given."""
        if isinstance(value, Value):
            return value.expr
        if isinstance(value, (list, tuple)):
            return Tuple([self.expr(item) for item in value])
        return value

    def plain(self, value: Any) -> Any:
        """What converters of others take: an expression, a number, a text or None; a dtype is its name."""
        if isinstance(value, torch.SymInt):
            return self.extent(value)
        return dtype_of(value) if isinstance(value, torch.dtype) else self.expr(value) if isinstance(value, Value) else value

    def const(self, value: Any, dtype: str) -> Expr:
        """A scalar constant of a number; an extent is cast."""
        if isinstance(value, Value):
            return self.cast(value, dtype)
        if isinstance(value, torch.SymInt):
            value = self.extent(value)
        if isinstance(value, Expr):
            return self.call("cast", value, dtype=dtype)
        if not dtype.startswith(("float", "bfloat")):
            value = bool(value) if dtype == "bool" else int(value)
        return const(value, dtype, self.span)

    def cast(self, value: Value, dtype: str) -> Expr:
        """The value in a dtype."""
        return value.expr if value.dtype == dtype else self.call("cast", value, dtype=dtype)

    def operand(self, value: Any, dtype: str) -> Expr:
        """A tensor or a number as an operand of an elementwise operator of a dtype."""
        return self.cast(value, dtype) if isinstance(value, Value) else self.const(value, dtype)

    def common(self, *values: Any) -> str:
        """The dtype in which PyTorch computes on tensors and numbers."""
        plain = [value.meta if isinstance(value, Value) else value for value in values]
        result = plain[0]
        for other in plain[1:]:
            if isinstance(other, (torch.SymInt, Expr)):
                other = 1
            result = torch.empty((0,) * min(getattr(result, "ndim", 0), 1), dtype=torch.result_type(result, other))
        return dtype_of(result.dtype)

    @property
    def dtype(self) -> str:
        """The dtype of the node's first result."""
        out = self.out[0] if isinstance(self.out, (tuple, list)) else self.out
        return dtype_of(out.dtype)

    @property
    def complex(self) -> bool:
        """True if the node's result is complex."""
        return isinstance(self.out, torch.Tensor) and self.out.is_complex()

    def gradients(self, forward: Callable[..., Expr], values: Sequence[Value], grad: Value) -> list[Expr]:
        """The gradients of values, given that of `forward(*values)`: Relay differentiates what the converter of the forward operator makes."""
        params = [Var(f"value{i}", self.tensor_type(value.meta), self.span) for i, value in enumerate(values)]
        made = forward(*(Value(param, value.meta) for param, value in zip(params, values)))
        names = [dim.symbol for dim in self.names.values()]
        both = vjp(Function(params, made, None, [name for name in names if name is not None]))
        result = _core.substitute(both.body, dict(zip(both.params, [*(value.expr for value in values), grad.expr])))
        return [TupleGetItem(TupleGetItem(result, 1, self.span), i, self.span) for i in range(len(params))]

    # Extents

    def named(self, symbol: Any) -> Dim:
        """The named dimension of a symbol."""
        if symbol not in self.names:
            self.names[symbol] = Dim(TypeVar(self.words.get(symbol, str(symbol)), Kind.ShapeVar))
        return self.names[symbol]

    def dim(self, extent: Any) -> Any:
        """An extent for a type: a number, or a term of named dimensions; `?` for what terms do not say."""
        term = extent.node.expr if isinstance(extent, torch.SymInt) else sympy.sympify(extent)
        return _term(term, lambda number: number, self.named, _ON_DIMS, Dim.any())

    def tensor_type(self, meta: torch.Tensor) -> TensorType:
        """The type of a tensor."""
        return TensorType([self.dim(extent) for extent in meta.shape], dtype_of(meta.dtype))

    def extent(self, extent: Any) -> Any:
        """An extent as a number or as a scalar int64."""
        if isinstance(extent, Value):
            return self.cast(extent, "int64")
        if not isinstance(extent, torch.SymInt):
            return extent
        return self.term(extent.node.expr)

    def term(self, term: Any) -> Any:
        """A term of symbols as a number or as a scalar int64 expression."""
        if term not in self.extents:
            on_values = {
                name: lambda a, b, name=name: self.call(name, self.const(a, "int64"), self.const(b, "int64")) for name in _ON_DIMS
            }
            made = _term(term, lambda number: number, self._known, on_values, None)
            if made is None:
                raise NotImplementedError(f"the extent {term} is not supported")
            self.extents[term] = made
        return self.extents[term]

    def _known(self, symbol: Any) -> Expr:
        if symbol not in self.extents:
            raise NotImplementedError(f"the extent {symbol} depends on data in a way that is not supported")
        return self.extents[symbol]

    def learn(self, value: Value) -> None:
        """Remembers where extents that nobody gave yet can be read: on the axes of a value."""
        for axis, extent in enumerate(value.meta.shape):
            if isinstance(extent, torch.SymInt):
                term = extent.node.expr
                if isinstance(term, sympy.Symbol) and term not in self.extents:
                    self.extents[term] = self.size(value.expr, axis)

    def size(self, expr: Expr, axis: int) -> Expr:
        """An extent of an expression, a scalar int64."""
        return self.call("take", self.call("shape_of", expr, dtype="int64"), const(axis, "int64"), axis=0)

    def shape(self, sizes: Sequence[Any]) -> Any:
        """Sizes as a list of numbers, or as a vector where some are known at run time only."""
        items = [self.extent(size) for size in sizes]
        if not any(isinstance(item, Expr) for item in items):
            return [int(item) for item in items]
        parts = [self.call("reshape", item, newshape=[1]) if isinstance(item, Expr) else const([int(item)], "int64") for item in items]
        return self.call("concatenate", Tuple(parts), axis=0)

    # Shapes

    def reshape(self, data: Any, sizes: Sequence[Any], before: Sequence[Any] = ()) -> Expr:
        """The elements under other extents. `before` are the data's own, which are copied where they stay."""
        sizes = [_number(size) for size in sizes]
        if all(isinstance(size, int) for size in sizes):
            return self.call("reshape", data, newshape=list(sizes), allowzero=0 in sizes)
        if 0 not in sizes and not any(isinstance(size, int) and size == 0 for size in before):
            form = _reshape_codes([_number(size) for size in before], sizes)
            if form is not None:
                return self.call("reshape", data, newshape=form)
        return self.call("dyn.reshape", data, self.shape(sizes), allowzero=True)

    def broadcast(self, data: Any, sizes: Sequence[Any]) -> Expr:
        """The data repeated to extents."""
        if isinstance(data, Value) and data.rank == len(sizes) and all(map(_equal, data.shape, sizes)):
            return data.expr
        shape = self.shape(sizes)
        return self.call("broadcast_to", data, shape=shape) if isinstance(shape, list) else self.call("dyn.broadcast_to", data, shape)

    def full(self, value: Expr, sizes: Sequence[Any]) -> Expr:
        """A tensor of one value."""
        shape = self.shape(sizes)
        return self.call("full", value, shape=shape) if isinstance(shape, list) else self.call("dyn.full", value, shape)

    def slice(self, data: Any, axis: int, begin: Any, end: Any, step: int = 1) -> Expr:
        """A range of one axis."""
        bounds = [self.extent(begin), self.extent(end)]
        if not any(isinstance(bound, Expr) for bound in bounds):
            return self.call("strided_slice", data, begin=[bounds[0]], end=[bounds[1]], strides=[step], axes=[axis])
        return self.call("dyn.strided_slice", data, self.shape(bounds[:1]) if isinstance(bounds[0], Expr) else const(bounds[:1], "int64"),
                         self.shape(bounds[1:]) if isinstance(bounds[1], Expr) else const(bounds[1:], "int64"), const([step], "int64"), axes=[axis])  # fmt: skip


def constant(tensor: torch.Tensor) -> Constant:
    """A constant that shares the tensor's memory where that is dense."""
    data = tensor.detach()
    if data.device.type != "cpu":
        data = data.cpu()
    return Constant(NDArray(data.contiguous().resolve_conj().resolve_neg()))


def _number(size: Any) -> Any:
    if isinstance(size, torch.SymInt) and size.node.expr.is_Integer:
        return int(size.node.expr)
    return size


def _equal(a: Any, b: Any) -> bool:
    """True if PyTorch knows that two extents, or two products of them, are equal."""
    terms = [size.node.expr if isinstance(size, torch.SymInt) else size for size in (a, b)]
    return terms[0] is terms[1] or bool(sympy.expand(terms[0] - terms[1]) == 0)


def _times(a: Any, b: Any) -> Any:
    """The product of two extents as a term: PyTorch's own would add guards."""
    return math.prod(size.node.expr if isinstance(size, torch.SymInt) else size for size in (a, b))


def _reshape_codes(before: Sequence[Any], sizes: Sequence[Any]) -> list[int] | None:
    """The codes of `reshape` for extents of which some are open, so that the result's type keeps their names; None if there are none.

    An extent that stays is copied (0), two become one (-3), one becomes two (-4), and one more may be inferred (-1). No extent may be 0.
    """
    form: list[int] = []
    at = place = 0  # of the extent that a code reads, and of the one that it makes
    inferred = False
    while place < len(sizes):
        size, left, wanted = sizes[place], before[at : at + 2], sizes[place : place + 2]
        if left and _equal(left[0], size):
            form.append(size if isinstance(size, int) else 0)
        elif len(left) == 2 and _equal(_times(*left), size):
            form.append(-3)
            at += 1
        elif left and len(wanted) == 2 and any(isinstance(part, int) for part in wanted) and _equal(_times(*wanted), left[0]):
            form += [-4, *(part if isinstance(part, int) else -1 for part in wanted)]
            place += 1
        elif isinstance(size, int):
            form.append(size)
        elif not inferred:
            form.append(-1)
            inferred = True
        else:
            return None
        at, place = at + 1, place + 1
    return form


_ON_DIMS = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "floor_divide": lambda a, b: a // b,
    "floor_mod": lambda a, b: a % b,
    "maximum": lambda a, b: a.max(b) if isinstance(a, Dim) else b.max(a),
    "minimum": lambda a, b: a.min(b) if isinstance(a, Dim) else b.min(a),
}
_TERMS = {
    "Add": "add", "Mul": "multiply", "FloorDiv": "floor_divide", "CleanDiv": "floor_divide", "Mod": "floor_mod", "PythonMod": "floor_mod",
    "Max": "maximum", "Min": "minimum",
}  # fmt: skip


def _term(term: Any, number: Any, symbol: Any, operations: Any, otherwise: Any) -> Any:
    if term.is_Integer:
        return number(int(term))
    if isinstance(term, sympy.Symbol):
        return symbol(term)
    if isinstance(term, sympy.Pow) and term.exp.is_Integer and 0 < int(term.exp) < 8:
        parts = [term.base] * int(term.exp)
        name: Any = "multiply"
    else:
        parts = list(term.args)
        name = _TERMS.get(type(term).__name__)
    if name is None:
        return otherwise
    result: Any = None
    for part in parts:
        value = _term(part, number, symbol, operations, otherwise)
        if value is otherwise:
            return otherwise
        result = value if result is None else operations[name](result, value)
    return result
