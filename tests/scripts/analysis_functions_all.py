"""Functions of relay.analysis on small programs, as TVM's tests call them."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import analysis
from tvm.relay.analysis import all_type_vars, all_vars, bound_type_vars, bound_vars, check_kind, detect_feature, free_type_vars, free_vars, well_formed
from tvm.relay.testing import resnet


def test_vars():
    x, y = relay.Var("x"), relay.Var("y")
    let = relay.Let(x, relay.const(1.0), relay.add(x, y))
    assert set(free_vars(let)) == {y} and set(bound_vars(let)) == {x} and set(all_vars(let)) == {x, y}
    tp = relay.TypeVar("t")
    f = relay.Function([relay.Var("a", tp)], relay.const(1), None, [tp])
    assert list(bound_type_vars(f)) == [tp] and list(free_type_vars(f)) == [] and list(all_type_vars(f)) == [tp]
    assert check_kind(relay.TupleType([])) == relay.TypeKind.Type and check_kind(relay.TypeVar("tp1", relay.TypeKind.ShapeVar)) == relay.TypeKind.ShapeVar


def test_well_formed():
    x = relay.Var("x")
    assert well_formed(x)
    ten = relay.const(1.0)
    one = relay.Let(x, ten, x)
    assert not well_formed(relay.Let(x, one, x)) or well_formed(one)
    f = relay.Function([x], x, relay.scalar_type("float32"))
    assert well_formed(f)


def test_features():
    assert detect_feature(relay.const(0.0)) == set([relay.analysis.Feature.fConstant])
    x = relay.Var("x")
    assert relay.analysis.Feature.fLet in detect_feature(relay.Let(x, relay.const(1), x))


def test_operators_of_a_network():
    mod, params = resnet.get_workload(num_layers=18, image_shape=(3, 32, 32))
    freqs = analysis.list_op_freqs(mod)
    assert freqs["nn.conv2d"] > 15 and freqs["nn.dense"] == 1
    macs = analysis.get_total_mac_number(relay.transform.InferType()(mod)["main"])
    assert macs > 1_000_000
    fused = analysis.extract_fused_functions(mod)
    assert len(fused) > 5 and all(isinstance(f, relay.Function) for f in fused.values())
    part = analysis.extract_intermdeiate_expr(mod, 3)
    assert isinstance(part, tvm.IRModule)
    assert analysis.count_layers(relay.transform.InferType()(mod)["main"], ["nn.conv2d"]) > 5


def test_calibration_data():
    x = relay.var("x", shape=(2, 2))
    y = relay.var("y", shape=(2, 2))
    f = relay.Function([x, y], x + y)
    f = f.with_attr("Compiler", "ccompiler").with_attr("global_symbol", "ccompiler_0").with_attr("Primitive", 1)
    mod = tvm.IRModule()
    mod["ccompiler_0"] = f
    mod = relay.transform.InferType()(mod)
    a = relay.var("a", shape=(2, 2))
    mod["main"] = relay.Function([a], mod.get_global_var("ccompiler_0")(a, relay.exp(a)))
    mod = relay.transform.InferType()(mod)
    data = np.random.rand(2, 2).astype("float32")
    res = analysis.get_calibration_data(mod, {"a": data})
    found = list(res.values())[0]
    np.testing.assert_allclose(found["inputs"][1].numpy(), np.exp(data), rtol=1e-5)
    np.testing.assert_allclose(found["outputs"][0].numpy(), data + np.exp(data), rtol=1e-5)


def test_unmatched_cases():
    mod = tvm.IRModule()
    p = relay.prelude.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    v = relay.Var("v")
    match = relay.Match(v, [relay.Clause(relay.PatternConstructor(cons, [relay.PatternWildcard(), relay.PatternWildcard()]), v)], complete=False)
    unmatched = analysis.unmatched_cases(match, mod)
    assert len(unmatched) == 1 and unmatched[0].constructor == nil


def test_type_args_of_calls():
    x = relay.var("x", shape=(10, 10))
    y = relay.var("y", shape=(1, 10))
    mod = tvm.IRModule.from_expr(relay.add(x, y))
    mod = relay.transform.InferType()(mod)
    ty_args = mod["main"].body.type_args
    assert len(ty_args) == 2 and ty_args[0].dtype == "float32" and ty_args[1].dtype == "float32"
    assert list(ty_args[0].shape) == [10, 10] and list(ty_args[1].shape) == [1, 10]


def test_constants_and_fake_quantized():
    x = relay.var("x", shape=(1, 4), dtype="int8")
    dq = relay.qnn.op.dequantize(x, relay.const(0.5), relay.const(0))
    q = relay.qnn.op.quantize(relay.nn.relu(dq), relay.const(0.5), relay.const(0))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], q)))
    assert dict(analysis.list_fake_quantized_op_freqs(mod)) == {"nn.relu": 1}
