"""Parameters by name as bytes, in the layout that `.params` files have."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from relay import NDArray, RelayError

from .ndarray import array

# Magic numbers of a list of arrays and of one array.
_LIST, _ARRAY = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F
# Codes of the kinds of elements.
_KINDS = {"i": 0, "u": 1, "f": 2}
_BFLOAT = 4  # which NumPy has no kind for


def _code(dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype == np.bool_:
        return 1, 1
    if dtype.name == "bfloat16":
        return _BFLOAT, 16
    if dtype.kind not in "iuf":
        raise RelayError(f"an array of dtype {dtype} cannot be stored")
    return _KINDS[dtype.kind], dtype.itemsize * 8


def _dtype(kind: int, bits: int, lanes: int) -> np.dtype[Any]:
    if (kind, bits, lanes) == (_BFLOAT, 16, 1):
        try:
            found: np.dtype[Any] = np.dtype(import_module("ml_dtypes").bfloat16)
            return found
        except ImportError:
            raise RelayError("the file has an array of bfloat16, which NumPy takes where ml_dtypes is installed") from None
    names = {0: f"int{bits}", 1: "bool" if bits == 1 else f"uint{bits}", 2: f"float{bits}", 6: "bool"}
    if lanes != 1 or kind not in names:
        raise RelayError(f"the file has an array of kind {kind} with {bits} bits in {lanes} lanes, which is not supported")
    try:
        return np.dtype(names[kind])
    except TypeError:
        raise RelayError(f"the file has an array of dtype {names[kind]}, which is not supported") from None


def array_record(value: Any) -> bytes:
    """An array as bytes: dtype, shape and elements."""
    data = np.ascontiguousarray(value.numpy() if isinstance(value, NDArray) else value)
    data = data.astype(data.dtype.newbyteorder("<"), copy=False).reshape(np.shape(value))
    kind, bits = _code(data.dtype)
    head = struct.pack("<QQiiiBBH", _ARRAY, 0, 1, 0, data.ndim, kind, bits, 1)
    return head + struct.pack(f"<{data.ndim}q", *data.shape) + struct.pack("<q", data.nbytes) + data.tobytes()


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Arrays by name as bytes."""
    out = bytearray(struct.pack("<QQQ", _LIST, 0, len(params)))
    for name in params:
        encoded = str(name).encode()
        out += struct.pack("<Q", len(encoded)) + encoded
    out += struct.pack("<Q", len(params))
    for value in params.values():
        out += array_record(value)
    return out


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)
        self.at = 0

    def take(self, count: int) -> memoryview:
        if count < 0 or count > len(self.data) - self.at:
            raise RelayError(f"the parameters end at byte {len(self.data)}, inside an entry")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))


def load_param_dict(param_bytes: bytes) -> dict[str, NDArray]:
    """Arrays by name from bytes. Raises RelayError for what is damaged."""
    reader = _Reader(bytes(param_bytes))
    magic, _ = reader.number("QQ")
    if magic != _LIST:
        raise RelayError("these bytes are no parameters: the first eight are others")
    (count,) = reader.number("Q")
    names: list[str] = []
    for _ in range(count):
        (length,) = reader.number("Q")
        try:
            names.append(bytes(reader.take(length)).decode())
        except UnicodeDecodeError:
            raise RelayError("a name in the parameters is no UTF-8") from None
    (arrays,) = reader.number("Q")
    if arrays != count:
        raise RelayError(f"the parameters have {count} names and {arrays} arrays")
    return {name: _read_array(reader) for name in names}


def _read_array(reader: _Reader) -> NDArray:
    magic, _, _, _, ndim, kind, bits, lanes = reader.number("QQiiiBBH")
    if magic != _ARRAY:
        raise RelayError(f"no array begins at byte {reader.at} of the parameters")
    if not 0 <= ndim <= 32:
        raise RelayError(f"the parameters have an array of rank {ndim}")
    shape = reader.number(f"{ndim}q")
    dtype = _dtype(kind, bits, lanes)
    (size,) = reader.number("q")
    wanted = dtype.itemsize
    for extent in shape:
        wanted *= extent
    if any(extent < 0 for extent in shape) or size != wanted:
        raise RelayError(f"the parameters have {size} bytes for an array of shape {shape} and dtype {dtype}")
    return array(np.frombuffer(reader.take(size), dtype).reshape(shape))


def read_array_record(data: bytes) -> NDArray:
    """An array from the bytes that `array_record` gives. Raises RelayError for what is damaged."""
    return _read_array(_Reader(data))


def digest(value: NDArray) -> str:
    """A short text that differs for arrays that differ in dtype, shape or an element's bits."""
    held = value.numpy()
    found = hashlib.blake2b(f"{value.dtype} {held.shape}".encode(), digest_size=16)
    if held.size > 0:
        found.update(np.ascontiguousarray(held).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def save_param_dict_to_file(params: Mapping[str, Any], path: str) -> None:
    """Writes a `.params` file."""
    with open(path, "wb") as stream:
        stream.write(save_param_dict(params))


def load_param_dict_from_file(path: str) -> dict[str, NDArray]:
    """Reads a `.params` file."""
    with open(path, "rb") as stream:
        return load_param_dict(stream.read())
