"""Relay: a functional tensor language and its compiler.

    import numpy as np
    import relay

    x = relay.var("x", shape=(1, 8))
    mod = relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(x + 1.0)))
    program = relay.compile(mod)
    program(np.zeros((1, 8), "float32"))

Programs are built of expressions (`relay.expr`), operators are functions (`relay.add`, `relay.nn.conv2d`, …), `relay.parse` reads
program text and `str` writes it. NumPy is imported when the first array is made.
"""

from __future__ import annotations

import sys as _sys
from typing import TYPE_CHECKING, Any as _AnyType

if "t" in getattr(_sys, "abiflags", ""):
    raise ImportError("relay does not run on free-threaded builds of Python yet: use a standard build of the same version")

try:
    from . import _core
except ImportError as _error:
    # Refused by the extension, or from 3.12 on by Python itself.
    if "subinterpreter" in f"{_error} {_error.__cause__}":
        raise ImportError("relay cannot be used in a subinterpreter, only in the main one") from None
    if "initialised again" in str(_error.__cause__):
        raise ImportError(str(_error.__cause__)) from None
    raise
from ._core import (
    Attrs,
    BaseType,
    Call,
    Cancel,
    Clause,
    Constant,
    Constructor,
    Diagnostic,
    Dim,
    DimType,
    Executable,
    ExecutionError,
    Expr,
    FuncType,
    Function,
    GlobalTypeVar,
    GlobalVar,
    If,
    IncompleteType,
    InternalError,
    IRModule,
    Kind,
    Let,
    Literal,
    Match,
    NDArray,
    Note,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    RelayError,
    ShapeType,
    Span,
    TempExpr,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeRelation,
    TypeVar,
    Value,
    Var,
    reduce,
)

# The members that are written in Python go onto the classes here.
from . import _pickle, expr, module
from .equality import assert_structural_equal, structural_difference, structural_equal, structural_hash
from .execution import RunCancelled, RunTimeout, compile, evaluate, load, release_memory
from .expr import TupleWrapper, bind, const, var
from .expr_functor import ExprFunctor, ExprMutator, ExprVisitor, MixedModeMutator, MixedModeVisitor, post_order_visit, rewrite
from .module import check, fromtext, parse, parse_expr, parse_type
from .scope_builder import ScopeBuilder
from .ty import Any, ShapeVar, TypeKind, scalar_type
from .type_functor import TypeFunctor, TypeMutator, TypeVisitor
from ._progress import progress
from . import op
from .op import annotation, image, nn, random, vision
from .op import tensor as _tensor
from .op.generated.tensor import *  # noqa: F403 (which come with the next line, too, but checkers of types do not see it)
from .op.tensor import *  # noqa: F403
from .gradients import checkpoint, custom_gradient, grad, hessian, jacfwd, jacobian, jacrev, jvp, value_and_grad, vjp, vmap

__all__ = [
    "annotation", "Any", "assert_structural_equal", "astext", "Attrs", "BaseType", "bind", "Call", "Cancel", "check", "checkpoint", "Clause", "compile",
    "const", "Constant", "Constructor", "custom_gradient", "Diagnostic", "Dim", "DimType", "evaluate", "Executable", "ExecutionError", "Expr",
    "expr", "ExprFunctor", "ExprMutator", "ExprVisitor", "fromtext", "Function", "FuncType", "GlobalTypeVar", "GlobalVar", "grad", "hessian", "If",
    "image", "IncompleteType", "InternalError", "IRModule", "jacfwd", "jacobian", "jacrev", "jvp", "Kind", "Let", "Literal", "load", "Match", "MixedModeMutator",
    "MixedModeVisitor", "module", "NDArray", "nn", "Note", "op", "Op", "parse", "parse_expr", "parse_type", "Pattern", "PatternConstructor",
    "PatternTuple", "PatternVar", "PatternWildcard", "post_order_visit", "progress", "random", "reduce", "RefCreate", "RefRead", "RefType",
    "RefWrite", "RelayError", "release_memory", "rewrite", "RunCancelled", "RunTimeout", "scalar_type", "ScopeBuilder", "ShapeType", "ShapeVar", "Span",
    "structural_difference", "structural_equal", "structural_hash", "TempExpr", "TensorType", "Tuple", "TupleGetItem",
    "TupleType", "TupleWrapper", "Type", "TypeCall", "TypeData", "TypeFunctor", "TypeKind", "TypeMutator", "TypeRelation",
    "TypeVar", "TypeVisitor", "Value", "value_and_grad", "Var", "var", "vision", "vjp", "vmap",
]  # fmt: skip
__all__ += _tensor.__all__

__version__ = _core.__version__

if TYPE_CHECKING:
    from .frontend import from_torch as from_torch
    from .functions import (
        Array as Array, TraceError as TraceError, bf16 as bf16, cond as cond, dynamic_slice as dynamic_slice, dynamic_update_slice as dynamic_update_slice,
        f16 as f16, f32 as f32, f64 as f64, fori as fori, fori_loop as fori_loop, function as function, i8 as i8, i16 as i16, i32 as i32, i64 as i64,
        jit as jit, scan as scan, stop_gradient as stop_gradient, switch as switch, u8 as u8, u16 as u16, u32 as u32, u64 as u64, while_loop as while_loop,
    )  # fmt: skip
    from . import (
        analysis as analysis, codegen as codegen, dataflow_pattern as dataflow_pattern, display as display, frontend as frontend, functions as functions, instrument as instrument, llm as llm, numpy as numpy, optim as optim, qnn as qnn, quantize as quantize, ray as ray, serve as serve, sparse as sparse, te as te,
        transform as transform, tree as tree,
    )  # fmt: skip

# Names that are found when they are first used.
_LAZY = {"analysis", "codegen", "dataflow_pattern", "frontend", "qnn", "transform", "instrument", "display", "te", "optim", "quantize", "ray", "serve", "sparse", "llm", "functions", "numpy", "tree"}
# Those of them that are members of `functions`, which imports NumPy.
_FUNCTIONS = frozenset({
    "Array", "TraceError", "bf16", "cond", "dynamic_slice", "dynamic_update_slice", "f16", "f32", "f64", "fori", "fori_loop", "function", "i8", "i16", "i32",
    "i64", "jit", "scan", "stop_gradient", "switch", "u8", "u16", "u32", "u64", "while_loop",
})  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name != "annotations"), *_LAZY, *_FUNCTIONS, "from_torch"})


def __getattr__(name: str) -> _AnyType:
    if name in _LAZY:
        import importlib

        try:
            return importlib.import_module("." + name, __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    if name in _FUNCTIONS:
        from . import functions

        return getattr(functions, name)
    if name == "from_torch":
        from .frontend import from_torch

        return from_torch
    raise AttributeError(f"module 'relay' has no attribute {name!r}", name=name, obj=_sys.modules[__name__])


def _repr_html(self: Expr | IRModule) -> str:
    """Program text and drawing, for notebooks."""
    from . import display

    return display.html(self)


def _repr_svg(self: Expr) -> str | None:
    """The drawing of the dataflow, for notebooks; None where it is too large."""
    from . import display

    return display.svg(self)


setattr(Expr, "_repr_html_", _repr_html)
setattr(Expr, "_repr_svg_", _repr_svg)
setattr(IRModule, "_repr_html_", _repr_html)


def _type_html(self: Type) -> str:
    from . import display

    return display.type_html(self)


def _executable_html(self: Executable) -> str:
    from . import display

    return display.executable_html(self)


_profile = Executable.profile


def _profile_shown(self: Executable, *args: _AnyType, **kwargs: _AnyType) -> list[_AnyType]:
    """Runs once and gives what each kernel took: name, calls, seconds, flops, bytes, its text (`source`), and `arguments`; printed, a table.

    `arguments` has a list for launches that differ in it: the dtype and the shape of each tensor that the kernel reads and then of those that it
    writes, with -1 for an extent that only a run knows.
    """
    from . import display

    return display.Profile(_profile(self, *args, **kwargs))


setattr(Type, "_repr_html_", _type_html)
setattr(Executable, "_repr_html_", _executable_html)
setattr(Executable, "profile", _profile_shown)


def astext(obj: Expr | IRModule | Type, show_meta_data: bool = True) -> str:
    """Program text of an expression, a module or a type. The text of a module parses back to an equal one."""
    if isinstance(obj, Type):
        return str(obj)
    return obj.astext(show_meta_data)
