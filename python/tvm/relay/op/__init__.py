"""`relay.op`: operators and what scripts register for them."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np
import relay as _relay
from relay import Call as Call, Constant as Constant, Expr as Expr, Tuple as Tuple, TupleWrapper as TupleWrapper
from ..expr import const as const
from relay.op.generated.tensor import *  # noqa: F403
from relay.op.tensor import *  # noqa: F403

from ... import _absent
from .. import dyn as dyn
from . import annotation as annotation, contrib as contrib, image as image, nn as nn, op as op, op_attrs as op_attrs, random as random, vision as vision
from .annotation import device_copy as device_copy
from .op import (
    OpPattern as OpPattern, OpStrategy as OpStrategy, debug as debug, get as get, register as register, register_alter_op_layout as register_alter_op_layout,
    register_compute as register_compute,
    register_fake_quantization_to_integer as register_fake_quantization_to_integer, register_gradient as register_gradient,
    register_infer_correct_layout as register_infer_correct_layout, register_legalize as register_legalize,
    register_mixed_precision_conversion as register_mixed_precision_conversion,
    register_optional_fake_quantization_to_integer as register_optional_fake_quantization_to_integer,
    register_pattern as register_pattern, register_stateful as register_stateful, register_strategy as register_strategy,
    register_broadcast_schedule as register_broadcast_schedule, register_injective_schedule as register_injective_schedule,
    register_reduce_schedule as register_reduce_schedule, register_schedule as register_schedule, register_shape_func as register_shape_func,
    register_convert_op_layout as register_convert_op_layout,
)  # fmt: skip
from ...ir.op import Op as Op, register_op_attr as register_op_attr

sys.modules[__name__ + ".dyn"] = dyn


def shape_of(data: Any, dtype: Any = "int32") -> Any:  # type: ignore[no-redef]
    """The extents as a vector; a dtype of floats is cast to, since extents are integers."""
    return _of_integers(_relay.shape_of, data, dtype)


def ndarray_size(data: Any, dtype: Any = "int32") -> Any:  # type: ignore[no-redef]
    """How many elements there are; a dtype of floats is cast to, since that is an integer."""
    return _of_integers(_relay.ndarray_size, data, dtype)


def _of_integers(operator: Any, data: Any, dtype: Any) -> Any:
    return _relay.cast(operator(data, "int64"), dtype) if "float" in str(dtype) else operator(data, dtype)


def _of_some(operator: Any) -> Any:
    """An operator on a tuple of tensors, which raises ValueError for an empty list already where it is called."""

    @functools.wraps(operator)
    def checked(data: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(data, (list, tuple)) and not data:
            raise ValueError(f"relay.{operator.__name__} takes one tensor at least")
        return operator(data, *args, **kwargs)

    return checked


concatenate, stack, meshgrid = (_of_some(operator) for operator in (_relay.concatenate, _relay.stack, _relay.meshgrid))


def scatter(data: Any, indices: Any, updates: Any, axis: int) -> Any:
    """The tensor with elements replaced at indices along an axis: `scatter_elements` as it was called before TVM 0.11."""
    return scatter_elements(data, indices, updates, axis, "update")  # noqa: F405


def scatter_add(data: Any, indices: Any, updates: Any, axis: int) -> Any:
    """The tensor with values added at indices along an axis: `scatter_elements` as it was called before TVM 0.11."""
    return scatter_elements(data, indices, updates, axis, "add")  # noqa: F405


def sparse_fill_empty_rows(  # type: ignore[no-redef]
    sparse_indices: Any, sparse_values: Any, dense_shape: Any, default_value: Any
) -> Any:
    """A sparse tensor of rank 2 with an element in each row that had none: positions, elements, and which rows were empty. `default_value` is a
    number, or a vector of one number as scripts pass it."""
    return _relay.sparse_fill_empty_rows(sparse_indices, sparse_values, dense_shape, _number(default_value))


def _number(value: Any) -> Any:
    """A vector of one number as that number; other values as they are."""
    if not isinstance(value, Expr):
        return value[0] if isinstance(value, (list, tuple, np.ndarray)) and np.shape(value) == (1,) else value
    if isinstance(value, Constant):
        return const(value.data.numpy()[0], value.data.dtype) if tuple(value.data.shape) == (1,) else value
    kind = value.type_annotation if isinstance(value, _relay.Var) else _type_of(value)
    return _relay.reshape(value, []) if isinstance(kind, _relay.TensorType) and len(kind.shape) == 1 else value


def _type_of(value: Expr) -> Any:
    """The type of an expression; None where it has none."""
    try:
        return _relay.transform.InferType()(_relay.IRModule.from_expr(value))["main"].body.checked_type
    except _relay.RelayError:
        return None


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
