"""A pipeline of a transformer benchmark: BindPass made by function_pass of a lambda, FastMath, common subexpressions, batched products."""
import numpy as np
import tvm
from tvm import relay

B, S, H = 2, 6, 8
x = relay.var("x", shape=(B, S, H))
names = ["wq", "wk", "wv"]
ws = [relay.var(n, shape=(H, H)) for n in names]


def project(w):
    return relay.reshape(relay.nn.dense(relay.reshape(x, (-1, H)), w), (B, S, H))


q, k, v = [project(w) for w in ws]
att = relay.nn.softmax(relay.nn.batch_matmul(q, k) * relay.const(1 / np.sqrt(H).astype("float32")))
y = relay.nn.batch_matmul(att, relay.transpose(v, [0, 2, 1]))
y = y * relay.erf(relay.tanh(y)) + relay.exp(relay.negative(y))
mod = tvm.IRModule.from_expr(relay.Function([x] + ws, y))
params = {n: tvm.nd.array(np.random.RandomState(i).randn(H, H).astype("float32") * 0.1) for i, n in enumerate(names)}
first = mod
mod = tvm.relay.transform.FastMath()(mod)
assert "fast_exp" in str(mod) and "fast_tanh" in str(mod)
mod = tvm.relay.transform.EliminateCommonSubexpr()(mod)
BindPass = tvm.relay.transform.function_pass(
    lambda fn, new_mod, ctx: tvm.relay.build_module.bind_params_by_name(fn, params),
    opt_level=1,
)
mod = BindPass(mod)
mod = tvm.relay.transform.FoldConstant()(mod)
mod = tvm.relay.transform.CombineParallelBatchMatmul()(mod)
mod = tvm.relay.transform.CombineParallelDense(3, False)(mod)
mod = tvm.relay.transform.FoldConstant()(mod)
assert relay.analysis.list_op_freqs(mod)["nn.dense"] == 1, relay.analysis.list_op_freqs(mod)
assert len(mod["main"].params) == 1
data = np.random.randn(B, S, H).astype("float32")
a = relay.create_executor("graph", mod=first, params=params).evaluate()(data, **params).numpy()
b = relay.create_executor("graph", mod=mod).evaluate()(data).numpy()
np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
