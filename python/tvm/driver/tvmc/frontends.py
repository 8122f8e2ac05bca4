"""Models of files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import relay as _relay

from ... import _absent
from .model import TVMCException, TVMCModel

__all__ = ["Frontend", "get_frontend_by_name", "get_frontend_names", "guess_frontend", "load_model"]


class Frontend:
    """A format of models: its name and how files of it end."""

    def __init__(self, name: str, suffixes: Sequence[str]) -> None:
        self._name, self._suffixes = name, list(suffixes)

    def name(self) -> str:
        """The name, as `load_model` takes it."""
        return self._name

    def suffixes(self) -> list[str]:
        """How files end, without the dot."""
        return list(self._suffixes)

    def load(self, path: Any, shape_dict: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
        """The module and the parameters of a file. Raises TVMCException for formats that are not read."""
        if self._name in ("onnx", "relay") and not os.path.exists(path):
            raise FileNotFoundError(f"there is no model at {path}")
        if self._name == "onnx":
            from ...relay.frontend import from_onnx

            return from_onnx(os.fspath(path), shape_dict, **kwargs)
        if self._name == "relay":
            with open(path, encoding="utf-8") as stream:
                return _relay.parse(stream.read(), os.fspath(path)), {}
        raise TVMCException(f"{path} cannot be read: the formats are {', '.join(get_frontend_names())}, and other systems export ONNX")


# TVM's formats; those that `get_frontend_names` lists are read.
_FRONTENDS = [
    Frontend("keras", ["h5"]), Frontend("onnx", ["onnx"]), Frontend("pb", ["pb"]), Frontend("tflite", ["tflite"]), Frontend("pytorch", ["pth", "zip"]),
    Frontend("paddle", ["pdmodel"]), Frontend("relay", ["relay", "rly"]),
]  # fmt: skip


def get_frontend_names() -> list[str]:
    """The formats that can be read."""
    return ["onnx", "relay"]


def get_frontend_by_name(name: str) -> Frontend:
    """The format of a name. Raises TVMCException for others."""
    for frontend in _FRONTENDS:
        if frontend.name() == name:
            return frontend
    raise TVMCException(f"no format is called {name!r}: the formats are {', '.join(get_frontend_names())}, and other systems export ONNX")


def guess_frontend(path: str) -> Frontend:
    """The format that the end of a file's name says. Raises TVMCException for others."""
    suffix = os.path.splitext(path)[1].lower().lstrip(".")
    for frontend in _FRONTENDS:
        if suffix in frontend.suffixes():
            return frontend
    raise TVMCException(f"{path} cannot be read: the formats are {', '.join(get_frontend_names())}, and other systems export ONNX")


def load_model(path: str, model_format: str | None = None, shape_dict: Mapping[str, Any] | None = None, **kwargs: Any) -> TVMCModel:
    """A model of a file: ONNX, or program text (``.relay``, ``.rly``). The end of its name says which where no format is
    given. Raises TVMCException for other formats, FileNotFoundError."""
    chosen = get_frontend_by_name(model_format) if model_format else guess_frontend(os.fspath(path))
    return TVMCModel(*chosen.load(path, shape_dict, **kwargs))


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
