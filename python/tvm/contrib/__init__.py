"""`tvm.contrib`: graph executor and small helpers; vendors' libraries are out of scope."""

from __future__ import annotations

from typing import Any

from .. import _absent
from . import graph_executor, utils

__all__ = ["graph_executor", "utils"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
