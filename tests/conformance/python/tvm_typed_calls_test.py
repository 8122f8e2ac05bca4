"""Type arguments of calls, the dtype of a whole network, and where two programs differ first."""

import pickle
import sys

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.ir.base import get_first_structural_mismatch
from tvm.relay.frontend.change_datatype import ChangeDatatype
from tvm.runtime.object_path import ObjectPath


def typed(*args):
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(*args)))


def test_type_args_of_operators():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3,))
    call = relay.add(x, y)
    assert call.type_args == []
    body = typed([x, y], relay.concatenate([call, call], axis=0))["main"].body
    assert body.type_args == [relay.TupleType([relay.TensorType((2, 3), "float32")] * 2)]
    assert body.args[0].fields[0].type_args == [relay.TensorType((2, 3), "float32"), relay.TensorType((3,), "float32")]


def test_type_args_of_operators_go_into_other_calls():
    x = relay.var("x", shape=(2, 3))
    call = typed([x], relay.nn.relu(x))["main"].body
    y = relay.var("y", shape=(4,))
    other = relay.Call(call.op, [y], call.attrs, call.type_args, call.span)
    assert typed([y], other)["main"].checked_type.ret_type == relay.TensorType((4,), "float32")


def polymorphic():
    mod = tvm.IRModule()
    relay.prelude.Prelude(mod)
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    x, y = relay.Var("x", a), relay.Var("y", b)
    mod["pair"] = relay.Function([x, y], relay.Tuple([y, x]), None, [a, b])
    return mod


def test_type_args_of_polymorphic_functions():
    mod = polymorphic()
    call = mod.get_global_var("pair")(relay.const(1), relay.const(2.0))
    mod["main"] = relay.Function([], call)
    assert call.type_args == []
    call = relay.transform.InferType()(mod)["main"].body
    assert call.type_args == [relay.scalar_type("int32"), relay.scalar_type("float32")]
    assert tvm.ir.structural_equal(pickle.loads(pickle.dumps(call)), call)


def test_type_args_of_constructors():
    mod = polymorphic()
    _, cons, nil = mod.get_type("List")
    mod["main"] = relay.Function([], cons(relay.const(1), nil()))
    body = relay.transform.InferType()(mod)["main"].body
    assert body.type_args == body.args[1].type_args == [relay.scalar_type("int32")]
    assert relay.expr.CallWithFields(body) is body


def test_type_args_that_are_written():
    mod = polymorphic()
    given = [relay.scalar_type("int32"), relay.scalar_type("float32")]
    call = relay.Call(mod.get_global_var("pair"), [relay.const(1), relay.const(2.0)], None, given)
    assert call.type_args == given
    mod["main"] = relay.Function([], relay.Call(call.op, [relay.const(1.0), relay.const(2.0)], None, call.type_args))
    with pytest.raises(tvm.error.TVMError):
        relay.transform.InferType()(mod)


def test_change_of_a_dtype():
    x = relay.var("x", relay.TupleType([relay.TensorType((2,), "float32"), relay.TensorType((2,), "int32")]))
    n = relay.var("n")
    inner = relay.Function([n], n + relay.const(1.0))
    body = inner(relay.TupleGetItem(x, 0)) + relay.cast(relay.TupleGetItem(x, 1), "float32")
    mod = ChangeDatatype("float32", "float64")(typed([x], body, relay.TensorType((2,), "float32")))
    kind = relay.transform.InferType()(mod)["main"].checked_type
    assert kind.ret_type == relay.TensorType((2,), "float64") and kind.arg_types[0].fields[1].dtype == "int32"
    same = typed([x], body)
    assert tvm.ir.structural_equal(ChangeDatatype("int8", "int16")(same), same)


def test_first_difference():
    def program(value, name="main"):
        x = relay.var("x", shape=(2,))
        return tvm.IRModule({name: relay.Function([x], relay.exp(x) + relay.const(value))})

    assert get_first_structural_mismatch(program(1.0), program(1.0)) is None
    place, other = get_first_structural_mismatch(program(1.0, "f.g"), program(2.0, "f.g"))
    assert place == other and str(place) == "<root>.functions['f.g'].body.args[1]"
    assert str(get_first_structural_mismatch({"a": [program(1.0)["main"]]}, {"a": [program(2.0)["main"]]})[0]) == "<root>['a'][0].body.args[1]"
    assert str(get_first_structural_mismatch(relay.TensorType((2,)), relay.TensorType((3,)))[0]) == "<root>.shape[0]"
    assert str(get_first_structural_mismatch(1, 2)[0]) == "<root>"


def test_places():
    root = ObjectPath.root()
    place = root.attr("body").attr("args").array_index(1).map_value("k")
    assert str(place) == "<root>.body.args[1]['k']" and len(place) == 5 and place.parent == root.attr("body").attr("args").array_index(1)
    assert place.get_prefix(2) == root.attr("body") and root.is_prefix_of(place) and place.is_prefix_of(place)
    assert not root.attr("op").is_prefix_of(place) and not place.is_prefix_of(root) and root.array_index(0) != root.map_value(0)
    assert {root.attr("a"): 1}[ObjectPath.root().attr("a")] == 1 and str(ObjectPath.root("lhs").attr("a")) == "lhs.a"
    with pytest.raises(IndexError, match="a prefix has 1 to 5 steps, not 6"):
        place.get_prefix(6)


def test_views_of_an_array():
    array = tvm.nd.array(np.arange(6, dtype="float32"))
    rows = array._create_view((2, 3))
    rows[1] = np.zeros(3, "float32")
    assert (array.numpy() == [0, 1, 2, 0, 0, 0]).all() and rows._create_view((2,), "int32", 12).numpy().tolist() == [0, 0]
    for given in [((7,),), ((2,), "float64", 20), ((-1,),), ((1,), None, -4)]:
        with pytest.raises(ValueError, match="does not lie in an array of 24 bytes"):
            array._create_view(*given)


def test_hosts_and_features_of_targets():
    target = tvm.target.Target
    assert target("cuda", host="llvm") != target("cuda", host="llvm -mcpu=haswell") and target("llvm") != target("llvm", host="llvm")
    assert target("cuda", host="llvm") == target({"kind": "cuda", "host": "llvm"}) and len({target("llvm"), target("llvm -keys=cpu")}) == 1
    assert target("llvm").features.has_asimd is None and target("llvm").features.target == target("llvm")
    with pytest.raises(AttributeError, match="a target has no feature '_private'"):
        target("llvm").features._private


def test_floats_in_attributes_are_compared_as_float32():
    x = relay.var("x", shape=(2,))
    one, other, third = (relay.Function([x], relay.nn.leaky_relu(x, alpha)) for alpha in (1e-5, float(np.float32(1e-5)), 1.1e-5))
    assert tvm.ir.structural_equal(one, other) and not tvm.ir.structural_equal(one, third)
    assert tvm.ir.structural_equal(tvm.IRModule.from_expr(one), tvm.IRModule.from_expr(other))
    with pytest.raises(ValueError, match="body: attributes"):
        tvm.ir.assert_structural_equal(one, third)


def test_categories_of_mixed_precision():
    from tvm.relay.transform import mixed_precision as mixed

    x = relay.var("x", shape=(2, 3))
    dense, relu = relay.nn.dense(x, x), relay.nn.relu(x)
    assert mixed.generic_always_op(dense, "float16") == [mixed.MIXED_PRECISION_ALWAYS, "float32", "float16"]
    assert mixed.generic_follow_op(relu, "float16") == [mixed.MIXED_PRECISION_FOLLOW, "float16", "float16"]
    assert mixed.generic_never_op(relu, "bfloat16")[0] == mixed.MIXED_PRECISION_NEVER == 2
    key = "FTVMMixedPrecisionConversionType"
    try:
        mixed.register_func_to_op_list(["tan"])(mixed.generic_always_op)
        assert relay.op.get("tan").get_attr(key) is mixed.generic_always_op
        with pytest.raises(tvm.TVMError, match="operator tan has FTVMMixedPrecisionConversionType of level 10 already"):
            mixed.register_func_to_op_list(["tan"])(mixed.generic_never_op)
    finally:
        relay.op.get("tan").reset_attr(key)


def test_a_model_with_names_at_all_nodes(tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    branch = helper.make_graph([helper.make_node("Neg", ["x"], ["b"])], "branch", [], [helper.make_tensor_value_info("b", 1, [2])])
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Relu", ["r"], ["s"], name="Relu_0"), helper.make_node("Relu", ["s"], ["t"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]  # fmt: skip
    inputs = [helper.make_tensor_value_info("x", 1, [2]), helper.make_tensor_value_info("c", 9, [])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, [2]), helper.make_tensor_value_info("t", 1, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    onnx.save(model, str(tmp_path / "model.onnx"))
    for given in (model, model.SerializeToString(), str(tmp_path / "model.onnx")):
        folder = tmp_path / type(given).__name__
        relay.frontend.from_onnx(given, export_node_renamed_model_path=str(folder))
        (path,) = folder.glob("tvm_exported_model_*.onnx")
        named = onnx.load(str(path)).graph
        assert [node.name for node in named.node] == ["Relu_1", "Relu_0", "Relu_2", "If_0"]
        assert [attribute.g.node[0].name for attribute in named.node[3].attribute] == ["Neg_0", "Neg_1"]
    assert not model.graph.node[0].name
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="by the package onnx, which is not installed"):
        relay.frontend.from_onnx(model, export_node_renamed_model_path=str(tmp_path))
