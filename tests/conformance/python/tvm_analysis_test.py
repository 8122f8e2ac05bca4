"""relay.analysis: questions about programs."""

import pytest

import tvm
from tvm import relay, te
from tvm.relay import analysis
from tvm.relay.testing import run_infer_type


def names(found):
    return [v.name_hint for v in found]


def test_free_and_bound_vars():
    x, y, z = (relay.var(n, shape=(2,)) for n in "xyz")
    body = relay.Let(y, x + x, y * z)
    assert names(analysis.free_vars(body)) == ["x", "z"]
    assert names(analysis.bound_vars(relay.Function([z], body))) == ["z", "y"]
    assert set(names(analysis.all_vars(relay.Function([z], body)))) == {"x", "y", "z"}
    assert analysis.free_vars(relay.Function([x, z], body)) == []


def test_bound_vars_of_a_pattern():
    v = relay.Var("v")
    assert names(analysis.bound_vars(relay.PatternTuple([relay.PatternVar(v), relay.PatternWildcard()]))) == ["v"]


def test_type_vars():
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    x = relay.Var("x", a)
    func = relay.Function([x, relay.Var("y", b)], x, a, [a])
    assert names(analysis.free_type_vars(func)) == ["b"]
    assert names(analysis.bound_type_vars(func)) == ["a"]
    assert set(names(analysis.all_type_vars(func))) == {"a", "b"}


def test_well_formed():
    x = relay.var("x", shape=(2,))
    assert analysis.well_formed(relay.Let(x, relay.const([1.0, 2.0]), x))
    twice = relay.Let(x, relay.const([1.0, 2.0]), relay.Let(x, relay.const([1.0, 2.0]), x))
    assert not analysis.well_formed(twice)


def test_check_kind():
    assert analysis.check_kind(relay.TupleType([relay.TensorType((2,))])) == relay.TypeKind.Type
    with pytest.raises(tvm.TVMError):
        analysis.check_kind(relay.TupleType([relay.TypeVar("s", relay.TypeKind.ShapeVar)]))


def test_count_operators():
    x = relay.var("x", shape=(1, 3, 8, 8))
    y = relay.nn.conv2d(x, relay.var("w", shape=(3, 3, 3, 3)), padding=(1, 1))
    y = relay.nn.relu(relay.nn.conv2d(y, relay.var("v", shape=(3, 3, 1, 1))) + y)
    assert analysis.list_op_freqs(tvm.IRModule.from_expr(y)) == {"nn.conv2d": 2, "nn.relu": 1, "add": 1}
    assert analysis.count_layers(y, valid_ops=["nn.conv2d"]) == 2
    assert analysis.count_layers(tvm.IRModule.from_expr(y), valid_ops=["nn.conv2d"]) == 2
    counter = analysis.LayerCounter(["nn.relu"])
    counter.visit(y)
    assert counter.count() == 1


def test_mac_count():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    y = run_infer_type(relay.Function([x, w], relay.nn.conv2d(x, w)))
    assert analysis.get_total_mac_number(y) == 4 * 6 * 6 * 3 * 9
    a, b = relay.var("a", shape=(2, 5)), relay.var("b", shape=(7, 5))
    assert analysis.get_total_mac_number(run_infer_type(relay.Function([a, b], relay.nn.dense(a, b)))) == 70


def test_features():
    x = relay.var("x", shape=(2,))
    shared = relay.exp(x)
    plain = analysis.detect_feature(relay.Function([x], shared + shared))
    assert analysis.Feature.fLet not in plain and analysis.Feature.fGraph in plain
    y = relay.var("y")
    assert analysis.Feature.fLet in analysis.detect_feature(relay.Let(y, relay.const(1), y))


def test_constants():
    assert analysis.check_constant(relay.const(1)) and analysis.check_constant(relay.Tuple([relay.const(1)]))
    assert not analysis.check_constant(relay.var("x") + relay.const(1))


def test_dtypes():
    x = relay.var("x", shape=(2,), dtype="int8")
    assert analysis.all_dtypes(run_infer_type(relay.cast(x, "float16") + relay.const(1.0, "float16"))) == {"int8", "float16"}


def test_call_graph():
    mod = tvm.IRModule()
    x = relay.var("x", shape=(2,))
    mod["f"] = relay.Function([x], x)
    mod["main"] = relay.Function([y := relay.var("y", shape=(2,))], mod.get_global_var("f")(mod.get_global_var("f")(y)))
    graph = analysis.CallGraph(mod)
    assert graph.ref_count("f") == 2 and graph.global_call_count("main") == 2 and not graph.is_recursive("f")


def test_extract_fused_functions():
    x = relay.var("x", shape=(2,))
    mod = relay.transform.FuseOps()(relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x) + x))))
    (func,) = analysis.extract_fused_functions(mod).values()
    assert func.attrs["Primitive"] == 1


def test_extract_intermediate_expr():
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.tanh(relay.exp(x))))
    bodies = [analysis.extract_intermdeiate_expr(mod, i)["main"].body for i in range(2)]
    assert [body.op.name for body in bodies] == ["exp", "tanh"]
    parts = relay.split(x, 2)
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([parts[1], relay.exp(x)])))
    kinds = [type(analysis.extract_intermdeiate_expr(mod, i)["main"].body).__name__ for i in range(4)]
    assert kinds == ["Call", "TupleGetItem", "Call", "Tuple"]
    with pytest.raises(IndexError, match="calls, tuples and projections 0 to 3, not 99"):
        analysis.extract_intermdeiate_expr(mod, 99)


def test_symbolic_shape_of_result():
    n = te.size_var("n")
    func = run_infer_type(relay.Function([x := relay.var("x", shape=(n, 2))], relay.concatenate([x, x], axis=0)))
    assert str(func.checked_type.ret_type.shape[0]) in ("2 * n", "n * 2", "n + n")
