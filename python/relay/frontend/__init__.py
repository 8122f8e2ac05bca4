"""Programs from files of other systems."""

from __future__ import annotations

import os
import warnings
from typing import Any, Mapping, Sequence

from .. import _core
from .._core import IRModule, NDArray

__all__ = ["from_onnx"]


def from_onnx(
    model: Any,
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_node_params: bool = True,
) -> tuple[IRModule, dict[str, NDArray]]:
    """An ONNX model as a module and its parameters by name.

    Args:
        model: A path, the bytes of a file, or an `onnx.ModelProto`. Data beside the model are found for a path only.
        shape: Extents of inputs by name, in place of what the model says; -1 leaves one as it is.
        dtype: Dtypes of inputs by name. One for all ("float32") says nothing: the model knows them.
        opset: The version of the operators, in place of the model's.
        freeze_node_params: Whether the model's weights are constants of the program; else they are parameters of `main`, and returned.

    Raises RelayError for what is no model or a wrong one, and for operators that are not supported, all of them at once. What the
    importer warns of is a Python warning.
    """
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    elif isinstance(model, (bytearray, memoryview)):
        model = bytes(model)
    elif not isinstance(model, bytes):
        model = os.fspath(model)
    shapes = {name: [int(extent) for extent in extents] for name, extents in (shape or {}).items()}
    dtypes = dict(dtype) if isinstance(dtype, Mapping) else {}
    mod, params, notes = _core.from_onnx(model, shapes, dtypes, opset, bool(freeze_node_params))
    for note in notes:
        warnings.warn(note.message, stacklevel=2)
    return mod, params
