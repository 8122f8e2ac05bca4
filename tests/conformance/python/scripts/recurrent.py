"""A recurrent cell: unrolled, as a recursive function, and as a loop; all against NumPy."""

import numpy as np

import tvm
from tvm import relay

steps, batch, inputs, hidden = 5, 2, 3, 4
rng = np.random.RandomState(0)
xs = rng.randn(steps, batch, inputs).astype("float32")
weights = {"wx": rng.randn(hidden, inputs).astype("float32"), "wh": rng.randn(hidden, hidden).astype("float32"), "b": rng.randn(hidden).astype("float32")}


def cell(x, h, wx, wh, b):
    return relay.tanh(relay.nn.bias_add(relay.nn.dense(x, wx) + relay.nn.dense(h, wh), b))


h = np.zeros((batch, hidden), "float32")
for x in xs:
    h = np.tanh(x @ weights["wx"].T + h @ weights["wh"].T + weights["b"])
expected = h


def variables():
    return [relay.var(name, shape=value.shape) for name, value in weights.items()]


# Unrolled.
data, params = relay.var("data", shape=xs.shape), variables()
state = relay.zeros((batch, hidden), "float32")
for step in relay.split(data, steps, axis=0):
    state = cell(relay.squeeze(step, axis=[0]), state, *params)
unrolled = tvm.IRModule.from_expr(relay.Function([data, *params], state))

# Recursive: @rnn(i, h, data, weights).
recursive = tvm.IRModule()
rnn = relay.GlobalVar("rnn")
i, h0, data, params = relay.var("i", shape=(), dtype="int32"), relay.var("h", shape=(batch, hidden)), relay.var("data", shape=xs.shape), variables()
sb = relay.ScopeBuilder()
with sb.if_scope(relay.equal(i, relay.const(steps))):
    sb.ret(h0)
with sb.else_scope():
    x = sb.let("x", relay.take(data, i, axis=0))
    sb.ret(rnn(i + relay.const(1), cell(x, h0, *params), data, *params))
recursive[rnn] = relay.Function([i, h0, data, *params], sb.get(), relay.TensorType((batch, hidden)))
data, params = relay.var("data", shape=xs.shape), variables()
recursive["main"] = relay.Function([data, *params], rnn(relay.const(0), relay.zeros((batch, hidden), "float32"), data, *params))

# A loop.
data, params = relay.var("data", shape=xs.shape), variables()
i, st = relay.var("i", shape=(), dtype="int32"), relay.var("st", shape=(batch, hidden))
loop = relay.loops.while_loop(
    lambda i, st: relay.less(i, relay.const(steps)), [i, st],
    lambda i, st: [i + relay.const(1), cell(relay.take(data, i, axis=0), st, *params)],
)  # fmt: skip
looped = tvm.IRModule.from_expr(
    relay.Function([data, *params], relay.TupleGetItem(loop(relay.const(0), relay.zeros((batch, hidden), "float32")), 1))
)

for name, mod in (("unrolled", unrolled), ("recursive", recursive), ("loop", looped)):
    for kind in ("debug", "vm"):
        got = relay.create_executor(kind, mod=mod, params=weights).evaluate()(xs).numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
        print(name, kind, "agrees")
