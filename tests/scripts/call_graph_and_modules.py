"""Modules of several functions: call graphs, imports, copies, updates, entry functions."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.analysis import CallGraph


def module():
    mod = tvm.IRModule()
    x0, x1, x2 = (relay.var(f"x{i}", shape=(2,)) for i in range(3))
    g0, g1 = relay.GlobalVar("g0"), relay.GlobalVar("g1")
    mod[g0] = relay.Function([x0], relay.exp(x0))
    mod[g1] = relay.Function([x1], g0(g0(x1)))
    mod["main"] = relay.Function([x2], g1(x2) + mod.get_global_var("g0")(x2))
    return mod


def test_call_graph():
    cg = CallGraph(module())
    assert cg.ref_count("g0") == 3 and cg.ref_count("g1") == 1 and cg.ref_count("main") == 0
    assert cg.global_call_count("g1") >= 1 and cg.is_recursive("g0") is False
    assert "main" in str(cg) and "#refs = 3" in str(cg.print_var("g0")) and "#refs = 0" in cg.print_var("main")


def test_recursion():
    mod = tvm.IRModule()
    n = relay.var("n", "int32")
    f = relay.GlobalVar("f")
    mod[f] = relay.Function([n], relay.If(relay.less(n, relay.const(1)), n, f(n - relay.const(1))), relay.scalar_type("int32"))
    assert CallGraph(mod).is_recursive("f")


def test_running_an_entry():
    mod = module()
    data = np.zeros(2, "float32")
    ex = relay.create_executor("debug", mod=mod)
    np.testing.assert_allclose(ex.evaluate()(data).numpy(), np.exp(1) + 1, rtol=1e-6)
    np.testing.assert_allclose(ex.evaluate(mod.get_global_var("g1"))(data).numpy(), np.exp(1), rtol=1e-6)
    np.testing.assert_allclose(ex.evaluate(mod.get_global_var("g0")(relay.const(data))).numpy(), 1)


def test_updates():
    mod = module()
    other = tvm.IRModule()
    y = relay.var("y", shape=(2,))
    other["g0"] = relay.Function([y], relay.negative(y))
    mod.update(other)
    assert "negative" in mod["g0"].astext()
    copy = tvm.IRModule(dict(mod.functions.items()), mod.type_definitions)
    tvm.ir.assert_structural_equal(copy, mod)
    with pytest.raises(Exception):
        mod["nobody"]


def test_standard_library():
    mod = tvm.IRModule()
    mod.import_from_std("prelude.rly")
    assert "map" in [v.name_hint for v in mod.get_global_vars()]
    assert {v.name_hint for v in mod.get_global_type_vars()} >= {"List", "Option", "Tree"}


def test_expression_with_helpers():
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], module().get_global_var("g0")(x)), functions={relay.GlobalVar("g0"): module()["g0"]})
    assert len(mod.functions) == 2


if __name__ == "__main__":
    pytest.main([__file__])
