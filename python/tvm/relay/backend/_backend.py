"""The plan of a function's memory as TVM's graph executor has it: which results share storage. A compiled program has its own plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relay import Expr, Function, IRModule

from ... import _absent
from ...runtime.ndarray import cpu
from .graph_json import Graph
from .storage import bytes_of, storage_of

__all__ = ["GraphPlanMemory", "StaticMemoryPlan", "StorageInfo"]


@dataclass
class StorageInfo:
    """Where the tensors of a value stand: the number, device and bytes of the storage of each, which are those of the first tensor that it
    is for: storage grows where a larger one takes it."""

    storage_ids: list[int] = field(default_factory=list)
    device_types: list[int] = field(default_factory=list)
    storage_sizes_in_bytes: list[int] = field(default_factory=list)

    @property
    def storage_sizes(self) -> list[int]:
        """The same as `storage_sizes_in_bytes`."""
        return self.storage_sizes_in_bytes


@dataclass
class StaticMemoryPlan:
    """A `StorageInfo` for each parameter, constant and call of a function."""

    expr_to_storage_info: dict[Expr, StorageInfo]


def GraphPlanMemory(func: Function) -> StaticMemoryPlan:  # noqa: N802
    """Plans the memory of a function whose operators were put into kernels (FuseOps).

    Parameters and constants have storage of their own; a call takes storage that nobody reads any more, or new one. Raises ValueError
    for extents that are not known.
    """
    if not isinstance(func, Function):
        raise TypeError(f"GraphPlanMemory takes a function, not {type(func).__name__}")
    mod = IRModule()
    mod["main"] = func
    graph = Graph(mod, fuse=False)
    plan = storage_of(graph)
    sizes: dict[int, int] = {}
    for ids, types in zip(plan, graph.types):
        for storage, type_ in zip(ids, types):
            sizes.setdefault(storage, bytes_of(type_))
    found: dict[Expr, StorageInfo] = {}
    for ids, expr in zip(plan, graph.exprs):
        found[expr] = StorageInfo(list(ids), [cpu().device_type] * len(ids), [sizes[storage] for storage in ids])
    return StaticMemoryPlan(found)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
