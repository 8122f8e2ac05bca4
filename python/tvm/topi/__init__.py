"""`tvm.topi`: NumPy references for tests, and sparse weights."""

from __future__ import annotations

from typing import Any

from .. import _absent
from . import sparse as sparse, utils as utils


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
