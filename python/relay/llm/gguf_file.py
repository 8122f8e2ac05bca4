"""The container GGUF, versions 2 and 3: values under keys, and tensors in a mapped file.

Source: the specification of GGUF in the repository of ggml (docs/gguf.md). The `gguf` package reads it too; it takes two seconds for a
vocabulary of 50,000 tokens, this a twentieth.
"""

from __future__ import annotations

import math
import mmap
import operator
import os
import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

# Of the types of values: how many bytes, and how `struct` names them.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
# Of the types of tensors: name, elements and bytes of a block.
_TENSORS = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 40), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66),
}  # fmt: skip
_NUMBERS: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
_MOST_DIMENSIONS = 4
_LENGTH = struct.Struct("<Q")  # of a string


@dataclass(frozen=True)
class Tensor:
    """A tensor of the file. `data`: rows of numbers (F32, F16) or of the bytes of blocks, not copied."""

    name: str
    kind: str
    shape: tuple[int, ...]  # the last extent runs fastest
    data: np.ndarray[Any, Any]


class Strings(Sequence[str]):
    """Strings of the file, read when they are asked for: a vocabulary has a hundred thousand of them."""

    def __init__(self, view: memoryview, begins: array[int]):
        self._view, self._begins = view, begins

    def __len__(self) -> int:
        return len(self._begins)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._string(begin) for begin in self._begins[index]]
        return self._string(self._begins[index])

    def __iter__(self) -> Iterator[str]:
        return map(self._string, self._begins)

    def __eq__(self, other: object) -> bool:
        """True for the same strings, of a file or in a list."""
        if not isinstance(other, (Strings, list)):
            return NotImplemented
        return len(self) == len(other) and all(map(operator.eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # as a list's

    def __reduce__(self) -> tuple[type[list[str]], tuple[list[str]]]:
        return list, (list(self),)

    def _string(self, begin: int) -> str:
        (size,) = _LENGTH.unpack_from(self._view, begin)
        return str(self._view[begin + 8 : begin + 8 + size], "utf-8", "replace")


class _Cursor:
    """Reads one value after the other; ValueError behind the end of the file."""

    def __init__(self, data: np.ndarray[Any, Any]):
        self._view = data.data
        self.at = 0

    def scalar(self, code: str) -> Any:
        size = struct.calcsize("<" + code)
        self._need(size)
        (value,) = struct.unpack_from("<" + code, self._view, self.at)
        self.at += size
        return value

    def string(self) -> str:
        size = self.scalar("Q")
        self._need(size)
        text = bytes(self._view[self.at : self.at + size])
        self.at += size
        return text.decode("utf-8", "replace")

    def value(self, kind: int, nested: bool = False) -> Any:
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY or nested:
            raise ValueError(f"a value of unknown type {kind} at byte {self.at}")
        element, count = self.scalar("I"), self.scalar("Q")
        if element in _SCALARS:
            code = _SCALARS[element]
            size = struct.calcsize("<" + code) * count
            self._need(size)
            values = list(struct.unpack_from(f"<{count}{code}", self._view, self.at))
            self.at += size
            return values
        self._need(8 * count)  # of the lengths of strings
        return self._strings(count) if element == _STRING else [self.value(element, nested=True) for _ in range(count)]

    def _strings(self, count: int) -> Strings:
        """So many strings, of which only the lengths are looked at."""
        view, at, length, last = self._view, self.at, _LENGTH.unpack_from, len(self._view) - 8
        begins = array("Q", bytes(8 * count))
        for i in range(count):
            if at > last:
                self._need(at + 8 - self.at)
            begins[i] = at
            at += 8 + length(view, at)[0]
        self._need(at - self.at)
        self.at = at
        return Strings(view, begins)

    def _need(self, size: int) -> None:
        if size > len(self._view) - self.at:
            raise ValueError(f"it ends at byte {len(self._view)}, {size} bytes are wanted at byte {self.at}")


class GGUFContainer:
    """A GGUF file. ValueError, with the name of the file, for one that is none or is damaged; OSError if it cannot be opened."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        size = os.stat(self.path).st_size
        if size < 24:
            raise ValueError(f"{self.path} is no GGUF file: it has {size} bytes")
        self._data = np.memmap(self.path, mode="r", dtype=np.uint8)
        try:
            self._read(_Cursor(self._data))
        except ValueError as error:
            raise ValueError(f"{self.path} is no GGUF file that can be read: {error}") from None

    def forget_pages(self) -> None:
        """Gives back the memory of what was read of the file; it is read again if somebody needs it."""
        mapped = getattr(self._data, "_mmap", None)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)

    def _read(self, cursor: _Cursor) -> None:
        if bytes(self._data[:4]) != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        cursor.at = 4
        version = cursor.scalar("I")
        if version not in (2, 3):
            raise ValueError(f"version {version} is not known (big-endian files are not, either)")
        tensors, keys = cursor.scalar("Q"), cursor.scalar("Q")
        self.fields: dict[str, Any] = {}
        for _ in range(keys):
            name = cursor.string()
            self.fields[name] = cursor.value(cursor.scalar("I"))
        infos = [self._info(cursor) for _ in range(tensors)]
        alignment = self.fields.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1:
            raise ValueError(f"general.alignment is {alignment!r}")
        start = -(-cursor.at // alignment) * alignment
        self.tensors = {name: self._tensor(name, kind, shape, start + offset) for name, kind, shape, offset in infos}

    def _info(self, cursor: _Cursor) -> tuple[str, int, tuple[int, ...], int]:
        name, rank = cursor.string(), cursor.scalar("I")
        if rank > _MOST_DIMENSIONS:
            raise ValueError(f"tensor {name} has {rank} dimensions")
        shape = tuple(cursor.scalar("Q") for _ in range(rank))
        return name, cursor.scalar("I"), shape[::-1], cursor.scalar("Q")

    def _tensor(self, name: str, kind: int, shape: tuple[int, ...], begin: int) -> Tensor:
        if kind not in _TENSORS:
            raise ValueError(f"tensor {name} has the unknown type {kind}")
        word, block, size = _TENSORS[kind]
        if not shape or shape[-1] % block != 0:
            raise ValueError(f"tensor {name} has rows of {shape[-1] if shape else 0} elements, not blocks of {block}")
        row = shape[-1] // block * size
        total = row * math.prod(shape[:-1])
        if begin + total > len(self._data):
            raise ValueError(f"tensor {name} ends at byte {begin + total}, the file at byte {len(self._data)}")
        raw = self._data[begin : begin + total]
        rows = raw.view(_NUMBERS[word]) if word in _NUMBERS else raw
        extents = (*shape[:-1], shape[-1] if word in _NUMBERS else row)
        return Tensor(name, word, shape, np.asarray(rows).reshape(extents))
