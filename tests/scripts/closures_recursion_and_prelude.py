"""Lists and trees of the prelude, higher order functions, a recursive function by name and by let, run by several executors."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.backend.interpreter import ConstructorValue, RefValue
from tvm.relay.prelude import Prelude
from tvm.relay.testing import count, make_nat_expr
from tvm.relay import create_executor

mod = tvm.IRModule()
p = Prelude(mod)
p.mod.import_from_std("nat.rly")
_, cons, nil = p.mod.get_type("List")


def to_list(o):
    assert isinstance(o, ConstructorValue)
    result = []
    while len(o.fields) == 2:
        result.append(int(o.fields[0].numpy()))
        o = o.fields[1]
    return result


def run(expr):
    m = tvm.IRModule()
    m.update(mod)
    return create_executor("debug", mod=m, device=tvm.cpu(), target="llvm").evaluate(expr)


items = cons(relay.const(1), cons(relay.const(2), cons(relay.const(3), nil())))
x = relay.Var("x")
inc = relay.Function([x], x + relay.const(10))
map_ = p.mod.get_global_var("map")
rev = p.mod.get_global_var("rev")
sum_ = p.mod.get_global_var("sum")
assert to_list(run(map_(inc, items))) == [11, 12, 13]
assert to_list(run(rev(items))) == [3, 2, 1]
assert int(run(sum_(items)).numpy()) == 6
double = p.mod.get_global_var("nat_double")
assert count(p, run(double(make_nat_expr(p, 4)))) == 8

n = relay.var("n", shape=(), dtype="int32")
fact = relay.GlobalVar("fact")
body = relay.If(relay.less(n, relay.const(2)), relay.const(1), n * fact(n - relay.const(1)))
fm = tvm.IRModule({fact: relay.Function([n], body, relay.TensorType((), "int32"))})
m = relay.var("m", shape=(), dtype="int32")
fm["main"] = relay.Function([m], fact(m))
for kind in ("debug", "vm"):
    assert int(create_executor(kind, mod=fm, device=tvm.cpu(), target="llvm").evaluate()(np.array(5, "int32")).numpy()) == 120
r = relay.RefCreate(relay.const(1))
v = relay.var("v")
value = create_executor("debug").evaluate(relay.Let(v, r, relay.Let(relay.var("u"), relay.RefWrite(v, relay.const(7)), relay.RefRead(v))))
assert int(value.numpy()) == 7
