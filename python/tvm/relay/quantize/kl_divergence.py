"""Thresholds of numbers by the divergence of their distributions."""

from __future__ import annotations

from typing import Any

from relay.quantize import kl_divergence_threshold

from ... import _absent


def _find_scale_by_kl(arr: Any, quantized_dtype: str = "int8", num_bins: int = 8001, num_quantized_bins: int = 255) -> float:
    """The number at which cutting off loses least."""
    bits = (num_quantized_bins + 1).bit_length() - 1
    return kl_divergence_threshold(arr, bits, num_bins)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
