"""Questions about programs."""

from __future__ import annotations

from typing import Any

from relay.analysis import *  # noqa: F403
from relay.analysis import __all__ as __all__

from relay import IRModule as IRModule

from .. import _absent
from ..runtime.ndarray import cpu as cpu


# A package without files: imports of what TVM has below it give the reason why it is not there.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
