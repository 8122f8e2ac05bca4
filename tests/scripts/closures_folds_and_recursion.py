import numpy as np
import tvm
from tvm import relay
from tvm.relay import op, ScopeBuilder
from tvm.relay.prelude import Prelude
from tvm.relay.loops import while_loop


def foldl_on_axis0(fn, init, xs_shape, dtype="float32"):
    xs = relay.var("xs", shape=xs_shape, dtype=dtype)
    i = relay.var("i", shape=(), dtype="int32")
    acc = relay.var("acc", shape=xs_shape[1:], dtype=dtype)
    n = xs_shape[0]
    loop = while_loop(lambda i, acc: relay.less(i, relay.const(n, "int32")),
                      [i, acc], lambda i, acc: (i + relay.const(1, "int32"), fn(acc, relay.take(xs, i, axis=0))))
    out = relay.TupleGetItem(loop(relay.const(0, "int32"), init), 1)
    return relay.Function([xs], out)


f = foldl_on_axis0(lambda a, x: relay.maximum(a, x), relay.full(relay.const(-1e9), (4,), "float32"), (6, 4))
xs = np.random.randn(6, 4).astype("float32")
for k in ("vm", "debug"):
    np.testing.assert_allclose(relay.create_executor(k, mod=tvm.IRModule.from_expr(f)).evaluate()(xs).numpy(), xs.max(0))

# collatz with two mutually recursive functions
mod = tvm.IRModule()
even, odd = relay.GlobalVar("even"), relay.GlobalVar("odd")
i32 = relay.scalar_type("int32")


def branch(a, b):
    sb = ScopeBuilder()
    n = relay.var("n", i32)
    steps = relay.var("steps", i32)
    with sb.if_scope(relay.less_equal(n, relay.const(1))):
        sb.ret(steps)
    with sb.else_scope():
        inner = ScopeBuilder()
        half = inner.let("half", relay.floor_divide(n, relay.const(2)))
        with inner.if_scope(relay.equal(relay.floor_mod(n, relay.const(2)), relay.const(0))):
            inner.ret(a(half, steps + relay.const(1)))
        with inner.else_scope():
            inner.ret(b(n * relay.const(3) + relay.const(1), steps + relay.const(1)))
        sb.ret(inner.get())
    return relay.Function([n, steps], sb.get(), i32)


mod[even] = branch(even, odd)
mod[odd] = branch(even, odd)
n = relay.var("n", i32)
mod["main"] = relay.Function([n], even(n, relay.const(0)), i32)
mod = relay.transform.InferType()(mod)


def collatz(v):
    c = 0
    while v > 1:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        c += 1
    return c


ex = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()
for v in (1, 6, 27):
    assert int(ex(np.array(v, "int32")).numpy()) == collatz(v)
cg = relay.analysis.CallGraph(mod)
assert cg.is_recursive("even") and not cg.is_recursive("main")

# higher order: compose n times through a closure in a list
p = Prelude(tvm.IRModule())
_, cons, nil = p.mod.get_type("List")
x = relay.var("x", shape=())
fs = nil()
for c in (1.0, 2.0, 3.0):
    y = relay.var("y", shape=())
    fs = cons(relay.Function([y], y * relay.const(c) + relay.const(1.0)), fs)
t = relay.TensorType((), "float32")
acc, fn = relay.var("a", t), relay.var("f", relay.FuncType([t], t))
apply_ = relay.Function([acc, fn], fn(acc), t)
p.mod["main"] = relay.Function([x], p.foldl(apply_, x, fs))
out = relay.create_executor("debug", mod=p.mod).evaluate()(np.array(1, "float32"))
assert float(out.numpy()) == ((1 * 3 + 1) * 2 + 1) * 1 + 1
