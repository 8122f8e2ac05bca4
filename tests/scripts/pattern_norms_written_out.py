"""Fuse layernorm / gelu written out in primitive ops into contrib ops."""
import math
import numpy as np
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import (DFPatternCallback, rewrite, wildcard, is_op, is_constant, is_expr, dominates, is_tuple_get_item, is_var)
from tvm.relay.expr_functor import ExprMutator, ExprVisitor


class LayerNormFuser(DFPatternCallback):
    def __init__(self):
        super().__init__(require_type=True, rewrite_once=False)
        self.data = wildcard()
        self.gamma = wildcard()
        self.beta = wildcard()
        mu = is_op("mean")(self.data)
        diff = is_op("subtract")(self.data, mu)
        cdiff = diff | is_op("cast")(diff)
        const_two = is_expr(relay.const(2)) | is_expr(relay.const(2.0)) | is_constant()
        p1 = is_op("power")(cdiff, const_two)
        mp1 = is_op("mean")(p1)
        eps = is_constant()
        added_eps = is_op("add")(mp1, eps)
        deno = is_op("sqrt")(added_eps)
        div_out = is_op("divide")(diff, deno)
        weighted = is_op("multiply")(div_out, self.gamma)
        self.eps = eps
        self.pattern = is_op("add")(weighted, self.beta)
        self.count = 0

    def callback(self, pre, post, node_map):
        self.count += 1
        x = node_map[self.data][0]
        g, b = node_map[self.gamma][0], node_map[self.beta][0]
        eps = float(node_map[self.eps][0].data.numpy())
        assert pre.checked_type is not None
        return relay.nn.layer_norm(x, g, b, axis=-1, epsilon=eps)


class GeluFuser(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x = wildcard()
        e = is_op("erf")(is_op("divide")(self.x, is_constant()) | is_op("multiply")(self.x, is_constant()))
        self.pattern = is_op("multiply")(is_op("multiply")(self.x, is_op("add")(e, is_constant())), is_constant())

    def callback(self, pre, post, node_map):
        x = node_map[self.x][0]
        return relay.sigmoid(x * relay.const(1.702)) * x


def ln(x, g, b, eps=1e-5):
    mu = relay.mean(x, axis=[-1], keepdims=True)
    d = x - mu
    v = relay.mean(relay.power(d, relay.const(2.0)), axis=[-1], keepdims=True)
    return d / relay.sqrt(v + relay.const(eps)) * g + b


x = relay.var("x", shape=(2, 8, 16))
gs = [relay.var(f"g{i}", shape=(16,)) for i in range(2)]
bs = [relay.var(f"b{i}", shape=(16,)) for i in range(2)]
h = ln(x, gs[0], bs[0])
h = h * (relay.erf(h / relay.const(math.sqrt(2))) + relay.const(1.0)) * relay.const(0.5)
h = ln(h, gs[1], bs[1])
f = relay.Function([x] + gs + bs, h)
mod = relay.transform.InferType()(tvm.IRModule.from_expr(f))
ref_fn = relay.create_executor("graph", mod=mod).evaluate()
args = [np.random.randn(2, 8, 16).astype("float32")] + [np.random.rand(16).astype("float32") for _ in range(4)]
ref = ref_fn(*args).numpy()
fuser = LayerNormFuser()
mod["main"] = rewrite(fuser, mod["main"])
assert fuser.count == 2, fuser.count
mod = relay.transform.InferType()(mod)
freq = relay.analysis.list_op_freqs(mod)
assert freq["nn.layer_norm"] == 2 and "mean" not in freq
np.testing.assert_allclose(relay.create_executor("graph", mod=mod).evaluate()(*args).numpy(), ref, rtol=1e-4, atol=1e-4)
mod["main"] = rewrite(GeluFuser(), mod["main"])
assert "erf" not in relay.analysis.list_op_freqs(mod) and "sigmoid" in relay.analysis.list_op_freqs(mod)
np.testing.assert_allclose(relay.create_executor("vm", mod=mod).evaluate()(*args).numpy(), ref, atol=0.1)


class Renumber(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.order = []

    def visit_call(self, call):
        for a in call.args:
            self.visit(a)
        self.order.append(call.op.name)


r = Renumber()
r.visit(mod["main"])
assert r.order[0] == "nn.layer_norm" and r.order[-1] == "nn.layer_norm", r.order
