"""Dtypes and devices."""

from __future__ import annotations

import re
from typing import Any

from .. import _absent
from ..runtime.ndarray import Device

__all__ = ["DataType", "DataTypeCode", "Device"]


class DataTypeCode:
    """Kinds of elements."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4


_KINDS = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4}


class DataType:
    """A dtype of text: its kind, bits and lanes. Raises ValueError for text that is none."""

    def __init__(self, type_str: Any) -> None:
        text = str(type_str)
        found = re.fullmatch(r"(u?int|b?float|handle|bool)(\d*)(?:x(\d+))?", text)
        if found is None:
            raise ValueError(f"{text!r} is no dtype")
        kind, bits, lanes = found.groups()
        self.type_code = DataTypeCode.UINT if kind == "bool" else _KINDS[kind]
        self.bits = 1 if kind == "bool" else int(bits or (64 if kind == "handle" else 32))
        self.lanes = int(lanes or 1)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            other = DataType(other)
        return isinstance(other, DataType) and (self.type_code, self.bits, self.lanes) == (other.type_code, other.bits, other.lanes)

    def __hash__(self) -> int:
        return hash((self.type_code, self.bits, self.lanes))

    def __str__(self) -> str:
        if (self.type_code, self.bits) == (DataTypeCode.UINT, 1):
            name = "bool"
        else:
            name = next(key for key, code in _KINDS.items() if code == self.type_code) + ("" if self.type_code == DataTypeCode.HANDLE else str(self.bits))
        return name if self.lanes == 1 else f"{name}x{self.lanes}"

    __repr__ = __str__


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
