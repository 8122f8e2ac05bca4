"""Tests of the ONNX front end in the manner of TVM's test_forward.py, against NumPy."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import relay
from tvm.contrib import graph_executor

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402


def get_input_data_shape_dict(graph_def, input_data):
    if isinstance(input_data, list):
        input_names, shape_dict = {}, {}
        for i, _ in enumerate(input_data):
            input_names[i] = graph_def.graph.input[i].name
            shape_dict[input_names[i]] = () if input_data[i] is None or isinstance(input_data[i], tuple) else input_data[i].shape
        return input_names, shape_dict
    return graph_def.graph.input[0].name, {graph_def.graph.input[0].name: input_data.shape}


def get_tvm_output_with_vm(graph_def, input_data, target, dev, opset=None, freeze_params=False, convert_config=None):
    if not isinstance(input_data, list):
        input_data = [input_data]
    _, shape_dict = get_input_data_shape_dict(graph_def, input_data)
    with tvm.testing.enable_span_filling():
        mod, params = relay.frontend.from_onnx(graph_def, shape_dict, opset=opset, freeze_params=freeze_params, convert_config=convert_config)
    result = relay.create_executor("vm", mod=mod, device=dev, target=target).evaluate()(*input_data, **params)
    return [r.numpy() for r in result] if isinstance(result, (list, tvm.runtime.container.ADT)) else result.numpy()


def get_tvm_output(graph_def, input_data, target, dev, output_shape=None, output_dtype="float32", opset=None, opt_level=1):
    input_names, shape_dict = get_input_data_shape_dict(graph_def, input_data)
    mod, params = relay.frontend.from_onnx(graph_def, shape_dict, opset=opset)
    with tvm.transform.PassContext(opt_level=opt_level):
        graph, lib, params = relay.build(mod, target, params=params)
    m = graph_executor.create(graph, lib, dev)
    if isinstance(input_data, list):
        for i, _ in enumerate(input_names):
            m.set_input(input_names[i], tvm.nd.array(input_data[i].astype(input_data[i].dtype)))
    else:
        m.set_input(input_names, tvm.nd.array(input_data.astype(input_data.dtype)))
    m.set_input(**params)
    m.run()
    return m.get_output(0).numpy()


def make_constant_node(name, data_type, dims, vals):
    return helper.make_node("Constant", inputs=[], outputs=[name], value=helper.make_tensor(name=name, data_type=data_type, dims=dims, vals=vals))


def one_node(node, inputs, outputs, opset=13, nodes=()):
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), list(a.shape)) for n, a in inputs.items()]
    outs = [helper.make_tensor_value_info(n, t, list(s)) for n, (t, s) in outputs.items()]
    graph = helper.make_graph([*nodes, node], node.op_type.lower() + "_test", inputs=values, outputs=outs)
    model = helper.make_model(graph, producer_name="test", opset_imports=[helper.make_opsetid("", opset)])
    return model


@tvm.testing.parametrize_targets("llvm")
def test_reshape(target, dev):
    in_shape, ref_shape = (4, 3, 3, 4), (6, 2, 4, 3)
    data = np.random.uniform(size=in_shape).astype("float32")
    ref = make_constant_node("ref_in", TensorProto.INT64, [4], list(ref_shape))
    model = one_node(helper.make_node("Reshape", ["in", "ref_in"], ["out"]), {"in": data}, {"out": (TensorProto.FLOAT, ref_shape)}, nodes=[ref])
    tvm.testing.assert_allclose(ref_shape, get_tvm_output(model, data, target, dev, ref_shape, "float32").shape)
    tvm.testing.assert_allclose(get_tvm_output_with_vm(model, data, target, dev, freeze_params=True), data.reshape(ref_shape))


@tvm.testing.parametrize_targets("llvm")
def test_gather_and_slice(target, dev):
    x = np.random.rand(5, 4, 3).astype("float32")
    indices = np.array([0, -1, 3], dtype="int64")
    model = one_node(helper.make_node("Gather", ["x", "i"], ["y"], axis=0), {"x": x, "i": indices}, {"y": (TensorProto.FLOAT, (3, 4, 3))})
    tvm.testing.assert_allclose(get_tvm_output_with_vm(model, [x, indices], target, dev), np.take(x, indices, axis=0))
    parts = [make_constant_node(n, TensorProto.INT64, [2], v) for n, v in (("starts", [0, 1]), ("ends", [3, 10]), ("axes", [0, 1]))]
    model = one_node(helper.make_node("Slice", ["x", "starts", "ends", "axes"], ["y"]), {"x": x}, {"y": (TensorProto.FLOAT, (3, 3, 3))}, nodes=parts)
    tvm.testing.assert_allclose(get_tvm_output(model, x, target, dev), x[0:3, 1:10])


@tvm.testing.parametrize_targets("llvm")
@pytest.mark.parametrize("op,ref", [("Abs", np.abs), ("Ceil", np.ceil), ("Tanh", np.tanh), ("Exp", np.exp), ("Neg", np.negative)])
def test_single_ops(target, dev, op, ref):
    x = np.random.uniform(-3, 3, size=(1, 2, 10)).astype("float32")
    model = one_node(helper.make_node(op, ["x"], ["y"]), {"x": x}, {"y": (TensorProto.FLOAT, x.shape)})
    tvm.testing.assert_allclose(get_tvm_output_with_vm(model, [x], target, dev), ref(x), rtol=1e-5, atol=1e-6)


@tvm.testing.parametrize_targets("llvm")
def test_loop_and_if(target, dev):
    cond = np.array(True)
    y = np.array([-2, 3], dtype="float32")
    then = helper.make_graph([helper.make_node("Mul", ["y", "y"], ["t"])], "then", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, [2])])
    other = helper.make_graph([helper.make_node("Neg", ["y"], ["e"])], "else", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT, [2])])
    model = one_node(helper.make_node("If", ["cond"], ["out"], then_branch=then, else_branch=other), {"cond": cond, "y": y}, {"out": (TensorProto.FLOAT, [2])})
    tvm.testing.assert_allclose(get_tvm_output_with_vm(model, [cond, y], target, dev), y * y)
    tvm.testing.assert_allclose(get_tvm_output_with_vm(model, [np.array(False), y], target, dev), -y)


def test_unsupported_and_names(tmp_path):
    x = np.zeros((2,), "float32")
    model = one_node(helper.make_node("NoSuchOperator", ["x"], ["y"]), {"x": x}, {"y": (TensorProto.FLOAT, (2,))})
    with pytest.raises(tvm.error.OpNotImplemented):
        relay.frontend.from_onnx(model, {"x": (2,)})
    model = one_node(helper.make_node("Relu", ["x"], ["y"]), {"x": x}, {"y": (TensorProto.FLOAT, (2,))})
    mod, _ = relay.frontend.from_onnx(model, {"x": (2,)}, export_node_renamed_model_path=str(tmp_path / "renamed"))
    (path,) = (tmp_path / "renamed").glob("tvm_exported_model_*.onnx")
    renamed = onnx.load(str(path))
    assert [node.name for node in renamed.graph.node] == ["Relu_0"] and isinstance(mod, tvm.IRModule)


@pytest.mark.parametrize("nt", [True, False])
def test_products_of_batches(nt):
    for shape, other in (((2, 3, 4), (2, 4, 5)), ((2, 2, 3, 4), (4, 5)), ((2, 2, 3, 4), (2, 1, 4, 5))):
        a, b = np.random.rand(*shape).astype("float32"), np.random.rand(*other).astype("float32")
        model = one_node(helper.make_node("MatMul", ["a", "b"], ["y"]), {"a": a, "b": b}, {"y": (TensorProto.FLOAT, (a @ b).shape)})
        mod, params = relay.frontend.from_onnx(model, convert_config={"use_nt_batch_matmul": nt})
        found = []
        relay.analysis.post_order_visit(mod["main"], lambda node: found.append(node) if isinstance(node, relay.Call) else None)
        found = [call for call in found if call.op == tvm.ir.Op.get("nn.batch_matmul")]
        assert all(bool(call.attrs.transpose_b) == nt for call in found) and len(found) == (len(other) > 2)
        result = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm", params=params).evaluate()(a, b)
        tvm.testing.assert_allclose(result.numpy(), a @ b, rtol=1e-5)
    with pytest.raises(ValueError, match="from_onnx has no option 'fast': there is use_nt_batch_matmul"):
        relay.frontend.from_onnx(model, convert_config={"fast": True})


if __name__ == "__main__":
    tvm.testing.main()
