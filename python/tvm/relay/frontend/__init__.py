"""Programs of other systems: ONNX and PyTorch. Front ends of further systems are out of scope; their exporters write ONNX."""

from __future__ import annotations

from typing import Any

from ... import _absent
from . import change_datatype, common, onnx, pytorch
from .change_datatype import ChangeDatatype
from .onnx import from_onnx
from .pytorch import from_pytorch

__all__ = ["ChangeDatatype", "change_datatype", "common", "from_onnx", "from_pytorch", "onnx", "pytorch"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
