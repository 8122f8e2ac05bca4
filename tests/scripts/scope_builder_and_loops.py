"""ScopeBuilder, nested ifs, while loops, references."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.loops import while_loop
from tvm.relay.scope_builder import ScopeBuilder


def run(expr, *args, kind="vm"):
    mod = tvm.IRModule.from_expr(expr)
    return relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*args).numpy()


def clamp():
    x, lo, hi = (relay.var(n, shape=(), dtype="float32") for n in ("x", "lo", "hi"))
    sb = ScopeBuilder()
    with sb.if_scope(relay.less(x, lo)):
        sb.ret(lo)
    with sb.else_scope():
        with sb.if_scope(relay.greater(x, hi)):
            sb.ret(hi)
        with sb.else_scope():
            sb.ret(x)
    return relay.Function([x, lo, hi], sb.get())


f = clamp()
for kind in ("vm", "debug", "graph"):
    assert [float(run(f, np.float32(v), np.float32(0), np.float32(1), kind=kind)) for v in (-2, 0.5, 7)] == [0, 0.5, 1]


def newton(steps):
    """The square root by Newton's method."""
    i, guess = relay.var("i", shape=(), dtype="int32"), relay.var("guess", shape=(), dtype="float32")
    a = relay.var("a", shape=(), dtype="float32")
    loop = while_loop(
        lambda i, g: relay.less(i, relay.const(steps)),
        [i, guess],
        lambda i, g: [i + relay.const(1), (g + a / g) * relay.const(0.5)],
    )
    return relay.Function([a], relay.TupleGetItem(loop(relay.const(0), a), 1))


np.testing.assert_allclose(run(newton(20), np.float32(2)), 2**0.5, rtol=1e-6)

sb = ScopeBuilder()
x = relay.var("x", shape=(3,))
a = sb.let("a", relay.exp(x))
b = sb.let(("b", relay.TensorType((3,), "float32")), a + a)
ref = sb.let("ref", relay.RefCreate(b))
sb.let("w", relay.RefWrite(ref, b * relay.const(2.0)))
sb.ret(relay.RefRead(ref))
prog = relay.Function([x], sb.get())
np.testing.assert_allclose(run(prog, np.zeros(3, "float32")), np.full(3, 4.0))
assert prog.astext().count("let %") == 4

try:
    broken = ScopeBuilder()
    broken.get()
except RuntimeError as error:
    print("no value:", error)
else:
    raise AssertionError("a builder without a value was accepted")
