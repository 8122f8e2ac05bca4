"""Nodes of the IR: constructors, fields, equality, hashing, JSON."""
import numpy as np
import pytest

import tvm
from tvm import relay, te
from tvm.ir import load_json, save_json, structural_equal, structural_hash
from tvm.relay.expr import const


def check_json_roundtrip(node):
    json_str = tvm.ir.save_json(node)
    back = tvm.ir.load_json(json_str)
    assert tvm.ir.structural_equal(back, node, map_free_vars=True)


def test_span():
    span = relay.Span(relay.SourceName("file.rly"), 1, 2, 3, 4)
    assert (span.line, span.end_line, span.column, span.end_column) == (1, 2, 3, 4) and span.source_name.name == "file.rly"


def test_constants():
    c = relay.const([1.0, 2.0])
    assert c.data.dtype == "float32" and c.data.shape == (2,) and relay.const(1).data.dtype == "int32" and relay.const(True).data.dtype == "bool"
    assert relay.const(np.ones(3)).data.dtype == "float32" and relay.const(np.ones(3), "float64").data.dtype == "float64" and relay.const(3, "int8").data.dtype == "int8"
    assert relay.Constant(tvm.nd.array(np.zeros(2, "int64"))).data.numpy().tolist() == [0, 0]
    check_json_roundtrip(c)


def test_variables_and_lets():
    x = relay.Var("x", relay.TensorType((1, 2)))
    assert x.name_hint == "x" and x.type_annotation == relay.TensorType((1, 2))
    lv = relay.Let(x, const(1.0), x)
    assert lv.var == x and lv.body.same_as(x) and lv.value.data.numpy() == 1.0
    check_json_roundtrip(lv)


def test_functions_and_calls():
    p = relay.var("p", shape=(2,))
    f = relay.Function([p], p + p, ret_type=relay.TensorType((2,)), attrs=None).with_attr("Primitive", tvm.tir.IntImm("int32", 1))
    f = f.with_attr({"note": "text", "numbers": [1, 2]})
    assert f.attrs["note"] == "text" and int(f.attrs.Primitive) == 1 and list(f.attrs["numbers"]) == [1, 2]
    assert "note" not in f.without_attr("note").attrs.keys()
    call = relay.Call(f, [relay.var("a", shape=(2,))])
    assert call.op == f and len(call.args) == 1
    check_json_roundtrip(f)


def test_equality_and_hash():
    def build(name):
        v = relay.var(name, shape=(te.var("n"),))
        return relay.Function([v], relay.exp(v))

    assert structural_equal(build("x"), build("y")) and structural_hash(build("x")) == structural_hash(build("y"))
    a, b = relay.var("a"), relay.var("b")
    assert not structural_equal(a, b) and structural_equal(a, b, map_free_vars=True)
    with pytest.raises(ValueError):
        tvm.ir.assert_structural_equal(relay.exp(a), relay.log(a))
    assert relay.const(1) != relay.const(1) and a == a


def test_types():
    tv = relay.TypeVar("t")
    ft = relay.FuncType([tv], relay.TupleType([tv, relay.scalar_type("bool")]), [tv])
    assert ft.type_params[0].name_hint == "t" and len(ft.ret_type.fields) == 2
    assert relay.TensorType([10, 1], "int8").concrete_shape == (10, 1)
    check_json_roundtrip(ft)
    assert relay.GlobalTypeVar("List")(relay.scalar_type("int32")).func.name_hint == "List"


def test_attributes_of_operators():
    call = relay.nn.conv2d(relay.var("x", shape=(1, 3, 8, 8)), relay.var("w"), strides=(2, 2), kernel_size=(3, 3), channels=4)
    assert set(call.attrs.keys()) >= {"strides", "padding", "groups"} and call.attrs["groups"] == 1 and call.attrs.get_int("channels") == 4
    assert isinstance(call.attrs, tvm.ir.Attrs)
    again = relay.Call(call.op, call.args, call.attrs)
    assert tvm.ir.structural_equal(again, call)


def test_modules():
    mod = tvm.IRModule()
    x = relay.var("x", "float32")
    g = relay.GlobalVar("g")
    mod[g] = relay.Function([x], x)
    assert mod.get_global_var("g") == g
    assert [v.name_hint for v in mod.functions] == ["g"] and len(mod.functions.items()) == 1
    with pytest.raises(Exception):
        mod.get_global_var("h")
    other = tvm.IRModule.from_expr(relay.const(1.0))
    mod.update(other)
    assert {v.name_hint for v in mod.get_global_vars()} == {"g", "main"} and tvm.ir.structural_equal(load_json(save_json(mod)), mod)


if __name__ == "__main__":
    pytest.main([__file__])
