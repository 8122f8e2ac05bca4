"""Tree-LSTM-like evaluation over an ADT, in the interpreter and the VM (research code style)."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import Call, Clause, Function, GlobalVar, Match, PatternConstructor, PatternVar, PatternWildcard, TensorType, Var
from tvm.relay.adt import Constructor, TypeData
from tvm.relay.prelude import Prelude
from tvm.runtime.container import ADT
from tvm.relay.backend.interpreter import ConstructorValue

D = 4


class TreeModel:
    def __init__(self):
        self.mod = tvm.IRModule()
        self.p = Prelude(self.mod)
        self.t = TensorType((1, D), "float32")
        self.rose_t, self.rose = self.mod.get_type("Tree")
        self.list_t, self.cons, self.nil = self.mod.get_type("List")
        self.define()

    def define(self):
        w = relay.const(np.eye(D, dtype="float32") * 0.5)
        node = Var("node", self.rose_t(self.t))
        head, kids = Var("head"), Var("kids")
        acc = GlobalVar("encode")
        a, b = Var("a", self.t), Var("b", self.t)
        add = Function([a, b], a + b, self.t)
        summed = self.p.foldl(add, relay.zeros((1, D), "float32"), self.p.map(acc, kids))
        body = Match(node, [Clause(PatternConstructor(self.rose, [PatternVar(head), PatternVar(kids)]), relay.tanh(head + relay.nn.dense(summed, w)))])
        self.mod[acc] = Function([node], body, self.t)
        n = Var("n", self.rose_t(self.t))
        self.mod["main"] = Function([n], acc(n))
        self.mod = relay.transform.InferType()(self.mod)

    def build(self, tree):
        """nested python lists to a relay expr"""
        v, kids = tree
        e = self.nil()
        for k in reversed(kids):
            e = self.cons(self.build(k), e)
        return self.rose(relay.const(v), e)


def ref(tree):
    v, kids = tree
    s = np.zeros((1, D), "float32")
    for k in kids:
        s = s + ref(k)
    return np.tanh(v + 0.5 * s)


rng = np.random.RandomState(0)
leaf = lambda: (rng.randn(1, D).astype("float32"), [])
tree = (rng.randn(1, D).astype("float32"), [leaf(), (rng.randn(1, D).astype("float32"), [leaf(), leaf()]), leaf()])
m = TreeModel()
expr = m.mod.get_global_var("main")(m.build(tree))
for kind in ("debug", "vm"):
    out = relay.create_executor(kind, mod=m.mod, device=tvm.cpu(), target="llvm").evaluate(relay.Function([], expr))()
    np.testing.assert_allclose(out.numpy(), ref(tree), rtol=1e-5)
# passing a ConstructorValue
val = relay.create_executor("debug", mod=m.mod).evaluate(m.build(tree))
assert isinstance(val, ConstructorValue) and val.constructor.name_hint == "Rose"
out = relay.create_executor("debug", mod=m.mod).evaluate()(val)
np.testing.assert_allclose(out.numpy(), ref(tree), rtol=1e-5)
size = relay.create_executor("debug", mod=m.mod).evaluate(m.p.size(m.build(tree)))
assert int(size.numpy()) == 6
anf = relay.transform.ToANormalForm()(m.mod)
feats = relay.analysis.detect_feature(anf["encode"])
assert relay.analysis.Feature.fMatch in feats
text = m.mod.astext()
again = relay.fromtext(text)
tvm.ir.assert_structural_equal(again["encode"], m.mod["encode"])
assert relay.analysis.unmatched_cases(m.mod["encode"].body, m.mod) == []
