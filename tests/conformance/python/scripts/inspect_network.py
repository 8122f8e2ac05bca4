"""Visitors and analyses on a network of the zoo: a table of layers, multiply-accumulates, memory of the weights."""

from collections import Counter

import numpy as np

import tvm
from tvm import relay
from tvm.relay import testing

mod, params = testing.mobilenet.get_workload(image_shape=(3, 32, 32), num_classes=10)
mod = relay.transform.InferType()(mod)


class Table(relay.ExprVisitor):
    """One row for each convolution and dense layer."""

    def __init__(self):
        super().__init__()
        self.rows = []
        self.ops = Counter()

    def visit_call(self, call):
        super().visit_call(call)
        self.ops[call.op.name] += 1
        if call.op.name in ("nn.conv2d", "nn.dense"):
            out = tuple(call.checked_type.concrete_shape)
            weight = tuple(call.args[1].checked_type.concrete_shape)
            groups = int(call.attrs.groups) if call.op.name == "nn.conv2d" else 1
            self.rows.append((call.op.name, weight, groups, out))


table = Table()
table.visit(mod["main"])
for row in table.rows:
    print("%-10s weight %-20s groups %-5d out %s" % row)

assert dict(table.ops) == relay.analysis.list_op_freqs(mod)
macs = 0
for name, weight, groups, out in table.rows:
    macs += int(np.prod(out)) * int(np.prod(weight[1:]))
assert macs == relay.analysis.get_total_mac_number(mod["main"]), (macs, relay.analysis.get_total_mac_number(mod["main"]))

depthwise = [row for row in table.rows if row[2] > 1]
assert len(depthwise) == 13 and relay.analysis.count_layers(mod["main"], valid_ops=["nn.conv2d"]) == 27

weights = sum(int(np.prod(p.shape)) for p in params.values())
free = sum(int(np.prod(v.checked_type.concrete_shape)) for v in mod["main"].params if v.name_hint != "data")
assert weights == free
print("parameters:", weights, "multiply-accumulates:", macs)

seen = []
relay.analysis.post_order_visit(mod["main"], lambda node: seen.append(node) if isinstance(node, relay.Call) else None)
assert len(seen) == sum(table.ops.values())
assert relay.analysis.well_formed(mod["main"]) and relay.analysis.detect_feature(mod["main"]) is not None
assert relay.analysis.all_dtypes(mod["main"]) == {"float32"}
assert tvm.ir.structural_hash(mod["main"]) == tvm.ir.structural_hash(tvm.ir.load_json(tvm.ir.save_json(mod))["main"])
