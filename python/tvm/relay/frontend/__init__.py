"""Programs from files of other systems: ONNX. Front ends of other systems are out of scope; their exporters write ONNX."""

from __future__ import annotations

from typing import Any

from ... import _absent
from . import common, onnx
from .onnx import from_onnx

__all__ = ["common", "from_onnx", "onnx"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
