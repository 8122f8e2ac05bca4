"""A table of the layers of deep networks, whose rows refer to one another by numbers that an overridden `visit` gives."""
import json

import tvm
from tvm import relay
from tvm.relay import ExprMutator, ExprVisitor, testing


class Rows(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.rows, self.numbers, self.edges = [], {}, 0

    def visit(self, expr):
        self.edges += 1
        super().visit(expr)
        if expr not in self.numbers:
            self.numbers[expr] = len(self.numbers)

    def visit_call(self, call):
        super().visit_call(call)
        shape = call.checked_type.shape if isinstance(call.checked_type, relay.TensorType) else []
        self.rows.append((call.op.name, [int(extent) for extent in shape], [self.numbers[arg] for arg in call.args]))


class Renamed(ExprMutator):
    def visit(self, expr):
        found = super().visit(expr)
        return relay.op.get("tanh") if found == relay.op.get("nn.relu") else found


for mod, _ in (testing.densenet.get_workload(densenet_size=121, classes=10, batch_size=1), testing.resnet.get_workload(num_layers=50, image_shape=(3, 32, 32), num_classes=10)):
    mod = relay.transform.InferType()(mod)
    table = Rows()
    table.visit(mod["main"])
    calls = []
    relay.analysis.post_order_visit(mod["main"], lambda node: calls.append(node) if isinstance(node, relay.Call) else None)
    assert len(table.rows) == len(calls) and json.dumps(table.rows)
    edges = [1]

    def count(node):
        if isinstance(node, relay.Call):
            edges.append(1 + len(node.args))
        elif isinstance(node, relay.Tuple):
            edges.append(len(node.fields))
        elif isinstance(node, relay.TupleGetItem):
            edges.append(1)
        elif isinstance(node, relay.Function):
            edges.append(len(node.params) + 1)

    relay.analysis.post_order_visit(mod["main"], count)
    assert table.edges == sum(edges)
    counts = relay.analysis.list_op_freqs(mod)
    changed = relay.analysis.list_op_freqs(tvm.IRModule.from_expr(Renamed().visit(mod["main"])))
    assert "nn.relu" not in changed and changed["tanh"] == counts["nn.relu"] > 10
    print(len(table.rows), "rows")
