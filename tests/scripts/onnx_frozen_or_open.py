"""A model with constants or parameters, with a fixed or an open batch."""
import numpy as np
import onnx
from onnx import helper, TensorProto, numpy_helper
import tvm
from tvm import relay
from tvm.contrib import graph_executor

w = np.random.randn(5, 8).astype("float32")
g = helper.make_graph([helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1), helper.make_node("Relu", ["h"], ["r"]), helper.make_node("ReduceMean", ["r"], ["y"], axes=[1], keepdims=0)], "g",
                      [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch"])],
                      [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.ones(5, "float32"), "b")])
model = helper.make_model(g, opset_imports=[helper.make_opsetid("", 13)])
mod, params = relay.frontend.from_onnx(model, {"x": (3, 8)}, freeze_params=True)
assert not params
lib = relay.build(mod, "llvm -mcpu=core-avx2")
m = graph_executor.GraphModule(lib["default"](tvm.cpu()))
x = np.random.randn(3, 8).astype("float32")
m.set_input("x", x)
m.run()
ref = np.maximum(x @ w.T + 1, 0).mean(1)
np.testing.assert_allclose(m.get_output(0).numpy(), ref, rtol=1e-4, atol=1e-5)
mod, params = relay.frontend.from_onnx(model)
assert isinstance(relay.transform.InferType()(mod)["main"].params[0].checked_type.shape[0], (relay.Any, tvm.tir.Any, tvm.tir.Var))
ex = relay.create_executor("vm", mod=mod, params=params).evaluate()
np.testing.assert_allclose(ex(x).numpy(), ref, rtol=1e-4, atol=1e-5)
