import numpy as np
import tvm
from tvm import relay
from tvm.relay import Function, Let, TensorType, Tuple, TypeVar, Var, create_executor, op, transform
from tvm.relay.op import add, multiply, subtract
from tvm.relay.prelude import Prelude
from tvm.relay.testing import make_nat_expr, run_infer_type
from tvm.relay.transform import ToANormalForm, DeadCodeElimination, gradient, PartialEvaluate


def check_eval(expr, expected_result, mod=None, rtol=1e-07):
    dev = tvm.device("llvm", 0)
    result = create_executor(mod=mod, device=dev, target="llvm").evaluate(expr)
    np.testing.assert_allclose(result.numpy(), expected_result, rtol=rtol)


def run_opt_pass(expr, passes):
    passes = passes if isinstance(passes, list) else [passes]
    mod = tvm.IRModule.from_expr(expr)
    seq = tvm.transform.Sequential(passes)
    with tvm.transform.PassContext(opt_level=3):
        mod = seq(mod)
    entry = mod["main"]
    return entry if isinstance(expr, relay.Function) else entry.body


def tipe(expr):
    return run_opt_pass(expr, [PartialEvaluate(), transform.InferType()])


def dcpe(expr, mod=None, grad=False):
    passes = [PartialEvaluate(), DeadCodeElimination(inline_once=True, ignore_impurity=True)]
    if grad:
        expr = gradient(run_infer_type(expr))
    if mod:
        assert isinstance(expr, Function)
        mod["main"] = expr
        seq = tvm.transform.Sequential(passes)
        mod = seq(mod)
        return mod["main"]
    return run_opt_pass(expr, passes)


# constants
x = Var("x")
sq = Function([x], multiply(x, x))
e = relay.Call(sq, [relay.const(2.0)])
out = dcpe(Function([], e))
assert isinstance(out.body, relay.Constant) or relay.analysis.list_op_freqs(tvm.IRModule.from_expr(out)) in ({}, {"multiply": 1}), out
# tuple / if are decided
t = Var("t", TensorType((2,)))
f = Function([t], relay.TupleGetItem(Tuple([t, relay.const(0)]), 0))
res = dcpe(f)
assert isinstance(res.body, relay.Var), res
g = Function([t], relay.If(relay.const(True), t, t + t))
assert isinstance(dcpe(g).body, relay.Var)
# reference elimination
r = Var("r")
h = Function([t], Let(r, relay.RefCreate(t), relay.RefRead(r)))
assert isinstance(dcpe(h).body, relay.Var)
# power by nat iterate
mod = tvm.IRModule()
p = Prelude(mod)
p.mod.import_from_std("nat.rly")
it = mod.get_global_var("nat_iterate")
d = relay.var("d", shape=())
loop = Function([d], it(Function([y := relay.var("y", shape=())], y + y), make_nat_expr(p, 4))(d))
pe = dcpe(loop, mod=mod)
assert "nat_iterate" not in pe.astext(show_meta_data=False), pe
mm = tvm.IRModule.from_expr(pe)
assert float(create_executor(mod=mm).evaluate()(np.array(3, "float32")).numpy()) == 48
# gradients after PE are first order and equal
s = TensorType((3,))
a = relay.var("a", s)
fn = Function([a], relay.sum(relay.sin(a) * relay.exp(a)))
gg = dcpe(fn, grad=True)
assert relay.analysis.Feature.fRefCreate not in relay.analysis.detect_feature(gg)
v = np.array([0.1, 0.5, 1.0], "float32")
val, (dv,) = create_executor().evaluate(gg)(v)
np.testing.assert_allclose(dv.numpy(), (np.sin(v) + np.cos(v)) * np.exp(v), rtol=1e-5)
anf = run_opt_pass(fn, [ToANormalForm(), transform.InferType()])
assert isinstance(anf.body, Let)
check_eval(relay.Call(anf, [relay.const(v)]), (np.sin(v) * np.exp(v)).sum(), rtol=1e-5)
dce = run_opt_pass(Function([a], Let(Var("unused"), relay.exp(a), a)), DeadCodeElimination())
assert isinstance(dce.body, Var)
b = run_opt_pass(fn, transform.ToBasicBlockNormalForm())
check_eval(relay.Call(b, [relay.const(v)]), (np.sin(v) * np.exp(v)).sum(), rtol=1e-5)
