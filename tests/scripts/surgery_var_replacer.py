"""Cuts a network in two at a call, as pipeline slicers do, and runs the halves one after the other."""
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay.expr import Call, Constant, GlobalVar, Tuple
from tvm.relay.expr_functor import ExprMutator, ExprVisitor
from tvm.relay.function import Function
from tvm.relay.op import Op
from tvm.relay.testing import mlp


class VarReplacer(ExprMutator):
    def __init__(self, var_map):
        ExprMutator.__init__(self)
        self.var_map = var_map

    def visit_var(self, var):
        if var in self.var_map:
            return self.var_map[var]
        return super().visit_var(var)


class CutAt(ExprMutator):
    def __init__(self, name):
        super().__init__()
        self.name = name
        self.cut = None
        self.new_var = None

    def visit_call(self, call):
        if isinstance(call.op, Op) and call.op.name == self.name and self.cut is None:
            self.cut = call
            self.new_var = relay.var("middle", call.checked_type)
            return self.new_var
        return super().visit_call(call)


mod, params = mlp.get_workload(batch_size=1)
mod = relay.transform.InferType()(mod)
cutter = CutAt("nn.relu")
tail_body = cutter.visit(mod["main"].body)
first = cutter.cut
head = Function(relay.analysis.free_vars(first), first)
tail = Function(relay.analysis.free_vars(tail_body), tail_body)
assert "middle" in [v.name_hint for v in tail.params]


def build_and_run(func, values):
    wanted = {v.name_hint for v in func.params}
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(tvm.IRModule.from_expr(func), target="llvm", params={k: v for k, v in params.items() if k in wanted})
    m = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    for key, value in values.items():
        m.set_input(key, value)
    m.run()
    return m.get_output(0)


data = np.random.uniform(size=(1, 1, 28, 28)).astype("float32")
whole = build_and_run(mod["main"], {"data": data}).numpy()
middle = build_and_run(head, {"data": data})
parts = build_and_run(tail, {"middle": middle}).numpy()
np.testing.assert_allclose(whole, parts, rtol=1e-4, atol=1e-6)
renamed = VarReplacer({tail.params[0]: relay.var("renamed", shape=tail.params[0].type_annotation.shape)}).visit(tail)
assert "renamed" in [v.name_hint for v in renamed.params]
