"""One function in all executors: nested tuples of arguments and results, defaults, kwargs, params, scalars, errors"""
import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay.backend.interpreter import Executor, Interpreter
from tvm.relay.build_module import create_executor, GraphExecutor, AotExecutor
from tvm.relay.backend.vm import VMExecutor, VMCompiler, compile as vmc
from tvm.runtime.container import ADT

x, y = relay.var("x", shape=(2, 2)), relay.var("y", shape=(2, 2))
f = relay.Function([x, y], relay.Tuple([x + y, relay.Tuple([x - y, relay.sum(x)])]))
mod = tvm.IRModule.from_expr(f)
a, b = np.arange(4, dtype="float32").reshape(2, 2), np.ones((2, 2), "float32")


def flat(v):
    if isinstance(v, tvm.nd.NDArray):
        return [v.numpy()]
    return [q for i in v for q in flat(i)]


for kind, cls in (("debug", Interpreter), ("graph", GraphExecutor), ("vm", VMExecutor), ("aot", AotExecutor)):
    ex = relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm")
    assert isinstance(ex, cls) and isinstance(ex, Executor), kind
    ev = ex.evaluate()
    assert callable(ev)
    for got in (ev(a, b), ev(a, y=b), ev(x=a, y=b), ev(tvm.nd.array(a), tvm.nd.array(b)), ex.evaluate(mod["main"])(a, b) if kind != "aot" else ev(a, b)):
        p, q, s = flat(got)
        np.testing.assert_allclose(p, a + b)
        np.testing.assert_allclose(q, a - b)
        np.testing.assert_allclose(s, a.sum())
    with pytest.raises((TypeError, ValueError, tvm.TVMError)):
        ev(a)
    with pytest.raises((TypeError, ValueError, tvm.TVMError)):
        ev(a, b, b)
with pytest.raises((RuntimeError, ValueError)):
    relay.create_executor("nope", mod=mod, device=tvm.cpu(), target="llvm")

# expressions with free variables bound by hand; params at creation
w = relay.var("w", shape=(2, 2))
g = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
ex = relay.create_executor("graph", mod=g, device=tvm.cpu(), target="llvm", params={"w": b})
np.testing.assert_allclose(ex.evaluate()(a).numpy(), a @ b.T)
ex = relay.create_executor("debug", mod=tvm.IRModule(), device=tvm.cpu(), target="llvm")
assert ex.evaluate(relay.const(2) * relay.const(21)).numpy() == 42
assert ex.evaluate(relay.TupleGetItem(relay.Tuple([relay.const(1), relay.const(2)]), 1)).numpy() == 2
np.testing.assert_allclose(ex.evaluate(relay.Function([x], x * x))(a).numpy(), a * a)
v = relay.Let(relay.var("t"), relay.const(3.0), relay.var("t"))
m = tvm.IRModule()
gv = relay.GlobalVar("sq")
m[gv] = relay.Function([x], x * x)
m["main"] = relay.Function([y], gv(gv(y)))
ex = relay.create_executor("vm", mod=m, device=tvm.cpu(), target="llvm")
np.testing.assert_allclose(ex.evaluate()(a).numpy(), a ** 4)
np.testing.assert_allclose(relay.create_executor("debug", mod=m, device=tvm.cpu(), target="llvm").evaluate(gv)(a).numpy(), a ** 2)
# tuple argument
t = relay.var("t", relay.TupleType([relay.TensorType((2, 2)), relay.TensorType((2, 2))]))
h = tvm.IRModule.from_expr(relay.Function([t], relay.TupleGetItem(t, 0) * relay.TupleGetItem(t, 1)))
for kind in ("vm", "debug"):
    r = relay.create_executor(kind, mod=h, device=tvm.cpu(), target="llvm").evaluate()((a, b))
    np.testing.assert_allclose(r.numpy(), a * b)
# bool, int64, float16
for dt in ("bool", "int64", "float16", "uint8"):
    z = relay.var("z", shape=(3,), dtype=dt)
    r = relay.create_executor("graph", mod=tvm.IRModule.from_expr(relay.Function([z], relay.concatenate([z, z], 0))), device=tvm.cpu(), target="llvm").evaluate()(np.array([1, 0, 1], dt))
    assert r.dtype == dt and r.shape == (6,)
print("ok")
