"""Executor and Runtime options as deployment scripts set them; module names; constants of a library."""
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay.backend import Executor, Runtime
from tvm.relay.backend.executor_factory import GraphExecutorFactoryModule

x = relay.var("x", shape=(2, 3))
w = relay.var("w", shape=(4, 3))
mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.softmax(relay.nn.dense(x, w))))
params = {"w": tvm.nd.array(np.random.randn(4, 3).astype("float32"))}
executor = Executor("graph", {"link-params": True})
run_time = Runtime("cpp", {"system-lib": False})
assert executor.name == "graph" and executor["link-params"] and str(run_time.name) == "cpp"
with tvm.transform.PassContext(opt_level=3, config={"tir.disable_vectorize": False}, disabled_pass=["AlterOpLayout"]):
    lib = relay.build(mod, target=tvm.target.Target("llvm", host="llvm"), executor=executor, runtime=run_time, params=params, mod_name="net")
assert isinstance(lib, GraphExecutorFactoryModule)
m = graph_executor.GraphModule(lib["net"](tvm.cpu()))
value = np.random.randn(2, 3).astype("float32")
m.set_input("x", value)
m.run()
out = m.get_output(0, tvm.nd.empty((2, 4), "float32"))
np.testing.assert_allclose(out.numpy().sum(axis=1), [1, 1], rtol=1e-5)
assert m.get_num_outputs() == 1 and m.get_num_inputs() >= 1
assert m.get_input("x").shape == (2, 3)
shape_info, dtype_info = m.get_input_info()
assert tuple(shape_info["x"]) == (2, 3) and dtype_info["x"] == "float32"
assert lib.get_executor_config() is not None
graph, library, weights = lib
assert isinstance(graph, str) and hasattr(library, "get_source")
m2 = graph_executor.create(graph, library, tvm.cpu())
m2.load_params(tvm.runtime.save_param_dict(weights))
m2.run(x=value)
np.testing.assert_allclose(m2.get_output(0).numpy(), out.numpy(), rtol=1e-6)
target, host = tvm.target.Target.canon_target_and_host("llvm", None)
assert target.kind.name == "llvm"
