"""Models made with onnx.helper, imported in the ways people import them, and compared with numpy."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
import tvm
from tvm import relay
from tvm.contrib import graph_executor

w = np.random.RandomState(0).randn(3, 8).astype("float32")
nodes = [
    helper.make_node("MatMul", ["x", "w"], ["y"], name="product"),
    helper.make_node("Relu", ["y"], ["z"]),
    helper.make_node("ReduceMean", ["z"], ["out"], axes=[1], keepdims=0),
]
graph = helper.make_graph(
    nodes,
    "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
    [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch"])],
    [numpy_helper.from_array(w, "w")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 8
x = np.random.randn(5, 3).astype("float32")
want = np.maximum(x @ w, 0).mean(axis=1)

mod, params = relay.frontend.from_onnx(model, {"x": (5, 3)})
assert set(params) == {"w"} or not params
shape_dict = {v.name_hint: v.checked_type for v in relay.transform.InferType()(mod)["main"].params}
assert tuple(int(d) for d in shape_dict["x"].shape) == (5, 3)
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm", params=params)
m = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
m.set_input("x", tvm.nd.array(x))
m.run()
np.testing.assert_allclose(m.get_output(0).asnumpy(), want, rtol=1e-4, atol=1e-5)

frozen, rest = relay.frontend.from_onnx(model, shape={"x": (5, 3)}, dtype="float32", opset=13, freeze_params=True)
assert not rest
executor = relay.build_module.create_executor("graph", frozen, tvm.cpu(0), "llvm").evaluate()
np.testing.assert_allclose(executor(tvm.nd.array(x)).numpy(), want, rtol=1e-4, atol=1e-5)
dyn, params = relay.frontend.from_onnx(model, freeze_params=True)
vm_exec = relay.vm.compile(dyn, "llvm", params=params)
vm = tvm.runtime.vm.VirtualMachine(vm_exec, tvm.cpu())
np.testing.assert_allclose(vm.run(x).numpy(), want, rtol=1e-4, atol=1e-5)
static = relay.transform.DynamicToStatic()(dyn)
assert static is not None
