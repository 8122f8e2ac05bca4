"""Models of files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import relay as _relay

from ... import _absent
from .model import TVMCException, TVMCModel

__all__ = ["get_frontend_names", "load_model"]


def get_frontend_names() -> list[str]:
    """The formats that can be read."""
    return ["onnx", "relay"]


def load_model(path: str, model_format: str | None = None, shape_dict: Mapping[str, Any] | None = None, **kwargs: Any) -> TVMCModel:
    """A model of a file: ONNX, or program text (``.relay``, ``.rly``). Raises TVMCException for other formats."""
    suffix = os.path.splitext(path)[1].lower().lstrip(".")
    chosen = model_format or {"onnx": "onnx", "relay": "relay", "rly": "relay"}.get(suffix)
    if chosen == "onnx":
        from ...relay.frontend import from_onnx

        return TVMCModel(*from_onnx(path, shape_dict, **kwargs))
    if chosen == "relay":
        with open(path, encoding="utf-8") as stream:
            return TVMCModel(_relay.parse(stream.read(), path), {})
    raise TVMCException(f"{path} cannot be read: the formats are {', '.join(get_frontend_names())}, and other systems export ONNX")


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
