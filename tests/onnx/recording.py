"""Models of one node, and what ONNX Runtime makes of them: what the modules of cases share."""

import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OPSETS = {"": 21, "com.microsoft": 1, "ai.onnx.ml": 3}
CASES = {"contrib": [], "forms": [], "ml": []}
TYPES = {np.dtype(t): helper.np_dtype_to_tensor_dtype(np.dtype(t)) for t in
         ("float32", "float64", "float16", "int64", "int32", "int16", "uint16", "int8", "uint8", "bool")}
TYPES[np.dtype(object)] = onnx.TensorProto.STRING


class Case:
    """One node: inputs are arrays; those in `constants` are initializers. Attributes whose names are parameters here go
    into `more`. ONNX Runtime has no kernel for some operators on a processor: then `expected` is what another model or
    a formula makes of the same.
    """

    def __init__(self, name, op, inputs, outputs=1, domain="", opset=None, constants=(), atol=1e-5, rtol=1e-4,
                 more=None, expected=None, result_type=None, then=None, shown=None, **attrs):
        self.name, self.op, self.inputs, self.outputs = name, op, inputs, outputs
        self.domain, self.constants, self.attrs = domain, set(constants), {**attrs, **(more or {})}
        self.opset, self.atol, self.rtol, self.expected = opset, atol, rtol, expected
        self.result_type = result_type  # where ONNX Runtime does not find it out
        self.shown = shown  # the results that the model gives, by their numbers; all by default
        self.then = then  # an operator and its attributes, for the only result

    def model(self):
        names, given, stored = [], [], []
        for i, array in enumerate(self.inputs):
            names.append("" if array is None else f"x{i}")
            if array is None:
                continue
            if i in self.constants:
                stored.append(numpy_helper.from_array(array, f"x{i}"))
            else:
                given.append(helper.make_tensor_value_info(f"x{i}", TYPES[array.dtype], array.shape))
        wanted = self.outputs if isinstance(self.outputs, list) else [True] * self.outputs
        results = [f"y{k}" if want else "" for k, want in enumerate(wanted)]
        node = helper.make_node(self.op, names, results, domain=self.domain, name=self.name, **self.attrs)
        nodes = [node]
        if self.then:
            nodes.append(helper.make_node(self.then[0], results, ["z"], **self.then[1]))
            results = ["z"]
        if self.shown is not None:
            results = [results[k] for k in self.shown]
        outputs = [onnx.ValueInfoProto(name=name) for name in results if name]
        if self.result_type:
            for info in outputs:
                info.type.tensor_type.elem_type = TYPES[np.dtype(self.result_type)]
        graph = helper.make_graph(nodes, self.name, given, outputs, stored)
        opsets = dict(OPSETS)
        if self.opset:
            opsets[self.domain] = self.opset
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def feeds(self):
        return {f"x{i}": array for i, array in enumerate(self.inputs) if array is not None and i not in self.constants}

    def run(self):
        """The results of ONNX Runtime for the model."""
        onnxruntime.set_default_logger_severity(3)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        # Several threads would quantise their parts of a batch by ranges of their own.
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(self.model().SerializeToString(), options, ["CPUExecutionProvider"])
        return session.run(None, self.feeds())

    def write(self, folder):
        model = self.model()
        feeds = self.feeds()
        results = self.run() if self.expected is None else self.expected
        # The types of the results, which are known now.
        for info, array in zip(model.graph.output, results):
            info.CopyFrom(helper.make_tensor_value_info(info.name, TYPES[array.dtype], array.shape))
        onnx.save(model, folder / f"{self.name}.onnx")
        arrays = {f"in{k}": as_bytes(array) for k, array in enumerate(feeds.values())}
        arrays.update({f"out{k}": array for k, array in enumerate(results)})
        np.savez_compressed(folder / f"{self.name}.npz", **arrays)
        return {
            "name": self.name,
            "rtol": self.rtol,
            "atol": self.atol,
            "model": f"{folder.name}/{self.name}.onnx",
            "sets": [{
                "data": f"{folder.name}/{self.name}.npz",
                "inputs": [f"in{k}" for k in range(len(feeds))],
                "outputs": [f"out{k}" for k in range(len(results))],
            }],
        }


def as_bytes(array):
    """Strings as rows of bytes, which programs take; other arrays as they are."""
    if array.dtype != object:
        return array
    words = np.char.encode(array.astype(str), "utf-8")
    return np.ascontiguousarray(words).view(np.uint8).reshape(*array.shape, -1)


def numbers(name, *shape, low=-1.0, high=1.0, dtype=np.float32):
    """Numbers that depend on nothing but the name and the shape."""
    seed = zlib.crc32(f"{name} {shape}".encode())
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def integers(name, *shape, low=0, high=255, dtype=np.uint8):
    seed = zlib.crc32(f"{name} {shape}".encode())
    return np.random.default_rng(seed).integers(low, high, shape, endpoint=True).astype(dtype)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


def contrib(name, op, inputs, outputs=1, **rest):
    CASES["contrib"].append(Case(name, op, inputs, outputs, domain="com.microsoft", **rest))


def form(name, op, inputs, outputs=1, **rest):
    CASES["forms"].append(Case(name, op, inputs, outputs, **rest))


def ml(name, op, inputs, outputs=1, **rest):
    CASES["ml"].append(Case(name, op, inputs, outputs, domain="ai.onnx.ml", **rest))
