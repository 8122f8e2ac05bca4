"""`tvm.relay`: the package `relay` in TVM's layout of modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any as _AnyType

if TYPE_CHECKING:  # before names of `relay`, of which the first is what a checker of types takes
    from . import adt as adt, analysis as analysis, annotation as annotation, base as base, data_dep_optimization as data_dep_optimization, dataflow_pattern as dataflow_pattern, dyn as dyn, expr as expr
    from . import expr_functor as expr_functor, frontend as frontend, function as function, image as image, loops as loops, nn as nn
    from . import op as op, param_dict as param_dict, parser as parser, prelude as prelude, qnn as qnn, quantize as quantize, random as random
    from . import scope_builder as scope_builder, testing as testing, transform as transform, ty as ty, type_functor as type_functor
    from . import vision as vision

import relay as _relay
from relay import *  # type: ignore[no-redef]  # noqa: F403
from relay import Executable as Executable
from ..ir.module import IRModule as IRModule

from .. import _absent
from ..tir import Any as Any  # a class: scripts ask isinstance(extent, relay.Any)
from ..ir.spans import SequentialSpan as SequentialSpan, SourceName as SourceName
from ..ir import TypeConstraint as TypeConstraint

# The package's own modules of these names came with `from relay import *`: TVM's layout has more names in them.
import importlib as _importlib

for _name in ("adt", "analysis", "annotation", "base", "expr", "expr_functor", "function", "loops", "param_dict", "parser", "scope_builder", "ty",
              "type_functor", "op", "nn", "image", "vision", "random", "dyn", "qnn", "quantize", "data_dep_optimization", "transform", "frontend", "prelude", "dataflow_pattern"):  # fmt: skip
    globals()[_name] = _importlib.import_module("." + _name, __name__)
from .expr import const as const
from .op import concatenate as concatenate, meshgrid as meshgrid, stack as stack
from .op import device_copy as device_copy, ndarray_size as ndarray_size, scatter as scatter, scatter_add as scatter_add, shape_of as shape_of
from .op import sparse_fill_empty_rows as sparse_fill_empty_rows
from .function import FunctionWithFields as FunctionWithFields
from .parser import SpanCheck as SpanCheck, fromtext as fromtext, parse as parse, parse_expr as parse_expr
from .loops import while_loop as while_loop
from .prelude import Prelude as Prelude
from .param_dict import load_param_dict as load_param_dict, save_param_dict as save_param_dict
from . import build_module as build_module, backend as backend
from .build_module import bind_params_by_name as bind_params_by_name, build as build, build_config as build_config
from .build_module import create_executor as create_executor, optimize as optimize
from .backend import vm as vm, interpreter as interpreter
from .backend.options import Executor as Executor, Runtime as Runtime

import sys as _sys

_sys.modules[__name__ + ".vm"] = vm

__all__ = [*_relay.__all__, "Prelude", "SequentialSpan", "SourceName", "build", "build_config", "create_executor", "load_param_dict",
           "optimize", "save_param_dict", "transform", "analysis", "dataflow_pattern", "frontend", "qnn", "vm", "adt", "op", "ty"]  # fmt: skip


def astext(obj: _AnyType, show_meta_data: bool = True, annotate: _AnyType = None) -> str:  # type: ignore[no-redef]
    """Program text. `annotate`: a function of a node whose text stands behind the node as a comment."""
    if annotate is None or isinstance(obj, _relay.Type):
        return _relay.astext(obj, show_meta_data)
    return str(obj.astext(show_meta_data, annotate))


def pretty_print(obj: _AnyType) -> None:
    """Prints program text."""
    print(astext(obj))


def __getattr__(name: str) -> _AnyType:
    return _absent.lookup(__name__, name)
