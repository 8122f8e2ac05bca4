"""A front end's tests: open extents, options of builds, operators that nobody knows."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvm
import tvm.testing
from tvm import relay
from tvm.contrib import graph_executor


def model_of(nodes, inputs, outputs, weights=()):
    infos = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs]
    return helper.make_model(helper.make_graph(nodes, "g", infos, results, initializer=[numpy_helper.from_array(w, name) for name, w in weights]))


def test_open_batch():
    w = np.random.rand(3, 2).astype("float32")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    model = model_of(nodes, [("x", TensorProto.FLOAT, ["batch", 3])], [("y", ["batch", 2])], [("w", w)])
    mod, params = relay.frontend.from_onnx(model, shape={"x": (relay.Any(), 3)}, freeze_params=True)
    mod = relay.transform.InferType()(relay.transform.DynamicToStatic()(mod))
    vm = tvm.runtime.vm.VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tvm.cpu())
    for batch in (1, 5):
        x = np.random.rand(batch, 3).astype("float32")
        vm.set_input("main", x)
        vm.run()
        np.testing.assert_allclose(vm.get_outputs()[0].numpy(), np.maximum(x @ w, 0), rtol=1e-5)


@pytest.mark.parametrize("error", [tvm.error.OpNotImplemented, tvm.TVMError, NotImplementedError])
def test_unknown_operators(error):
    model = model_of([helper.make_node("NotAnOp", ["x"], ["y"])], [("x", TensorProto.FLOAT, [1])], [("y", [1])])
    with pytest.raises(error, match="NotAnOp") as caught:
        relay.frontend.from_onnx(model)
    assert caught.value.diagnostics[0].notes


def test_other_errors_are_no_unknown_operators():
    model = model_of([helper.make_node("Relu", ["nothing"], ["y"])], [("x", TensorProto.FLOAT, [1])], [("y", [1])])
    with pytest.raises(tvm.TVMError) as caught:
        relay.frontend.from_onnx(model)
    assert not isinstance(caught.value, tvm.error.OpNotImplemented)


def test_spans_change_no_program():
    model = model_of([helper.make_node("Softmax", ["x"], ["y"], axis=1)], [("x", TensorProto.FLOAT, [2, 3])], [("y", [2, 3])])
    with tvm.testing.disable_span_filling():
        plain, params = relay.frontend.from_onnx(model, {"x": (2, 3)})
    with tvm.testing.enable_span_filling():
        filled, _ = relay.frontend.from_onnx(model, {"x": (2, 3)})
    tvm.ir.assert_structural_equal(plain, filled)
    with tvm.transform.PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 10}):
        graph_json, lib, params = relay.build(plain, "llvm", params=params)
    module = graph_executor.create(graph_json, lib, tvm.cpu(0))
    module.set_input("x", tvm.nd.array(np.random.rand(2, 3).astype("float32")), **params)
    module.run()
    np.testing.assert_allclose(module.get_output(0, tvm.nd.empty((2, 3))).numpy().sum(1), 1, rtol=1e-5)
