"""Operators on quantised numbers."""

from __future__ import annotations

from typing import Any

from relay.qnn.op import *  # noqa: F403

from ... import _absent
from . import op, transform
from .op import requantize_config as requantize_config


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
