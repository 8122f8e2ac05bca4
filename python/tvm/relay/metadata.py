"""Objects beside program text, which it names by ``meta[key][index]``."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import relay as _relay

from ..runtime.params import array_record
from ..target import VirtualDevice

__all__ = ["with_metadata"]


class _Table:
    """The section `#[metadata]` of a text: objects that refer to one another by number."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]
        self.arrays: list[str] = []

    def add(self, **node: Any) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def entry(self, key: str, value: Any) -> int:
        """The number of an object of the table."""
        if isinstance(value, (_relay.Constant, _relay.NDArray)) and key == "relay.Constant":
            data = value.data if isinstance(value, _relay.Constant) else value
            self.arrays.append(base64.b64encode(array_record(data)).decode())
            return self.add(type_key="relay.Constant", attrs={"data": str(len(self.arrays) - 1)})
        if isinstance(value, VirtualDevice) and key == "VirtualDevice":
            scope = self.add(type_key="runtime.String", repr_str=value.memory_scope)
            attrs = {"device_type_int": value.device_type_int, "virtual_device_id": value.virtual_device_id, "target": 0, "memory_scope": scope}
            return self.add(type_key="VirtualDevice", attrs={name: str(number) for name, number in attrs.items()})
        raise TypeError(f"init_meta_table holds constants by relay.Constant and devices by VirtualDevice, and {key!r} has a {type(value).__name__}")

    def text(self, table: Mapping[str, Sequence[Any]]) -> str:
        for key, values in table.items():
            if not isinstance(values, Sequence):
                raise TypeError(f"init_meta_table has a list by each key, and {key!r} has a {type(values).__name__}")
        lists = [self.add(type_key="Array", data=[self.entry(key, value) for value in values]) for key, values in table.items()]
        root = self.add(type_key="Map", keys=list(table), data=lists)
        return json.dumps({"root": root, "nodes": self.nodes, "b64ndarrays": self.arrays, "attrs": {"tvm_version": "0.14.0"}})


def with_metadata(source: str, table: Mapping[str, Sequence[Any]]) -> str:
    """The text with the objects of a table behind it. Raises ValueError where it has metadata of its own, TypeError for objects that no text has."""
    if not isinstance(table, Mapping):
        raise TypeError(f"init_meta_table is a dictionary of lists, not a {type(table).__name__}")
    if re.search(r"^#\[metadata\]", source, re.MULTILINE):
        raise ValueError("the text has metadata of its own, and init_meta_table gives more")
    return f"{source}\n#[metadata]\n{_Table().text(table)}\n"
