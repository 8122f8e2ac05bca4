"""Quantised networks in the form in which TVM writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import relay as _relay
from relay import IRModule, quantize as _steps

from ...ir.transform import Sequential, create

__all__ = ["quantize", "realize"]


def _plain() -> list[_relay.transform.Pass]:
    """What writes quantised networks as TVM does: operators on int8, int32 and float32, with shifts for scales that are powers of two."""
    return [create("FoldConstant", fold_qnn=True), create("QnnCanonicalize", exact=False), create("FoldConstant")]


def realize() -> _relay.transform.Pass:
    """Computes on integers what an annotated and calibrated module computes on floats."""
    made: _relay.transform.Pass = Sequential([_steps.realize(), *_plain()], opt_level=1, name="QuantizeRealize")
    return made


def quantize(mod: IRModule, params: Mapping[str, Any] | None = None, dataset: Iterable[Mapping[str, Any]] | None = None) -> IRModule:
    """A module whose `main` computes on integers, as the current `qconfig` says; `relay.quantize.quantize` says what the arguments are."""
    found: IRModule = _steps.quantize(mod, params, dataset)
    if _steps.current_qconfig().do_simulation:
        return found
    with _relay.transform.PassContext(opt_level=3):
        found = Sequential(_plain())(found)
    return found
