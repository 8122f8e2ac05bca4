"""Passes over operators on quantised numbers."""

from __future__ import annotations

from typing import Any

from relay import transform as _passes

from ... import _absent

__all__ = ["CanonicalizeOps", "Legalize"]


def CanonicalizeOps() -> _passes.Pass:  # noqa: N802
    """Writes operators on quantised numbers as operators on integers and floats."""
    return _passes.create("QnnCanonicalize")


def Legalize() -> _passes.Pass:  # noqa: N802
    """Puts what functions that are attached to operators as FTVMQnnLegalize make of a call in its place."""
    return _passes.create("QnnLegalize")


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
