"""Small helpers of builders."""

from __future__ import annotations


def mangle_module_name(mod_name: str | None) -> str:
    """The prefix of everything that is generated for a module."""
    return "tvmgen" if not mod_name else "tvmgen_" + mod_name
