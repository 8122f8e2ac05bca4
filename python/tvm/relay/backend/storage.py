"""Which results of a graph share storage, as TVM's graph executor plans it."""

from __future__ import annotations

import bisect
import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
from relay import TensorType

if TYPE_CHECKING:
    from .graph_json import Entry, Graph

__all__ = ["bytes_of", "storage_of", "workspace_of"]

# A result takes storage of at most so many times its bytes, and of at least that part of them.
_RANGE = 16


class _Free:
    """Storage that nobody reads any more, by its bytes."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int]] = []  # bytes, order of release, number
        self._order = itertools.count()

    def put(self, size: int, storage: int) -> None:
        bisect.insort(self._rows, (size, next(self._order), storage))

    def take(self, size: int) -> tuple[int, int] | None:
        """The bytes and number of the smallest one that is large enough, else of the largest that is not too small; None if there is none."""
        at = bisect.bisect_left(self._rows, (size, -1, -1))
        if at < len(self._rows) and self._rows[at][0] <= size * _RANGE:
            found = self._rows.pop(at)
        elif at > 0 and self._rows[at - 1][0] >= size // _RANGE:
            found = self._rows.pop(at - 1)
        else:
            return None
        return found[0], found[2]


def storage_of(graph: Graph) -> list[list[int]]:
    """The number of the storage of each result of each node.

    Inputs and heads keep theirs to the end. A call takes free storage of about its size, which grows where it is too small, or new one;
    what has extents that are not known shares none.
    """
    readers: dict[Entry, int] = {}
    for node in graph.nodes:
        for at, result, _ in node["inputs"]:
            readers[at, result] = readers.get((at, result), 0) + 1
    kept = set(graph.heads)
    plan: list[list[int]] = []
    sizes: list[int | None] = []  # of each storage
    free = _Free()

    def release(storage: int) -> None:
        size = sizes[storage]
        if size is not None:
            free.put(size, storage)

    for number, (node, types) in enumerate(zip(graph.nodes, graph.types)):
        ids: list[int] = []
        for type_ in types:
            size = _known_bytes(type_)
            found = free.take(size) if node["op"] != "null" and size is not None else None
            if found is None:
                ids.append(len(sizes))
                sizes.append(size)
            else:
                assert size is not None
                sizes[found[1]] = max(size, found[0])
                ids.append(found[1])
        plan.append(ids)
        if node["op"] == "null":
            continue
        for result in range(len(types)):
            if (number, result) not in readers and (number, result) not in kept:
                release(ids[result])
        for at, result, _ in node["inputs"]:
            readers[at, result] -= 1
            if readers[at, result] == 0 and (at, result) not in kept and graph.nodes[at]["op"] != "null":
                release(plan[at][result])
    return plan


def workspace_of(graph: Graph) -> int:
    """The bytes of all storage that neither inputs nor results have; what has extents that are not known counts as 0."""
    sizes: dict[int, int] = {}
    outside: set[int] = set()
    heads = set(graph.heads)
    for number, (ids, types) in enumerate(zip(storage_of(graph), graph.types)):
        for result, (storage, type_) in enumerate(zip(ids, types)):
            sizes[storage] = max(sizes.get(storage, 0), _known_bytes(type_) or 0)
            if graph.nodes[number]["op"] == "null" or (number, result) in heads:
                outside.add(storage)
    return sum(size for storage, size in sizes.items() if storage not in outside)


def _known_bytes(type_: TensorType) -> int | None:
    return bytes_of(type_) if all(isinstance(dim, int) for dim in type_.shape) else None


def bytes_of(type_: TensorType) -> int:
    """The bytes of a tensor. Raises ValueError for extents that are not known."""
    extents = [int(dim) for dim in type_.shape if isinstance(dim, int)]
    if len(extents) != len(type_.shape):
        raise ValueError(f"memory is planned for extents that are known, not for {type_}")
    width = np.dtype(str(type_.dtype)).itemsize if str(type_.dtype) != "bfloat16" else 2
    return math.prod(extents) * width
