"""`tvm.arith`: questions about extents."""

from __future__ import annotations

from typing import Any

from .. import _absent
from .analyzer import Analyzer as Analyzer, ConstIntBound as ConstIntBound, ModularSet as ModularSet, ProofStrength as ProofStrength


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
