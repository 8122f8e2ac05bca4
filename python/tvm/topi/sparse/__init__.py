"""`tvm.topi.sparse`: sparse weights for tests and benchmarks."""

from __future__ import annotations

from typing import Any

from ... import _absent
from . import utils as utils


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
