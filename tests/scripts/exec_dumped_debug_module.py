"""The debugging executor made from a library: per-layer times, outputs of nodes, dumps in a folder."""
import json
import os
import tempfile

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.contrib.debugger import debug_executor
from tvm.contrib.debugger.debug_executor import GraphModuleDebug
from tvm.relay.testing import mlp

mod, params = mlp.get_workload(1)
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm", params=params)
dev = tvm.cpu(0)
with tempfile.TemporaryDirectory() as folder:
    m = GraphModuleDebug(lib["debug_create"]("default", dev), [dev], lib.graph_json, dump_root=folder)
    data = np.random.uniform(size=(1, 1, 28, 28)).astype("float32")
    m.set_input("data", tvm.nd.array(data))
    m.set_input(**{k: v for k, v in lib.get_params().items()})
    m.run()
    out = m.get_output(0).numpy()
    files = [os.path.join(root, f) for root, _, names in os.walk(folder) for f in names]
    assert any(f.endswith(".json") for f in files), files
    m.exit()
    m2 = debug_executor.create(lib.get_graph_json(), lib.get_lib(), dev, dump_root=folder)
    m2.set_input("data", data)
    m2.set_input(**lib.get_params())
    report = m2.profile(data=tvm.nd.array(data))
    assert "Total" in str(report)
plain = graph_executor.GraphModule(lib["default"](dev))
plain.set_input("data", data)
plain.run()
np.testing.assert_allclose(out, plain.get_output(0).numpy(), rtol=1e-5)
graph = json.loads(lib.get_graph_json())
assert set(graph) >= {"nodes", "arg_nodes", "heads", "node_row_ptr", "attrs"}
assert sum(node["op"] == "null" for node in graph["nodes"]) == len(graph["arg_nodes"])
timer = plain.module.time_evaluator("run", dev, number=2, repeat=3)
result = timer()
assert len(result.results) == 3 and result.mean > 0
print(plain.benchmark(dev, repeat=2, number=2))
