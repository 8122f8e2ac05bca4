"""ONNX models with If, Loop, unknown shapes; files on disk; comparison of executors."""
import numpy as np
import pytest

import tvm
from tvm import relay

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def model_of(nodes, inputs, outputs, initializers=(), opset=13):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs], [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs],
        initializer=[numpy_helper.from_array(v, n) for n, v in initializers],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def get_tvm_output_with_vm(model, inputs, freeze_params=True, dtype="float32"):
    shapes = {k: v.shape for k, v in inputs.items()}
    mod, params = relay.frontend.from_onnx(model, shapes, dtype=dtype, freeze_params=freeze_params)
    out = relay.create_executor("vm", mod=mod, device=tvm.cpu(0), target="llvm", params=params).evaluate()(**inputs)
    return [o.numpy() for o in out] if isinstance(out, tvm.runtime.container.ADT) else out.numpy()


def test_if():
    branches = {}
    for name, op in (("then", "Exp"), ("else", "Neg")):
        branches[f"{name}_branch"] = helper.make_graph([helper.make_node(op, ["x"], [f"{name}_y"])], name, [], [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, [3])])
    model = model_of([helper.make_node("If", ["c"], ["y"], **branches)], [("c", TensorProto.BOOL, []), ("x", TensorProto.FLOAT, [3])], [("y", TensorProto.FLOAT, [3])])
    x = np.array([0, 1, 2], "float32")
    np.testing.assert_allclose(get_tvm_output_with_vm(model, {"c": np.array(True), "x": x}), np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(get_tvm_output_with_vm(model, {"c": np.array(False), "x": x}), -x)


def test_loop():
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "one"], ["a_out"]), helper.make_node("Identity", ["cond"], ["cond_out"]), helper.make_node("Identity", ["a_out"], ["scan"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("cond", TensorProto.BOOL, []), helper.make_tensor_value_info("a", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info(n, t, s) for n, t, s in (("cond_out", TensorProto.BOOL, []), ("a_out", TensorProto.FLOAT, [2]), ("scan", TensorProto.FLOAT, [2]))],
        [numpy_helper.from_array(np.ones(2, "float32"), "one")],
    )
    nodes = [helper.make_node("Loop", ["n", "go", "start"], ["end", "all"], body=body)]
    model = model_of(nodes, [("start", TensorProto.FLOAT, [2])], [("end", TensorProto.FLOAT, [2]), ("all", TensorProto.FLOAT, [None, 2])], [("n", np.array(3, "int64")), ("go", np.array(True))])
    end, rows = get_tvm_output_with_vm(model, {"start": np.zeros(2, "float32")})
    assert end.tolist() == [3, 3] and rows.tolist() == [[1, 1], [2, 2], [3, 3]]


def test_a_file(tmp_path):
    model = model_of([helper.make_node("Softmax", ["x"], ["y"], axis=-1)], [("x", TensorProto.FLOAT, ["n", 4])], [("y", TensorProto.FLOAT, ["n", 4])])
    path = tmp_path / "m.onnx"
    onnx.save(model, str(path))
    mod, params = relay.frontend.from_onnx(onnx.load(str(path)), {"x": (2, 4)})
    assert not params
    graph = relay.create_executor("graph", mod=mod).evaluate()(np.zeros((2, 4), "float32")).numpy()
    np.testing.assert_allclose(graph, np.full((2, 4), 0.25))


def test_shape_arithmetic():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"], axis=0), helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        helper.make_node("Concat", ["n1", "minus"], ["shape"], axis=0), helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    init = [("zero", np.array(0, "int64")), ("axes", np.array([0], "int64")), ("minus", np.array([-1], "int64"))]
    model = model_of(nodes, [("x", TensorProto.FLOAT, [2, 3, 4])], [("y", TensorProto.FLOAT, [2, 12])], init)
    assert get_tvm_output_with_vm(model, {"x": np.zeros((2, 3, 4), "float32")}).shape == (2, 12)


if __name__ == "__main__":
    pytest.main([__file__])
