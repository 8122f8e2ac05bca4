"""Passes over operators on quantised numbers."""

from __future__ import annotations

from typing import Any

from relay import transform as _passes

from ... import _absent
from ...ir.transform import create, module_pass
from ...target import Target
from .rounding import settled

__all__ = ["CanonicalizeOps", "Legalize"]


def CanonicalizeOps() -> _passes.Pass:  # noqa: N802
    """Writes operators on quantised numbers as operators on int32 and float32, with fixed_point_multiply for scales.

    Results are those of the operators where no sum leaves 32 bits. `relay.transform.create("QnnCanonicalize")` writes
    definitions that are right for all numbers.
    """
    made = create("QnnCanonicalize", exact=False)
    # The settings are those where the pass runs, not where it was made; `made` is called, not part of a sequence, which would skip it by its level.
    whole: _passes.Pass = module_pass(lambda mod, _: made(settled(mod)), made.info.opt_level, made.info.name)
    return whole


def Legalize() -> _passes.Pass:  # noqa: N802
    """Puts what functions that are attached to operators as FTVMQnnLegalize make of a call in its place.

    Under a target, a qnn.dense or qnn.conv2d to which none is attached becomes a product of integers less their zero points.
    """
    return create("QnnLegalize", products=Target.current(allow_none=True) is not None)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
