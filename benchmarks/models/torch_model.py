"""An ONNX model as a PyTorch module, by onnx2torch, brought into the forms that it takes."""

import onnx
from onnx2torch import convert

PASS_THROUGH = ("Identity", "Dropout")


def without_pass_through(model):
    """Takes away nodes that give what they get; those behind outputs of the graph stay."""
    wanted = {each.name for each in model.graph.output}
    stands_for, kept = {}, []
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = stands_for.get(name, name)
        if node.op_type in PASS_THROUGH and node.output[0] not in wanted:
            stands_for[node.output[0]] = node.input[0]
        else:
            kept.append(node)
    del model.graph.node[:]
    model.graph.node.extend(kept)


def load(path):
    """A module in evaluation mode. Raises whatever onnx2torch does where it knows no equivalent."""
    model = onnx.load(path)
    # Before version 4 every initialiser was an input as well, and shapes were not inferred through them.
    model.ir_version = max(model.ir_version, 8)
    stored = {tensor.name for tensor in model.graph.initializer}
    for given in [each for each in model.graph.input if each.name in stored]:
        model.graph.input.remove(given)
    without_pass_through(model)
    return convert(onnx.shape_inference.infer_shapes(model)).eval()
