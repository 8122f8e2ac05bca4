"""`tvm.relay`: the package `relay` in TVM's layout of modules."""

from __future__ import annotations

from typing import Any as _AnyType

import relay as _relay
from relay import *  # noqa: F403
from relay import Executable as Executable

from .. import _absent
from ..ir.spans import SequentialSpan, SourceName
from ..ir import TypeConstraint

# The package's own modules of these names came with `from relay import *`: TVM's layout has more names in them.
import importlib as _importlib

for _name in ("adt", "analysis", "annotation", "base", "expr", "expr_functor", "function", "loops", "param_dict", "parser", "scope_builder", "ty",
              "type_functor", "op", "nn", "image", "vision", "random", "dyn", "qnn", "transform", "frontend", "prelude"):  # fmt: skip
    globals()[_name] = _importlib.import_module("." + _name, __name__)
from .function import FunctionWithFields
from .parser import SpanCheck, fromtext, parse, parse_expr
from .loops import while_loop
from .prelude import Prelude
from .param_dict import load_param_dict, save_param_dict
from . import build_module, backend
from .build_module import bind_params_by_name, build, build_config, create_executor, optimize
from .backend import vm, interpreter
from .backend.options import Executor, Runtime

import sys as _sys

_sys.modules[__name__ + ".vm"] = vm

__all__ = [*_relay.__all__, "Prelude", "SequentialSpan", "SourceName", "build", "build_config", "create_executor", "load_param_dict",
           "optimize", "save_param_dict", "transform", "analysis", "frontend", "qnn", "vm", "adt", "op", "ty"]  # fmt: skip


def astext(obj: _AnyType, show_meta_data: bool = True, annotate: _AnyType = None) -> str:
    """Program text. Raises NotImplementedError for `annotate`."""
    if annotate is not None:
        raise NotImplementedError("astext(annotate=…): comments cannot be put beside nodes")
    return _relay.astext(obj, show_meta_data)


def pretty_print(obj: _AnyType) -> None:
    """Prints program text."""
    print(astext(obj))


def __getattr__(name: str) -> _AnyType:
    if name == "testing":
        import importlib

        return importlib.import_module(".testing", __name__)
    return _absent.lookup(__name__, name)
