"""Common subexpressions, dead code, unused functions, inlining, lambda lifting."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.analysis import Feature, detect_feature
from tvm.relay.op import register_alter_op_layout
from tvm.relay.testing import run_infer_type, run_opt_pass


def optimize(expr, *passes):
    mod = tvm.IRModule.from_expr(expr)
    with tvm.transform.PassContext(opt_level=3):
        mod = tvm.transform.Sequential([transform.InferType(), *passes])(mod)
    return mod["main"] if isinstance(expr, relay.Function) else mod["main"].body


def test_cse():
    x = relay.var("x", shape=(2, 3))
    before = relay.Function([x], relay.nn.relu(x + relay.const(1.0)) * relay.nn.relu(x + relay.const(1.0)))
    y = relay.nn.relu(x + relay.const(1.0))
    after = run_opt_pass(before, transform.EliminateCommonSubexpr())
    tvm.ir.assert_structural_equal(after, run_infer_type(relay.Function([x], y * y)))


def test_cse_with_fskip():
    x = relay.var("x", shape=(2, 3))
    before = relay.Function([x], (relay.exp(x) + relay.exp(x)) * (relay.log(x) + relay.log(x)))

    def fskip(expr):
        return isinstance(expr, relay.expr.Call) and expr.op.name == "exp"

    after = run_opt_pass(before, transform.EliminateCommonSubexpr(fskip))
    assert relay.testing.count_ops(after) == {"exp": 2, "log": 1, "add": 2, "multiply": 1}


def test_dead_code():
    x, unused, t = relay.var("x", "float32"), relay.var("unused"), relay.var("t")
    before = relay.Function([x], relay.Let(unused, relay.exp(x), relay.Let(t, x + x, t)))
    after = optimize(before, transform.DeadCodeElimination())
    assert "unused" not in after.astext() and "let %t" in after.astext()
    assert Feature.fLet not in detect_feature(optimize(before, transform.DeadCodeElimination(inline_once=True)))


def test_effects_stay():
    r, u = relay.var("r"), relay.var("u")
    prog = relay.Let(r, relay.RefCreate(relay.const(1.0)), relay.Let(u, relay.RefWrite(r, relay.const(2.0)), relay.RefRead(r)))
    after = optimize(prog, transform.DeadCodeElimination())
    assert float(relay.create_executor("debug").evaluate(after).numpy()) == 2.0


def test_unused_functions():
    mod = tvm.IRModule()
    x = relay.var("x", "float32")
    mod["helper"] = relay.Function([x], relay.exp(x))
    y = relay.var("y", "float32")
    mod["orphan"] = relay.Function([y], y)
    z = relay.var("z", "float32")
    mod["main"] = relay.Function([z], mod.get_global_var("helper")(z))
    after = transform.RemoveUnusedFunctions()(mod)
    assert {v.name_hint for v in after.get_global_vars()} == {"main", "helper"}


def test_inline():
    mod = tvm.IRModule()
    x = relay.var("x", "float32")
    mod["helper"] = relay.Function([x], relay.exp(x)).with_attr("Inline", tvm.tir.IntImm("int32", 1))
    z = relay.var("z", "float32")
    mod["main"] = relay.Function([z], mod.get_global_var("helper")(z))
    after = transform.Inline()(mod)
    assert "helper" not in after["main"].astext() and "exp(" in after["main"].astext()


def test_lambda_lift():
    x, y = relay.var("x", "float32"), relay.var("y", "float32")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Call(relay.Function([y], x + y), [relay.const(1.0)])))
    lifted = transform.LambdaLift()(transform.InferType()(mod))
    assert len(lifted.functions) == 2
    out = [relay.create_executor("debug", mod=m).evaluate()(np.float32(2)).numpy() for m in (mod, lifted)]
    assert out[0] == out[1] == 3


def test_normal_forms():
    x = relay.var("x", "float32")
    shared = relay.exp(x)
    f = relay.Function([x], shared + shared)
    anf = optimize(f, transform.ToANormalForm())
    assert Feature.fLet in detect_feature(anf)
    gnf = optimize(anf, transform.ToGraphNormalForm())
    tvm.ir.assert_structural_equal(gnf, run_infer_type(f))
    bb = optimize(f, transform.ToBasicBlockNormalForm())
    assert relay.analysis.check_basic_block_normal_form(bb)


if __name__ == "__main__":
    pytest.main([__file__])
