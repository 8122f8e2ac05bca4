"""`tvm.topi`: NumPy references for tests."""

from __future__ import annotations

from typing import Any

from .. import _absent
from . import utils


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
