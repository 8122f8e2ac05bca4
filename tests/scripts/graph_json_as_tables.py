"""Walks the executor's JSON: memory plan, op table as pandas-like rows, DOT; parameters' pruning before build"""
import collections
import json
import numpy as np
import tvm
from tvm import relay
from tvm.relay.testing import squeezenet
from tvm.contrib import graph_executor


def prune(params, ratio):
    out = {}
    for k, v in params.items():
        a = v.numpy().copy()
        if a.ndim == 4:
            th = np.quantile(np.abs(a), ratio)
            a[np.abs(a) < th] = 0
        out[k] = tvm.nd.array(a)
    return out


mod, params = squeezenet.get_workload(batch_size=1, num_classes=100, version="1.1", image_shape=(3, 64, 64))
params = prune(params, 0.5)
conv = [v.numpy() for v in params.values() if len(v.shape) == 4]
sp = sum((c == 0).sum() for c in conv) / sum(c.size for c in conv)
assert 0.45 < sp < 0.55
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, "llvm", params=params, mod_name="default")
g = json.loads(lib.get_graph_json() if hasattr(lib, "get_graph_json") else lib.graph_json)
nodes, attrs = g["nodes"], g["attrs"]
shapes, dtypes, sids = attrs["shape"][1], attrs["dltype"][1], attrs["storage_id"][1]
assert len(shapes) == len(dtypes) == len(sids) == g["node_row_ptr"][-1]
assert all(d == "float32" for d in dtypes)
ops = [n for n in nodes if n["op"] == "tvm_op"]
assert all("func_name" in n["attrs"] and "num_inputs" in n["attrs"] and "flatten_data" in n["attrs"] for n in ops)
kinds = collections.Counter()
for n in ops:
    for w in ("conv2d", "max_pool2d", "concatenate", "softmax"):
        kinds[w] += w in n["name"]
assert kinds["conv2d"] == 26, kinds
pool = {}
for s, d, i in zip(shapes, dtypes, sids):
    pool[i] = max(pool.get(i, 0), int(np.prod(s)) * np.dtype(d).itemsize)
assert len(pool) <= len(sids)
total = sum(int(np.prod(s)) * 4 for s in shapes)
assert sum(pool.values()) <= total
consumers = collections.defaultdict(list)
for i, n in enumerate(nodes):
    for src, _, _ in n["inputs"]:
        assert src < i
        consumers[src].append(i)
fan = [i for i, c in consumers.items() if len(c) == 2 and nodes[i]["op"] == "tvm_op"]
assert len(fan) >= 8
heads = g["heads"]
assert len(heads) == 1 and nodes[heads[0][0]]["op"] == "tvm_op"
assert set(g["arg_nodes"]) == {i for i, n in enumerate(nodes) if n["op"] == "null"}
dot = ["digraph g {"] + ['%d [label="%s"];' % (i, n["name"]) for i, n in enumerate(nodes)] + ["%d -> %d;" % (s, i) for i, n in enumerate(nodes) for s, _, _ in n["inputs"]] + ["}"]
assert len(dot) > 60
m = graph_executor.GraphModule(lib["default"](tvm.cpu()))
m.run(data=np.random.rand(1, 3, 64, 64).astype("float32"))
np.testing.assert_allclose(m.get_output(0).numpy().sum(), 1, rtol=1e-4)
meta = lib.function_metadata
assert len(meta) >= len({n["attrs"]["func_name"] for n in ops})
info = meta["__tvm_main__"] if "__tvm_main__" in meta else None
assert info is None or info.workspace_sizes is not None
print("ok")
