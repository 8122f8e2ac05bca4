"""`tvm.topi.nn`: helpers with padding. Its operators are schedules of TIR."""

from __future__ import annotations

from typing import Any

from ... import _absent
from . import qnn, utils
from .qnn import SQNN_CODE_TO_DTYPE, SQNN_DTYPE_TO_CODE
from .utils import get_pad_tuple, get_pad_tuple1d, get_pad_tuple3d

__all__ = ["SQNN_CODE_TO_DTYPE", "SQNN_DTYPE_TO_CODE", "get_pad_tuple", "get_pad_tuple1d", "get_pad_tuple3d", "qnn", "utils"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
