"""Users' own CSE by structural hash, canonical ordering of commutative operands, program fingerprints and diffs"""
import collections
import difflib
import numpy as np
import tvm
from tvm import relay
from tvm.ir import structural_equal, structural_hash
from tvm.relay import ExprMutator
from tvm.relay.testing import resnet, run_infer_type

COMM = {"add", "multiply", "maximum", "minimum"}


class CSE(ExprMutator):
    def __init__(self):
        super().__init__()
        self.table = collections.defaultdict(list)
        self.hits = 0

    def visit_call(self, call):
        new = super().visit_call(call)
        if call.op.name in COMM and len(new.args) == 2:
            a, b = new.args
            if structural_hash(a) > structural_hash(b):
                new = relay.Call(new.op, [b, a], new.attrs)
        h = structural_hash(new)
        for other in self.table[h]:
            if structural_equal(other, new):
                self.hits += 1
                return other
        self.table[h].append(new)
        return new


x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
e = relay.exp(x + y) * relay.exp(y + x) + relay.exp(x + y)
c = CSE()
o = c.visit(relay.Function([x, y], e))
assert c.hits == 4, c.hits
nodes = set()
relay.analysis.post_order_visit(o, lambda n: nodes.add(n) if isinstance(n, relay.Call) else None)
assert len(nodes) == 4
a, b = np.random.rand(3).astype("float32"), np.random.rand(3).astype("float32")
r = relay.create_executor("graph", mod=tvm.IRModule.from_expr(o), device=tvm.cpu(), target="llvm").evaluate()(a, b).numpy()
np.testing.assert_allclose(r, np.exp(a + b) ** 2 + np.exp(a + b), rtol=1e-5)

m1, _ = resnet.get_workload(num_layers=18, batch_size=1, image_shape=(3, 32, 32), num_classes=10)
m2, _ = resnet.get_workload(num_layers=18, batch_size=1, image_shape=(3, 32, 32), num_classes=10)
m3, _ = resnet.get_workload(num_layers=18, batch_size=2, image_shape=(3, 32, 32), num_classes=10)
assert structural_hash(m1) == structural_hash(m2) != structural_hash(m3)
assert structural_equal(m1, m2) and not structural_equal(m1, m3)
d = list(difflib.unified_diff(m1.astext(False).splitlines(), m3.astext(False).splitlines(), lineterm=""))
assert d and any("(2, 3, 32, 32)" in line for line in d)
f1 = relay.Function([x], relay.Let(relay.var("a"), x + x, relay.var("b", shape=(3,))))
v1, v2 = relay.var("v1"), relay.var("v2")
g1, g2 = relay.Function([x], relay.Let(v1, x + x, v1 * v1)), relay.Function([x], relay.Let(v2, x + x, v2 * v2))
assert structural_equal(g1, g2) and structural_hash(g1) == structural_hash(g2)
assert not structural_equal(g1, relay.Function([x], relay.Let(v1, x + x, v1 * x)))
k1, k2 = relay.const([1.0, 2.0]), relay.const([1.0, 2.0])
assert structural_equal(k1, k2) and structural_hash(k1) == structural_hash(k2) and k1 != k2 and not k1.same_as(k2)
assert len({structural_hash(relay.const(i)) for i in range(20)}) == 20
at1, at2 = relay.nn.softmax(x, axis=0).attrs, relay.nn.softmax(y, axis=0).attrs
assert structural_equal(at1, at2) and structural_hash(at1) == structural_hash(at2)
assert structural_hash(run_infer_type(g1).checked_type) == structural_hash(run_infer_type(g2).checked_type)
print("ok")
