"""Operators that annotate."""

from typing import Any

from relay.op.annotation import *  # noqa: F403

from .. import _absent
from .op.annotation import function_on_device as function_on_device, on_device as on_device


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
