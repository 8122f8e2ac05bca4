#!/usr/bin/env python3
"""Writes the backend tests of the `onnx` package as files for relay_conformance: tests/onnx/write_cases.py FOLDER

Makes FOLDER/onnx_KIND.jsonl, one case a line, for the kinds node, simple, pytorch_operator and pytorch_converted:
    {"name", "model": FILE, "rtol", "atol", "sets": [{"data": FILE.npz, "inputs": [VALUE...], "outputs": [VALUE...]}]}
A VALUE is the name of an array, {"key": NAME, "dtype": "bfloat16"} for its bits as uint16, a list of VALUEs (a
sequence), or null (an optional that is empty). A case about what no part of Relay is for has "outside": WHY, and no
data. Does nothing where the folder was written by this script, this version of onnx and to the end.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx.backend.test import loader

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
# Element types of TensorProto that Relay has no dtype for.
OUTSIDE_TYPES = {
    onnx.TensorProto.COMPLEX64: "complex numbers",
    onnx.TensorProto.COMPLEX128: "complex numbers",
}
# Those that a wider dtype carries in a program.
CARRIERS = {"float8_e4m3fn": "float16", "float8_e4m3fnuz": "float16", "float8_e5m2": "float16",
            "float8_e5m2fnuz": "float16", "float8_e8m0fnu": "float32", "float4_e2m1fn": "float16", "int4": "int8", "int2": "int8", "uint4": "uint8",
            "uint2": "uint8"}
# Operators that ask for what a model does not compute: the derivative of its nodes, a loop of training around it.
OUTSIDE_OPERATORS = {
    "Gradient": "training",
    "GraphCall": "training",
    "RegexFullMatch": "strings",
    "StringConcat": "strings",
    "StringSplit": "strings",
}


def element_types(model):
    """Numbers of TensorProto.DataType that a model mentions anywhere."""
    found = set()

    def of_type(kind):
        case = kind.WhichOneof("value")
        if case in ("tensor_type", "sparse_tensor_type"):
            found.add(getattr(kind, case).elem_type)
        elif case in ("sequence_type", "optional_type"):
            of_type(getattr(kind, case).elem_type)

    def of_graph(graph):
        for each in (*graph.input, *graph.output, *graph.value_info):
            of_type(each.type)
        found.update(tensor.data_type for tensor in graph.initializer)
        of_nodes(graph.node)

    def of_nodes(nodes):
        for node in nodes:
            for attribute in node.attribute:
                if attribute.name in ("to", "dtype", "output_dtype") and attribute.i:
                    found.add(attribute.i)
                if attribute.HasField("t"):
                    found.add(attribute.t.data_type)
                if attribute.HasField("g"):
                    of_graph(attribute.g)

    of_graph(model.graph)
    for function in model.functions:
        of_nodes(function.node)
    return found


def outside(model):
    """Why a case is about nothing that Relay is for; empty if it is not."""
    operators = {node.op_type for node in model.graph.node}
    for operator, why in OUTSIDE_OPERATORS.items():
        if operator in operators:
            return why
    reasons = sorted({OUTSIDE_TYPES[number] for number in element_types(model) if number in OUTSIDE_TYPES})
    return reasons[0] if reasons else ""


def from_file(path, kind):
    """A value of a test's data set."""
    data = path.read_bytes()
    case = kind.WhichOneof("value")
    if case == "sequence_type":
        message = onnx.SequenceProto()
        message.ParseFromString(data)
        return onnx.numpy_helper.to_list(message)
    if case == "optional_type":
        message = onnx.OptionalProto()
        message.ParseFromString(data)
        return onnx.numpy_helper.to_optional(message)
    message = onnx.TensorProto()
    message.ParseFromString(data)
    return onnx.numpy_helper.to_array(message)


def sets_of(test):
    """The model of a test and its data sets, as lists of arrays, lists and None."""
    if test.model is not None:
        return test.model, test.data_sets
    folder = pathlib.Path(test.model_dir)
    model = onnx.load(folder / "model.onnx")
    stored = {tensor.name for tensor in model.graph.initializer}
    given = [each for each in model.graph.input if each.name not in stored]
    sets = []
    for one in sorted(folder.glob("test_data_set_*")):
        values = []
        for prefix, types in (("input", given), ("output", model.graph.output)):
            count = len(list(one.glob(f"{prefix}_*.pb")))
            listed = list(types) if len(types) >= count else list(model.graph.input)
            values.append([from_file(one / f"{prefix}_{i}.pb", listed[i].type) for i in range(count)])
        sets.append(values)
    return model, sets


class Store:
    """The arrays of one data set. Strings are rows of bytes, as programs take and give them."""

    def __init__(self):
        self.arrays = {}
        self.width = 1  # of the rows of bytes so far: results have words of the inputs

    def bytes_of(self, strings):
        words = np.char.encode(strings.astype(str), "utf-8")
        self.width = max(self.width, words.dtype.itemsize)
        return np.ascontiguousarray(words.astype(f"S{self.width}")).view(np.uint8).reshape(*strings.shape, -1)

    def add(self, key, value):
        if value is None:
            return None
        if isinstance(value, onnx.SequenceProto):
            value = onnx.numpy_helper.to_list(value)
        if isinstance(value, onnx.OptionalProto):
            return self.add(key, onnx.numpy_helper.to_optional(value))
        if isinstance(value, (list, tuple)):
            return [self.add(f"{key}.{i}", each) for i, each in enumerate(value)]
        array = onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
        if array.dtype.name == "bfloat16":
            self.arrays[key] = array.view(np.uint16)
            return {"key": key, "dtype": "bfloat16"}
        if array.dtype.kind in "OUS":
            self.arrays[key] = self.bytes_of(array)
            return key
        self.arrays[key] = array.astype(CARRIERS.get(array.dtype.name, array.dtype))
        return key


def write_case(test, folder):
    model, sets = sets_of(test)
    case = {"name": test.name, "rtol": test.rtol, "atol": test.atol}
    why = outside(model)
    if why:
        return {**case, "outside": why}
    path = folder / f"{test.name}.onnx"
    if test.model_dir:
        # Files beside the model belong to it.
        path = folder / test.name / "model.onnx"
        shutil.copytree(test.model_dir, path.parent, ignore=shutil.ignore_patterns("test_data_set_*"))
    else:
        onnx.save(model, path)
    case.update(model=str(path.relative_to(folder.parent)), sets=[])
    for i, (inputs, outputs) in enumerate(sets):
        store = Store()
        record = {
            "inputs": [store.add(f"in{k}", value) for k, value in enumerate(inputs)],
            "outputs": [store.add(f"out{k}", value) for k, value in enumerate(outputs)],
        }
        data = folder / f"{test.name}.{i}.npz"
        np.savez(data, **store.arrays)
        case["sets"].append({"data": str(data.relative_to(folder.parent)), **record})
    return case


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    stamp = f"{onnx.__version__} {hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()}"
    done = options.folder / "written.txt"
    if done.exists() and done.read_text() == stamp:
        return
    warnings.filterwarnings("ignore")
    shutil.rmtree(options.folder, ignore_errors=True)
    for kind in KINDS:
        name = "onnx_" + kind.replace("-", "_")
        folder = options.folder / name
        folder.mkdir(parents=True)
        tests = sorted(loader.load_model_tests(kind=kind), key=lambda test: test.name)
        names = [test.name for test in tests]
        if len(set(names)) != len(names):
            sys.exit(f"{kind}: two tests have the same name")
        with open(options.folder / f"{name}.jsonl", "w") as file:
            for test in tests:
                file.write(json.dumps(write_case(test, folder)) + "\n")
        print(f"{name}: {len(tests)} cases", flush=True)
    done.write_text(stamp)


if __name__ == "__main__":
    main()
