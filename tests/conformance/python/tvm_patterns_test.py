"""tvm.relay.dataflow_pattern: constructs and what they match."""

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.dataflow_pattern import *  # noqa: F403
from tvm.relay.dataflow_pattern import (
    AltPattern, AttrPattern, CallPattern, ConstantPattern, DataTypePattern, DominatorPattern, ExprPattern, FunctionPattern, IfPattern,
    LetPattern, ShapePattern, TupleGetItemPattern, TuplePattern, TypePattern, VarPattern, WildcardPattern,
)  # fmt: skip

K_ELEMWISE, K_BROADCAST, K_INJECTIVE = 0, 1, 2
x, y, z = (relay.var(name, shape=(4, 4)) for name in "xyz")


# ---- What the constructs are --------------------------------------------------------------------


def test_expr_pattern():
    pattern = is_expr(x)
    assert isinstance(pattern, ExprPattern) and pattern.expr.same_as(x)


def test_op_pattern():
    pattern = is_op("add")
    assert isinstance(pattern, ExprPattern) and pattern.expr == relay.op.get("add")


def test_op_pattern_of_an_unknown_operator():
    with pytest.raises(AttributeError, match="nn.conv2d"):
        is_op("nn.conf2d")


def test_var_pattern():
    assert isinstance(is_var("x"), VarPattern) and is_var("x").name == "x" and is_var().name == ""


def test_wildcard_and_constant():
    assert isinstance(wildcard(), WildcardPattern)
    assert isinstance(is_constant(), ConstantPattern)


def test_call_pattern():
    a, b = wildcard(), is_var("x")
    pattern = is_op("add")(a, b)
    assert isinstance(pattern, CallPattern) and pattern.op.expr.name == "add"
    assert len(pattern.args) == 2 and pattern.args[0] is a and pattern.args[1] is b
    assert is_op("add")(None).args is None
    assert list(is_op("add")().args) == []


def test_arithmetic_on_patterns():
    a, b = wildcard(), wildcard()
    for pattern, name in ((a + b, "add"), (a - b, "subtract"), (a * b, "multiply"), (a / b, "divide")):
        assert isinstance(pattern, CallPattern) and pattern.op.expr.name == name and pattern.args[1] is b


def test_arithmetic_with_what_is_no_pattern():
    with pytest.raises(TypeError):
        wildcard() + 1


def test_function_pattern():
    a, b = wildcard(), wildcard()
    pattern = FunctionPattern([a, b], is_op("add")(a, b))
    assert [p is q for p, q in zip(pattern.params, (a, b))] == [True, True]
    assert isinstance(pattern.body, CallPattern)


def test_tuple_patterns():
    a, b = wildcard(), wildcard()
    pattern = is_tuple([a, b])
    assert isinstance(pattern, TuplePattern) and len(pattern) == 2 and pattern[0] is a and pattern[1] is b and pattern[-1] is b
    with pytest.raises(IndexError):
        pattern[2]
    assert is_tuple(None).fields is None
    item = is_tuple_get_item(pattern, 1)
    assert isinstance(item, TupleGetItemPattern) and item.tuple is pattern and item.index == 1


def test_if_and_let_patterns():
    c, t, f = is_var("c"), wildcard(), wildcard()
    assert isinstance(is_if(c, t, f), IfPattern) and is_if(c, t, f).true_branch is t
    assert isinstance(is_let(c, t, f), LetPattern) and is_let(c, t, f).body is f


def test_alternatives():
    a, b = is_op("add"), is_op("multiply")
    assert isinstance(a | b, AltPattern) and (a | b).left is a and (a | b).right is b


def test_constraints():
    a = wildcard()
    assert isinstance(a.has_type(relay.TensorType((2,), "float32")), TypePattern)
    assert isinstance(a.has_dtype("int8"), DataTypePattern) and a.has_dtype("int8").dtype == "int8"
    assert isinstance(a.has_shape((2, 3)), ShapePattern) and [int(d) for d in a.has_shape((2, 3)).shape] == [2, 3]
    assert isinstance(a.has_attr({"axis": 1}), AttrPattern) and a.has_attr({"axis": 1}).attrs["axis"] == 1
    assert has_dtype("int8").pattern is not None and has_dtype("int8", a).pattern is a
    assert isinstance(has_shape((1,)), ShapePattern) and isinstance(has_attr({"a": 1}, a), AttrPattern)


def test_dominator_pattern():
    parent, path, child = is_op("nn.conv2d")(wildcard(), wildcard()), wildcard(), wildcard()
    pattern = dominates(parent, path, child)
    assert isinstance(pattern, DominatorPattern)
    assert pattern.parent is parent and pattern.path is path and pattern.child is child
    assert child.dominates(parent).parent is parent and isinstance(child.dominates(parent).path, WildcardPattern)


def test_optional():
    pattern = is_op("nn.dense")(wildcard(), wildcard()).optional(lambda p: is_op("nn.relu")(p))
    assert isinstance(pattern, AltPattern) and isinstance(pattern.left, CallPattern)


def test_patterns_are_objects():
    assert isinstance(wildcard(), tvm.runtime.Object) and isinstance(wildcard(), DFPattern)
    pattern = wildcard()
    assert pattern.same_as(pattern) and not pattern.same_as(wildcard()) and pattern == pattern


def test_wrong_parts_say_what_they_are():
    with pytest.raises(TypeError, match=r"arguments of a CallPattern\[0\]"):
        is_op("exp")(x)
    with pytest.raises(TypeError):
        TuplePattern("ab")
    with pytest.raises(TypeError, match="has_attr: axis is"):
        wildcard().has_attr({"axis": object()})


# ---- Matching ---------------------------------------------------------------------------------------


def test_match_var():
    assert is_var("x").match(x) and is_var().match(x) and not is_var("y").match(x)
    assert not is_var().match(x + y)


def test_match_constant():
    assert is_constant().match(relay.const(1.0)) and not is_constant().match(x)
    assert is_expr(relay.const(1.0)).match(relay.const(1.0)) and not is_expr(relay.const(1.0)).match(relay.const(2.0))


def test_match_op_and_alternatives():
    assert is_op("add").match(relay.op.get("add")) and not is_op("add").match(relay.op.get("subtract"))
    either = is_op("add") | is_op("subtract")
    assert either(wildcard(), wildcard()).match(x - y) and not either(wildcard(), wildcard()).match(x * y)


def test_match_call_commutes():
    assert is_op("add")(is_var("x"), is_var("y")).match(x + y) and is_op("add")(is_var("x"), is_var("y")).match(y + x)
    assert is_op("multiply")(is_var("y"), is_var("x")).match(x * y)
    assert not is_op("subtract")(is_var("y"), is_var("x")).match(x - y)


def test_match_any_arguments():
    assert is_op("add")(None).match(x + y) and not is_op("add")(None).match(x - y)
    assert wildcard()(None).match(relay.concatenate([x, y], 0))
    assert not is_op("add")().match(x + y)


def test_match_call_of_a_function():
    f = relay.Function([x, y], x + y)
    call = relay.Call(f, [z, z])
    assert wildcard()(wildcard(), wildcard()).match(call) and not wildcard()(wildcard()).match(call)
    assert FunctionPattern([wildcard(), wildcard()], wildcard())(is_var("z"), is_var("z")).match(call)


def test_match_associates_products_and_quotients():
    a, b, c = is_var("x"), is_var("y"), is_var("z")
    assert (a * b / c).match(x * (y / z)) and (a * b / c).match(y * (x / z)) and (a * b / c).match((y * x) / z)
    assert (a * (b / c)).match((x * y) / z) and ((b / c) * a).match((x * y) / z)
    assert not (a * b / c).match(z * (x / y))


def test_match_function():
    a, b = wildcard(), wildcard()
    pattern = FunctionPattern([a, b], a - b)
    assert pattern.match(relay.Function([x, y], x - y)) and not pattern.match(relay.Function([x, y], y - x))
    assert not pattern.match(relay.Function([x], x - x))
    assert FunctionPattern(None, wildcard() - wildcard()).match(relay.Function([x], x - x))


def test_match_attributes_of_a_function():
    function = relay.Function([x], x).with_attr("Composite", "add")
    pattern = FunctionPattern([wildcard()], wildcard())
    assert pattern.has_attr({"Composite": "add"}).match(function)
    assert not pattern.has_attr({"Composite": "sub"}).match(function)
    assert not pattern.has_attr({"Composite": "add"}).match(relay.Function([x], x))


def test_match_if():
    cond = relay.var("c", shape=(), dtype="bool")
    expr = relay.If(cond, x + y, x - y)
    assert is_if(is_var("c"), is_op("add")(None), is_op("subtract")(None)).match(expr)
    assert not is_if(is_var("c"), is_op("subtract")(None), is_op("add")(None)).match(expr)


def test_match_let():
    v = relay.var("v")
    expr = relay.Let(v, x + y, v * v)
    assert is_let(is_var("v"), is_op("add")(None), is_op("multiply")(None)).match(expr)
    inner = is_var()
    assert is_let(inner, wildcard(), inner * inner).match(expr)
    assert not is_let(is_var("w"), wildcard(), wildcard()).match(expr)


def test_match_tuples():
    expr = relay.Tuple([x, y, x + y])
    assert is_tuple([is_var("x"), wildcard(), is_op("add")(None)]).match(expr) and is_tuple(None).match(expr)
    assert not is_tuple([is_var("x"), wildcard()]).match(expr)
    item = relay.TupleGetItem(expr, 1)
    assert is_tuple_get_item(is_tuple(None), 1).match(item) and is_tuple_get_item(wildcard()).match(item)
    assert not is_tuple_get_item(wildcard(), 2).match(item)


def test_match_types():
    assert has_type(relay.TensorType((4, 4), "float32")).match(x + y)
    assert not has_type(relay.TensorType((4, 4), "int8")).match(x + y)
    assert has_dtype("float32").match(x) and not has_dtype("int8").match(x)
    assert has_shape((4, 4)).match(x + y) and not has_shape((4, 5)).match(x + y) and not has_shape((4,)).match(x)


def test_match_types_inside():
    pattern = is_op("add")(has_shape((4, 4)), has_dtype("float32", is_op("exp")(wildcard())))
    assert pattern.match(relay.add(x, relay.exp(y))) and not pattern.match(relay.add(x, relay.log(y)))


def test_match_dynamic_shape():
    d = relay.var("d", shape=(relay.Any(), 4))
    assert has_shape((relay.Any(), 4)).match(d) and not has_shape((4, 4)).match(d)


def test_match_attributes_of_an_operator():
    elementwise = wildcard().has_attr({"TOpPattern": K_ELEMWISE})
    assert elementwise.match(relay.op.get("nn.relu")) and not elementwise.match(relay.op.get("add"))
    assert wildcard().has_attr({"TOpPattern": K_BROADCAST})(wildcard(), wildcard()).match(x + y)
    assert not wildcard().has_attr({"TOpPattern": "nothing"}).match(relay.op.get("add"))
    assert not wildcard().has_attr({"TNothing": 1}).match(relay.op.get("add"))


def test_match_attributes_that_a_script_registers():
    tvm.ir.register_op_attr("tan", "TMyTarget", "fast")
    try:
        assert is_op("tan").has_attr({"TMyTarget": "fast"})(wildcard()).match(relay.tan(x))
        assert not wildcard().has_attr({"TMyTarget": "fast"})(wildcard()).match(relay.exp(x))
    finally:
        relay.op.get("tan").reset_attr("TMyTarget")
    assert not is_op("tan").has_attr({"TMyTarget": "fast"})(wildcard()).match(relay.tan(x))


def test_match_attributes_of_a_call():
    data, weight = relay.var("d", shape=(1, 4, 8, 8)), relay.var("w", shape=(8, 4, 3, 3))
    conv = relay.nn.conv2d(data, weight, strides=(2, 2), padding=(1, 1), kernel_size=(3, 3), channels=8)
    pattern = is_op("nn.conv2d")(wildcard(), wildcard())
    for attrs in ({"strides": [2, 2]}, {"data_layout": "NCHW"}, {"channels": 8}, {"groups": 1}, {"kernel_size": [3, 3]},
                  {"padding": [1, 1, 1, 1]}, {"strides": [2, 2], "data_layout": "NCHW"}):  # fmt: skip
        assert pattern.has_attr(attrs).match(conv), attrs
    for attrs in ({"strides": [1, 1]}, {"data_layout": "NHWC"}, {"channels": 4}, {"no_such": 1}, {"channels": 8, "groups": 2}):
        assert not pattern.has_attr(attrs).match(conv), attrs


def test_match_dtype_attribute():
    cast = is_op("cast")(wildcard())
    assert cast.has_attr({"dtype": "int8"}).match(relay.cast(x, "int8")) and not cast.has_attr({"dtype": "int8"}).match(relay.cast(x, "int16"))


def test_match_float_and_bool_attributes():
    assert is_op("nn.leaky_relu")(wildcard()).has_attr({"alpha": 0.5}).match(relay.nn.leaky_relu(x, alpha=0.5))
    total = relay.sum(x, axis=1, keepdims=True)
    assert is_op("sum")(wildcard()).has_attr({"keepdims": True}).match(total)
    assert not is_op("sum")(wildcard()).has_attr({"keepdims": False}).match(total)
    assert is_op("sum")(wildcard()).has_attr({"axis": [1]}).match(total)


def test_no_call_attributes_no_match():
    assert not is_op("add")(wildcard(), wildcard()).has_attr({"strides": [1]}).match(x + y)
    assert not wildcard().has_attr({"strides": [1]}).match(x)


def test_the_same_pattern_is_the_same_node():
    a = wildcard()
    assert (a + a).match(x + x) and not (a + a).match(x + y)
    e = relay.exp(x)
    assert is_op("subtract")(a, a).match(e - e)
    assert not is_op("subtract")(a, a).match(relay.exp(x) - relay.exp(x))


def test_diamond():
    stem = is_op("nn.relu")(wildcard())
    pattern = is_op("add")(is_op("exp")(stem), is_op("log")(stem))
    r = relay.nn.relu(x)
    assert pattern.match(relay.exp(r) + relay.log(r))
    assert not pattern.match(relay.exp(relay.nn.relu(x)) + relay.log(relay.nn.relu(x)))


def test_failed_alternatives_leave_nothing():
    a = wildcard()
    left, right = is_op("exp")(is_op("log")(a)), is_op("exp")(is_op("tanh")(a))
    assert (left | right).match(relay.exp(relay.tanh(x)))
    shared = is_op("subtract")(left | right, a)
    assert shared.match(relay.exp(relay.tanh(x)) - x) and not shared.match(relay.exp(relay.tanh(x)) - y)


def test_commuting_operands_give_way_to_later_parts():
    a = wildcard()
    pattern = is_op("subtract")(a + wildcard(), a)
    assert pattern.match((x + y) - y) and pattern.match((x + y) - x) and not pattern.match((x + y) - z)


def test_optional_forms():
    dense = is_op("nn.dense")(wildcard(), wildcard())
    pattern = dense.optional(lambda p: is_op("nn.bias_add")(p, wildcard())).optional(lambda p: is_op("nn.relu")(p))
    w, b = relay.var("w", shape=(4, 4)), relay.var("b", shape=(4,))
    d = relay.nn.dense(x, w)
    assert all(pattern.match(e) for e in (d, relay.nn.bias_add(d, b), relay.nn.relu(d), relay.nn.relu(relay.nn.bias_add(d, b))))
    assert not pattern.match(relay.tanh(d))


def test_recursive_pattern():
    chain = wildcard()
    chain.redirect_to(is_op("nn.relu")(chain) | is_var("x"))
    deep = x
    for _ in range(7):
        deep = relay.nn.relu(deep)
    assert chain.match(deep) and chain.match(x) and not chain.match(relay.nn.relu(y))


def test_redirect_twice():
    a = wildcard()
    a.redirect_to(is_var())
    assert a.match(x) and not a.match(x + y)
    with pytest.raises(tvm.TVMError):
        a.redirect_to(is_constant())


def test_match_through_module_level_function():
    assert match(is_op("add")(wildcard(), wildcard()), x + y)
    assert not match(is_op("exp")(wildcard()), x + y)


def test_match_of_a_typed_module():
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.nn.relu(x + y)))
    mod = relay.transform.InferType()(mod)
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard())).has_dtype("float32")
    assert pattern.match(mod["main"].body)


# ---- Dominators ---------------------------------------------------------------------------------------

UNARY = wildcard().has_attr({"TOpPattern": K_ELEMWISE})(wildcard())
BINARY = is_op("add")(wildcard(), wildcard()) | is_op("multiply")(wildcard(), wildcard())


def conv(data, weight):
    return relay.nn.conv2d(data, weight, padding=(1, 1))


DATA, WEIGHT = relay.var("d", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
IS_CONV = is_op("nn.conv2d")(wildcard(), wildcard())


def test_dominator_chain():
    pattern = is_op("nn.relu")(wildcard()).dominates(IS_CONV, UNARY)
    assert pattern.match(relay.nn.relu(relay.exp(relay.tanh(conv(DATA, WEIGHT)))))
    assert pattern.match(relay.nn.relu(conv(DATA, WEIGHT)))
    assert not pattern.match(relay.nn.relu(relay.nn.softmax(conv(DATA, WEIGHT))))
    assert not pattern.match(relay.nn.relu(relay.exp(DATA)))


def test_dominator_diamond():
    pattern = BINARY.dominates(IS_CONV, UNARY | BINARY)
    c = conv(DATA, WEIGHT)
    left, right = relay.exp(c), relay.nn.relu(relay.tanh(c))
    assert pattern.match(left + right)
    assert pattern.match(relay.multiply(left, c))
    assert pattern.match((left + right) * relay.negative(left))


def test_dominator_needs_one_parent():
    pattern = BINARY.dominates(IS_CONV, UNARY)
    assert not pattern.match(relay.exp(conv(DATA, WEIGHT)) + relay.tanh(conv(DATA, WEIGHT)))
    assert not pattern.match(relay.exp(conv(DATA, WEIGHT)) + DATA)


def test_dominator_needs_all_uses_of_the_parent():
    pattern = BINARY.dominates(IS_CONV, UNARY)
    c = conv(DATA, WEIGHT)
    total = relay.exp(c) + relay.tanh(c)
    assert pattern.match(total)
    cut = pattern.partition(relay.Tuple([total, c]))
    tvm.ir.assert_structural_equal(cut, relay.Tuple([total, c]))


def test_dominated_parent_with_parts():
    bias = is_op("nn.bias_add")(IS_CONV, wildcard())
    pattern = is_op("nn.relu")(wildcard()).dominates(bias, UNARY)
    b = relay.var("b", shape=(4,))
    assert pattern.match(relay.nn.relu(relay.exp(relay.nn.bias_add(conv(DATA, WEIGHT), b))))
    assert not pattern.match(relay.nn.relu(relay.exp(conv(DATA, WEIGHT))))


# ---- Depth, text ---------------------------------------------------------------------------------------


def test_deep_patterns_and_programs():
    expr, pattern = x, is_var("x")
    for _ in range(20000):
        expr, pattern = relay.exp(expr), is_op("exp")(pattern)
    assert pattern.match(expr) and not is_op("exp")(pattern).match(expr)
    assert wildcard()(wildcard()).match(expr)
    assert len(str(pattern)) > 20000


def test_too_many_ways_to_match_is_an_error():
    pattern, expr = is_constant(), x
    for _ in range(40):
        pattern, expr = wildcard() + pattern, expr + (expr + expr)
    with pytest.raises(tvm.TVMError, match="too many steps"):
        pattern.match(expr)


@pytest.mark.parametrize("pattern, text", [
    (wildcard(), "_"), (is_var(), "var"), (is_var("x"), 'var("x")'), (is_constant(), "const"), (is_op("nn.relu"), "nn.relu"),
    (is_op("add")(wildcard(), is_constant()), "add(_, const)"), (is_op("add")(None), "add(..)"), (is_tuple(None), "(..)"),
    (is_tuple([wildcard()]), "(_,)"), (is_tuple_get_item(wildcard(), 2), "_.2"), (is_tuple_get_item(wildcard()), "_._"),
    (is_op("exp")(wildcard()) | is_op("log")(wildcard()), "exp(_) | log(_)"),
    (is_if(is_var(), wildcard(), wildcard()), "if (var) { _ } else { _ }"), (is_let(is_var(), wildcard(), wildcard()), "let var = _; _"),
    (FunctionPattern(None, wildcard()), "fn (..) { _ }"), (FunctionPattern([wildcard()], wildcard()), "fn (_) { _ }"),
    (is_op("nn.softmax")(wildcard()).has_attr({"axis": 1}), "nn.softmax(_, axis=1)"),
    (wildcard().has_attr({"TOpPattern": 0}), "_.has_attr(TOpPattern=0)"), (has_dtype("int8"), "_.has_dtype(int8)"),
    (has_shape((2, 3)), "_.has_shape((2, 3))"), (has_type(relay.TensorType((2,), "int8")), "_.has_type(Tensor[(2), int8])"),
    (dominates(is_var("a"), wildcard(), is_var("b")), 'dominates(var("a"), _, var("b"))'),
])  # fmt: skip
def test_text(pattern, text):
    assert str(pattern) == pattern.astext() == text
    assert relay.dataflow_pattern.patterns_equal(relay.dataflow_pattern.parse(text), pattern)


def test_text_keeps_sharing():
    a = wildcard()
    pattern = is_op("subtract")(is_op("exp")(a), a)
    assert str(pattern) == "subtract(exp(%0), %0)"
    again = relay.dataflow_pattern.parse(str(pattern))
    assert relay.dataflow_pattern.patterns_equal(again, pattern)
    assert again.match(relay.exp(x) - x) and not again.match(relay.exp(x) - y)


def test_text_of_a_recursive_pattern():
    chain = wildcard()
    chain.redirect_to(is_op("exp")(chain) | is_var("x"))
    assert str(chain) == 'rec(%0, exp(%0) | var("x"))'
    again = relay.dataflow_pattern.parse(str(chain))
    assert again.match(relay.exp(relay.exp(x))) and not again.match(relay.exp(y))


def test_text_that_is_none():
    with pytest.raises(tvm.TVMError, match="there is no operator nn.conv2e"):
        relay.dataflow_pattern.parse("nn.conv2e(_, _)")


def test_astext_and_pretty_print(capsys):
    from tvm.relay import dataflow_pattern

    dataflow_pattern.pretty_print(is_op("exp")(wildcard()))
    assert capsys.readouterr().out == "exp(_)\n"
    assert dataflow_pattern.astext(is_constant()) == "const"
    with pytest.raises(NotImplementedError):
        is_constant().astext(annotate=str)


def test_other_names_of_the_module():
    from tvm.relay import dataflow_pattern

    @dataflow_pattern.register_df_node
    class Mine(DFPattern.__base__):
        pass

    @dataflow_pattern.register_df_node("Other")
    class Other:
        pass

    assert dataflow_pattern.get("add") == relay.op.get("add") and Other.__name__ == "Other" and Mine is not None


def test_weights_bound_as_parameters():
    mod = tvm.IRModule.from_expr(relay.Function([DATA, WEIGHT], relay.nn.relu(conv(DATA, WEIGHT))))
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), is_constant()))
    assert not pattern.match(mod["main"].body)
    bound = bind_params_by_name(mod["main"], {"w": tvm.nd.array(np.ones((4, 4, 3, 3), "float32"))})
    assert pattern.match(bound.body)


def test_names_and_references_are_read_from_text():
    from relay.dataflow_pattern import NamePattern, NodePattern, parse

    call = parse("@f(ref_read(%r))")
    assert isinstance(call.op, NamePattern) and call.op.name == "f" and call.op.is_global
    assert isinstance(call.args[0], NodePattern) and len(call.args[0].operands) == 1
    assert str(call) == "@f(ref_read(%r))"
    f, r = relay.GlobalVar("f"), relay.var("r")
    assert call.match(relay.Call(f, [relay.RefRead(r)])) and not call.match(relay.Call(f, [r]))
