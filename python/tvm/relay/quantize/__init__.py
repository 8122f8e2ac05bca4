"""Networks of floats made networks of integers."""

from __future__ import annotations

from typing import Any

import relay as _relay

from . import kl_divergence as kl_divergence, quantize as _steps  # noqa: F401, I001 (first, so that the function `quantize` takes the module's name)
from relay.quantize import *  # noqa: F403
from relay.quantize import QAnnotateKind as QAnnotateKind, __all__ as __all__
from .quantize import quantize as quantize, realize as realize

from ... import _absent


class _annotate:  # noqa: N801 (a module of TVM)
    """The parts of annotations."""

    QAnnotateKind = QAnnotateKind

    @staticmethod
    def attach_simulated_quantize(data: Any, kind: int, sign: bool = True, rounding: str = "round") -> Any:
        """The data as 8-bit integers of a scale that is a free variable `dom_scale`, and back to floats."""
        scale = _relay.var("dom_scale", shape=(), dtype="float32")
        zero = _relay.const(0, "int32")
        quantised = _relay.qnn.op.quantize(data, scale, zero, out_dtype="int8" if sign else "uint8")
        return _relay.qnn.op.dequantize(quantised, scale, zero)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
