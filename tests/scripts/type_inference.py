"""Type inference: globals, lets, recursion, references, data types, function types."""
import pytest

import tvm
from tvm import IRModule, relay, te
from tvm.relay import op, transform


def infer_mod(mod, annotate_spans=True):
    return transform.InferType()(mod)


def infer_expr(expr):
    mod = infer_mod(IRModule.from_expr(expr))
    entry = mod["main"]
    return entry if isinstance(expr, relay.Function) else entry.body


def assert_has_type(expr, typ, mod=None):
    mod = mod if mod is not None else IRModule({})
    mod["main"] = expr
    mod = infer_mod(mod)
    checked_expr = mod["main"]
    if not tvm.ir.structural_equal(checked_expr.checked_type, typ):
        raise RuntimeError("Type mismatch %s vs %s" % (checked_expr.checked_type, typ))


def test_monomorphic_let():
    sb = relay.ScopeBuilder()
    x = relay.var("x", dtype="float64", shape=())
    x = sb.let(x, relay.const(1.0, "float64"))
    sb.ret(x)
    xchecked = infer_expr(sb.get())
    assert xchecked.checked_type == relay.scalar_type("float64")


def test_single_op():
    x = relay.var("x", shape=[])
    func = relay.Function([x], op.log(x))
    ttype = relay.TensorType([], dtype="float32")
    assert_has_type(func, relay.FuncType([ttype], ttype))


def test_broadcast_in_a_let():
    x, y = relay.var("x", shape=(10, 4)), relay.var("y", shape=(5, 10, 1))
    func = relay.Function([x, y], x + y)
    assert_has_type(func, relay.FuncType([relay.TensorType((10, 4), "float32"), relay.TensorType((5, 10, 1), "float32")], relay.TensorType((5, 10, 4), "float32")))


def test_recursion():
    sb = relay.ScopeBuilder()
    mod = IRModule()
    ti32, tf32 = relay.scalar_type("int32"), relay.scalar_type("float32")
    f = relay.GlobalVar("f")
    n, data = relay.var("n", ti32), relay.var("data", tf32)
    with sb.if_scope(relay.equal(n, relay.const(0, ti32))):
        sb.ret(data)
    with sb.else_scope():
        sb.ret(f(relay.subtract(n, relay.const(1, ti32)), relay.log(data)))
    mod[f] = relay.Function([n, data], sb.get())
    mod = infer_mod(mod)
    assert "@f(" in mod.astext()
    assert mod[f].checked_type == relay.FuncType([ti32, tf32], tf32)


def test_incomplete_call():
    tt = relay.scalar_type("int32")
    x, f = relay.var("x", tt), relay.var("f")
    func = relay.Function([x, f], relay.Call(f, [x]), tt)
    ft = infer_expr(func)
    assert ft.checked_type == relay.FuncType([tt, relay.FuncType([tt], tt)], tt)


def test_tuple_and_projection():
    tp = relay.TensorType((10,))
    x = relay.var("x", tp)
    res = relay.Tuple([x, relay.const(1)])
    assert infer_expr(res).checked_type == relay.TupleType([tp, relay.scalar_type("int32")])
    assert infer_expr(relay.TupleGetItem(res, 0)).checked_type == tp


def test_references():
    x = relay.var("x", "float32")
    y = relay.var("y", "float32")
    r = relay.RefCreate(x)
    assert infer_expr(r).checked_type == relay.RefType(relay.scalar_type("float32"))
    assert infer_expr(relay.RefRead(relay.RefCreate(y))).checked_type == relay.scalar_type("float32")
    assert infer_expr(relay.RefWrite(relay.RefCreate(x), y)).checked_type == relay.TupleType([])


def test_polymorphic_function():
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    x, y = relay.Var("x", a), relay.Var("y", b)
    first = relay.Function([x, y], x, a, [a, b])
    assert infer_expr(first).checked_type == relay.FuncType([a, b], a, [a, b])
    call = relay.Call(first, [relay.const(1), relay.const(2.0)])
    assert infer_expr(call).checked_type == relay.scalar_type("int32")


def test_constructors_and_match():
    mod = IRModule()
    box = relay.GlobalTypeVar("box")
    tv = relay.TypeVar("tv")
    constructor = relay.Constructor("constructor", [tv], box)
    mod[box] = relay.TypeData(box, [tv], [constructor])
    assert_has_type(relay.Function([], constructor(relay.const(1.0))), relay.FuncType([], box(relay.scalar_type("float32"))), mod)
    v, w = relay.Var("v"), relay.Var("w")
    unbox = relay.Function([v], relay.Match(v, [relay.Clause(relay.PatternConstructor(constructor, [relay.PatternVar(w)]), w)]), tv, [tv])
    assert isinstance(infer_mod(IRModule({relay.GlobalVar("unbox"): unbox}, mod.type_definitions))["unbox"].checked_type, relay.FuncType)


def test_symbolic_function():
    n = te.var("n")
    x = relay.var("x", shape=(n, 8))
    f = infer_expr(relay.Function([x], relay.nn.softmax(x)))
    assert f.checked_type.ret_type == relay.TensorType((n, 8), "float32") and f.ret_type == f.checked_type.ret_type


@pytest.mark.parametrize("build", [
    lambda: relay.var("x", shape=(2,)) + relay.var("y", shape=(3,)),
    lambda: relay.nn.dense(relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 5))),
    lambda: relay.If(relay.const(1.0), relay.const(1), relay.const(2)),
    lambda: relay.TupleGetItem(relay.Tuple([relay.const(1)]), 3),
    lambda: relay.Call(relay.Function([], relay.const(1)), [relay.const(2)]),
])
def test_mistakes(build):
    with pytest.raises(tvm.TVMError):
        infer_expr(build())


if __name__ == "__main__":
    pytest.main([__file__])
