"""Tables of patterns by the name of the code generator that they are for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["get_pattern_table", "register_pattern_table"]

_tables: dict[str, Callable[[], Any]] = {}


def register_pattern_table(compiler: str, table: Any = None) -> Any:
    """Names a table, or a function that gives one; decorates a function where no table is given. A later one of the name counts.

    Args:
        compiler: The name of the code generator.
        table: What `relay.transform.MergeComposite` takes, or a function that gives it.
    """

    def keep(given: Any) -> Any:
        _tables[compiler] = given if callable(given) else lambda: given
        return given

    return keep if table is None else keep(table)


def get_pattern_table(compiler: str) -> Any:
    """The table of a code generator; None if there is none."""
    table = _tables.get(compiler)
    return None if table is None else table()
