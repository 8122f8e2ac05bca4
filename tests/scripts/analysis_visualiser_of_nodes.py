"""A walker over every kind of node for a drawing, with imports as such tools have them."""
import tvm
import tvm.relay as relay
import tvm.relay.testing as testing
from tvm.ir import Op
from tvm.relay.adt import Clause, Constructor, Match
from tvm.relay.expr import Call, Constant, GlobalVar, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var
from tvm.relay.expr_functor import ExprVisitor
from tvm.relay.function import Function, FunctionWithFields


class Dot(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.lines, self.ids = [], {}

    def name(self, node, label, shape="box"):
        if node not in self.ids:
            self.ids[node] = f"n{len(self.ids)}"
            self.lines.append(f'{self.ids[node]} [label="{label}", shape={shape}];')
        return self.ids[node]

    def edge(self, a, b):
        self.lines.append(f"{self.ids[a]} -> {self.ids[b]};")

    def visit_var(self, var):
        self.name(var, var.name_hint, "ellipse")

    def visit_constant(self, const):
        self.name(const, "const " + "x".join(map(str, const.data.shape)), "note")

    def visit_call(self, call):
        super().visit_call(call)
        label = call.op.name if isinstance(call.op, Op) else "call"
        self.name(call, label)
        for arg in call.args:
            if arg in self.ids:
                self.edge(arg, call)

    def visit_tuple(self, tup):
        super().visit_tuple(tup)
        self.name(tup, "tuple")
        for f in tup.fields:
            if f in self.ids:
                self.edge(f, tup)

    def visit_tuple_getitem(self, t):
        super().visit_tuple_getitem(t)
        self.name(t, f".{t.index}")
        self.edge(t.tuple_value, t)

    def visit_let(self, let):
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    def visit_if(self, i):
        super().visit_if(i)
        self.name(i, "if", "diamond")


for network in (testing.squeezenet, testing.dcgan):
    mod, params = network.get_workload(batch_size=1)
    dot = Dot()
    dot.visit(mod["main"])
    assert len(dot.ids) > 20 and all(line.endswith(";") for line in dot.lines)
func = FunctionWithFields(mod["main"], list(mod["main"].params))
assert func.same_as(mod["main"]) or tvm.ir.structural_equal(func, mod["main"])
