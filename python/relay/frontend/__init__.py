"""Programs from files of other systems."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Iterable
from typing import Any, Mapping, Sequence

from .. import _core
from .._checks import require_int, require_type, shown
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
        dtype: Dtypes of inputs by name, in place of what the model says; without, as "float32", those of the model count.
        opset: The version of the operators, in place of the model's.
        freeze_node_params: True makes the model's weights constants of the program; False makes them parameters of `main`, and returns them.

    Raises RelayError for a file that is not a model or a wrong one, and for operators that are not supported, all of them at once. What the
    importer warns of is a Python warning.
    """
    if hasattr(model, "SerializeToString"):
        if type(model).__name__ != "ModelProto":
            raise TypeError(f"model is an onnx.ModelProto, not {type(model).__name__}; onnx.helper.make_model makes one of a graph")
        model = model.SerializeToString()
    elif isinstance(model, (bytearray, memoryview)):
        model = bytes(model)
    elif not isinstance(model, bytes):
        model = os.fspath(model)
    version = None if opset is None else require_int("opset", opset, 1, 2**31 - 1)
    mod, params, notes = _core.from_onnx(model, _shapes(shape), _dtypes(dtype), version, bool(freeze_node_params))
    for note in notes:
        warnings.warn(note.message, stacklevel=2)
    return mod, params


def _shapes(given: Any) -> dict[str, list[int]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"shape is a dictionary of extents by names of inputs, not {shown(given)}")
    shapes: dict[str, list[int]] = {}
    for name, extents in given.items():
        require_type("the name of an input in shape", name, str)
        if isinstance(extents, (str, bytes)) or not isinstance(extents, Iterable):
            raise TypeError(f"shape[{name!r}] is a list of extents, not {shown(extents)}")
        shapes[name] = []
        for extent in extents:
            if isinstance(extent, bool) or not hasattr(extent, "__index__") or operator.index(extent) < -1:
                raise TypeError(
                    f"shape[{name!r}]: an extent is a whole number of 0 or more, or -1 for what the model says, not {shown(extent)}"
                )
            shapes[name].append(operator.index(extent))
    return shapes


def _dtypes(given: Any) -> dict[str, str]:
    if isinstance(given, Mapping):
        for name, dtype in given.items():
            require_type("the name of an input in dtype", name, str)
            _core.TensorType((), dtype)  # raises what is wrong with it
        return dict(given)
    _core.TensorType((), given)
    if str(given) != "float32":
        raise ValueError(f"dtype {given!s} of all inputs: the model says their dtypes; give those to replace by name, as {{'x': {str(given)!r}}}")
    return {}
