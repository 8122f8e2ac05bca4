"""Lists and trees that one executor gave go into polymorphic functions of the prelude."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.backend.interpreter import ConstructorValue
from tvm.relay.prelude import Prelude
from tvm.relay.testing import run_as_python

mod = tvm.IRModule()
p = Prelude(mod)
List, cons, nil = mod.get_type("List")
Option, some, none = mod.get_type("Option")


def to_list(l):
    assert isinstance(l, ConstructorValue)
    val, ret = l, []
    while val.tag == cons.tag:
        ret.append(val.fields[0])
        val = val.fields[1]
    assert val.tag == nil.tag
    return ret


numbers = nil()
for n in range(5):
    numbers = cons(relay.const(n), numbers)

for source in ("debug", "vm"):
    given = relay.create_executor(source, mod=mod, device=tvm.cpu(), target="llvm").evaluate(numbers)
    ex = relay.create_executor("debug", mod=mod, device=tvm.cpu(), target="llvm")
    assert [int(v.numpy()) for v in to_list(given)] == [4, 3, 2, 1, 0]
    assert int(ex.evaluate(p.hd)(given).numpy()) == 4
    assert [int(v.numpy()) for v in to_list(ex.evaluate(p.tl)(given))] == [3, 2, 1, 0]
    assert [int(v.numpy()) for v in to_list(ex.evaluate(p.rev)(given))] == [0, 1, 2, 3, 4]
    assert int(ex.evaluate(p.length)(given).numpy()) == 5
    assert [int(v.numpy()) for v in to_list(ex.evaluate(p.concat)(given, given))] == [4, 3, 2, 1, 0] * 2
    nested = ex.evaluate(cons(numbers, nil()))
    inner = ex.evaluate(p.hd)(nested)
    assert [int(v.numpy()) for v in to_list(inner)] == [4, 3, 2, 1, 0]
    maybe = ex.evaluate(some(relay.const(np.ones((2, 3), "float32"))))
    a = relay.TypeVar("a")
    x, y = relay.Var("x", Option(a)), relay.Var("y")
    unwrap = relay.Function([x, z := relay.Var("z", a)], relay.Match(x, [relay.Clause(relay.PatternConstructor(some, [relay.PatternVar(y)]), y),
                            relay.Clause(relay.PatternWildcard(), z)]), a, [a])
    mod[f"unwrap_{source}"] = unwrap
    ex = relay.create_executor("debug", mod=mod, device=tvm.cpu(), target="llvm")
    out = ex.evaluate(mod.get_global_var(f"unwrap_{source}"))(maybe, np.zeros((2, 3), "float32"))
    assert (out.numpy() == 1).all()

assert len(to_list(run_as_python(numbers, mod))) == 5
