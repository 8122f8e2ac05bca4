"""Targets of tests, by the name before `tvm.testing.enabled_targets`."""

from __future__ import annotations

from ...runtime.ndarray import Device
from ...testing import enabled_targets

__all__ = ["ctx_list"]


def ctx_list() -> list[tuple[str, Device]]:
    """The targets that tests run on, with their devices."""
    return enabled_targets()
