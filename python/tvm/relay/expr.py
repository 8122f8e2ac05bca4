"""Expressions, and copies of them with fields replaced."""

from __future__ import annotations

from typing import Any

import numpy as np

import relay as _relay
from relay import Expr
from relay.expr import *  # noqa: F403
from relay.expr import Call, Constant, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var

from .. import _absent
from ..ir.type_args import written_type_args

RelayExpr = Expr
ExprWithOp = Expr
GlobalVar = _relay.GlobalVar  # type: ignore[misc]


_narrow = {"float64": "float32", "int64": "int32"}


def const(value: Any, dtype: Any = None, span: Any = None) -> Constant:  # type: ignore[no-redef]
    """A constant of a number, a list of numbers or an array. Without `dtype`, float64 becomes float32 and int64 int32, those of NumPy's arrays
    too; arrays of `tvm.nd` keep theirs. With the dtype bool, what is not 0 is True. Raises OverflowError for integers that do not fit."""
    if dtype is None and isinstance(value, (np.ndarray, np.generic)):
        dtype = _narrow.get(str(value.dtype))
    elif dtype is not None and _relay.TensorType((), dtype).dtype == "bool" and isinstance(value, (int, float, list, tuple, np.ndarray, np.generic)):
        value = np.asarray(value).astype(bool)
    return _relay.const(value, dtype, span)


def _no_device(virtual_device: Any) -> None:
    if virtual_device is not None:
        raise NotImplementedError("virtual_device of an expression: devices are told by on_device and PlanDevices")


def _or(new: Any, old: Any) -> Any:
    return old if new is None else new


def CallWithFields(call: Call, op: Any = None, args: Any = None, attrs: Any = None, type_args: Any = None,  # noqa: N802
                   virtual_device: Any = None, span: Any = None) -> Call:  # fmt: skip
    """The call with what is given replaced; itself if nothing differs."""
    _no_device(virtual_device)
    new = (_or(op, call.op), list(_or(args, call.args)), _or(attrs, call.attrs), _or(type_args, written_type_args(call)), _or(span, call.span))
    same = new[0] is call.op and len(new[1]) == len(call.args) and all(a is b for a, b in zip(new[1], call.args))
    return call if same and attrs is None and type_args is None and span is None else Call(*new)


def ConstantWithFields(constant: Constant, data: Any = None, virtual_device: Any = None, span: Any = None) -> Constant:  # noqa: N802
    """The constant with what is given replaced; itself if nothing is."""
    _no_device(virtual_device)
    return constant if data is None and span is None else Constant(_or(data, constant.data), _or(span, constant.span))


def TupleGetItemWithFields(tuple_get_item: TupleGetItem, tuple_value: Any = None, index: Any = None,  # noqa: N802
                           virtual_device: Any = None, span: Any = None) -> TupleGetItem:  # fmt: skip
    """The projection with what is given replaced; itself if nothing differs."""
    _no_device(virtual_device)
    value, at = _or(tuple_value, tuple_get_item.tuple_value), _or(index, tuple_get_item.index)
    if value is tuple_get_item.tuple_value and at == tuple_get_item.index and span is None:
        return tuple_get_item
    return TupleGetItem(value, at, _or(span, tuple_get_item.span))


def TupleWithFields(tup: Tuple, fields: Any = None, virtual_device: Any = None, span: Any = None) -> Tuple:  # noqa: N802
    """The tuple with what is given replaced; itself if nothing differs."""
    _no_device(virtual_device)
    new = list(_or(fields, tup.fields))
    if span is None and len(new) == len(tup.fields) and all(a is b for a, b in zip(new, tup.fields)):
        return tup
    return Tuple(new, _or(span, tup.span))


def VarWithFields(variable: Var, vid: Any = None, type_annotation: Any = None, virtual_device: Any = None, span: Any = None) -> Var:  # noqa: N802
    """A new variable with what is given replaced; itself if nothing is given."""
    _no_device(virtual_device)
    if vid is None and type_annotation is None and span is None:
        return variable
    name = vid.name_hint if isinstance(vid, Var) else _or(vid, variable.name_hint)
    return Var(name, _or(type_annotation, variable.type_annotation), _or(span, variable.span))


def IfWithFields(if_expr: If, cond: Any = None, true_branch: Any = None, false_branch: Any = None,  # noqa: N802
                 virtual_device: Any = None, span: Any = None) -> If:  # fmt: skip
    """The condition with what is given replaced."""
    _no_device(virtual_device)
    return If(_or(cond, if_expr.cond), _or(true_branch, if_expr.true_branch), _or(false_branch, if_expr.false_branch), _or(span, if_expr.span))


def LetWithFields(let: Let, variable: Any = None, value: Any = None, body: Any = None, virtual_device: Any = None, span: Any = None) -> Let:  # noqa: N802
    """The let with what is given replaced."""
    _no_device(virtual_device)
    return Let(_or(variable, let.var), _or(value, let.value), _or(body, let.body), _or(span, let.span))


def RefCreateWithFields(ref_create: RefCreate, value: Any = None, virtual_device: Any = None, span: Any = None) -> RefCreate:  # noqa: N802
    """The reference with what is given replaced."""
    _no_device(virtual_device)
    return RefCreate(_or(value, ref_create.value), _or(span, ref_create.span))


def RefReadWithFields(ref_read: RefRead, ref: Any = None, virtual_device: Any = None, span: Any = None) -> RefRead:  # noqa: N802
    """The read with what is given replaced."""
    _no_device(virtual_device)
    return RefRead(_or(ref, ref_read.ref), _or(span, ref_read.span))


def RefWriteWithFields(ref_write: RefWrite, ref: Any = None, value: Any = None, virtual_device: Any = None, span: Any = None) -> RefWrite:  # noqa: N802
    """The write with what is given replaced."""
    _no_device(virtual_device)
    return RefWrite(_or(ref, ref_write.ref), _or(value, ref_write.value), _or(span, ref_write.span))


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
