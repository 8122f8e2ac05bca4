"""`tvm.runtime`: arrays, containers, modules of compiled code."""

from __future__ import annotations

from typing import Any

from relay import NDArray

from .. import _absent
from . import container, module, name_transforms, ndarray, registry
from . import ndarray as nd
from .container import ADT, ShapeTuple, String
from .module import BenchmarkResult, Module, enabled, load_module
from .ndarray import Device, array, cpu, cuda, device
from .object import Object, ObjectGeneric
from .packed_func import PackedFunc
from .params import load_param_dict, load_param_dict_from_file, save_param_dict, save_param_dict_to_file
from . import vm
from .threads import num_threads

__all__ = [
    "ADT", "BenchmarkResult", "Device", "Module", "NDArray", "Object", "ObjectGeneric", "PackedFunc", "ShapeTuple", "String", "array", "const",
    "container", "convert", "convert_to_object", "cpu", "cuda", "device", "enabled", "load_module", "load_param_dict", "load_param_dict_from_file",
    "module", "name_transforms", "nd", "ndarray", "num_threads", "registry", "scalar", "save_param_dict", "save_param_dict_to_file", "vm",
]  # fmt: skip


def convert(value: Any, span: Any = None) -> Any:
    """Python's values as they are held inside nodes: lists and dictionaries of nodes stay such, integers have a `value`, everything else is
    itself.

    Nothing has to be converted here: all functions take Python's own values.
    """
    from .. import tir
    from ..ir.container import Array, Map

    if isinstance(value, (list, tuple)):
        return Array(convert(item) for item in value)
    if isinstance(value, dict):
        return Map((convert(key), convert(item)) for key, item in value.items())
    if isinstance(value, int) and not isinstance(value, bool):
        return tir.numbered(value)
    return String(value) if isinstance(value, str) else value


convert_to_object = convert


def const(value: Any, dtype: str | None = None, span: Any = None) -> Any:
    """A constant of a dimension or of a shape."""
    from ..tir import const as _const

    return _const(value, dtype, span)


def scalar(value: Any, dtype: str = "int32") -> Any:
    """A number with a dtype."""
    return const(value, dtype)


context = device  # its name before TVM 0.8


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
