"""What the analyses say of a residual network."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import analysis
from tvm.relay.analysis import free_vars, bound_vars, all_vars, free_type_vars, all_type_vars, well_formed, check_kind, post_order_visit, detect_feature, list_op_freqs, extract_fused_functions, unmatched_cases, call_graph

mod, params = relay.testing.resnet.get_workload(num_layers=18, image_shape=(3, 32, 32), num_classes=10)
mod = relay.transform.InferType()(mod)
total = analysis.get_total_mac_number(mod["main"])
assert total > 1000000
freqs = list_op_freqs(mod)
assert freqs["nn.conv2d"] > 10
fused = extract_fused_functions(mod)
assert len(fused) > 10
assert well_formed(mod["main"])
feats = detect_feature(mod["main"])
print(feats)
assert len(free_vars(mod["main"].body)) == len(mod["main"].params)
a = relay.TypeVar("a")
x = relay.var("x", a)
idf = relay.Function([x], x, a, [a])
assert all_type_vars(idf)[0] == a and len(free_type_vars(idf)) == 0
assert len(bound_vars(idf)) == 1
print(analysis.CallGraph(mod))
cg = call_graph.CallGraph(mod)
assert cg.is_recursive("main") is False
