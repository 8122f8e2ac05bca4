"""The table of ONNX converters as scripts change it, the classes that they derive from, and networks in QDQ form."""

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.frontend import onnx as tvm_onnx

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

X = np.random.RandomState(0).randn(2, 3).astype("float32")


def model(nodes, inputs=("x",), weights=(), opset=13, shape=(2, 3), output=(2, 3)):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in inputs]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, output)
    graph = helper.make_graph(nodes, "g", values, [result], [numpy_helper.from_array(np.asarray(value), name) for name, value in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("my.domain", 1)])


def one(op_type, inputs=("x",), **attributes):
    return model([helper.make_node(op_type, list(inputs), ["y"], domain="my.domain", **attributes)], inputs)


def run(mod, *args):
    return relay.create_executor("graph", mod, tvm.cpu(), "llvm").evaluate()(*args).numpy()


@pytest.fixture
def table(monkeypatch):
    """Changes to the table: converters by name; None takes a name off."""
    changes, original = {}, tvm_onnx._get_convert_map

    def changed(opset):
        found = {**original(opset), **{name: made(opset) for name, made in changes.items() if made is not None}}
        return {name: converter for name, converter in found.items() if name not in changes or changes[name] is not None}

    monkeypatch.setattr(tvm_onnx, "_get_convert_map", changed)
    return changes


def test_the_importers_table():
    table = tvm_onnx._get_convert_map(13)
    assert {"Conv", "Relu", "Gemm", "LSTM", "QuantizeLinear", "FastGelu"} <= set(table)
    assert "LayerNormalization" in tvm_onnx._get_convert_map(17) and "Einsum" not in tvm_onnx._get_convert_map(9)
    made = table["LeakyRelu"]([relay.const(X)], {"alpha": 0.5}, {})
    np.testing.assert_allclose(run(tvm.IRModule.from_expr(relay.Function([], made))), np.where(X > 0, X, 0.5 * X), rtol=1e-6)


def test_converters_of_one_node():
    x = relay.var("x", shape=(2, 3))
    permuted = tvm_onnx._get_convert_map(13)["Transpose"]([x], {"perm": [1, 0]}, {})
    assert permuted.op.name == "transpose" and permuted.args[0] == x
    squeezed = tvm_onnx._get_convert_map(13)["Unsqueeze"]([x, relay.const(np.array([0]))], {}, {})
    assert tuple(tvm_onnx.infer_shape(squeezed)) == (1, 2, 3)
    shape = relay.var("shape", shape=(2,), dtype="int64")
    reshaped = tvm_onnx._get_convert_map(13)["Reshape"]([x, shape], {}, {"shape": tvm.nd.array(np.array([3, 2]))})
    assert tuple(tvm_onnx.infer_shape(reshaped)) == (3, 2)
    parts = tvm_onnx._get_convert_map(13)["Split"]([x], {"axis": 1, "tvm_custom": {"name": "s", "num_outputs": 3}}, {})
    assert len(parts) == 3 and tuple(tvm_onnx.infer_shape(parts[2])) == (2, 1)
    open_rows = relay.var("x", shape=(relay.Any(), 3))
    clipped = tvm_onnx._get_convert_map(13)["Clip"]([open_rows, None, relay.const(np.float32(1))], {}, {})
    np.testing.assert_array_equal(run(tvm.IRModule.from_expr(relay.Function([open_rows], clipped)), X), np.minimum(X, 1))


class Gate(tvm_onnx.OnnxOpConverter):
    @classmethod
    def _impl_v1(cls, inputs, attr, params):
        return inputs[0] * relay.sigmoid(relay.const(attr.get("beta", 1.0)) * inputs[0])

    @classmethod
    def _impl_v13(cls, inputs, attr, params):
        assert inputs[5] is None and attr["tvm_custom"]["num_outputs"] == 1
        made = cls._impl_v1(inputs[:1], attr, params)
        return made if inputs[1] is None else made + inputs[1]


def test_operators_of_a_script(table):
    table["Gate"] = Gate.get_converter
    want = X / (1 + np.exp(-2 * X))
    for opset in (9, 13):
        proto = model([helper.make_node("Gate", ["x"], ["y"], domain="my.domain", beta=2.0)], opset=opset)
        np.testing.assert_allclose(run(relay.frontend.from_onnx(proto)[0], X), want, rtol=1e-5)
    mod, _ = relay.frontend.from_onnx(one("Gate", ["x", "b"], beta=2.0), opset=14)
    np.testing.assert_allclose(run(mod, X, X), want + X, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="opset version 0 of Gate not implemented"):
        Gate.get_converter(0)


def test_models_as_bytes_and_files(table, tmp_path):
    table["Gate"] = Gate.get_converter
    proto = one("Gate")
    onnx.save(proto, tmp_path / "m.onnx")
    for given in (proto.SerializeToString(), str(tmp_path / "m.onnx"), tmp_path / "m.onnx"):
        np.testing.assert_allclose(run(relay.frontend.from_onnx(given)[0], X), X / (1 + np.exp(-X)), rtol=1e-5)


def test_classes_of_the_importer(table):
    class Doubled(tvm_onnx.Elu):
        @classmethod
        def _impl_v1(cls, inputs, attr, params):
            return relay.const(2.0) * super()._impl_v6(inputs, attr, params)

    table["Elu"] = Doubled.get_converter
    want = 2 * np.where(X > 0, X, np.exp(X) - 1)
    np.testing.assert_allclose(run(relay.frontend.from_onnx(model([helper.make_node("Elu", ["x"], ["y"])]))[0], X), want, rtol=1e-5, atol=1e-6)
    assert tvm_onnx.Conv.get_converter(13) == tvm_onnx._get_convert_map(13)["Conv"]
    assert tvm_onnx.Prelu._impl_v9.op_type == "PRelu" and tvm_onnx.Conv is tvm_onnx.Conv


def test_other_forms_of_converters(table):
    from tvm.relay.frontend.common import AttrCvt, Renamer

    table["Mine"] = lambda opset: Renamer("tanh")
    table["Cut"] = lambda opset: AttrCvt("clip", transforms={"low": "a_min", "high": "a_max"}, ignores=["tvm_custom"])
    np.testing.assert_allclose(run(relay.frontend.from_onnx(one("Mine"))[0], X), np.tanh(X), rtol=1e-5)
    np.testing.assert_allclose(run(relay.frontend.from_onnx(one("Cut", low=-0.5, high=0.5))[0], X), np.clip(X, -0.5, 0.5))


def test_results_that_the_node_does_not_have(table):
    table["Two"] = lambda opset: lambda inputs, attr, params: relay.TupleWrapper(relay.Tuple([relay.exp(inputs[0]), relay.abs(inputs[0])]), 2)
    mod, _ = tvm_onnx.from_onnx(one("Two"))
    np.testing.assert_allclose(run(mod, X), np.exp(X), rtol=1e-6)


def test_attributes_are_those_of_onnx(table):
    seen = {}

    def convert(inputs, attr, params):
        seen.update(attr, params=dict(params))
        return inputs[0] + inputs[1]

    table["Mine"] = lambda opset: convert
    weight = np.random.RandomState(1).randn(100, 3).astype("float32")
    tensor = numpy_helper.from_array(np.arange(3))
    node = helper.make_node("Mine", ["x", "w"], ["y"], name="n", domain="my.domain", mode="sum", table=tensor, words=["a", "b"])
    mod, params = relay.frontend.from_onnx(model([node], weights=[("w", weight)], shape=(100, 3), output=(100, 3)), freeze_params=False)
    assert seen["mode"] == b"sum" and seen["words"] == [b"a", b"b"] and seen["tvm_custom"] == {"name": "n", "num_outputs": 1}
    assert np.array_equal(tvm_onnx.get_numpy(seen["table"]), np.arange(3))
    assert list(params) == ["w"] and np.array_equal(seen["params"]["w"].numpy(), weight)
    x = np.ones((100, 3), "float32")
    np.testing.assert_array_equal(run(mod, x, weight), x + weight)


def test_what_converters_raise(table):
    def convert(inputs, attr, params):
        raise tvm.error.OpAttributeUnImplemented("mode is not there")

    table["Mine"] = lambda opset: convert
    with pytest.raises(tvm.error.OpAttributeUnImplemented, match="^mode is not there$"):
        relay.frontend.from_onnx(one("Mine"))
    table["Elu"] = None
    with pytest.raises(tvm.error.OpNotImplemented, match="not supported for frontend ONNX: Elu"):
        relay.frontend.from_onnx(model([helper.make_node("Elu", ["x"], ["y"])]))
    with pytest.raises(tvm.error.OpNotImplemented, match="Nowhere"):
        relay.frontend.from_onnx(one("Nowhere"))


def test_tools_of_converters():
    assert tvm_onnx.get_type(1) == "float32" and tvm_onnx.get_type(7) == "int64"
    with pytest.raises(tvm.error.OpAttributeInvalid, match="12345 is no number of a type"):
        tvm_onnx.get_type(12345)
    value = helper.make_tensor_value_info("v", TensorProto.INT32, ["n", 3, None])
    name, shape, dtype, names = tvm_onnx.get_info(value)
    assert (name, dtype, names) == ("v", "int32", ["n", 3, ""]) and shape[1] == 3 and str(shape[0]) == "?"
    assert tvm_onnx.get_info(onnx.ValueInfoProto(name="u")) == ("u", [], None, [])
    assert tvm_onnx.get_pad_pair(5, 4, 2, "SAME_UPPER") == [1, 2] and tvm_onnx.get_pad_pair(5, 4, 2, "SAME_LOWER") == [2, 1]
    assert tvm_onnx.get_pad_pair(6, 3, 2) == [0, 1] and tvm_onnx.get_pad_pair(6, 1, 2) == [0, 0]
    assert tvm_onnx.revert_caffe2_pad([1, 2, 1, 2]) == [1, 2] == tvm_onnx.revert_caffe2_pad([1, 2])
    assert tvm_onnx.onnx_default_layout(5, "conv") == "NCDHW" and tvm_onnx.onnx_storage_order2layout(1, 2) == "NHWC"
    assert tvm_onnx.dimension_picker("conv", "_transpose")({"kernel_shape": [3, 3]}) == "conv2d_transpose"
    check, text = tvm_onnx.dimension_constraint()
    assert check({"kernel_shape": [1]}) and not check({"kernel_shape": [1] * 4}) and text == "Only 1d, 2d and 3d kernel supported."
    for call, message in [
        (lambda: tvm_onnx.revert_caffe2_pad([1]), "must be either 2 or 4, not 1"), (lambda: tvm_onnx.onnx_default_layout(7, "pool"), "1d, 2d, 3d layouts .* for operator pool"),
        (lambda: tvm_onnx.onnx_storage_order2layout(2), "storage_order must be either 0 or 1"), (lambda: tvm_onnx.dimension_picker("conv")({"kernel_shape": [1] * 4}), "Only 1D, 2D and 3D"),
    ]:  # fmt: skip
        with pytest.raises(tvm.error.OpAttributeInvalid, match=message):
            call()


def test_numbers_and_axes_of_converters():
    half = tvm_onnx.get_scalar(relay.var("s", shape=(1,)), {"s": tvm.nd.array(np.array([0.5], "float32"))}, "float64")
    assert run(tvm.IRModule.from_expr(relay.Function([], half))) == 0.5
    with pytest.raises(ValueError, match="the tensor has 2 axes"):
        tvm_onnx.get_scalar(relay.var("s", shape=(1, 1)), {})
    x = relay.var("x", shape=(2, 3, 4, 5))
    flat = tvm_onnx.flatten_to_nd(x, tvm_onnx.shape_of(x), 3)
    assert run(tvm.IRModule.from_expr(relay.Function([x], flat)), np.zeros((2, 3, 4, 5), "float32")).shape == (6, 4, 5)
    assert tvm_onnx.flatten_to_nd(x, tvm_onnx.shape_of(x), 4) is x


def test_graphs_without_a_model():
    graph = model([helper.make_node("Relu", ["x"], ["y"])]).graph
    with tvm_onnx.GraphProto({"x": (2, 3)}, "float32") as importer:
        assert tvm_onnx.GraphProto.current is importer
        mod, params = importer.from_onnx(graph, 13)
        body = importer.from_onnx(graph, 13, get_output_expr=True)
    assert tvm_onnx.GraphProto.current is None and params == {} and importer.opset == 13
    assert tuple(mod["main"].params[0].type_annotation.shape) == (2, 3) and body.op.name == "nn.relu"


def quantised(op="Relu"):
    rng = np.random.RandomState(3)
    weights = [("xs", np.float32(0.05)), ("xz", np.uint8(131)), ("w", rng.randint(-100, 100, (4, 3, 3, 3)).astype("int8")),
               ("ws", np.float32(0.02)), ("wz", np.int8(0)), ("ys", np.float32(0.1)), ("yz", np.uint8(7))]  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"]),
        helper.make_node("Conv", ["xd", "wd"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node(op, ["c"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "ys", "yz"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "ys", "yz"], ["y"]),
    ]
    return model(nodes, weights=weights, shape=(1, 3, 8, 8), output=(1, 4, 8, 8))


def test_networks_in_qdq_form():
    mod, _ = relay.frontend.from_onnx(quantised())
    before = relay.analysis.list_op_freqs(mod)
    assert (before["nn.conv2d"], before["qnn.quantize"], before["qnn.dequantize"]) == (1, 2, 3)
    rewritten = relay.transform.FakeQuantizationToInteger()(relay.transform.InferType()(mod))
    after = relay.analysis.list_op_freqs(rewritten)
    assert "nn.conv2d" not in after and after["qnn.conv2d"] == after["qnn.requantize"] == 1
    x = np.random.RandomState(1).randn(1, 3, 8, 8).astype("float32") * 3
    results = {}
    for name, options in {"on": {"opt_level": 3}, "off": {"opt_level": 3, "disabled_pass": ["FakeQuantizationToInteger"]}, "low": {"opt_level": 1}}.items():
        with tvm.transform.PassContext(**options):
            lib = relay.build(mod, "llvm")
        module = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
        module.run(x=x)
        results[name] = module.get_output(0).numpy()
    # A build computes on integers what the pass does, and on floats where it may not.
    np.testing.assert_array_equal(results["on"], run(rewritten, x))
    np.testing.assert_array_equal(results["off"], results["low"])
    assert np.abs(results["on"] - results["off"]).max() <= 0.1001


def test_ill_typed_networks_are_errors():
    x = relay.var("x", shape=(2, 3), dtype="int8")
    floats = relay.qnn.op.dequantize(x, relay.const(0.5), relay.const(0))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.qnn.op.quantize(floats + relay.const(np.zeros((4, 5), "float32")), relay.const(1.0), relay.const(0))))
    with pytest.raises(tvm.TVMError, match="do not broadcast"):
        relay.build(mod, "llvm")


def test_products_of_matrices_are_dense():
    w = np.arange(12, dtype="float32").reshape(3, 4)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Add", ["x", "x"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["c"]),
        helper.make_node("Transpose", ["c"], ["d"], perm=[1, 0]),
        helper.make_node("MatMul", ["a", "d"], ["y"]),
    ]
    mod, params = relay.frontend.from_onnx(model(nodes, weights=[("w", w)], output=(2, 2)))
    assert not params and relay.analysis.list_op_freqs(mod)["nn.dense"] == 3 and "nn.matmul" not in mod.astext()
    assert relay.analysis.list_op_freqs(mod)["transpose"] == 4  # a build computes that of a constant once
    np.testing.assert_allclose(run(mod, X), (X @ w) @ (2 * X @ w).T, rtol=1e-5)
