"""Programs whose weights are changed with them."""

from __future__ import annotations

from typing import Any

from ... import _absent
from . import bsr_conv2d as bsr_conv2d, bsr_dense as bsr_dense, simplify_fc_transpose as simplify_fc_transpose


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
