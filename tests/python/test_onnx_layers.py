"""Layers of ONNX models: how they are written, and the layouts of their weights."""

import numpy as np
import pytest

import relay

onnx = pytest.importorskip("onnx")


def model_of(node, inputs, weights, opset=17):
    """A model of one node, whose result's shape is left open."""
    helper, numbers = onnx.helper, onnx.TensorProto
    values = [helper.make_tensor_value_info(name, numbers.FLOAT, shape) for name, shape in inputs.items()]
    stored = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    result = helper.make_tensor_value_info(node.output[0], numbers.FLOAT, None)
    graph = helper.make_graph([node], "g", values, [result], stored)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def test_both_directions_are_one_loop():
    numbers = np.random.default_rng(0).standard_normal
    weights = {"w": numbers((2, 16, 3)).astype("float32"), "r": numbers((2, 16, 4)).astype("float32")}
    node = onnx.helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=4, direction="bidirectional")
    mod, _ = relay.frontend.from_onnx(model_of(node, {"x": [5, 1, 3]}, weights))
    assert str(mod).count("= fn (") == 1


@pytest.mark.parametrize("last", [True, False])
def test_weights_of_nhwc_conv(last):
    numbers = np.random.default_rng(1).standard_normal
    x, w = numbers((1, 5, 6, 4)).astype("float32"), numbers((6, 2, 3, 3)).astype("float32")
    form = {"group": 2, "pads": [1, 0, 1, 1], "strides": [2, 1], "kernel_shape": [3, 3]}
    plain = onnx.helper.make_node("Conv", ["x", "w"], ["y"], **form)
    expected = run(model_of(plain, {"x": [1, 4, 5, 6]}, {"w": w}), x.transpose(0, 3, 1, 2).copy())
    given = w.transpose(0, 2, 3, 1).copy() if last else w
    node = onnx.helper.make_node("NhwcConv", ["x", "w"], ["y"], domain="com.microsoft", **form)
    found = run(model_of(node, {"x": [1, 5, 6, 4]}, {"w": given}), x)
    np.testing.assert_allclose(found, expected.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-5)


def run(model, x):
    mod, params = relay.frontend.from_onnx(model)
    return np.asarray(relay.compile(mod, params=params)(x))
