"""Expressions run from Python."""

from __future__ import annotations

from typing import Any

import relay as _relay

from ... import _absent
from ...runtime.ndarray import cpu

__all__ = ["run_as_python"]


def run_as_python(expr: Any, mod: Any = None, target: Any = None) -> Any:
    """The value of an expression, in the reference evaluator: tensors as NDArray, tuples as ADT, data values as ConstructorValue, functions
    as something to call. TVM makes Python source of it first; here no source is made.

    `mod` has the functions and data types that the expression mentions. Raises RelayError for what is wrong with it.
    """
    from ..build_module import create_executor

    module = mod if mod is not None else _relay.IRModule()
    return create_executor("debug", mod=module, device=cpu(0), target=target if target is not None else "llvm").evaluate(expr)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
