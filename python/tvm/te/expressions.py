"""Tensor expressions of scripts: what a function that `register_compute` attached writes.

Such a function makes a reduction of an expression that names the axes already, so expressions are trees here, which become scalars of
`relay.te` inside of the loops that they belong to. They exist while the compiler asks for the computation of a call.
"""

from __future__ import annotations

import contextvars
import functools
import operator
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from relay import Dim, _core, te as _te
from relay.te import Builder, Scalar, TensorExpr

_builder: contextvars.ContextVar[Builder] = contextvars.ContextVar("builder")


class PrimExpr:
    """A scalar of a tensor expression: `make` gives it, with the loops around it and what was made of expressions before."""

    # True for what is computed of positions and extents alone, which are int32 for TVM.
    _of_positions = False

    def __init__(self, make: Callable[[dict[Any, Any]], Any]) -> None:
        self._make = make

    def _made(self, env: dict[Any, Any]) -> Any:
        if self not in env:
            env[self] = self._make(env)
        return env[self]

    def astype(self, dtype: Any, span: Any = None) -> PrimExpr:
        """The value in another dtype."""
        return _apply(_te.cast, self, _Plain(dtype))

    def equal(self, other: Any, span: Any = None) -> PrimExpr:
        """True where both are equal."""
        return _joined(operator.eq, self, other)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        return self is other if not isinstance(other, (PrimExpr, int, float, Dim)) else _Comparison(self, other)

    def __ne__(self, other: object) -> Any:
        return self is not other if not isinstance(other, (PrimExpr, int, float, Dim)) else _joined(operator.ne, self, other)

    def __bool__(self) -> bool:
        raise ValueError("a scalar of a tensor expression has no truth value yet: tvm.tir.all and any join conditions, if_then_else chooses")


class _Comparison(PrimExpr):
    """The question if two scalars are equal. Its truth value, which dictionaries ask for, says if they are one object."""

    def __init__(self, a: PrimExpr, b: Any) -> None:
        super().__init__(_joined(operator.eq, a, b)._make)
        self._same = a is b

    def __bool__(self) -> bool:
        return self._same


class _Plain:
    """An argument that is no scalar."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _lower(value: Any, env: dict[Any, Any]) -> Any:
    if isinstance(value, PrimExpr):
        return value._made(env)
    if isinstance(value, _Plain):
        return value.value
    dtype = getattr(value, "dtype", None)
    # Numbers with a dtype of their own keep it, but the int32 that every integer of TVM's has.
    return _te.const(value, dtype) if isinstance(value, (int, float)) and dtype not in (None, "int32", "int64", "float32") else value


def _apply(function: Callable[..., Any], *args: Any) -> PrimExpr:
    return PrimExpr(lambda env: function(*(_lower(arg, env) for arg in args)))


def _joined(function: Callable[..., Any], *args: Any) -> PrimExpr:
    """A function of two values, the last two, of which the narrower takes the dtype of the wider."""

    def made(env: dict[Any, Any]) -> Any:
        *before, a, b = (_lower(arg, env) for arg in args)
        dtype = _wider(_dtype_of(a, args[-2]), _dtype_of(b, args[-1])) if isinstance(a, Scalar) or isinstance(b, Scalar) else None
        return function(*before, *(_as(dtype, value) for value in (a, b)))

    return PrimExpr(made)


def _as(dtype: str | None, value: Any) -> Any:
    return _te.cast(value, dtype) if dtype is not None and isinstance(value, Scalar) and str(value.dtype) != dtype else value


def _dtype_of(value: Any, arg: Any) -> str | type:
    """The dtype of a scalar; the class of a number of Python or an extent, which has none of its own."""
    if isinstance(value, Scalar):
        return "position" if getattr(arg, "_of_positions", False) else str(value.dtype)
    return float if isinstance(value, float) else bool if isinstance(value, bool) else int


def _wider(a: str | type, b: str | type) -> str | None:
    """The dtype that holds both: floats rather than integers, signed rather than unsigned ones, more bits rather than fewer. None where
    both stay what they are."""
    if isinstance(a, type):
        a, b = b, a
    if a == b or b is bool or isinstance(a, type):
        return None
    if isinstance(b, type):  # a number, which takes the dtype of the other where that is of its kind
        return "float32" if b is float and "float" not in a else "int32" if a == "bool" else None
    a, b = ("int32" if each == "position" else each for each in (a, b))
    if "bool" in (a, b):
        return b if a == "bool" else a
    bits = [int("".join(filter(str.isdigit, each))) for each in (a, b)]
    floats = [each for each in (a, b) if "float" in each]
    if len(floats) == 1:
        return floats[0]
    if bits[0] == bits[1] and a != b:
        return "float32" if floats else f"int{bits[0]}"
    if not floats and a.startswith("u") != b.startswith("u"):
        return f"int{max(bits)}"
    return a if bits[0] >= bits[1] else b


def _are_positions(args: Sequence[Any]) -> bool:
    return all(arg._of_positions if isinstance(arg, PrimExpr) else isinstance(arg, (int, Dim)) for arg in args)


def _operator(name: str, reflected: bool = False) -> Any:
    function = getattr(operator, name)

    def applied(self: PrimExpr, *others: Any) -> Any:
        if any(isinstance(other, Tensor) for other in others):
            return NotImplemented
        args = (*others, self) if reflected else (self, *others)
        made = _joined(function, *args) if others else _apply(function, self)
        made._of_positions = name in _OF_POSITIONS and _are_positions(args)
        return made

    return applied


# Operators whose value is a position where the operands are.
_OF_POSITIONS = ("add", "sub", "mul", "floordiv", "mod", "neg", "abs")


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
    _word = _name.rstrip("_")
    setattr(PrimExpr, f"__{_word}__", _operator(_name))
    setattr(PrimExpr, f"__r{_word}__", _operator(_name, reflected=True))
for _name in ("lt", "le", "gt", "ge", "neg", "abs", "invert"):
    setattr(PrimExpr, f"__{_name}__", _operator(_name))


class Position(PrimExpr):
    """A position along a loop."""

    _of_positions = True

    def __init__(self, name: str) -> None:
        super().__init__(self._outside)
        self.name = name

    def _outside(self, env: dict[Any, Any]) -> Any:
        raise ValueError(f"the axis {self.name} is used outside of a reduction over it")


class IterVar(Position):
    """An axis of a reduction, which is also its position along the loop."""

    def __init__(self, first: Any, extent: Any, name: str) -> None:
        super().__init__(name)
        self.first, self.extent = first, extent

    @property
    def var(self) -> IterVar:
        """The position."""
        return self


class Tensor:
    """A tensor: an input of a call, or what `compute` made."""

    def __init__(self, made: TensorExpr, name: str) -> None:
        self._made, self.name = made, name

    @property
    def _extents(self) -> tuple[Any, ...]:
        return tuple(self._made.shape)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents."""
        from ..tir import numbered

        return tuple(numbered(extent) for extent in self._extents)

    @property
    def dtype(self) -> str:
        """The type of an element."""
        return str(self._made.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._extents)

    def __getitem__(self, index: Any) -> Any:
        given = index if isinstance(index, tuple) else (index,)
        if len(given) < self.ndim:
            return TensorSlice(self, given)
        if len(given) > self.ndim:
            raise ValueError(f"{self.name} has {self.ndim} dimensions, and an element of it has as many positions, not {len(given)}")
        self._note_read()
        return _apply(lambda *at: self._made[at], *given)

    def _note_read(self) -> None:
        """An element of it is read."""

    def __call__(self, *index: Any) -> Any:
        return self[index]

    def __iter__(self) -> Any:
        raise TypeError(f"the elements of {self.name} are not known while it is described: compute makes a tensor of them")

    __hash__ = object.__hash__


def _broadcast(a: Tensor, b: Tensor) -> tuple[Any, ...]:
    """The shape of an operator on two tensors. Raises ValueError where they do not fit; what is known at run time only is checked there."""
    extents = [_core.broadcast_extents(*pair) for pair in zip_longest(reversed(a._extents), reversed(b._extents), fillvalue=1)]
    if None in extents:
        raise ValueError(f"tensors of shapes {_shown(a)} and {_shown(b)} do not broadcast: extents are equal, or one of them is 1")
    return tuple(reversed(extents))


def _shown(tensor: Tensor) -> str:
    extents = ", ".join(map(str, tensor._extents))
    return f"({extents},)" if tensor.ndim == 1 else f"({extents})"


def _of_tensors(function: Callable[..., Any], reflected: bool = False) -> Any:
    """An operator on tensors and numbers, element by element, under NumPy's broadcasting."""

    def applied(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, PrimExpr, int, float, Dim)):
            return NotImplemented
        shape = self.shape if not isinstance(other, Tensor) else _broadcast(self, other)

        def element(*at: Any) -> PrimExpr:
            for one in (self, other):
                if isinstance(one, Tensor):
                    one._note_read()
            pair = [_apply(lambda *there, of=one: of._made.broadcast(*there), *at) if isinstance(one, Tensor) else one for one in (self, other)]
            return _joined(function, *(reversed(pair) if reflected else pair))

        return compute(shape, element, name=f"T_{function.__name__}")

    return applied


for _name in ("add", "sub", "mul", "truediv"):
    setattr(Tensor, f"__{_name}__", _of_tensors(getattr(operator, _name)))
    setattr(Tensor, f"__r{_name}__", _of_tensors(getattr(operator, _name), reflected=True))
setattr(Tensor, "__neg__", lambda self: self * -1)


class TensorSlice:
    """A tensor with its first positions, which waits for the others: ``x[i][j]``."""

    def __init__(self, tensor: Tensor, given: tuple[Any, ...]) -> None:
        self._tensor, self._given = tensor, given

    def __getitem__(self, index: Any) -> Any:
        return self._tensor[(*self._given, *(index if isinstance(index, tuple) else (index,)))]


def build(function: Callable[..., Any], builder: Builder, attrs: Any, names: Sequence[str], op_name: str) -> Any:
    """The computation of a call by TVM's function of attributes, tensors and the type of the result, which gives a list of tensors."""
    tensors = [Tensor(made, name) for made, name in zip(builder.inputs, [*names, *(f"input{i}" for i in range(len(builder.inputs)))])]
    token = _builder.set(builder)
    try:
        found = function(attrs, tensors, builder.type)
    finally:
        _builder.reset(token)
    made = list(found) if isinstance(found, (list, tuple)) else [found]
    for one in made:
        if not isinstance(one, Tensor):
            raise TypeError(f"the compute function of {op_name} gives a list of tensors, not one with {type(one).__name__}")
    return made[0]._made if len(made) == 1 else tuple(one._made for one in made)


def compute(shape: Any, fcompute: Callable[..., Any], name: str = "compute", tag: str = "", attrs: Any = None, varargs_names: Any = None) -> Any:
    """A tensor whose elements a function of their positions gives; several where that is a tuple."""
    builder = _builder.get(None)
    if builder is None:
        from .described import describe

        return describe(shape, fcompute, name)
    extents = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)

    def body(*at: Any) -> Any:
        env: dict[Any, Any] = {}
        axes = []
        for number, position in enumerate(at):
            axis = Position(f"i{number}")
            env[axis] = position
            axes.append(axis)
        found = fcompute(*axes)
        return tuple(_lower(one, env) for one in found) if isinstance(found, (list, tuple)) else _lower(found, env)

    made = builder.map(extents, body)
    return tuple(Tensor(one, f"{name}.v{i}") for i, one in enumerate(made)) if isinstance(made, tuple) else Tensor(made, name)


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: Any = None) -> IterVar:
    """An axis that a reduction goes along: from the first position to the one before the last."""
    first, last = (dom.min, dom.min + dom.extent) if hasattr(dom, "extent") else dom
    return IterVar(first, last - first if first != 0 else last, name)


def _reduction(kind: str) -> Any:
    def reduce(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *rest: Any) -> Any:
        if not isinstance(axis, (IterVar, list, tuple)):
            if kind not in ("max", "min") or axis is None:
                raise TypeError(f"te.{kind} reduces along axes, which reduce_axis makes")
            return _joined(getattr(_te, kind), expr, axis)
        if init is not None:
            raise NotImplementedError(f"te.{kind}(init=…): a reduction begins with the value that changes nothing")
        axes: list[IterVar] = [axis] if isinstance(axis, IterVar) else list(axis)

        def made(env: dict[Any, Any]) -> Any:
            def element(*at: Any) -> Any:
                inner = _inside(env, axes, at)
                found = _scalar(_lower(expr, inner))
                return found if where is None else _te.select(_lower(where, inner), found, _NEUTRAL[kind](found.dtype))

            return getattr(_builder.get(), kind)(tuple(one.extent for one in axes), element)

        return PrimExpr(made)

    reduce.__name__ = reduce.__qualname__ = kind
    reduce.__doc__ = f"The {kind} along axes."
    return reduce


def _known(value: Any) -> PrimExpr:
    """A scalar that is made already."""
    return PrimExpr(lambda _: value)


def comm_reducer(fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce") -> Callable[..., Any]:
    """A reduction by a function that joins two values, or two tuples of values, in any order; `fidentity` of the dtypes changes nothing."""

    def reduce(expr: Any, axis: Any, where: Any = None, init: Any = None) -> Any:
        if where is not None or init is not None:
            raise NotImplementedError(f"{name}(where=…) and (init=…): an element that is left out is the identity, which the script can choose itself")
        axes: list[IterVar] = [axis] if isinstance(axis, IterVar) else list(axis)
        several = isinstance(expr, (tuple, list))

        def known(values: Any) -> Any:
            return tuple(map(_known, values)) if several else _known(values)

        def made(env: dict[Any, Any]) -> Any:
            def lowered(found: Any, inner: dict[Any, Any]) -> Any:
                return tuple(_lower(one, inner) for one in found) if several else _lower(found, inner)

            def element(*at: Any) -> Any:
                return lowered(expr, _inside(env, axes, at))

            def combine(a: Any, b: Any) -> Any:
                return lowered(fcombine(known(a), known(b)), {})

            # The identity depends on the dtypes, which an element has wherever it is.
            first = element(*(_te.const(0, "int64") for _ in axes))
            dtypes = [str(getattr(one, "dtype", "float32" if isinstance(one, float) else "int32")) for one in (first if several else [first])]
            return _builder.get().fold(tuple(one.extent for one in axes), element, combine, lowered(fidentity(*dtypes), {}), commutes=True)

        whole = PrimExpr(made)
        return tuple(_apply(lambda values, at=at: values[at], whole) for at in range(len(expr))) if several else whole

    return reduce


def _scalar(value: Any) -> Any:
    """A number with the dtype that TVM gives it; an extent and a scalar as they are."""
    if not isinstance(value, (int, float)):
        return value
    return _te.const(value, "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32")


def _inside(env: dict[Any, Any], axes: Sequence[IterVar], at: Sequence[Any]) -> dict[Any, Any]:
    """What is known inside of a loop; what was made outside of it may stand in it."""
    inner = dict(env)
    for number, one in enumerate(axes):
        if one in env or any(one is other for other in axes[:number]):
            raise ValueError(f"the axis {one.name} is reduced along twice: a reduction within another one has an axis of its own")
    inner.update((one, position if isinstance(one.first, int) and one.first == 0 else position + one.first) for one, position in zip(axes, at))
    return inner


# What changes nothing.
_NEUTRAL: dict[str, Callable[[Any], Any]] = {"sum": lambda dtype: _te.const(0, dtype), "max": _te.min_value, "min": _te.max_value}

_UNARY = ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "floor", "isfinite", "isinf", "isnan", "log",
          "log10", "log2", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc")  # fmt: skip


def _function(name: str) -> Any:
    function = getattr(_te, name)

    if name in _UNARY:

        def applied(x: Any, span: Any = None) -> PrimExpr:
            return _apply(function, x)

    else:

        def applied(x: Any, y: Any, span: Any = None) -> PrimExpr:  # type: ignore[misc]
            return _joined(function, x, y)

    applied.__name__ = applied.__qualname__ = name
    applied.__doc__ = function.__doc__
    return applied


functions: dict[str, Any] = {name: _function(name) for name in (*_UNARY, "atan2", "fmod", "power", "truncdiv")}


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """Puts a function into the table; `all_of` and `any_of` have names there that Python's own functions have."""
    function.__name__ = function.__qualname__ = function.__name__.removesuffix("_of")
    functions[function.__name__] = function
    return function


@_named
def if_then_else(cond: Any, t: Any, f: Any, span: Any = None) -> PrimExpr:
    """t where the condition holds, else f, which then is not computed."""
    return _joined(_te.select, cond, t, f)


@_named
def Select(condition: Any, true_value: Any, false_value: Any, span: Any = None) -> PrimExpr:  # noqa: N802
    """The first value where the condition holds, else the second."""
    return _joined(_te.select, condition, true_value, false_value)


@_named
def Cast(dtype: Any, value: Any, span: Any = None) -> PrimExpr:  # noqa: N802
    """The value in another dtype."""
    return _apply(_te.cast, value, _Plain(dtype))


def _all_joined(function: Callable[[Any, Any], Any], args: tuple[Any, ...]) -> PrimExpr:
    return _apply(lambda *given: functools.reduce(function, given), *args)


@_named
def all_of(*args: Any, span: Any = None) -> PrimExpr:
    """True where all conditions hold."""
    return _all_joined(operator.and_, args)


@_named
def any_of(*args: Any, span: Any = None) -> PrimExpr:
    """True where one of the conditions holds."""
    return _all_joined(operator.or_, args)


@_named
def div(a: Any, b: Any, span: Any = None) -> PrimExpr:
    """The quotient; of integers cut off towards zero."""
    return _joined(lambda x, y: _te.truncdiv(x, y) if "int" in str(getattr(x, "dtype", "float")) else x / y, a, b)


@_named
def truncmod(a: Any, b: Any, span: Any = None) -> PrimExpr:
    """The remainder with the sign of a."""
    return _joined(_te.fmod, a, b)


@_named
def min_value(dtype: Any, span: Any = None) -> PrimExpr:
    """The lowest value of a dtype."""
    return _apply(_te.min_value, _Plain(dtype))


@_named
def max_value(dtype: Any, span: Any = None) -> PrimExpr:
    """The highest value of a dtype."""
    return _apply(_te.max_value, _Plain(dtype))


functions.update({kind: _reduction(kind) for kind in ("sum", "max", "min")})
functions.update(compute=compute, reduce_axis=reduce_axis, comm_reducer=comm_reducer, pow=functions["power"])


class SpecializedCondition:
    """Conditions on extents, under which implementations that are added while it is entered hold."""

    _entered: list[SpecializedCondition] = []

    def __init__(self, conditions: Any) -> None:
        self.clauses = list(conditions) if isinstance(conditions, (list, tuple)) else [conditions]

    def holds(self) -> bool:
        """True if all hold. Those that wait for an extent of a run do not."""
        return all(bool(clause) if isinstance(clause, (bool, int)) else False for clause in self.clauses)

    @staticmethod
    def current() -> SpecializedCondition | None:
        """The innermost that is entered."""
        return SpecializedCondition._entered[-1] if SpecializedCondition._entered else None

    def __enter__(self) -> SpecializedCondition:
        SpecializedCondition._entered.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        SpecializedCondition._entered.pop()


_OF_INDICES = {"indexdiv": operator.floordiv, "indexmod": operator.mod, "max": _te.max, "min": _te.min}


def of_indices(name: str, a: Any, b: Any) -> PrimExpr:
    """What `tvm.tir` says of extents, of scalars."""
    made = _joined(_OF_INDICES[name], a, b)
    made._of_positions = _are_positions((a, b))
    return made
