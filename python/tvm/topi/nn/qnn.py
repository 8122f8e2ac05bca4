"""Codes of the dtypes of simulated quantisation."""

from __future__ import annotations

from typing import Any

from relay.qnn.op import SQNN_DTYPE_TO_CODE as SQNN_DTYPE_TO_CODE

from ... import _absent

SQNN_CODE_TO_DTYPE = {code: name for name, code in SQNN_DTYPE_TO_CODE.items()}

__all__ = ["SQNN_CODE_TO_DTYPE", "SQNN_DTYPE_TO_CODE"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
