"""What TVM defines beside its nodes: equality, JSON, places."""

from __future__ import annotations

from typing import Any

from relay import IRModule

from .. import _absent
from ..runtime.object_path import ObjectPath, path_of
from . import (
    EnvFunc as EnvFunc, SequentialSpan as SequentialSpan, SourceName as SourceName, Span as Span, _difference,
    assert_structural_equal as assert_structural_equal, load_json as load_json, save_json as save_json,
    structural_equal as structural_equal, structural_hash as structural_hash,
)  # fmt: skip

__all__ = [
    "EnvFunc", "SequentialSpan", "SourceName", "Span", "assert_structural_equal", "get_first_structural_mismatch", "load_json", "save_json",
    "structural_equal", "structural_hash",
]  # fmt: skip


def get_first_structural_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> tuple[ObjectPath, ObjectPath] | None:
    """Where two objects differ first, as the place in either; None if they are equal. A place ends at the node whose own parts differ."""
    difference = _difference(lhs, rhs, map_free_vars)
    if difference is None:
        return None
    place = path_of(difference, {*lhs.function_names, *rhs.function_names} if isinstance(lhs, IRModule) and isinstance(rhs, IRModule) else ())
    return place, place


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
