"""`tvm.topi`: NumPy references for tests."""

from __future__ import annotations

from typing import Any

from .. import _absent
from . import utils


def __getattr__(name: str) -> Any:
    if name == "testing":
        import importlib

        return importlib.import_module(".testing", __name__)
    return _absent.lookup(__name__, name)
