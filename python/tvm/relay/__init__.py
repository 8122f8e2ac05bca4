"""`tvm.relay`: the package `relay` in TVM's layout of modules."""

from __future__ import annotations

from typing import Any as _AnyType

import relay as _relay
from relay import *  # noqa: F403
from relay import astext, display as _display
from relay import Executable as Executable  # noqa: PLC0414

from .. import _absent
from ..ir.spans import SequentialSpan, SourceName
from ..ir import TypeConstraint
from . import adt, analysis, annotation, base, expr, expr_functor, function, loops, param_dict, parser, scope_builder, ty, type_functor
from . import op, nn, image, vision, random, dyn, qnn, transform, frontend, prelude
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


def pretty_print(obj: _AnyType) -> str:
    """Program text."""
    return astext(obj)


def __getattr__(name: str) -> _AnyType:
    if name == "testing":
        import importlib

        return importlib.import_module(".testing", __name__)
    return _absent.lookup(__name__, name)
