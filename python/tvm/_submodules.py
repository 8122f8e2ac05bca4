"""Modules of TVM that have a few names and no file here."""

from __future__ import annotations

import sys
import types
from typing import Any

__all__ = ["submodule"]


def submodule(owner: str, name: str, **names: Any) -> Any:
    """A module `name` below the module `owner` that has only these names."""
    made = types.ModuleType(f"{owner}.{name}")
    vars(made).update(names, __all__=list(names))
    sys.modules[made.__name__] = made
    return made
