"""The debug executor by the three ways in which scripts reach it."""
import os

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import utils
from tvm.contrib.debugger import debug_executor
from tvm.contrib.debugger.debug_executor import GraphModuleDebug

x = relay.var("x", shape=(4, 8))
w = relay.var("w", shape=(16, 8))
y = relay.nn.relu(relay.nn.dense(x, w))
z = relay.nn.softmax(y)
mod = tvm.IRModule.from_expr(relay.Function([x, w], z))
params = {"w": np.random.rand(16, 8).astype("float32")}
data = np.random.rand(4, 8).astype("float32")

with tvm.transform.PassContext(opt_level=3):
    graph, lib, built = relay.build(mod, "llvm", params=params)
    factory = relay.build(mod, "llvm", params=params)

temp = utils.tempdir()
m = debug_executor.create(graph, lib, tvm.cpu(0), dump_root=temp.temp_dir)
m.set_input("x", data)
m.set_input(**built)
m.run()
ref = np.maximum(data @ params["w"].T, 0)
ref = np.exp(ref - ref.max(-1, keepdims=True))
ref /= ref.sum(-1, keepdims=True)
np.testing.assert_allclose(m.get_output(0).numpy(), ref, rtol=1e-4)
assert any(files for _, _, files in os.walk(temp.temp_dir)), "the debugger dumps its tensors"

report = m.profile()
assert "Total" in str(report) and len(report.calls) > 0
csv = report.csv()
assert "Name" in csv.splitlines()[0] and "Duration" in csv.splitlines()[0]

m2 = GraphModuleDebug(factory["debug_create"]("default", tvm.cpu()), [tvm.cpu()], factory.get_graph_json(), dump_root=temp.relpath("second"))
m2.set_input("x", tvm.nd.array(data))
m2.run()
np.testing.assert_allclose(m2.get_output(0).numpy(), ref, rtol=1e-4)
times = m2.run_individual(number=1, repeat=1)
assert len(times) > 0 and all(float(str(t)) >= 0 if not hasattr(t, "__len__") else True for t in times)
m2.exit()
temp.remove()
