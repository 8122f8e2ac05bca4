"""`tvm.exec`: programs that this package starts."""

from __future__ import annotations

from typing import Any

from .. import _absent


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
