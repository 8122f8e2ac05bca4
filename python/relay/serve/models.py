"""One model: its executable and the tensors that go in and out."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

import numpy as np

import relay
from relay import _core

from .errors import HttpError, ModelError

SUFFIXES = (".rlx", ".onnx", ".rly")
# The protocol's names of dtypes.
DATATYPES = {
    "bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64", "int8": "INT8", "int16": "INT16",
    "int32": "INT32", "int64": "INT64", "float16": "FP16", "float32": "FP32", "float64": "FP64",
}  # fmt: skip
DTYPES = {datatype: np.dtype(name) for name, datatype in DATATYPES.items()}


@dataclass(frozen=True)
class Tensor:
    """An input or an output. An extent is an integer, the name of an open dimension, or None where it is another term or unknown."""

    name: str
    datatype: str
    shape: tuple[int | str | None, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[self.datatype]

    def metadata(self) -> dict[str, Any]:
        """As the protocol shows it: -1 for open extents. `dims` has their names."""
        sizes = [extent if isinstance(extent, int) else -1 for extent in self.shape]
        return {"name": self.name, "datatype": self.datatype, "shape": sizes, "dims": list(self.shape)}


def _extent(dim: Any) -> int | str | None:
    text = str(dim)
    if text.isdigit():
        return int(text)
    return text if text.isidentifier() else None


def _tensor(name: str, type_: Any) -> Tensor:
    if not isinstance(type_, _core.TensorType):
        raise ModelError(f"{name} is {type_}: only tensors and numbers go over the wire")
    datatype = DATATYPES.get(str(type_.dtype))
    if datatype is None:
        raise ModelError(f"{name} is {type_}: the protocol has no such dtype")
    return Tensor(name, datatype, tuple(_extent(dim) for dim in type_.shape))


class Model:
    """A loaded model; any number of threads may run it."""

    def __init__(self, name: str, executable: relay.Executable, size: int, source: str) -> None:
        self.name = name
        self.source = source
        self.size = size
        self.executable = executable
        entries: Mapping[str, Any] = executable.signatures
        self.entry = "main" if "main" in entries else next(iter(entries))
        params, result = entries[self.entry]
        self.inputs = [_tensor(param, relay.parse_type(text)) for param, text in params]
        self.single = not isinstance(relay.parse_type(result), _core.TupleType)
        self.outputs = [_tensor(output, relay.parse_type(text)) for output, text in executable.results[self.entry]]
        self.by_name = {tensor.name: i for i, tensor in enumerate(self.inputs)}
        if len(self.by_name) < len(self.inputs):
            raise ModelError(f"{name} has two inputs of one name")

    def metadata(self) -> dict[str, Any]:
        return {
            "name": self.name, "versions": ["1"], "platform": "relay",
            "inputs": [tensor.metadata() for tensor in self.inputs], "outputs": [tensor.metadata() for tensor in self.outputs],
        }  # fmt: skip

    def check(self, arrays: list[Any]) -> None:
        """Refuses arrays whose shapes do not fit the inputs, before any run."""
        known: dict[str, int] = {}
        for tensor, array in zip(self.inputs, arrays):
            if len(array.shape) != len(tensor.shape):
                raise HttpError(400, f"input {tensor.name}: expected {len(tensor.shape)} dimensions, found {len(array.shape)}")
            for axis, (extent, size) in enumerate(zip(tensor.shape, array.shape)):
                if isinstance(extent, str):
                    extent = known.setdefault(extent, size)
                if extent is not None and extent != size:
                    raise HttpError(400, f"input {tensor.name}: expected extent {extent} of dimension {axis}, found {size}")

    def run(self, arrays: list[Any], timeout: float | None = None) -> list[Any]:
        """Results as arrays. Raises what `Executable.run` raises."""
        result = self.executable.run(arrays, entry=self.entry, timeout=timeout)
        return [np.asarray(part) for part in ((result,) if self.single else result)]


def model_name(path: str) -> str:
    return Path(path).stem


def load(name: str, path: str, threads: int) -> Model:
    """Reads a compiled program, or compiles a model of another kind. Raises ModelError."""
    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        raise ModelError(f"{path} is no model: files that end in {', '.join(SUFFIXES)} are")
    try:
        if suffix == ".rlx":
            return Model(name, relay.load(path, threads), os.stat(path).st_size, path)
        if suffix == ".onnx":
            module, _ = relay.frontend.from_onnx(path)
        else:
            module = relay.parse(Path(path).read_text(encoding="utf-8"), path)
        # Saved and mapped, so that what compiling took is given back and the size is that of the file.
        with tempfile.TemporaryDirectory(prefix="relay-serve-") as folder:
            file = os.path.join(folder, "model.rlx")
            relay.compile(module, threads=threads).save(file)
            os.chmod(file, 0o444)
            return Model(name, relay.load(file, threads), os.stat(file).st_size, path)
    except relay.RelayError as error:
        raise ModelError(f"{path} cannot be served:\n{error}".rstrip()) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from None
