"""Programs from files of other systems: ONNX. Front ends of other systems are out of scope; their exporters write ONNX."""

from __future__ import annotations

from typing import Any

from relay.frontend import from_onnx

from . import common

__all__ = ["common", "from_onnx"]

_OTHERS = ("caffe", "caffe2", "coreml", "darknet", "keras", "mxnet", "oneflow", "paddle", "pytorch", "tensorflow", "tflite")


def __getattr__(name: str) -> Any:
    if name.removeprefix("from_") in _OTHERS:
        from ..._absent import refusal

        raise refusal(f"tvm.relay.frontend.{name}", f"a front end of {name.removeprefix('from_')}; from_onnx reads ONNX")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
