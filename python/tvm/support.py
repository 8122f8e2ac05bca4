"""The settings that the library was built with."""

from __future__ import annotations

from relay import __version__


def libinfo() -> dict[str, str]:
    """Facts by TVM's keys. The compiler of Relay always has LLVM, and targets CPUs only."""
    return {"USE_LLVM": "ON", "USE_CUDA": "OFF", "USE_RPC": "OFF", "USE_MICRO": "OFF", "RELAY_VERSION": __version__}
