"""One variable in several functions, lets and clauses, as scripts of TVM use them: the innermost binding counts."""

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.testing import run_as_python, run_infer_type

x = relay.var("x", shape=(2,))
ZERO = np.zeros(2, "float32")


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_two_functions_of_a_module(kind):
    mod, g = tvm.IRModule(), relay.GlobalVar("g")
    mod[g] = relay.Function([x], relay.exp(x))
    mod["main"] = relay.Function([x], relay.negative(g(x)))
    assert relay.create_executor(kind, mod=mod).evaluate()(ZERO).numpy().tolist() == [-1, -1]
    again = tvm.IRModule({g: relay.Function([x], relay.exp(x)), relay.GlobalVar("main"): relay.Function([x], g(g(x)))})
    np.testing.assert_allclose(relay.create_executor(kind, mod=again).evaluate()(ZERO).numpy(), np.e, rtol=1e-6)


def test_function_literals():
    f, g = relay.Function([x], relay.exp(x)), relay.Function([x], relay.negative(x))
    y = relay.var("y", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([y], f(g(y)) + f(y)))
    assert relay.create_executor("graph", mod=mod).evaluate()(ZERO).numpy().tolist() == [2, 2]
    inner = relay.Function([x], relay.Function([x], relay.exp(x))(relay.negative(x)) + x)
    np.testing.assert_allclose(relay.create_executor("debug").evaluate(inner)(np.ones(2, "float32")).numpy(), np.exp(-1) + 1, rtol=1e-6)
    assert run_infer_type(inner).checked_type.ret_type == relay.TensorType((2,), "float32")


def test_a_function_of_the_module_called_as_a_literal():
    mod, a = tvm.IRModule(), relay.TypeVar("a")
    v, g = relay.Var("v", a), relay.GlobalVar("g")
    mod[g] = relay.Function([v], v, a, [a])
    assert int(run_as_python(mod[g](relay.const(3)), mod).numpy()) == 3


def test_lets():
    v, w = relay.var("v"), relay.var("w")
    pair = relay.Tuple([relay.Let(v, relay.const(1), v), relay.Let(v, relay.const(2), relay.Let(w, v + v, w + v))])
    one, two = relay.create_executor("debug").evaluate(pair)
    assert (int(one.numpy()), int(two.numpy())) == (1, 6)
    again = relay.Let(v, relay.const(1), relay.Let(v, v + relay.const(1), v + v))
    assert int(relay.create_executor("vm").evaluate(again).numpy()) == 4


def test_clauses():
    mod = tvm.IRModule()
    mod.import_from_std("prelude.rly")
    _, some, none = mod.get_type("Option")
    v = relay.Var("v")

    def either(data):
        return relay.Match(data, [relay.Clause(relay.PatternConstructor(some, [relay.PatternVar(v)]), v), relay.Clause(relay.PatternWildcard(), relay.const(0))])

    both = relay.Tuple([either(some(relay.const(5))), either(some(relay.const(6)))])
    assert [int(n.numpy()) for n in relay.create_executor("debug", mod=mod).evaluate(both)] == [5, 6]


def test_what_is_bound_once_stays():
    y = relay.var("y", shape=(2,))
    f = relay.Function([y], relay.exp(y))
    mod = tvm.IRModule.from_expr(f)
    assert mod["main"] is f
    mod["main"] = f
    assert mod["main"] is f
    assert not relay.analysis.well_formed(relay.Let(y, relay.const(1), relay.Let(y, relay.const(2), y)))


def test_long_chains():
    v, body = relay.var("v"), relay.var("x", "float32")
    chain = v
    for _ in range(3000):
        chain = relay.Let(v, relay.exp(body), chain)
    mod = tvm.IRModule.from_expr(relay.Function([body], chain))
    assert relay.transform.InferType()(mod)["main"].ret_type == relay.scalar_type("float32")
