"""Analyses that scripts write on top of post_order_visit and the recorded ones: parameters, users, weights, call graph."""
from collections import Counter, defaultdict

import numpy as np

import tvm
from tvm import relay
from tvm.relay import analysis
from tvm.relay.analysis import annotated_regions, call_graph

mod, params = relay.testing.resnet.get_workload(batch_size=1, num_classes=10, num_layers=18, image_shape=(3, 32, 32))
mod = relay.transform.InferType()(mod)

ops, users, convs = Counter(), defaultdict(list), []


def fvisit(node):
    if isinstance(node, relay.Call) and isinstance(node.op, tvm.ir.Op):
        ops[node.op.name] += 1
        for arg in node.args:
            users[arg].append(node)
        if node.op.name == "nn.conv2d":
            convs.append(node)


analysis.post_order_visit(mod["main"], fvisit)
assert ops == Counter(analysis.list_op_freqs(mod)) and ops["nn.conv2d"] == len(convs)
weights = {p.name_hint: int(np.prod([int(d) for d in p.checked_type.shape])) for p in mod["main"].params}
assert sum(weights[name] for name in params) == sum(int(np.prod(v.shape)) for v in params.values())
assert analysis.get_total_mac_number(mod["main"]) > 1e6
assert all(len(users[c]) >= 1 for c in convs)
names = {str(c.attrs.data_layout) for c in convs}
assert names == {"NCHW"} and {tuple(int(k) for k in c.attrs.kernel_size) for c in convs} == {(3, 3), (1, 1)}

graph = call_graph.CallGraph(mod)
assert graph.ref_count("main") == 0 and graph.is_recursive("main") is False
assert analysis.check_basic_block_normal_form(relay.transform.ToBasicBlockNormalForm()(mod)["main"])
dfs = []
analysis.post_order_visit(mod["main"].body, dfs.append)
assert len(dfs) == len(set(dfs))
simple = relay.transform.SimplifyInference()(mod)
assert "batch_norm" not in analysis.list_op_freqs(simple)
fused = relay.transform.FuseOps(fuse_opt_level=2)(simple)
kernels = []
analysis.post_order_visit(fused["main"], lambda e: kernels.append(e) if isinstance(e, relay.Function) and e.attrs and "Primitive" in e.attrs else None)
assert kernels and analysis.check_constant(relay.const(1)) and not analysis.check_constant(relay.var("x"))
assert annotated_regions.AnnotatedRegionSet(mod["main"], relay.op.get("annotation.compiler_begin"), relay.op.get("annotation.compiler_end")) is not None
assert analysis.count_layers(mod["main"], ["nn.conv2d"]) > 8 and len(analysis.all_dtypes(mod["main"])) >= 1
