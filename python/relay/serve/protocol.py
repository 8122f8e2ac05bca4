"""Requests and answers of the Open Inference Protocol, version 2: JSON, and tensors in binary behind it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import orjson

from .errors import HttpError
from .models import DTYPES, Model, Tensor

_MOST_DIMENSIONS = 32


def _wrong(message: str) -> HttpError:
    return HttpError(400, message)


def _field(holder: dict[str, Any], name: str, kind: type, where: str) -> Any:
    value = holder.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _wrong(f"{where}: {name} is missing" if value is None else f"{where}: {name} is of a wrong kind")
    return value


def _parameters(holder: dict[str, Any], where: str) -> dict[str, Any]:
    value = holder.get("parameters")
    if value is not None and not isinstance(value, dict):
        raise _wrong(f"{where}: parameters is of a wrong kind")
    return value or {}


def _shape(value: list[Any], where: str) -> tuple[int, ...]:
    if len(value) > _MOST_DIMENSIONS:
        raise _wrong(f"{where}: shape has more than {_MOST_DIMENSIONS} dimensions")
    for extent in value:
        if not isinstance(extent, int) or isinstance(extent, bool) or not 0 <= extent < 2**62:
            raise _wrong(f"{where}: shape holds {extent!r:.40}, which is no extent")
    return tuple(value)


def _binary(raw: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> Any:
    wanted = math.prod(shape) * dtype.itemsize
    if len(raw) != wanted:
        raise _wrong(f"{where}: {len(raw)} bytes do not make a tensor of {list(shape)}, which has {wanted}")
    if dtype == np.bool_:
        return (np.frombuffer(raw, np.uint8) != 0).reshape(shape)
    array = np.frombuffer(raw, dtype)
    return (array if array.flags.aligned else array.copy()).reshape(shape)


def _flat(data: list[Any], where: str) -> list[Any]:
    """The elements of nested lists, row by row, which must all have one depth."""
    while data and isinstance(data[0], list):
        if not all(isinstance(part, list) for part in data):
            raise _wrong(f"{where}: data mixes lists and numbers")
        data = [element for part in data for element in part]
    return data


def _numbers(data: list[Any], dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> Any:
    flat = _flat(data, where)
    if len(flat) != math.prod(shape):
        raise _wrong(f"{where}: {len(flat)} elements do not make a tensor of {list(shape)}")
    kinds = set(map(type, flat))
    allowed = {bool} if dtype == np.bool_ else {int} if dtype.kind in "iu" else {int, float}
    if not kinds <= allowed:
        # As some clients write booleans.
        if dtype != np.bool_ or not kinds <= {bool, int} or not set(flat) <= {0, 1}:
            odd = next(element for element in flat if type(element) not in allowed)
            raise _wrong(f"{where}: {odd!r:.40} is no element of dtype {dtype.name}")
    try:
        with np.errstate(over="raise"):
            return np.array(flat, dtype).reshape(shape)
    except (OverflowError, FloatingPointError):
        raise _wrong(f"{where}: an element does not fit dtype {dtype.name}") from None


class Query:
    """An inference request, read."""

    __slots__ = ("id", "arrays", "outputs")

    def __init__(self, id_: str | None, arrays: list[Any], outputs: list[tuple[int, bool]]) -> None:
        self.id = id_
        self.arrays = arrays
        self.outputs = outputs  # numbers, and true for those that go out in binary


def read(model: Model, body: bytes, header_length: bytes | None) -> Query:
    """Reads an inference request. Raises HttpError with what is wrong with it."""
    json_end = len(body)
    if header_length is not None:
        if not header_length.isdigit() or len(header_length) > 12 or int(header_length) > len(body):
            raise _wrong("inference-header-content-length is no length of a part of the body")
        json_end = int(header_length)
    try:
        document = orjson.loads(memoryview(body)[:json_end])
    except orjson.JSONDecodeError as error:
        raise _wrong(f"the body is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise _wrong("the body is no JSON object")
    id_ = document.get("id")
    if id_ is not None and not isinstance(id_, str):
        raise _wrong("id is no text")
    arrays = _inputs(model, document, memoryview(body)[json_end:])
    binary_all = _parameters(document, "the request").get("binary_data_output") is True
    return Query(id_, arrays, _outputs(model, document, binary_all))


def _inputs(model: Model, document: dict[str, Any], rest: memoryview) -> list[Any]:
    arrays: list[Any] = [None] * len(model.inputs)
    for given in _field(document, "inputs", list, "the request") if model.inputs or "inputs" in document else []:
        if not isinstance(given, dict):
            raise _wrong("inputs holds something that is no object")
        name = _field(given, "name", str, "an input")
        at = model.by_name.get(name)
        if at is None:
            raise _wrong(f"model {model.name} has no input {name!r:.80}; it has {', '.join(model.by_name) or 'none'}")
        where = f"input {name}"
        if arrays[at] is not None:
            raise _wrong(f"{where} is there twice")
        arrays[at], rest = _input(model.inputs[at], given, rest, where)
    missing = [tensor.name for tensor, array in zip(model.inputs, arrays) if array is None]
    if missing:
        raise _wrong(f"the request lacks input {', '.join(missing)}")
    if len(rest) > 0:
        raise _wrong(f"{len(rest)} bytes of the body belong to no input")
    model.check(arrays)
    return arrays


def _input(tensor: Tensor, given: dict[str, Any], rest: memoryview, where: str) -> tuple[Any, memoryview]:
    datatype = _field(given, "datatype", str, where)
    if datatype not in DTYPES:
        raise _wrong(f"{where}: {datatype!r:.40} is no datatype that is served; these are: {', '.join(DTYPES)}")
    if datatype != tensor.datatype:
        raise _wrong(f"{where}: expected {tensor.datatype}, found {datatype}")
    shape = _shape(_field(given, "shape", list, where), where)
    size = _parameters(given, where).get("binary_data_size")
    if size is None:
        return _numbers(_field(given, "data", list, where), tensor.dtype, shape, where), rest
    if "data" in given:
        raise _wrong(f"{where} has both data and binary_data_size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= len(rest):
        raise _wrong(f"{where}: binary_data_size is not within the body")
    return _binary(rest[:size], tensor.dtype, shape, where), rest[size:]


def _outputs(model: Model, document: dict[str, Any], binary_all: bool) -> list[tuple[int, bool]]:
    wanted = document.get("outputs")
    if wanted is None:
        return [(i, binary_all) for i in range(len(model.outputs))]
    if not isinstance(wanted, list):
        raise _wrong("the request: outputs is of a wrong kind")
    known = {tensor.name: i for i, tensor in enumerate(model.outputs)}
    chosen: dict[int, bool] = {}
    for given in wanted:
        if not isinstance(given, dict):
            raise _wrong("outputs holds something that is no object")
        name = _field(given, "name", str, "an output")
        if name not in known:
            raise _wrong(f"model {model.name} has no output {name!r:.80}; it has {', '.join(known)}")
        if known[name] in chosen:
            raise _wrong(f"output {name} is there twice")
        parameters = _parameters(given, f"output {name}")
        if "classification" in parameters:
            raise _wrong(f"output {name}: classification is not served")
        chosen[known[name]] = parameters.get("binary_data", binary_all) is True
    return list(chosen.items())


def write(model: Model, query: Query, results: list[Any]) -> tuple[bytes, int | None]:
    """The body of an answer, and the length of its JSON if tensors follow it."""
    outputs, tails = [], []
    for number, binary in query.outputs:
        array = np.ascontiguousarray(results[number])
        entry: dict[str, Any] = {"name": model.outputs[number].name, "datatype": model.outputs[number].datatype, "shape": list(results[number].shape)}
        if binary:
            entry["parameters"] = {"binary_data_size": array.nbytes}
            tails.append(array.tobytes())
        else:
            entry["data"] = array.reshape(-1)
        outputs.append(entry)
    document: dict[str, Any] = {"model_name": model.name, "model_version": "1", "outputs": outputs}
    if query.id is not None:
        document["id"] = query.id
    head = orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
    return (b"".join([head, *tails]), len(head)) if tails else (head, None)
