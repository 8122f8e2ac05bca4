"""Annotations: values come out as they go in, and the compiler learns something."""

from __future__ import annotations

from typing import Any

from .._core import Expr, call_op
from ._common import ExprLike
from ._devices import device_text
from .generated import annotation as _generated
from .generated.annotation import *  # noqa: F403

__all__ = ["on_device"]
__all__ += _generated.__all__


def on_device(body: ExprLike, device: Any, constrain_result: bool = False, constrain_body: bool = True) -> Expr:
    """Says where a value is computed.

    Args:
        body: The value.
        device: Its device, as "cpu(0)", or "cpu" for the first one.
        constrain_result: True if the result is on the device.
        constrain_body: True if the value is computed there.
    """
    flags = {"constrain_result": bool(constrain_result), "constrain_body": bool(constrain_body)}
    return call_op("on_device", body, virtual_device=device_text(device), **flags)
