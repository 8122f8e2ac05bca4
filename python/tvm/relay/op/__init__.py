"""`relay.op`: operators and what scripts register for them."""

from __future__ import annotations

import sys
from typing import Any

from relay import Call as Call, Constant as Constant, Expr as Expr, Tuple as Tuple, TupleWrapper as TupleWrapper, const as const
from relay.op.generated.tensor import *  # noqa: F403
from relay.op.tensor import *  # noqa: F403

from ... import _absent
from .. import dyn as dyn
from . import annotation as annotation, image as image, nn as nn, op as op, random as random, vision as vision
from .op import (
    OpPattern as OpPattern, get as get, register as register, register_alter_op_layout as register_alter_op_layout,
    register_fake_quantization_to_integer as register_fake_quantization_to_integer, register_gradient as register_gradient,
    register_infer_correct_layout as register_infer_correct_layout, register_legalize as register_legalize,
    register_mixed_precision_conversion as register_mixed_precision_conversion,
    register_optional_fake_quantization_to_integer as register_optional_fake_quantization_to_integer,
    register_pattern as register_pattern, register_stateful as register_stateful,
)  # fmt: skip
from ...ir.op import Op as Op, register_op_attr as register_op_attr

sys.modules[__name__ + ".dyn"] = dyn


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
