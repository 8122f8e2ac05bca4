"""Networks of floats made networks of integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import relay as _relay
from relay.quantize import *  # noqa: F403
from relay.quantize import QAnnotateKind as QAnnotateKind, __all__ as __all__, kl_divergence_threshold

from .. import _absent
from .._submodules import submodule


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


def _bind_params(func: _relay.Function, params: Mapping[str, Any]) -> _relay.Function:
    """The function with values for parameters by name."""
    from .build_module import bind_params_by_name

    return bind_params_by_name(func, params)


def _find_scale_by_kl(arr: Any, quantized_dtype: str = "int8", num_bins: int = 8001, num_quantized_bins: int = 255) -> float:
    """The number at which cutting off loses least."""
    bits = (num_quantized_bins + 1).bit_length() - 1
    return kl_divergence_threshold(arr, bits, num_bins)


submodule(__name__, "quantize", _bind_params=_bind_params, **{name: globals()[name] for name in __all__})
submodule(__name__, "kl_divergence", _find_scale_by_kl=_find_scale_by_kl)

# A package without files: imports of what TVM has below it give the reason why it is not there.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
