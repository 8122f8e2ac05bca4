"""`relay.op`: operators and what scripts register for them."""

from __future__ import annotations

from typing import Any

from relay import Call as Call, Constant as Constant, Expr as Expr, Tuple as Tuple, TupleWrapper as TupleWrapper, const as const
from relay.op.tensor import *  # noqa: F403

from ... import _absent
from . import annotation, image, nn, op, random, vision
from .op import (
    OpPattern, get, register, register_alter_op_layout, register_fake_quantization_to_integer, register_gradient,
    register_infer_correct_layout, register_legalize, register_mixed_precision_conversion,
    register_optional_fake_quantization_to_integer, register_pattern, register_stateful,
)  # fmt: skip
from ...ir.op import Op, register_op_attr


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
