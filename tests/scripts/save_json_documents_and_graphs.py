"""Artifacts: graph json surgery, save_json of modules, tvmc package, and runtime containers on disk."""
import json
import os
import tarfile
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import utils, graph_executor
from tvm.contrib.debugger import debug_executor
from tvm.runtime import load_param_dict, save_param_dict
from tvm.ir import load_json, save_json

tmp = utils.tempdir()
x = relay.var("x", shape=(1, 8))
w = relay.var("w", shape=(4, 8))
b = relay.var("b", shape=(4,))
y = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), b))
z = relay.split(y, 2, axis=1)
func = relay.Function([x, w, b], relay.Tuple([z[0], relay.exp(z[1])]))
mod = tvm.IRModule.from_expr(func)
mod = relay.transform.InferType()(mod)
params = {"w": tvm.nd.array(np.random.rand(4, 8).astype("float32")), "b": tvm.nd.array(np.zeros(4, "float32"))}
with open(tmp.relpath("mod.json"), "w") as f:
    f.write(save_json(mod))
with open(tmp.relpath("mod.params"), "wb") as f:
    f.write(save_param_dict(params))
doc = json.load(open(tmp.relpath("mod.json")))
ops = [n["repr_str"] for n in doc["nodes"] if n["type_key"] == "Op"]
assert sorted(set(ops)) == ["exp", "nn.bias_add", "nn.dense", "nn.relu", "split"], ops
assert doc["nodes"][doc["root"]]["type_key"] == "IRModule"
types = [n for n in doc["nodes"] if n["type_key"] == "relay.TensorType"]
assert types and all(t["attrs"]["dtype"] == "float32" for t in types)
# rename an operator in the document, as migration scripts do
for n in doc["nodes"]:
    if n.get("repr_str") == "exp":
        n["repr_str"] = "sigmoid"
mod2 = load_json(json.dumps(doc))
assert "sigmoid" in mod2.astext() and "exp(" not in mod2.astext()
back = load_json(open(tmp.relpath("mod.json")).read())
tvm.ir.assert_structural_equal(back, mod)
p2 = load_param_dict(open(tmp.relpath("mod.params"), "rb").read())
lib = relay.build(back, "llvm", params=p2)
gj = json.loads(lib.get_graph_json())
assert len(gj["heads"]) == 2 and gj["attrs"]["dltype"][0] == "list_str"
g = graph_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu())
g.set_input("x", np.ones((1, 8), "float32"))
g.run()
assert g.get_num_outputs() == 2
ref = np.maximum(np.ones((1, 8)) @ p2["w"].numpy().T, 0)
np.testing.assert_allclose(g.get_output(0).numpy(), ref[:, :2], rtol=1e-5)
np.testing.assert_allclose(g.get_output(1).numpy(), np.exp(ref[:, 2:]), rtol=1e-5)
d = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu(), dump_root=tmp.relpath("dbg"))
d.set_input("x", np.ones((1, 8), "float32"))
d.run()
found = [f for root, _, files in os.walk(tmp.relpath("dbg")) for f in files]
assert any(f.endswith(".json") for f in found) and any(f.endswith(".params") for f in found), found
lib.export_library(tmp.relpath("net.tar"))
l2 = tvm.runtime.load_module(tmp.relpath("net.tar"))
assert l2["get_graph_json"]() if l2.implements_function("get_graph_json") else True
fmd = lib.function_metadata["__tvm_main__"]
print(fmd.io_sizes, fmd.workspace_sizes)
assert list(fmd.workspace_sizes.values())[0] >= 0
