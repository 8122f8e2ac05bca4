"""ONNX models with converters of the caller, and with floats between DequantizeLinear and QuantizeLinear."""

import numpy as np
import pytest

import relay

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

RNG = np.random.RandomState(0)


def model(nodes, inputs, outputs, weights=(), opset=13, domains=()):
    """A model of float32; `inputs` and `outputs` are shapes by name."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *(helper.make_opsetid(name, 1) for name in domains)])


def run(mod, *args):
    return np.asarray(relay.compile(mod)(*args))


X = RNG.randn(2, 3).astype("float32")


def gate(node):
    beta = node.attributes.get("beta", 1.0)
    return node.inputs[0] * relay.sigmoid(relay.const(np.float32(beta)) * node.inputs[0])


def gated(**attributes):
    nodes = [helper.make_node("Gate", ["x"], ["g"], name="first", domain="my.domain", **attributes), helper.make_node("Relu", ["g"], ["y"])]
    return model(nodes, {"x": [2, 3]}, {"y": [2, 3]}, domains=["my.domain"])


@pytest.mark.parametrize("name", ["Gate", "my.domain::Gate"])
def test_operators_of_other_domains(name):
    mod, _ = relay.frontend.from_onnx(gated(beta=2.0), custom_convert_map={name: gate})
    np.testing.assert_allclose(run(mod, X), np.maximum(X / (1 + np.exp(-2 * X)), 0), rtol=1e-5)


def test_other_domain_is_not_meant():
    with pytest.raises(relay.RelayError, match=r"1 operator is not supported: my\.domain\.Gate|not supported.*Gate"):
        relay.frontend.from_onnx(gated(), custom_convert_map={"your.domain::Gate": gate})


def test_nodes_show_what_they_have():
    seen = []

    def convert(node):
        seen.append(node)
        return node.inputs[0]

    tensor = numpy_helper.from_array(np.arange(3, dtype="int64"))
    proto = gated(beta=2.0, mode="a", odd=b"\xff", sizes=[1, 2], parts=[0.5], words=["u", "v"], table=tensor)
    relay.frontend.from_onnx(proto, custom_convert_map={"Gate": convert})
    node = seen[0]
    assert (node.op_type, node.domain, node.name, node.opset, node.outputs) == ("Gate", "my.domain", "first", 1, ["g"])
    assert node.inputs[0].name_hint == "x" and str(node.inputs[0].type_annotation) == "Tensor[(2, 3), float32]"
    attributes = dict(node.attributes)
    assert np.array_equal(np.asarray(attributes.pop("table")), [0, 1, 2])
    assert attributes.pop("odd").encode("utf-8", "surrogateescape") == b"\xff"
    assert attributes == {"beta": 2.0, "mode": "a", "sizes": [1, 2], "parts": [0.5], "words": ["u", "v"]}


def test_weights_and_missing_inputs():
    seen = []

    def convert(node):
        seen.append(node)
        return node.inputs[0] + node.inputs[2]

    weight = RNG.randn(100, 3).astype("float32")
    proto = model([helper.make_node("Mine", ["x", "", "w"], ["y"])], {"x": [100, 3]}, {"y": [100, 3]}, [("w", weight)])
    for freeze in (True, False):
        mod, params = relay.frontend.from_onnx(proto, freeze_node_params=freeze, custom_convert_map={"Mine": convert})
        assert list(params) == ([] if freeze else ["w"])
        node = seen.pop()
        assert node.inputs[1] is None and node.values[:2] == [None, None] and np.array_equal(np.asarray(node.values[2]), weight)
        assert isinstance(node.inputs[2], relay.Constant if freeze else relay.Var)
        x = RNG.randn(100, 3).astype("float32")
        np.testing.assert_array_equal(run(mod, x, *params.values()), x + weight)


def test_in_place_of_the_importers():
    proto = model([helper.make_node("Relu", ["x"], ["y"])], {"x": ["n", 3]}, {"y": ["n", 3]})
    mod, _ = relay.frontend.from_onnx(proto, custom_convert_map={"Relu": lambda node: relay.abs(node.inputs[0])})
    np.testing.assert_array_equal(run(mod, X), np.abs(X))


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
@pytest.mark.parametrize("name", ["Relu", "::Relu", "ai.onnx::Relu"])
def test_names_of_the_default_domain(name, domain):
    proto = model([helper.make_node("Relu", ["x"], ["y"], domain=domain)], {"x": [2, 3]}, {"y": [2, 3]})
    mod, _ = relay.frontend.from_onnx(proto, custom_convert_map={name: lambda node: relay.abs(node.inputs[0])})
    np.testing.assert_array_equal(run(mod, X), np.abs(X))


def test_several_outputs():
    nodes = [helper.make_node("Halves", ["x"], ["a", "b"]), helper.make_node("Sub", ["a", "b"], ["y"])]
    proto = model(nodes, {"x": [4, 2]}, {"y": [2, 2]})
    x = RNG.randn(4, 2).astype("float32")

    def listed(node):
        halves = relay.split(node.inputs[0], 2)
        return [halves[0], halves[1]]

    for convert in (listed, lambda node: relay.split(node.inputs[0], 2), lambda node: tuple(listed(node))):
        mod, _ = relay.frontend.from_onnx(proto, custom_convert_map={"Halves": convert})
        np.testing.assert_array_equal(run(mod, x), x[:2] - x[2:])


def two(convert, outputs=2, **options):
    names = [f"y{k}" for k in range(outputs)]
    proto = model([helper.make_node("Two", ["x"], names, domain="my.domain")], {"x": [2, 3]}, {name: [2, 3] for name in names}, domains=["my.domain"])
    return relay.frontend.from_onnx(proto, custom_convert_map={"Two": convert}, **options)[0]


def test_outputs_share_what_they_are_made_of():
    def by_let(node):
        v = relay.var("v")
        return relay.Let(v, relay.exp(node.inputs[0]), relay.Tuple([v + v, v * v]))

    def twice(node):
        v = relay.var("v")
        once = relay.Let(v, relay.exp(node.inputs[0]), v + v)
        return [once, once * once]

    for convert, square in ((by_let, 1), (twice, 4)):
        results = relay.compile(two(convert))(X)
        np.testing.assert_allclose(np.asarray(results[0]), 2 * np.exp(X), rtol=1e-5)
        np.testing.assert_allclose(np.asarray(results[1]), square * np.exp(X) ** 2, rtol=1e-5)

    def chain(node):
        value = node.inputs[0]
        for _ in range(100):
            value = relay.tanh(value)
        return [value + relay.const(float(k)) for k in range(40)]

    assert relay.analysis.list_op_freqs(two(chain, 40))["tanh"] == 100


def test_in_a_loop():
    body = helper.make_graph(
        [helper.make_node("Identity", ["cond"], ["go"]), helper.make_node("Step", ["state", "x"], ["next"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("cond", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, [2, 3]),
        ],
        [helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, [2, 3])],
    )
    nodes = [helper.make_node("Exp", ["z"], ["x"]), helper.make_node("Loop", ["n", "t", "x"], ["y"], body=body)]
    proto = model(nodes, {"z": [2, 3]}, {"y": [2, 3]}, [("n", np.int64(3)), ("t", np.bool_(True))])
    mod, _ = relay.frontend.from_onnx(proto, custom_convert_map={"Step": lambda node: node.inputs[0] * 0.5 + node.inputs[1]})
    want = np.exp(X)
    for _ in range(3):
        want = want * np.float32(0.5) + np.exp(X)
    np.testing.assert_allclose(run(mod, X), want, rtol=1e-5)


def refused(convert, proto=None):
    with pytest.raises(relay.RelayError) as error:
        relay.frontend.from_onnx(proto or gated(), custom_convert_map={"Gate": convert})
    return str(error.value)


def test_refusals():
    def missing(node):
        raise KeyError("scale")

    text = refused(missing)
    assert 'Gate "first"' in text and "the converter of Gate raised KeyError: 'scale'" in text
    assert "%loose, which is no input of the node" in refused(lambda node: relay.var("loose", shape=(2, 3)))
    assert "a converter gives a list of relay.Expr, not" in refused(lambda node: 3)
    assert "its converter gives 2 results, the outputs are 1" in refused(lambda node: [node.inputs[0], node.inputs[0]])
    assert "its converter gives 2 results, the outputs are 1" in refused(lambda node: relay.Tuple([node.inputs[0], node.inputs[0]]))
    assert "there is no output 0" in refused(lambda node: [])
    assert "do not broadcast" in refused(lambda node: node.inputs[0] + relay.const(np.zeros((4, 5), "float32")))
    graph = helper.make_graph([], "empty", [], [])
    assert 'the attribute "body" is a graph, which converters of the caller do not get' in refused(gate, gated(body=graph))
    with pytest.raises(TypeError, match=r"custom_convert_map\['Gate'\] is a function of an OnnxNode, not 3"):
        relay.frontend.from_onnx(gated(), custom_convert_map={"Gate": 3})
    with pytest.raises(TypeError, match=r"custom_convert_map is a dictionary of converters by names of operators, not \[\]"):
        relay.frontend.from_onnx(gated(), custom_convert_map=[])
    with pytest.raises(TypeError, match="fake_quantization is a bool, not 'no'"):
        relay.frontend.from_onnx(gated(), fake_quantization="no")
    with pytest.raises(TypeError, match="a name in custom_convert_map is a str, not 3"):
        relay.frontend.from_onnx(gated(), custom_convert_map={3: gate})


def test_interrupts_go_through():
    def stop(node):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        relay.frontend.from_onnx(gated(), custom_convert_map={"Gate": stop})


def quantised():
    """A convolution in QDQ form, with zero points, scales by channel and a bias."""
    rng = np.random.RandomState(3)
    weights = [
        ("xs", np.float32(0.05)), ("xz", np.uint8(131)), ("w", rng.randint(-100, 100, (4, 3, 3, 3)).astype("int8")),
        ("ws", np.array([0.02, 0.03, 0.011, 0.04], "float32")), ("wz", np.zeros(4, "int8")), ("ys", np.float32(0.1)), ("yz", np.uint8(7)),
        ("b", rng.randint(-500, 500, 4).astype("int32")), ("bs", np.float32(0.05) * np.array([0.02, 0.03, 0.011, 0.04], "float32")),
    ]  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "bs"], ["bd"], axis=0),
        helper.make_node("Conv", ["xd", "wd", "bd"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("QuantizeLinear", ["c", "ys", "yz"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "ys", "yz"], ["y"]),
    ]
    return model(nodes, {"x": [1, 3, 8, 8]}, {"y": [1, 4, 8, 8]}, weights)


def test_fake_quantization_keeps_floats():
    proto = quantised()
    floats, _ = relay.frontend.from_onnx(proto, fake_quantization=True)
    integers, _ = relay.frontend.from_onnx(proto)
    found = relay.analysis.list_op_freqs(floats)
    assert found["nn.conv2d"] == 1 and found["qnn.dequantize"] == 4 and found["qnn.quantize"] == 2
    assert relay.analysis.list_op_freqs(integers)["qnn.quantize"] == 1
    typed = relay.transform.InferType()(floats)
    rewritten = relay.transform.FakeQuantizationToInteger(hard_fail=True)(typed)
    made = relay.analysis.list_op_freqs(rewritten)
    assert made["qnn.conv2d"] == 1 and "nn.conv2d" not in made and "cast" not in made
    x = np.random.RandomState(1).randn(1, 3, 8, 8).astype("float32") * 3
    results = [run(mod, x) for mod in (floats, integers, rewritten)]
    assert np.ptp(results[0]) > 2
    for other in results[1:]:
        assert np.abs(results[0] - other).max() <= 0.1001
