"""Tensors that scripts describe outside of any operator: placeholders, and what `compute` makes of them.

`tvm.build` compiles them without schedules, as the operators of a library are; strategies and implementations are asked with them.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import relay as _relay
from relay import te as _te

from . import expressions
from .expressions import Position, PrimExpr, Tensor

__all__ = ["Described", "Operation", "PrimFunc", "build", "create_prim_func", "describe", "opaque", "placeholder"]

# What is made of tensors in the computation that is built.
_table: contextvars.ContextVar[dict[Any, Any]] = contextvars.ContextVar("table")
# The tensors that the description reads.
_reads: contextvars.ContextVar[list[Described]] = contextvars.ContextVar("reads")
_numbers = itertools.count()


class Operation:
    """What makes a tensor: `kind` is `placeholder`, `compute` or `opaque`."""

    def __init__(self, kind: str, name: str, inputs: Sequence[Described], body: Any = None, axes: Sequence[Position] = ()) -> None:
        self.kind, self.name, self.axis = kind, name, list(axes)
        self.input_tensors = list(dict.fromkeys(inputs))
        self._body = body
        self._outputs: list[Described] = []

    @property
    def num_outputs(self) -> int:
        """How many tensors it makes."""
        return len(self._outputs)

    @property
    def body(self) -> list[Any]:
        """The elements at the positions `axis`."""
        return list(self._body) if isinstance(self._body, tuple) else [self._body]

    def output(self, index: int) -> Described:
        """A tensor that it makes."""
        return self._outputs[index]

    def __repr__(self) -> str:
        return f"{self.kind}({self.name}, {', '.join(str(each._extents) for each in self._outputs)})"


class Described(Tensor):
    """A tensor that a script describes. Its elements are known where it is built."""

    def __init__(self, op: Operation, index: int, shape: Sequence[Any], dtype: str) -> None:
        self.op, self.value_index, self._shape, self._dtype = op, index, tuple(shape), dtype
        self.name = op.name
        op._outputs.append(self)

    @property
    def _extents(self) -> tuple[Any, ...]:
        return self._shape

    @property
    def dtype(self) -> str:
        """The type of an element."""
        return self._dtype

    @property
    def _made(self) -> Any:  # type: ignore[override]
        table = _table.get({})
        if self not in table:
            raise ValueError(f"{self.op.kind} {self.name} is no input of what is built, nor made of its inputs")
        return table[self]

    def _note_read(self) -> None:
        reads = _reads.get(None)
        if reads is not None:
            reads.append(self)

    def __repr__(self) -> str:
        return f"Tensor(shape=[{', '.join(map(str, self._shape))}], op.name={self.name})"


class _Sample:
    """Stands for a tensor where only the dtypes of what is made of its elements are asked."""

    def __init__(self, dtype: str) -> None:
        self._element = _te.const(0, dtype)

    def __getitem__(self, at: Any) -> Any:
        return self._element

    def broadcast(self, *at: Any) -> Any:
        """Any element."""
        return self._element


class _SampleBuilder:
    """Stands for the builder of a computation there: a reduction has the dtype of an element."""

    def sum(self, extents: Sequence[Any], element: Callable[..., Any]) -> Any:
        """An element."""
        return element(*(_te.const(0, "int64") for _ in extents))

    max = min = sum

    def fold(self, extents: Sequence[Any], element: Callable[..., Any], combine: Any, identity: Any, commutes: bool) -> Any:
        """An element."""
        return self.sum(extents, element)


@contextlib.contextmanager
def _within(builder: Any, table: dict[Any, Any]) -> Iterator[None]:
    tokens = expressions._builder.set(builder), _table.set(table)
    try:
        yield
    finally:
        expressions._builder.reset(tokens[0])
        _table.reset(tokens[1])


def _lowered(body: Any, env: dict[Any, Any]) -> Any:
    return tuple(expressions._lower(one, env) for one in body) if isinstance(body, tuple) else expressions._lower(body, env)


def _dtypes(body: Any, axes: Sequence[Position], reads: Sequence[Described]) -> list[str]:
    """The dtypes of the elements of a description."""
    with _within(_SampleBuilder(), {each: _Sample(each.dtype) for each in reads}):
        made = _lowered(body, {axis: _te.const(0, "int32") for axis in axes})
    return [str(expressions._scalar(one).dtype) if isinstance(one, (int, float)) else str(one.dtype) for one in (made if isinstance(made, tuple) else [made])]


def _shape_of(shape: Any) -> tuple[Any, ...]:
    extents = tuple(shape) if isinstance(shape, (list, tuple)) or hasattr(shape, "__iter__") else (shape,)
    return tuple(int(extent) if isinstance(extent, int) else extent for extent in extents)


def describe(shape: Any, fcompute: Callable[..., Any], name: str) -> Any:
    """A tensor whose elements a function of their positions gives; several where that is a tuple."""
    extents = _shape_of(shape)
    axes = [Position(f"i{number}") for number in range(len(extents))]
    reads: list[Described] = []
    token = _reads.set(reads)
    try:
        found = fcompute(*axes)
    finally:
        _reads.reset(token)
    body = tuple(found) if isinstance(found, (list, tuple)) else found
    op = Operation("compute", name, reads, body, axes)
    made = [Described(op, index, extents, dtype) for index, dtype in enumerate(_dtypes(body, axes, reads))]
    return tuple(made) if isinstance(body, tuple) else made[0]


def placeholder(shape: Any, dtype: Any = None, name: str = "placeholder") -> Described:
    """A tensor that what is built gets."""
    return Described(Operation("placeholder", name, ()), 0, _shape_of(shape), str(dtype) if dtype is not None else "float32")


def opaque(type_: Any, name: str, inputs: Sequence[Any]) -> list[Described]:
    """The tensors of a type that an operator of the library makes: they can be looked at, and not built."""
    fields: list[Any] = list(type_.fields) if isinstance(type_, _relay.TupleType) else [type_]
    op = Operation("opaque", name, [each for each in inputs if isinstance(each, Described)])
    return [Described(op, index, tuple(field.shape), str(field.dtype)) for index, field in enumerate(fields)]


class PrimFunc:
    """A function of described tensors: `args` are its inputs and the tensors that it writes, in the order of calls."""

    def __init__(self, args: Sequence[Any], attrs: Mapping[str, Any] | None = None) -> None:
        self.args, self.attrs = list(args), dict(attrs or {})
        for each in self.args:
            if not isinstance(each, Described):
                raise TypeError(f"the arguments of a function are tensors of te.placeholder and te.compute, not {type(each).__name__}")
        for each, times in collections.Counter(self.inputs).items():
            if times > 1:
                raise ValueError(f"the placeholder {each.name} is {times} of the arguments: each input is one")

    def with_attr(self, name: Any, value: Any = None) -> PrimFunc:
        """The same with an attribute, or several of a dictionary."""
        return PrimFunc(self.args, {**self.attrs, **(dict(name) if isinstance(name, Mapping) else {name: value})})

    @property
    def inputs(self) -> list[Described]:
        """The placeholders among the arguments."""
        return [each for each in self.args if each.op.kind == "placeholder"]

    @property
    def outputs(self) -> list[Described]:
        """The tensors that it writes."""
        return [each for each in self.args if each.op.kind != "placeholder"]


def create_prim_func(ops: Sequence[Any], index_dtype_override: Any = None) -> PrimFunc:
    """A function of tensors, which `tvm.build` compiles. It has no loops that a schedule could change."""
    return PrimFunc(list(ops))


def _elements(op: Operation, *at: Any) -> Any:
    """The elements at positions, of the dtypes that the tensors said."""
    made = _lowered(op._body, dict(zip(op.axis, at)))
    each = made if isinstance(made, tuple) else (made,)
    found = tuple(_te.const(one, out.dtype) if isinstance(one, (int, float)) else expressions._as(out.dtype, one) for one, out in zip(each, op._outputs))
    return found if isinstance(made, tuple) else found[0]


def _made_of(builder: Any, table: dict[Any, Any], outputs: Sequence[Described]) -> list[Any]:
    """The tensors in the computation that is built, those that they are made of first."""
    stack = list(outputs)
    while stack:
        op = stack[-1].op
        waiting = [each for each in op.input_tensors if each not in table]
        if stack[-1] in table:
            stack.pop()
        elif waiting:
            stack += waiting
        else:
            with _within(builder, table):
                made = builder.map(op._outputs[0]._extents, functools.partial(_elements, op))
            table.update(zip(op._outputs, made if isinstance(made, tuple) else (made,)))
    return [table[each] for each in outputs]


def _require_inputs(func: PrimFunc) -> None:
    """Raises ValueError for an output that is made of a tensor which is neither an input nor described."""
    known = set(func.inputs)
    stack = list(func.outputs)
    while stack:
        top = stack.pop()
        if top in known:
            continue
        known.add(top)
        if top.op.kind != "compute":
            raise ValueError(f"{top.op.kind} {top.name} is no input of what is built")
        stack += top.op.input_tensors


def function_of(func: PrimFunc) -> Any:
    """A function of Relay that computes the outputs of the inputs. Raises NotImplementedError for extents that are not numbers."""
    for each in func.args:
        if not all(isinstance(extent, int) for extent in each._extents):
            raise NotImplementedError(f"tvm.build of {each.name}, whose extents are not numbers: operators of register_compute may have such")
    if not func.outputs:
        raise ValueError("there is nothing to build: no argument is a tensor of te.compute")
    _require_inputs(func)
    types = [_relay.TensorType(list(each._extents), each.dtype) for each in func.outputs]
    result = types[0] if len(types) == 1 else _relay.TupleType(types)

    def definition(builder: Any, *_: Any) -> Any:
        made = _made_of(builder, dict(zip(func.inputs, builder.inputs)), func.outputs)
        return made[0] if len(made) == 1 else tuple(made)

    names = [f"x{i}" for i in range(len(func.inputs))]
    call = _relay.op.register(f"te.build.f{next(_numbers)}", inputs=names, relation=lambda *_: result, compute=definition, doc="Tensor expressions of a script.")
    params = [_relay.var(each.name, shape=each._extents, dtype=each.dtype) for each in func.inputs]
    return _relay.Function(params, call(*params), result)


def build(inputs: Any, args: Any = None, target: Any = None, target_host: Any = None, runtime: Any = None, name: str | None = None, binds: Any = None) -> Any:
    """A module with a compiled function of described tensors: ``built[name](x, y, out)`` writes its outputs. `inputs`: what `create_prim_func`
    gave, a dictionary or list of such by name, or the tensors themselves."""
    from ..runtime.module import Module
    from ..runtime import packed
    from ..target import Target

    Target.machine_of(target)
    if isinstance(inputs, PrimFunc):
        found = {name or str(inputs.attrs.get("global_symbol", "main")): inputs}
    elif isinstance(inputs, Mapping):
        found = {str(getattr(key, "name_hint", key)): func for key, func in inputs.items()}
    elif isinstance(inputs, (list, tuple)) and inputs and all(isinstance(each, Described) for each in inputs):
        found = {name or "main": PrimFunc(inputs)}
    else:
        from .. import _absent

        raise _absent.OutOfScope(_absent.explanation("tvm.build"))
    made: Module = packed.build({each: function_of(func) for each, func in found.items()}, {each: func.args for each, func in found.items()}, target)
    return made


