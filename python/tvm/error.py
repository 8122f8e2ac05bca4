"""Exceptions by TVM's names."""

from __future__ import annotations

from relay import ExecutionError, InternalError, RelayError
from relay._core import Failure

__all__ = ["DiagnosticError", "InternalError", "OpAttributeInvalid", "OpAttributeRequired", "OpAttributeUnImplemented", "OpError",
           "OpNotImplemented", "RelayError", "ExecutionError", "RPCError", "TVMError", "register_error"]  # fmt: skip

TVMError = Failure
DiagnosticError = RelayError


class OpError(RelayError):
    """Something is wrong with a call of an operator."""


class OpNotImplemented(OpError, NotImplementedError):
    """An operator that a front end does not know."""


class OpAttributeRequired(OpError, AttributeError):
    """An attribute that a front end needs is missing."""


class OpAttributeInvalid(OpError, AttributeError):
    """An attribute has a value that the operator does not take."""


class OpAttributeUnImplemented(OpError, NotImplementedError):
    """An attribute has a value that is not implemented."""


class RPCError(TVMError):
    """There are no remote devices here: nothing raises it; scripts may name it in an except clause."""


def register_error(func_name: object = None, cls: object = None) -> object:
    """Gives its class back: exceptions cross the border as they are, so nothing has to be registered."""
    if isinstance(func_name, type):
        return func_name
    return cls if cls is not None else (lambda wrapped: wrapped)
