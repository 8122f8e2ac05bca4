"""relay.frontend.from_onnx: shapes, parameters, dynamic batch, comparison with NumPy."""
import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay
from tvm.contrib.download import download_testdata

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def make_model(batch):
    weight = np.random.RandomState(1).randn(6, 4).astype("float32")
    bias = np.arange(6, dtype="float32")
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "weight", "bias"], ["h"], transB=1), helper.make_node("Relu", ["h"], ["y"])],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 6])],
        initializer=[numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(bias, "bias")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), weight, bias


def get_tvm_output(model, inputs, target="llvm", dev=tvm.cpu(0), opt_level=1):
    mod, params = relay.frontend.from_onnx(model, {name: value.shape for name, value in inputs.items()}, freeze_params=True)
    with tvm.transform.PassContext(opt_level=opt_level):
        executor = relay.build_module.create_executor("graph", mod, dev, target, params).evaluate()
    return executor(*inputs.values()).numpy()


def test_against_numpy():
    model, weight, bias = make_model(3)
    x = np.random.rand(3, 4).astype("float32")
    tvm.testing.assert_allclose(get_tvm_output(model, {"x": x}), np.maximum(x @ weight.T + bias, 0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("frozen", [True, False])
def test_where_weights_go(frozen):
    model, weight, bias = make_model(1)
    mod, params = relay.frontend.from_onnx(model, shape={"x": (1, 4)}, freeze_params=frozen)
    assert len(mod["main"].params) == (1 if frozen else 3)
    assert set(params) == (set() if frozen else {"weight", "bias"})
    if not frozen:
        mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    x = np.ones((1, 4), "float32")
    tvm.testing.assert_allclose(relay.create_executor("vm", mod=mod).evaluate()(x).numpy(), np.maximum(x @ weight.T + bias, 0), rtol=1e-5)


def test_unknown_batch():
    model, weight, bias = make_model("n")
    mod, params = relay.frontend.from_onnx(model, {"x": (relay.Any(), 4)}, freeze_params=True)
    run = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()
    for n in (1, 5):
        assert run(np.zeros((n, 4), "float32")).numpy().shape == (n, 6)


def test_operators_that_nobody_knows():
    graph = helper.make_graph(
        [helper.make_node("MysteryOp", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, [1])], [helper.make_tensor_value_info("y", 1, [1])]
    )
    with pytest.raises(tvm.error.TVMError, match="MysteryOp"):
        relay.frontend.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), {"x": (1,)})


if __name__ == "__main__":
    pytest.main([__file__])
