"""`relay.op`: operators and what scripts register for them."""

from __future__ import annotations

import sys
from typing import Any

from relay import Call as Call, Constant as Constant, Expr as Expr, Tuple as Tuple, TupleWrapper as TupleWrapper, const as const
from relay.op.generated.tensor import *  # noqa: F403
from relay.op.tensor import *  # noqa: F403

from ... import _absent
from .. import dyn as dyn
from . import annotation as annotation, contrib as contrib, image as image, nn as nn, op as op, random as random, vision as vision
from .op import (
    OpPattern as OpPattern, debug as debug, get as get, register as register, register_alter_op_layout as register_alter_op_layout,
    register_fake_quantization_to_integer as register_fake_quantization_to_integer, register_gradient as register_gradient,
    register_infer_correct_layout as register_infer_correct_layout, register_legalize as register_legalize,
    register_mixed_precision_conversion as register_mixed_precision_conversion,
    register_optional_fake_quantization_to_integer as register_optional_fake_quantization_to_integer,
    register_pattern as register_pattern, register_stateful as register_stateful,
)  # fmt: skip
from ...ir.op import Op as Op, register_op_attr as register_op_attr

sys.modules[__name__ + ".dyn"] = dyn


def scatter(data: Any, indices: Any, updates: Any, axis: int) -> Any:
    """The tensor with elements replaced at indices along an axis: `scatter_elements` as it was called before TVM 0.11."""
    return scatter_elements(data, indices, updates, axis, "update")  # noqa: F405


def scatter_add(data: Any, indices: Any, updates: Any, axis: int) -> Any:
    """The tensor with values added at indices along an axis: `scatter_elements` as it was called before TVM 0.11."""
    return scatter_elements(data, indices, updates, axis, "add")  # noqa: F405


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
