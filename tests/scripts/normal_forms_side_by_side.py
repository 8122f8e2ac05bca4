"""Normal forms side by side: the same program as a graph, in A-normal form and in basic blocks, and what a script counts in each."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.analysis import check_basic_block_normal_form, post_order_visit
from tvm.relay.testing import run_opt_pass


def shared_between_branches():
    x, c = relay.var("x", shape=(3,)), relay.var("c", shape=(), dtype="bool")
    common = relay.exp(x)
    return relay.Function([x, c], relay.If(c, common + common, common * relay.const(np.float32(2))))


def lets(expr):
    found = []
    post_order_visit(expr, lambda node: found.append(node.var.name_hint) if isinstance(node, relay.Let) else None)
    return found


def value(func, *args):
    return relay.create_executor("vm", mod=tvm.IRModule.from_expr(func)).evaluate()(*args).numpy()


def test_forms_agree():
    func = shared_between_branches()
    x = np.array([0, 1, -2], "float32")
    forms = {
        "graph": run_opt_pass(func, transform.ToGraphNormalForm()),
        "anf": run_opt_pass(func, transform.ToANormalForm()),
        "blocks": run_opt_pass(func, transform.ToBasicBlockNormalForm()),
    }
    assert not lets(forms["graph"]) and len(lets(forms["blocks"])) == 1 and len(lets(forms["anf"])) >= 4
    assert check_basic_block_normal_form(forms["blocks"])
    with pytest.raises(tvm.error.TVMError):
        check_basic_block_normal_form(func)
    for branch in (True, False):
        for made in forms.values():
            np.testing.assert_allclose(value(made, x, np.array(branch)), np.exp(x) * 2, rtol=1e-6)


def test_back_again():
    anf = run_opt_pass(shared_between_branches(), transform.ToANormalForm())
    again = run_opt_pass(anf, tvm.transform.Sequential([transform.ToGraphNormalForm(), transform.ToANormalForm()]))
    assert tvm.ir.structural_equal(anf, again)


def test_expression_alone():
    x = relay.var("x", shape=(2,))
    y = transform.ToANormalFormExpr(relay.tanh(relay.exp(x)))
    assert isinstance(y, relay.Let) and len(lets(y)) == 2


def test_recursion_keeps_its_name():
    mod = tvm.IRModule()
    count = relay.GlobalVar("count")
    n, acc = relay.var("n", "int32"), relay.var("acc", "int32")
    body = relay.If(relay.equal(n, relay.const(0)), acc, count(n - relay.const(1), acc + n))
    mod[count] = relay.Function([n, acc], body, relay.scalar_type("int32"))
    m = relay.var("m", "int32")
    mod["main"] = relay.Function([m], count(m, relay.const(0)))
    for passes in (transform.ToANormalForm(), transform.ToBasicBlockNormalForm(), transform.LambdaLift()):
        made = tvm.transform.Sequential([transform.InferType(), passes, transform.InferType()])(mod)
        assert int(relay.create_executor("vm", mod=made).evaluate()(np.int32(4)).numpy()) == 10


def test_closures_are_lifted():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    f = relay.var("f")
    body = relay.Let(f, relay.Function([y], x * y), f(f(x)))
    mod = tvm.transform.Sequential([transform.InferType(), transform.LambdaLift()])(tvm.IRModule.from_expr(relay.Function([x], body)))
    names = [var.name_hint for var in mod.get_global_vars()]
    assert len(names) == 2 and "main" in names
    v = np.array([2, 3], "float32")
    np.testing.assert_allclose(relay.create_executor("vm", mod=mod).evaluate()(v).numpy(), v**3)


if __name__ == "__main__":
    pytest.main([__file__])
