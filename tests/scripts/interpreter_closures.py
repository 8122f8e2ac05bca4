"""Functional programs: composition, currying, fixpoints, references as counters, with run_as_python and executors."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.testing import run_as_python
from tvm.runtime.container import ADT


def seq(*exprs):
    ret = exprs[0]
    for expr in exprs[1:]:
        ret = relay.Let(relay.var("_"), ret, expr)
    return ret


def test_tensors_and_tuples():
    assert run_as_python(relay.const(4)).numpy() == 4
    tup = run_as_python(relay.Tuple([relay.const(1), relay.Tuple([relay.const(2), relay.const(3)])]))
    assert isinstance(tup, ADT) and len(tup) == 2 and int(tup[1][0].numpy()) == 2
    assert int(run_as_python(relay.TupleGetItem(relay.Tuple([relay.const(5), relay.const(6)]), 1)).numpy()) == 6


def test_branches():
    x = relay.var("x")
    prog = relay.Let(x, relay.const(True), relay.If(x, relay.const(True), relay.const(False)))
    assert bool(run_as_python(prog).numpy())


def test_local_functions():
    x, y, f = relay.var("x"), relay.var("y"), relay.var("f")
    prog = relay.Let(f, relay.Function([x], relay.Function([y], x - y)), f(relay.const(9))(relay.const(4)))
    assert int(run_as_python(prog).numpy()) == 5


def test_counter():
    r = relay.var("r")
    bump = lambda: relay.RefWrite(r, relay.RefRead(r) + relay.const(1))  # noqa: E731
    prog = relay.Let(r, relay.RefCreate(relay.const(0)), seq(bump(), bump(), bump(), relay.RefRead(r)))
    assert int(run_as_python(prog).numpy()) == 3


def test_globals_and_data():
    mod = tvm.IRModule()
    p = relay.prelude.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    n = relay.var("n", "int32")
    down = relay.GlobalVar("down")
    mod[down] = relay.Function([n], relay.If(relay.equal(n, relay.const(0)), nil(), cons(n, down(n - relay.const(1)))), mod.get_global_type_var("List")(relay.scalar_type("int32")))
    out = run_as_python(down(relay.const(3)), mod)
    seen = []
    while out.constructor.name_hint == "Cons":
        seen.append(int(out.fields[0].numpy()))
        out = out.fields[1]
    assert seen == [3, 2, 1]
    assert int(run_as_python(p.length(down(relay.const(5))), mod).numpy()) == 5


def test_operators():
    x = relay.var("x", shape=(2, 2))
    f = run_as_python(relay.Function([x], relay.nn.softmax(x)))
    np.testing.assert_allclose(f(np.zeros((2, 2), "float32")).numpy(), np.full((2, 2), 0.5))
    parts = run_as_python(relay.split(relay.const(np.arange(4)), 2).astuple())
    assert parts[1].numpy().tolist() == [2, 3]


if __name__ == "__main__":
    pytest.main([__file__])
