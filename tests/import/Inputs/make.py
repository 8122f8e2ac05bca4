#!/usr/bin/env python3
"""Makes the models of the golden tests in tests/import: make.py, with the package `onnx` installed."""
import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

HERE = pathlib.Path(__file__).resolve().parent
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def model(name, nodes, inputs, outputs, weights=(), opset=17):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        name,
        [value(*i) for i in inputs],
        [value(*o) for o in outputs],
        [numpy_helper.from_array(np.asarray(array), key) for key, array in weights],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    save(made, HERE / f"{name}.onnx")


node = helper.make_node
# A row of heads: extents by name, shape arithmetic, weights.
model(
    "heads",
    [
        node("MatMul", ["x", "w"], ["p"], "project"),
        node("Shape", ["x"], ["s"], "shape"),
        node("Gather", ["s", "zero"], ["n"], "rows"),
        node("Unsqueeze", ["n", "axes"], ["n1"], "rows1"),
        node("Concat", ["n1", "split"], ["wanted"], "wanted", axis=0),
        node("Reshape", ["p", "wanted"], ["h"], "heads"),
        node("Softmax", ["h"], ["y"], "weights", axis=-1),
    ],
    [("x", F, ["batch size", 2])],
    [("y", F, ["batch size", 2, 2])],
    [
        ("w", np.arange(8, dtype=np.float32).reshape(2, 4) / 4),
        ("zero", np.int64(0)),
        ("axes", np.array([0])),
        ("split", np.array([2, 2])),
    ],
)
# Fails while it runs: the extents agree by name only.
model(
    "mismatch",
    [node("Add", ["a", "b"], ["y"], "the sum")],
    [("a", F, ["n"]), ("b", F, ["m"])],
    [("y", F, ["k"])],
)
# Operators that there are not.
model(
    "unsupported",
    [node("Frobnicate", ["x"], ["a"], "first"), node("Frobnicate", ["a"], ["b"], "second"), node("Abs", ["b"], ["y"])],
    [("x", F, [2])],
    [("y", F, [2])],
)
# A wrong shape inside of a graph.
model(
    "wrong",
    [node("Relu", ["x"], ["a"], "relu"), node("MatMul", ["a", "w"], ["y"], "project")],
    [("x", F, ["n", 3])],
    [("y", F, ["n", 4])],
    [("w", np.zeros((2, 4), np.float32))],
)
# Names that are no words, one of them no text either.
ODD = ["a b", 'a"b', "a/b.c:0", "a\\b", "tab\there", "line\nbreak", "bell\x07", "ü", "QQ"]
model(
    "names",
    [node("Sum", ODD, ["s"], "the\n\x01 sum"), node("Gather", ["s", "a b"], ['y "0"'], "QQ", axis=0)],
    [(name, I, ["batch/size", 1]) for name in ODD],
    [('y "0"', I, None)],
)
path = HERE / "names.onnx"
path.write_bytes(path.read_bytes().replace(b"QQ", b"\xff\xfe"))
