"""`tvm.relay.op.strategy`: what is asked about calls. Strategies themselves choose among schedules of TIR."""

from __future__ import annotations

from typing import Any

from .... import _absent
from . import generic as generic
from .generic import is_depthwise_conv2d, wrap_topi_schedule

__all__ = ["generic", "is_depthwise_conv2d", "wrap_topi_schedule"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
