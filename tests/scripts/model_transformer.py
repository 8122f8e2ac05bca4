"""A block of a transformer, written as users of Relay write it, against NumPy."""
import numpy as np

import tvm
import tvm.testing
from tvm import relay
from tvm.contrib import graph_executor

batch, seq, dim, heads = 2, 6, 16, 4
head = dim // heads
rng = np.random.RandomState(42)
weights = {name: rng.normal(0, 0.3, size=shape).astype("float32") for name, shape in {
    "wq": (dim, dim), "wk": (dim, dim), "wv": (dim, dim), "wo": (dim, dim), "w1": (4 * dim, dim), "w2": (dim, 4 * dim),
}.items()}
weights.update({name: np.ones(dim, "float32") for name in ("g1", "g2")})
weights.update({name: np.zeros(dim, "float32") for name in ("b1", "b2")})


def linear(x, name):
    shape = weights[name].shape
    flat = relay.reshape(x, (-1, shape[1]))
    return relay.reshape(relay.nn.dense(flat, relay.var(name, shape=shape)), (batch, seq, shape[0]))


def split_heads(x):
    return relay.reshape(relay.transpose(relay.reshape(x, (batch, seq, heads, head)), (0, 2, 1, 3)), (batch * heads, seq, head))


def gelu(x):
    return x * (relay.const(0.5) + relay.erf(x * relay.const(1 / 2**0.5)) * relay.const(0.5))


def norm(x, g, b):
    return relay.nn.layer_norm(x, relay.var(g, shape=(dim,)), relay.var(b, shape=(dim,)), axis=-1, epsilon=1e-5)


x = relay.var("x", shape=(batch, seq, dim))
q, k, v = (split_heads(linear(x, name)) for name in ("wq", "wk", "wv"))
scores = relay.nn.softmax(relay.nn.batch_matmul(q, k) * relay.const(1 / head**0.5), axis=-1)
context = relay.nn.batch_matmul(scores, relay.transpose(v, (0, 2, 1)))
merged = relay.reshape(relay.transpose(relay.reshape(context, (batch, heads, seq, head)), (0, 2, 1, 3)), (batch, seq, dim))
y = norm(x + linear(merged, "wo"), "g1", "b1")
z = norm(y + linear(gelu(linear(y, "w1")), "w2"), "g2", "b2")
mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(z), z))

with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm", params=weights)
m = graph_executor.GraphModule(lib["default"](tvm.cpu()))
data = rng.normal(size=(batch, seq, dim)).astype("float32")
m.run(x=data)
out = m.get_output(0).numpy()


def np_norm(a):
    return (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)


def np_heads(a):
    return a.reshape(batch, seq, heads, head).transpose(0, 2, 1, 3)


nq, nk, nv = (np_heads(data @ weights[n].T) for n in ("wq", "wk", "wv"))
s = nq @ nk.transpose(0, 1, 3, 2) / head**0.5
s = np.exp(s - s.max(-1, keepdims=True))
s /= s.sum(-1, keepdims=True)
n1 = np_norm(data + (s @ nv).transpose(0, 2, 1, 3).reshape(batch, seq, dim) @ weights["wo"].T)
h = n1 @ weights["w1"].T
from math import erf  # noqa: E402

h = h * 0.5 * (1 + np.vectorize(erf)(h / 2**0.5))
wanted = np_norm(n1 + h @ weights["w2"].T)
tvm.testing.assert_allclose(out, wanted, rtol=1e-3, atol=1e-4)
