"""Names of devices."""

from __future__ import annotations

from typing import Any

# Other names that targets and devices have.
_KINDS = {"llvm": "cpu", "c": "cpu", "gpu": "cuda", "cl": "opencl"}


def device_text(device: Any) -> str:
    """`KIND(INDEX)` of a name ("cpu", "cuda(1)") or of an object whose text is one. Unknown kinds are found by the operator."""
    text = str(device).strip()
    kind, bracket, index = text.partition("(")
    kind = _KINDS.get(kind, kind)
    return f"{kind}({index}" if bracket else f"{kind}(0)"
