"""The tools of front ends: types and values of expressions, tables of names, converters, padding."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import relay as _relay
from relay import Constant, Expr, Function, IRModule, Span, Var

from ... import _absent
from ...ir.module import from_expr as module_of
from ...ir.type_args import written_type_args
from ...runtime.ndarray import array
from .. import op as _op
from .attributes import AttrCvt, Renamer, RequiredAttr, StrAttrsDict, get_relay_op
from .recurrent import gru_cell, lstm_cell, rnn_cell

__all__ = [
    "AttrCvt", "ExprTable", "Renamer", "RequiredAttr", "StrAttrsDict", "autopad", "create_span", "ensure_scalar_shape", "fold_constant", "get_name",
    "get_relay_op", "gru_cell", "infer_channels", "infer_shape", "infer_type", "infer_value", "infer_value_simulated", "lstm_cell", "new_var", "rnn_cell",
    "set_span", "shape_of", "to_int_list", "try_infer_value", "try_resolve_var_to_const", "unbind",
]  # fmt: skip

logger = logging.getLogger("Common")


class ExprTable:
    """Expressions by name, and values of parameters that the table names itself."""

    def __init__(self) -> None:
        self.exprs: dict[str, Any] = {}
        self.params: dict[str, Any] = {}
        self.const_ctr = 1
        self.in_padding = False
        self.paddings: Any = [0, 0]

    def new_const(self, value: Any, shape: Any = None, dtype: str = "float32", source_name: str | None = None) -> Var:
        """A new parameter with a value."""
        name = source_name or f"_param_{self.const_ctr}"
        self.const_ctr += 1
        self.params[name] = value if isinstance(value, _relay.NDArray) else array(np.asarray(value, dtype))
        return new_var(name, shape=shape if shape is not None else self.params[name].shape, dtype=str(self.params[name].dtype))

    def get_expr(self, name: str) -> Any:
        """An expression. Raises KeyError."""
        return self.exprs[name]

    def set_expr(self, name: str, expr: Any, force_override: bool = False) -> None:
        """Gives a name to an expression, unless it has one and `force_override` is false. Raises TypeError for what is no expression."""
        if not isinstance(expr, (Expr, _relay.TupleWrapper)):
            raise TypeError(f"{name} is no expression but {type(expr).__name__}")
        if force_override or name not in self.exprs:
            self.exprs[name] = expr

    def has_expr(self, name: str) -> bool:
        """True if a name is taken."""
        return name in self.exprs

    def set_padding(self, paddings: Any) -> None:
        """Notes the padding of a layer for the next one."""
        self.paddings, self.in_padding = paddings, True

    def clear_padding(self) -> None:
        """Forgets it."""
        self.in_padding = False


def get_name(node: Any) -> str:
    """The name of a variable, global one or constructor; an empty text for other nodes."""
    return str(getattr(node, "name_hint", ""))


def new_var(name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: str = "float32") -> Var:
    """A new variable."""
    return _relay.var(name_hint, type_annotation, shape, dtype)


def infer_channels(inputs: Any, transpose: bool = False) -> int:
    """The channels that a convolution with this weight gives."""
    return int(infer_shape(inputs)[1 if transpose else 0])


def fold_constant(node: Any, mod: Any = None) -> Any:
    """An expression with what depends on constants only evaluated."""
    from ..transform import FoldConstantExpr

    return FoldConstantExpr(node, mod if mod is not None else IRModule())


def infer_value(input_val: Any, params: Mapping[str, Any], mod: Any = None) -> Any:
    """The value of an expression whose free variables have values. Raises ValueError for one that has none."""
    from ..build_module import create_executor

    node = input_val.astuple() if isinstance(input_val, _relay.TupleWrapper) else input_val
    free = _relay._core.free_vars(node)
    missing = [var.name_hint for var in free if var.name_hint not in params]
    if missing:
        raise ValueError(f"%{missing[0]} has no value: all inputs to infer must be available in params")
    values = [params[var.name_hint] for var in free]
    return create_executor("debug", mod=_module_of(Function(free, node), mod)).evaluate()(*values)


def infer_value_simulated(input_val: Any, params: Mapping[str, Any]) -> Any:
    """The value of an expression, with ones for free variables that have none."""
    free = _relay._core.free_vars(input_val)
    made = dict(params)
    for var in free:
        if var.name_hint not in made:
            kind: Any = var.type_annotation
            made[var.name_hint] = array(np.ones(tuple(int(extent) for extent in kind.shape)).astype(kind.dtype))
    return infer_value(input_val, made)


def try_infer_value(val: Any, on_success: Any = None, on_failure: Any = None, parameters: Mapping[str, Any] | None = None) -> tuple[Any, bool]:
    """The value of an expression as an array of NumPy, and True; the expression itself, and False, where it depends on inputs."""
    try:
        found = infer_value(val, parameters or {}).numpy()
    except (ValueError, _relay.RelayError):
        return (on_failure() if on_failure is not None else val), False
    return (on_success(found) if on_success is not None else found), True


def shape_of(x: Any, dtype: str = "int64", start: int | None = None, end: int | None = None) -> Any:
    """The extents of a tensor: a constant where they are known, else an expression; from `start` to before `end`."""
    found = infer_type(x).checked_type
    shape = list(found.shape)
    if all(isinstance(extent, int) for extent in shape):
        return _relay.const(np.array([int(extent) for extent in shape][slice(start, end)], dtype), dtype)
    whole = _op.shape_of(x, dtype)
    return whole if start is None and end is None else _op.strided_slice(whole, [start or 0], [len(shape) if end is None else end])


def to_int_list(np_array: Any) -> list[int]:
    """An array as Python's integers."""
    return [int(value) for value in np_array]


def unbind(data: Any, axis: int = 0) -> Any:
    """The slices of a tensor along an axis, as a tuple; the axis is gone."""
    count = int(infer_shape(data)[axis])
    parts = _op.split(data, count, axis)
    return _relay.TupleWrapper(_relay.Tuple([_op.squeeze(parts[i], axis=[axis]) for i in range(count)]), count)


def autopad(
    data: Any, strides: Sequence[int], kernel_shape: Sequence[int], dilations: Sequence[int] = (1, 1), pad_type: str = "constant", deconv: bool = False,
    mode: str = "SAME_UPPER", pad_value: float = 0.0,
) -> Any:  # fmt: skip
    """The data with as much padding that a window gives as many results as the extent divided by the stride, rounded up.

    `mode`: an odd element goes behind ("SAME_UPPER") or before ("SAME_LOWER"). `deconv`: what a transposed convolution takes off.
    Extents that are not known are computed when the program runs.
    """
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise _relay.RelayError(f"autopad has no mode {mode!r}: there are SAME_UPPER and SAME_LOWER")
    shape = infer_shape(data)
    rank = len(shape) - len(strides)
    kernel = [(k - 1) * d + 1 for k, d in zip(kernel_shape, dilations)]
    if all(isinstance(extent, int) for extent in shape[rank:]):
        pads: Any = [(0, 0)] * rank
        for extent, stride, k in zip(shape[rank:], strides, kernel):
            total: Any = max(k - stride, 0) if deconv or int(extent) % stride == 0 else max(k - int(extent) % stride, 0)
            pads.append((total // 2, total - total // 2) if mode == "SAME_UPPER" else (total - total // 2, total // 2))
        return _op.nn.pad(data, pads, pad_value, pad_type)
    extents = _op.strided_slice(_op.shape_of(data, "int64"), [rank], [len(shape)])
    step, size = _relay.const(np.array(strides, "int64")), _relay.const(np.array(kernel, "int64"))
    zero = _relay.const(np.zeros(len(strides), "int64"))
    rest = _op.mod(extents, step)
    total = _op.maximum(_op.where(_op.equal(rest, zero), size - step, size - rest), zero)
    if deconv:
        total = _op.maximum(size - step, zero)
    half = total // _relay.const(2, "int64")
    first, second = (half, total - half) if mode == "SAME_UPPER" else (total - half, half)
    pads = _op.concatenate([_relay.const(np.zeros((rank, 2), "int64")), _op.stack([first, second], axis=1)], axis=0)
    return _op.nn.pad(data, pads, _relay.const(pad_value, infer_type(data).checked_type.dtype), pad_type)


def ensure_scalar_shape(x: Any) -> Any:
    """A tensor of one element as a scalar."""
    shape = infer_shape(x)
    if len(shape) == 0:
        return x
    if any(not isinstance(extent, int) or int(extent) != 1 for extent in shape):
        raise ValueError(f"a tensor of shape {tuple(shape)} is no scalar")
    return _op.squeeze(x, axis=list(range(len(shape))))


def try_resolve_var_to_const(x: Any, graph_params: Mapping[str, Any]) -> Any:
    """The value of a parameter as a constant; other expressions as they are."""
    if isinstance(x, Var) and x.name_hint in graph_params:
        return _relay.const(graph_params[x.name_hint])
    return x


def create_span(name: str | None) -> Span:
    """A place that has a name only."""
    from ...ir.spans import SourceName

    return Span(SourceName(str(name)), 0, 0, 0, 0)


def set_span(sym: Any, span: Any) -> Any:
    """The expression with a place for every node that has none: a name, or a Span; as it is for None."""
    if span is None or not isinstance(sym, (Expr, _relay.TupleWrapper)):
        return sym
    place = span if isinstance(span, Span) else create_span(span)
    if isinstance(sym, _relay.TupleWrapper):
        return _relay.TupleWrapper(set_span(sym.tuple_value, place), sym.size)

    def rewrite(node: Expr) -> Expr | None:
        if isinstance(node, _relay.Call) and not node.span.known:
            return _relay.Call(node.op, node.args, node.attrs, written_type_args(node), place)
        return Constant(node.data, place) if isinstance(node, Constant) and not node.span.known else None

    return _relay.rewrite(sym, rewrite)


def infer_type(node: Any, mod: Any = None) -> Any:
    """The node with types. Raises RelayError for a node that has none."""
    made = _relay.transform.InferType()(_module_of(node, mod))["main"]
    return made if isinstance(node, _relay.Function) else made.body


def infer_shape(inputs: Any, mod: Any = None) -> Any:
    """The extents of a tensor expression."""
    return tuple(infer_type(inputs, mod).checked_type.shape)


def _module_of(node: Any, mod: Any) -> Any:
    made = module_of(node)
    if mod is not None:
        for name in mod.function_names:
            if name != "main":
                made.add_function(name, mod[name], replace=True)
        for data in mod.type_definitions.values():
            made.add_type(data, replace=True)
    return made


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
