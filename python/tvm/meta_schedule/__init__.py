"""`tvm.meta_schedule`: kernels have no schedules that could be tuned, so there are no tasks."""

from __future__ import annotations

from typing import Any

from .. import _absent
from . import relay_integration

__all__ = ["relay_integration"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
