"""Errors, and types that scripts ask `isinstance` about."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .. import _absent
from ..error import TVMError, register_error

__all__ = ["TVMError", "integer_types", "numeric_types", "py_str", "register_error", "string_types"]

string_types = (str,)
integer_types = (int, np.int32)
numeric_types = (*integer_types, float, np.float16, np.float32)


def py_str(x: bytes) -> str:
    """Bytes as text."""
    return x.decode("utf-8")


def c_str(string: str) -> Any:
    """Text for C."""
    return ctypes.c_char_p(string.encode("utf-8"))


def c_array(ctype: Any, values: Any) -> Any:
    """An array for C."""
    return (ctype * len(values))(*values)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
