"""A GRU cell in lets, unrolled and as recursion, and its gradient; written with ScopeBuilder and the prelude."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.prelude import Prelude
from tvm.relay.scope_builder import ScopeBuilder

IN, HID = 3, 4


def gru_cell(sb, x, h, w, u, b):
    gates = sb.let("gates", relay.add(relay.add(relay.nn.dense(x, w), relay.nn.dense(h, u)), b))
    parts = sb.let("parts", relay.split(gates, 3, axis=1).astuple())
    r = sb.let("r", relay.sigmoid(relay.TupleGetItem(parts, 0)))
    z = sb.let("z", relay.sigmoid(relay.TupleGetItem(parts, 1)))
    c = sb.let("c", relay.tanh(relay.multiply(relay.TupleGetItem(parts, 2), r)))
    return sb.let("next", relay.add(relay.multiply(z, h), relay.multiply(relay.subtract(relay.const(1.0), z), c)))


def reference(xs, h, w, u, b):
    for x in xs:
        g = x @ w.T + h @ u.T + b
        r, z, c = np.split(g, 3, axis=1)
        r, z = 1 / (1 + np.exp(-r)), 1 / (1 + np.exp(-z))
        h = z * h + (1 - z) * np.tanh(c * r)
    return h


rng = np.random.RandomState(0)
w, u, b = (rng.rand(3 * HID, IN).astype("float32") - 0.5, rng.rand(3 * HID, HID).astype("float32") - 0.5, rng.rand(3 * HID).astype("float32"))
xs = [rng.rand(1, IN).astype("float32") for _ in range(3)]
h0 = np.zeros((1, HID), "float32")

sb = ScopeBuilder()
steps = [relay.var(f"x{i}", shape=(1, IN)) for i in range(3)]
h = relay.var("h", shape=(1, HID))
state = h
for step in steps:
    state = gru_cell(sb, step, state, relay.const(w), relay.const(u), relay.const(b))
sb.ret(state)
unrolled = relay.Function([*steps, h], sb.get())
for kind in ("graph", "vm", "debug"):
    mod = tvm.IRModule.from_expr(unrolled)
    if kind == "graph":
        mod = relay.transform.ToGraphNormalForm()(relay.transform.InferType()(mod))
    got = relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*xs, h0)
    np.testing.assert_allclose(got.numpy(), reference(xs, h0, w, u, b), rtol=1e-5)

# over a list of the prelude
mod = tvm.IRModule()
prelude = Prelude(mod)
_, cons, nil = mod.get_type("List")
inner = ScopeBuilder()
hv, xv = relay.var("h", shape=(1, HID)), relay.var("x", shape=(1, IN))
inner.ret(gru_cell(inner, xv, hv, relay.const(w), relay.const(u), relay.const(b)))
cell = relay.GlobalVar("cell")
mod[cell] = relay.Function([hv, xv], inner.get())
seq = nil()
args = [relay.var(f"x{i}", shape=(1, IN)) for i in range(3)]
for a in reversed(args):
    seq = cons(a, seq)
h = relay.var("h", shape=(1, HID))
mod["main"] = relay.Function([*args, h], mod.get_global_var("foldl")(cell, h, seq))
got = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*xs, h0)
np.testing.assert_allclose(got.numpy(), reference(xs, h0, w, u, b), rtol=1e-5)

grad = relay.transform.gradient(relay.transform.InferType()(tvm.IRModule.from_expr(unrolled))["main"], mode="higher_order")
value, grads = relay.create_executor("debug", mod=tvm.IRModule.from_expr(grad)).evaluate()(*xs, h0)
eps = 1e-2
for i in range(IN):
    moved = [x.copy() for x in xs]
    moved[0][0, i] += eps
    numeric = (reference(moved, h0, w, u, b).sum() - reference(xs, h0, w, u, b).sum()) / eps
    np.testing.assert_allclose(grads[0].numpy()[0, i], numeric, rtol=5e-2, atol=1e-3)
