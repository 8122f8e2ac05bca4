"""An algebraic rule engine on DFPatternCallback: several rules to a fixed point, random-program property test"""
import random
import numpy as np
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import DFPatternCallback, is_constant, is_op, rewrite, wildcard, is_tuple, is_tuple_get_item
from tvm.relay.testing import run_infer_type


class NegNeg(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x = wildcard()
        self.pattern = is_op("negative")(is_op("negative")(self.x))

    def callback(self, pre, post, node_map):
        return node_map[self.x][0]


class AddZero(DFPatternCallback):
    def __init__(self):
        super().__init__(require_type=True)
        self.x, self.c = wildcard(), is_constant()
        self.pattern = is_op("add")(self.x, self.c)

    def callback(self, pre, post, node_map):
        c = node_map[self.c][0].data.numpy()
        if (c == 0).all() and pre.checked_type == pre.args[0].checked_type:
            return node_map[self.x][0]
        return post


class MulToSquare(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x = wildcard()
        self.pattern = is_op("multiply")(self.x, self.x)

    def callback(self, pre, post, node_map):
        return relay.power(node_map[self.x][0], relay.const(2.0))


class SplitConcat(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x = wildcard()
        self.s = is_op("split")(self.x)
        self.pattern = is_op("concatenate")(is_tuple([is_tuple_get_item(self.s, 0), is_tuple_get_item(self.s, 1)]))

    def callback(self, pre, post, node_map):
        if post.attrs.axis == node_map[self.s][0].attrs.axis:
            return node_map[self.x][0]
        return post


RULES = [NegNeg(), AddZero(), MulToSquare(), SplitConcat()]
x = relay.var("x", shape=(4, 4))


def ops(e):
    r = []
    relay.analysis.post_order_visit(e, lambda n: r.append(n.op.name) if isinstance(n, relay.Call) and isinstance(n.op, tvm.ir.Op) else None)
    return sorted(r)


f = relay.Function([x], relay.negative(relay.negative(relay.negative(x))) + relay.const(np.zeros((4, 4), "float32")))
assert ops(rewrite(RULES, f)) == ["negative"]
y = relay.exp(x)
assert ops(rewrite(RULES, relay.Function([x], y * y))) == ["exp", "power"]
s = relay.split(x, 2, axis=1)
assert ops(rewrite(RULES, relay.Function([x], relay.concatenate([s[0], s[1]], axis=1)))) == []
assert ops(rewrite(RULES, relay.Function([x], relay.concatenate([s[1], s[0]], axis=1)))) == ["concatenate", "split"]


def gen(rng, depth):
    if depth == 0:
        return rng.choice([x, relay.const(np.zeros((4, 4), "float32")), relay.const(1.5)])
    k = rng.randrange(6)
    a = gen(rng, depth - 1)
    if k == 0:
        return relay.negative(a)
    if k == 1:
        return a + gen(rng, depth - 1)
    if k == 2:
        return a * a
    if k == 3:
        return relay.tanh(a) + relay.const(np.zeros((4, 4), "float32"))
    if k == 4:
        return relay.negative(relay.negative(a))
    p = relay.split(a + relay.const(np.zeros((4, 4), "float32")), 2, axis=0)
    return relay.concatenate([p[0], p[1]], axis=0)


xv = np.random.RandomState(0).rand(4, 4).astype("float32")
smaller = 0
for seed in range(12):
    e = relay.tanh(gen(random.Random(seed), 4)) * x
    f = run_infer_type(relay.Function([x], e))
    g = run_infer_type(rewrite(RULES, f))
    assert g.checked_type == f.checked_type
    a = relay.create_executor("debug", mod=tvm.IRModule.from_expr(f), device=tvm.cpu(), target="llvm").evaluate()(xv).numpy()
    b = relay.create_executor("debug", mod=tvm.IRModule.from_expr(g), device=tvm.cpu(), target="llvm").evaluate()(xv).numpy()
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    smaller += len(ops(g)) < len(ops(f))
assert smaller >= 4
print("ok")
