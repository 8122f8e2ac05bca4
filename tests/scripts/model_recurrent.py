"""A recurrent network: unrolled cells, and a loop over lists of the prelude."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.prelude import Prelude

hidden, features, steps = 5, 3, 4
rng = np.random.RandomState(0)
w_x, w_h = rng.normal(size=(hidden, features)).astype("float32"), rng.normal(size=(hidden, hidden)).astype("float32")
xs = rng.normal(size=(steps, 1, features)).astype("float32")


def cell(x, h):
    return relay.tanh(relay.nn.dense(x, relay.const(w_x)) + relay.nn.dense(h, relay.const(w_h)))


h = np.zeros((1, hidden), "float32")
for x in xs:
    h = np.tanh(x @ w_x.T + h @ w_h.T)

# unrolled
state = relay.const(np.zeros((1, hidden), "float32"))
inputs = [relay.var(f"x{i}", shape=(1, features)) for i in range(steps)]
for x in inputs:
    state = cell(x, state)
mod = tvm.IRModule.from_expr(relay.Function(inputs, state))
unrolled = relay.create_executor("graph", mod=mod).evaluate()(*xs).numpy()
np.testing.assert_allclose(unrolled, h, rtol=1e-4, atol=1e-5)

# a fold over a list
mod = tvm.IRModule()
p = Prelude(mod)
_, cons, nil = mod.get_type("List")
s, x = relay.var("s", shape=(1, hidden)), relay.var("x", shape=(1, features))
step = relay.GlobalVar("step")
mod[step] = relay.Function([s, x], cell(x, s))
params = [relay.var(f"x{i}", shape=(1, features)) for i in range(steps)]
sequence = nil()
for param in reversed(params):
    sequence = cons(param, sequence)
mod["main"] = relay.Function(params, p.foldl(step, relay.const(np.zeros((1, hidden), "float32")), sequence))
for kind in ("vm", "debug"):
    folded = relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*xs).numpy()
    np.testing.assert_allclose(folded, h, rtol=1e-4, atol=1e-5)

# the zoo's
net, params = relay.testing.lstm.get_workload(iterations=3, num_hidden=8)
ex = relay.create_executor("debug", mod=net, device=tvm.cpu(0), target="llvm")
given = {k: v for k, v in params.items()}
args = [given.get(v.name_hint, np.ones([int(d) for d in v.type_annotation.shape], "float32") if v.type_annotation.shape else 1.0) for v in net["main"].params]
print(relay.create_executor("vm", mod=net).evaluate()(*args).numpy().shape)
