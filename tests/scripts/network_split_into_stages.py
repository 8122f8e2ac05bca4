"""Splits a graph into stages at chosen calls (as tests of pipeline_executor do) and runs them one after another."""
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay import ExprMutator, ExprVisitor, transform
from tvm.relay.expr_functor import Call
from tvm.relay.testing import resnet


class Cutter(ExprMutator):
    """cuts before the n-th call of an operator"""

    def __init__(self, op_name, nth):
        super().__init__()
        self.op_name, self.left, self.cut, self.var = op_name, nth, None, None

    def visit_call(self, call):
        new = super().visit_call(call)
        if isinstance(call.op, tvm.ir.Op) and call.op.name == self.op_name:
            if self.left == 0:
                self.cut = call
                self.var = relay.var("cut", call.checked_type)
                self.left -= 1
                return self.var
            self.left -= 1
        return new


def split(mod, op_name, nth):
    mod = transform.InferType()(mod)
    fn = mod["main"]
    c = Cutter(op_name, nth)
    tail = c.visit(fn.body)
    first = relay.Function(relay.analysis.free_vars(c.cut), c.cut)
    second = relay.Function(relay.analysis.free_vars(tail), tail)
    assert any(v.name_hint == "cut" for v in second.params)
    return tvm.IRModule.from_expr(first), tvm.IRModule.from_expr(second)


def build(mod, params):
    names = {p.name_hint for p in mod["main"].params}
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm", params={k: v for k, v in params.items() if k in names})
    return graph_executor.GraphModule(lib["default"](tvm.cpu(0)))


mod, params = resnet.get_workload(num_layers=18, batch_size=1, num_classes=10, image_shape=(3, 32, 32))
x = np.random.uniform(size=(1, 3, 32, 32)).astype("float32")
whole = build(mod, params)
whole.run(data=x)
ref = whole.get_output(0).numpy()
for op_name, nth in (("nn.relu", 3), ("add", 1), ("nn.conv2d", 0)):
    a, b = split(mod, op_name, nth)
    ga, gb = build(a, params), build(b, params)
    ga.set_input("data", x)
    ga.run()
    mid = ga.get_output(0)
    gb.set_input("cut", mid)
    if gb.get_input_index("data") >= 0:
        gb.set_input("data", x)
    gb.run()
    np.testing.assert_allclose(gb.get_output(0).numpy(), ref, rtol=1e-3, atol=1e-4)


class Depth(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.depth = {}

    def visit_call(self, call):
        super().visit_call(call)
        self.depth[call] = 1 + max([self.depth.get(a, 0) for a in call.args] + [0])


d = Depth()
d.visit(mod["main"])
assert max(d.depth.values()) > 5
print("ok")
