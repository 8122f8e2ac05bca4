#!/usr/bin/env python3
"""Makes what onnx_fuzz begins with: scripts/python tests/fuzz/onnx_corpus.py FOLDER [CASES]

Writes FOLDER/models, the small models among the tests' and the backend tests of the `onnx` package (those that
tests/onnx/write_cases.py has written to CASES, if that is given); FOLDER/onnx.dict: the names of operators,
attributes and domains as fields of a message, with their lengths; and, if --edges is given, FOLDER/edges: each model
again with one number of it, an attribute, an extent, an element, near the end of what it can be.
"""

import argparse
import itertools
import pathlib
import struct
import shutil

import onnx

LARGEST = 4096
# Field numbers of onnx.proto: NodeProto.op_type, NodeProto.domain, AttributeProto.name.
OP_TYPE, DOMAIN, NAME = 4, 7, 1
ROOT = pathlib.Path(__file__).resolve().parent.parent


def field(number, text):
    data = bytes([number << 3 | 2, len(text)]) + text.encode()
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


def models(cases):
    yield from ROOT.glob("import/Inputs/*.onnx")
    yield from ROOT.glob("onnx/recorded/*/*.onnx")
    if cases is not None:
        yield from cases.glob("**/*.onnx")
    else:
        data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
        yield from data.glob("**/*.onnx")


EDGES = (-(2**63), -(2**62), -(2**31) - 1, -1, 0, 1, 2**31, 2**59, 2**60, 2**62, 2**63 - 1)
MOST_NUMBERS = 4  # of one list


def numbers(model):
    """Everything in a model that is a number, as functions that set it."""

    def of_list(values):
        for k in range(min(len(values), MOST_NUMBERS)):
            yield lambda number, k=k: values.__setitem__(k, number)

    def of_tensor(tensor):
        yield from of_list(tensor.dims)
        yield from of_list(tensor.int64_data)
        if tensor.data_type == onnx.TensorProto.INT64 and len(tensor.raw_data) % 8 == 0:
            for k in range(min(len(tensor.raw_data) // 8, MOST_NUMBERS)):
                yield lambda number, k=k: set_raw(tensor, k, number)

    def set_raw(tensor, k, number):
        data = bytearray(tensor.raw_data)
        data[8 * k : 8 * k + 8] = struct.pack("<q", number)
        tensor.raw_data = bytes(data)

    def of_nodes(nodes):
        for attribute in itertools.chain.from_iterable(node.attribute for node in nodes):
            if attribute.type == onnx.AttributeProto.INT:
                yield lambda number, a=attribute: setattr(a, "i", number)
            yield from of_list(attribute.ints)
            if attribute.HasField("t"):
                yield from of_tensor(attribute.t)
            if attribute.HasField("g"):
                yield from of_nodes(attribute.g.node)

    yield from of_nodes(model.graph.node)
    for function in model.functions:
        yield from of_nodes(function.node)
    for tensor in model.graph.initializer:
        yield from of_tensor(tensor)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            yield lambda number, dim=dim: setattr(dim, "dim_value", number)


def edges_of(path):
    """The bytes of variants of a model."""
    data = path.read_bytes()
    count = len(list(numbers(onnx.ModelProto.FromString(data))))
    for place, number in itertools.product(range(count), EDGES):
        model = onnx.ModelProto.FromString(data)
        list(numbers(model))[place](number)
        yield model.SerializeToString()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("cases", type=pathlib.Path, nargs="?")
    parser.add_argument("--edges", action="store_true")
    options = parser.parse_args()
    folder = options.folder / "models"
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for path in models(options.cases):
        if path.stat().st_size > LARGEST:
            continue
        name = f"{path.parent.name}.{path.name}"
        shutil.copyfile(path, folder / name)
        count += 1
        if options.edges:
            (options.folder / "edges").mkdir(exist_ok=True)
            for k, data in enumerate(edges_of(path)):
                (options.folder / "edges" / f"{name}.{k}").write_bytes(data)
    entries = {field(DOMAIN, "com.microsoft")}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            entries.add(field(OP_TYPE, schema.name))
            entries.update(field(NAME, name) for name in schema.attributes)
    (options.folder / "onnx.dict").write_text("".join(entry + "\n" for entry in sorted(entries)))
    print(f"{count} models, {len(entries)} words")


if __name__ == "__main__":
    main()
