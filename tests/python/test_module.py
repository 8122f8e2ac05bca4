"""Modules, checking, equality, text."""

import numpy as np
import pytest

import relay


def test_from_expr_takes_free_variables_in_order():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = relay.IRModule.from_expr(y + x)
    assert [param.name_hint for param in mod["main"].params] == ["y", "x"]
    named = relay.IRModule.from_expr(relay.Function([], relay.const(1)).with_attr("global_symbol", "f"))
    assert named.function_names == ["f"]


def test_functions_by_name():
    mod = relay.parse("def @f(%x: int32) { %x } def @main(%x: int32) { @f(%x) }")
    f = mod.get_global_var("f")
    assert f == relay.GlobalVar("f") and mod[f] is mod["f"] and [v.name_hint for v in mod.get_global_vars()] == ["f", "main"]
    assert mod.functions[f] is mod["f"] and len(mod.functions) == 2 and "f" in mod and f in mod and "g" not in mod
    with pytest.raises(KeyError, match="it has @f, @main"):
        mod["g"]
    with pytest.raises(KeyError, match="no function @g"):
        mod.get_global_var("g")
    with pytest.raises(TypeError, match="mod.functions"):
        list(mod)
    with pytest.raises(TypeError):
        mod["g"] = 3
    with pytest.raises(TypeError, match="by its name or a GlobalVar"):
        mod[3]


def test_update_replaces_and_adds():
    mod = relay.parse("def @f() { 1 } def @g() { 1 }")
    mod.update(relay.parse("type T { A, }\ndef @g() { 2 } def @h() { A }"))
    assert sorted(mod.function_names) == ["f", "g", "h"] and mod["g"].body.value == 2
    mod.update_func(mod.get_global_var("f"), mod["g"])
    assert mod["f"] is mod["g"] and mod.get_type("T")[1].name_hint == "A"


def test_parse_errors_are_exceptions_with_parts():
    with pytest.raises(relay.RelayError) as caught:
        relay.parse("def @main(%x) {\n  foo(%x)\n}", "model.rly")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.severity == "error" and "foo" in diagnostic.message
    assert (diagnostic.span.source_name, diagnostic.span.line, diagnostic.span.column) == ("model.rly", 2, 3)
    assert "--> model.rly:2:3" in str(caught.value) and "^^^" in str(caught.value)


def test_check_reports_everything_at_once():
    mod = relay.parse(
        "def @f(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { add(%x, %y) }\ndef @g(%x: int32) { nn.dense(%x, %x) }"
    )
    with pytest.raises(relay.RelayError) as caught:
        relay.check(mod)
    assert len(caught.value.diagnostics) >= 2
    assert ":1:" in str(caught.value) and ":2:" in str(caught.value)


def test_check_finds_bad_form():
    x = relay.var("x", "int32")
    twice = relay.Function([x], relay.Let(x, x, x))
    with pytest.raises(relay.RelayError) as caught:
        relay.check(twice)
    assert caught.value.diagnostics


def test_types_are_on_nodes_after_check():
    x = relay.var("x", shape=(2, 3))
    y = relay.sum(x, axis=1)
    with pytest.raises(ValueError, match="no type yet"):
        y.checked_type
    relay.check(relay.Function([x], y))
    assert y.checked_type == relay.TensorType((2,)) and "ty=Tensor[(2), float32]" in repr(y)


def test_text_parses_back():
    text = 'def @main(%x: Tensor[(2), float32]) { add(%x, meta[relay.Constant][0]) }'
    x = relay.var("x", shape=(2,))
    mod = relay.IRModule.from_expr(relay.Function([x], x + relay.const(np.array([1.5, -0.0], "float32"))))
    assert text.split("{")[0] in mod.astext()
    relay.assert_structural_equal(relay.parse(mod.astext()), mod)
    assert relay.astext(mod) == mod.astext() and relay.astext(relay.TensorType((2,))) == "Tensor[(2), float32]"
    assert isinstance(relay.fromtext("def @f() { 1 }"), relay.IRModule)
    assert isinstance(relay.fromtext("fn (%x: int32) { %x }"), relay.Function)


def test_structural_equality():
    a, b = (relay.parse("def @main(%x: int32) { let %y = add(%x, 1); multiply(%y, %y) }") for _ in range(2))
    assert relay.structural_equal(a, b) and relay.structural_hash(a) == relay.structural_hash(b)
    x, y = relay.var("x"), relay.var("x")
    assert not relay.structural_equal(x, y) and relay.structural_equal(x, y, map_free_vars=True)
    assert relay.structural_equal([x, {"a": 1}], [x, {"a": 1}]) and not relay.structural_equal([x], [x, x])
    with pytest.raises(TypeError, match="not part of a program"):
        relay.structural_equal(x, object())
    with pytest.raises(TypeError, match="not part of a program"):
        relay.structural_hash(object())


def test_hash_of_containers():
    def parts():
        fields = relay.Function([], relay.const(1)).with_attr({"a": 1, "b": [1, "x"]}).attrs
        return [1, 2.5, "text", None, [1, 2], [2, 1], {"a": 1, "b": [2]}, {"a": [2], "b": 1}, relay.const(np.arange(3)).data,
                relay.const(np.arange(4)).data, fields, relay.TensorType((2, 3)), relay.Function([], relay.const(1))]  # fmt: skip

    one, two = parts(), parts()
    assert [relay.structural_hash(part) for part in one] == [relay.structural_hash(part) for part in two]
    assert len({relay.structural_hash(part) for part in one}) == len(one)
    assert relay.structural_hash({"a": 1, "b": 2}) == relay.structural_hash({"b": 2, "a": 1})
    assert relay.structural_hash(one) == relay.structural_hash(tuple(two)) and relay.structural_equal(one[:-1], tuple(two[:-1]))
    # The same in every process, whatever Python's seed for hashes of texts is.
    assert relay.structural_hash("text") == 7888950630063828382


def test_free_variables_stand_for_one_another():
    x, y, z = relay.var("x"), relay.var("y"), relay.var("z", shape=(2,))
    for same in ((x + x, y + y), (x + y, y + x), (relay.Tuple([x, y, x]), relay.Tuple([y, x, y]))):
        assert relay.structural_equal(*same, map_free_vars=True) and not relay.structural_equal(*same)
        assert relay.structural_hash(same[0], True) == relay.structural_hash(same[1], True)
    for different in ((x + x, x + y), (x + y, x + x), (x + x, z + z)):
        assert not relay.structural_equal(*different, map_free_vars=True)
        assert relay.structural_hash(different[0], True) != relay.structural_hash(different[1], True)
    assert "%x" in relay.structural_difference(x + x, x + y, map_free_vars=True)


def test_the_first_difference_is_a_path_with_both_sides():
    left = relay.parse("def @main(%x: int32) { if (less(%x, 3)) { add(%x, 1) } else { %x } }")
    right = relay.parse("def @main(%x: int32) { if (less(%x, 3)) { add(%x, 2) } else { %x } }")
    with pytest.raises(ValueError) as caught:
        relay.assert_structural_equal(left, right)
    text = str(caught.value)
    assert "@main.body.true_branch.args[1]: literal 1 against 2" in text
    assert "left:  1" in text and "right: 2" in text
    assert "@f is in one module only" in relay.structural_difference(relay.parse("def @f() { 1 }"), relay.IRModule())


def test_deep_differences_are_short():
    def chain(last):
        e = relay.const(last)
        for _ in range(20_000):
            e = relay.negative(e)
        return e

    difference = relay.structural_difference(chain(1), chain(2))
    assert "steps" in difference and len(difference) < 1000


def test_display():
    x = relay.var("x", shape=(2,))
    function = relay.Function([x], relay.nn.softmax(relay.exp(x) + x))
    drawing = function._repr_svg_()
    import xml.etree.ElementTree as tree

    root = tree.fromstring(drawing)
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"exp", "add", "nn.softmax", "%x"} <= set(texts)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) == 1 + 4
    html = relay.IRModule.from_expr(function)._repr_html_()
    assert "<pre" in html and "<svg" in html and "nn.softmax" in html
    assert "&lt;" in relay.parse_expr("fn <n : ShapeVar>(%x: Tensor[(n), float32]) { %x }")._repr_html_()
    e = x
    for _ in range(1000):
        e = e + x
    assert e._repr_svg_() is None and "<pre" in e._repr_html_()


def test_a_module_dies_and_its_nodes_stay():
    import gc

    mod = relay.parse("type T { A(int32), }\ndef @main(%x: int32) { add(%x, 1) }")
    body, data = mod["main"].body, mod.type_data("T")
    del mod
    gc.collect()
    assert body.args[1].value == 1 and data.constructors[0].name_hint == "A"


def test_expressions_of_one_module_in_another():
    first = relay.parse("type T { A(int32), }\ndef @f(%x: int32) { A(%x) }\ndef @g(%x: int32) { add(%x, 1) }")
    second = relay.IRModule()
    second["main"] = first["g"]
    assert relay.evaluate(second, np.int32(2)) == 3
    second["main"] = first["f"]
    with pytest.raises(relay.RelayError, match="constructor A belongs to no type of the module"):
        relay.check(second)


def test_text_may_use_what_a_module_has():
    prelude = relay.parse("type T { A(int32), B, }\ndef @f(%x: int32) { A(add(%x, 1)) }")
    mod = relay.parse("type U { C(T), }\ndef @main() { match (@f(1)) { A(%n) => C(A(%n)), B => C(B), } }", init_module=prelude)
    relay.check(mod)
    assert sorted(mod.function_names) == ["f", "main"] and prelude.function_names == ["f"]
    relay.assert_structural_equal(mod["f"], prelude["f"])
    value = relay.evaluate(mod)
    assert value.constructor == "C" and value.fields[0].fields[0] == 2
    with pytest.raises(relay.RelayError, match="from_string:1:15"):
        relay.parse("def @main() { D }", init_module=prelude)
    with pytest.raises(relay.RelayError):
        relay.parse("def @f() { 1 }", init_module=prelude)


def test_global_names_are_the_same_where_they_are_spelled_alike():
    mod = relay.parse("def @f(%x: int32) { %x }\ndef @main(%x: int32) { @f(%x) }")
    assert mod.get_global_var("f").same_as(mod.get_global_var("f"))
    assert mod["main"].body.op.same_as(mod.get_global_var("f"))
    assert not mod.get_global_var("f").same_as(mod.get_global_var("main"))
    assert not mod.get_global_var("f").same_as(None)
