"""Building expressions: nodes, constants, operators of Python, scopes."""

import copy
import pickle

import numpy as np
import pytest

import relay


def vec(name="x", n=3, dtype="float32"):
    return relay.var(name, shape=(n,), dtype=dtype)


def test_var_takes_a_type_a_dtype_or_a_shape():
    assert relay.var("x").type_annotation is None
    assert relay.var("x", "int32").type_annotation == relay.TensorType((), "int32")
    assert relay.var("x", shape=(2, relay.Any())).type_annotation == relay.parse_type("Tensor[(2, ?), float32]")
    assert relay.var("x", relay.TupleType([])).type_annotation == relay.TupleType([])
    with pytest.raises(ValueError, match="not both"):
        relay.var("x", relay.TensorType((), "int32"), shape=())


def test_nodes_have_their_fields():
    x, y = vec("x"), vec("y")
    call = relay.Call(relay.op.get("add"), [x, y])
    assert call.op.name == "add" and call.args[0] is x and call.args[1] is y and call.attrs is None
    pair = relay.Tuple([x, y])
    assert pair.fields[1] is y and pair[0] is x and len(pair) == 2 and list(pair)[1] is y
    item = relay.TupleGetItem(pair, 1)
    assert item.tuple_value is pair and item.index == 1
    let = relay.Let(x, y, call)
    assert let.var is x and let.value is y and let.body is call
    choice = relay.If(relay.const(True), x, y)
    assert choice.true_branch is x and choice.false_branch is y and choice.cond.data.item() is True
    function = relay.Function([x, y], call, relay.TensorType((3,)))
    assert function.params[0] is x and function.body is call and function.ret_type == relay.TensorType((3,))
    ref = relay.RefCreate(x)
    assert relay.RefRead(ref).ref is ref and relay.RefWrite(ref, y).value is y


def test_match_and_its_patterns():
    mod = relay.parse("type List[A] { Cons(A, List[A]), Nil, }")
    name, cons, nil = mod.get_type("List")
    assert name is mod.get_global_type_var("List") and mod.get_constructor("Nil") is nil
    x, data = relay.var("x"), relay.var("l", relay.TypeCall(name, [relay.TensorType((), "int32")]))
    first = relay.Clause(relay.PatternConstructor(cons, [relay.PatternVar(x), relay.PatternWildcard()]), x)
    match = relay.Match(data, [first, relay.Clause(relay.PatternConstructor(nil), relay.const(0))], complete=True)
    mod["main"] = relay.Function([data], match)
    assert relay.check(mod) == []
    assert match.checked_type == relay.TensorType((), "int32")
    assert str(match.clauses[0].lhs) == "Cons(%x, _)" and match.clauses[0].lhs.patterns[0].var is x
    value = relay.evaluate(relay.parse("def @other() { Cons(3, Nil) }", init_module=mod), entry="other")
    assert value.constructor == "Cons" and value.fields[0] == 3


@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        (1, None, "int32"), (1.5, None, "float32"), (True, None, "bool"), ([1, 2], None, "int32"), ([1.0, 2.0], None, "float32"),
        (np.arange(3), None, "int64"), (np.float32(1), None, "float32"), (np.ones(1), None, "float64"), (1, "float16", "float16"), (2.5, "bfloat16", "bfloat16"),
        (np.ones(2, ">f4"), None, "float32"), (np.array(True), None, "bool"), (1, np.int8, "int8"),
    ],
)  # fmt: skip
def test_const_has_the_dtype_that_is_asked_for_or_the_usual_one(value, dtype, expected):
    constant = relay.const(value, dtype)
    assert constant.data.dtype == expected
    if expected != "bfloat16":
        assert np.array_equal(constant.data.numpy(), np.asarray(value))


def test_const_copies():
    array = np.ones(2, "float32")
    constant = relay.const(array)
    array[0] = 5
    assert constant.data.numpy()[0] == 1


def test_operators_of_python():
    x, y = vec("x"), vec("y")
    made = {"add": x + y, "subtract": x - y, "multiply": x * y, "divide": x / y, "floor_divide": x // y, "floor_mod": x % y,
            "power": x**y, "negative": -x, "less": x < y, "less_equal": x <= y, "greater": x > y, "greater_equal": x >= y}  # fmt: skip
    for name, call in made.items():
        assert call.op.name == name and call.args[0] is x
    assert (x.astype("int8")).attrs.dtype == "int8"
    for call in (1 + x, 1.0 - x, np.ones(3, "float32") * x, np.float32(2) / x):
        assert call.args[1] is x
    assert (1 < x).op.name == "greater"


def test_operators_compute():
    x = vec()
    value = np.array([1, 2, 3], "float32")
    assert np.allclose(relay.evaluate((2 - x) * x / 4 + x**2, value), (2 - value) * value / 4 + value**2)


def test_equality_is_identity_and_comparisons_have_no_truth():
    x, y = vec(), vec()
    assert x == x and x != y and x in [y, x] and len({x, y, x}) == 2
    with pytest.raises(TypeError, match="relay.where"):
        bool(x < y)
    with pytest.raises(TypeError, match="not True or False"):
        assert 0 < x < 1
    assert bool(x) and bool(x + y)


@pytest.mark.parametrize("other", ["a", None, [1], {}, object()])
def test_operators_refuse_what_is_no_value(other):
    with pytest.raises(TypeError):
        vec() + other
    with pytest.raises(TypeError):
        other - vec()


def test_calls_of_expressions():
    f = relay.var("f")
    call = f(1, vec())
    assert isinstance(call, relay.Call) and call.op is f and len(call.args) == 2
    assert relay.GlobalVar("g")(f).op == relay.GlobalVar("g")


def test_tuple_wrapper_stands_for_its_tuple():
    x = relay.var("x", shape=(6,))
    parts = relay.split(x, 3)
    assert isinstance(parts, relay.TupleWrapper) and len(parts) == 3
    a, _, c = parts
    assert a.index == 0 and c.index == 2 and parts[-1].index == 2 and a.tuple_value is parts.astuple()
    with pytest.raises(IndexError, match="index 3 of a tuple of 3"):
        parts[3]
    with pytest.raises(TypeError, match="cast its fields"):
        parts.astype("int8")
    function = relay.Function([x], parts)
    assert function.body is parts.astuple()
    assert relay.concatenate(parts, 0).args[0] is parts.astuple()
    assert relay.If(relay.const(True), parts, parts).true_branch is parts.astuple()
    assert [part.shape for part in relay.evaluate(function, np.ones(6, "float32"))] == [(2,)] * 3


def test_scope_builder():
    x = relay.var("x", "int32")
    sb = relay.ScopeBuilder()
    y = sb.let("y", x + 1)
    sb.let(("z", relay.TensorType((), "int32")), y)
    with sb.if_scope(relay.less(x, relay.const(3))):
        sb.ret(sb.let("t", y * 2))
    with sb.else_scope():
        sb.ret(x)
    function = relay.Function([x], sb.get())
    assert relay.evaluate(function, np.int32(1)) == 4 and relay.evaluate(function, np.int32(5)) == 5


def test_scope_builder_says_what_is_missing():
    sb = relay.ScopeBuilder()
    with pytest.raises(RuntimeError, match="ret is missing"):
        sb.get()
    with pytest.raises(RuntimeError, match="else_scope without"):
        with sb.else_scope():
            pass
    with sb.if_scope(relay.const(True)):
        sb.ret(1)
    with pytest.raises(RuntimeError, match="no else_scope"):
        sb.get()
    with pytest.raises(RuntimeError, match="between if_scope and its else_scope"):
        sb.let("x", 1)
    with pytest.raises(ValueError, match="not 3"):
        relay.ScopeBuilder().let(("x", None, None), 1)


def test_bind():
    x, y, z = vec("x"), vec("y"), vec("z")
    function = relay.Function([x, y], x + y)
    bound = relay.bind(function, {x: relay.const([1.0, 2.0, 3.0])})
    assert len(bound.params) == 1 and bound.params[0] is y
    assert relay.bind(function, {"y": z}).params == [x, z]
    assert relay.bind(function, {}) is function
    assert relay.bind(x + y, {y: x}).args[1] is x
    with pytest.raises(KeyError, match="0 parameters are named q"):
        relay.bind(function, {"q": x})
    with pytest.raises(TypeError, match="only variables can be replaced"):
        relay.bind(function, {function: x})


def test_function_attributes():
    x = vec()
    function = relay.Function([x], x).with_attr("Primitive", 1)
    assert function.attrs["Primitive"] == 1 and function.attrs.get("none", 7) == 7
    assert function.with_attr({"a": "b"}).attrs["a"] == "b" and function.without_attr("Primitive").attrs is None
    assert function.params[0] is x


def test_symbolic_extents():
    n = relay.ShapeVar("n")
    x = relay.var("x", shape=(n, n + 1))
    function = relay.Function([x], relay.nn.relu(x), type_params=[n.symbol])
    mod = relay.IRModule.from_expr(function)
    relay.check(mod)
    assert mod["main"].body.checked_type.shape == (n, n + 1)
    assert str((n + 1) * 2) == "2 * n + 2" and (n + 1) - 1 == n and hash(n + 1) == hash(1 + n)
    assert relay.evaluate(mod, np.ones((2, 3), "float32")).shape == (2, 3)
    with pytest.raises(relay.RelayError):
        relay.evaluate(mod, np.ones((2, 2), "float32"))


def test_pickling_and_copying_of_nodes():
    x, y = vec("x"), vec("y")
    body = relay.concatenate([x * y, relay.nn.softmax(y + 1.5)], 0)
    function = relay.Function([x, y], relay.If(relay.const(True), relay.Let(y, x, body), body), attrs={"a": (1, "b", 2.5)})
    assert copy.copy(function) is function and copy.deepcopy(function) is function
    loaded, loaded_x = pickle.loads(pickle.dumps((function, x)))
    relay.assert_structural_equal(loaded, function)
    assert loaded.params[0] is loaded_x
    n = relay.ShapeVar("n")
    for each in (relay.TensorType((2, relay.Any())), relay.FuncType([], relay.TupleType([])), relay.parse_type("ref(int32)"), n):
        assert pickle.loads(pickle.dumps(each)) == each or each is n
    first, second = pickle.loads(pickle.dumps((relay.TensorType((n,)), relay.TensorType((n, n)))))
    assert first.shape[0] == second.shape[1]


def test_pickling_and_copying_of_modules():
    mod = relay.parse("type T { A(int32), B, }\ndef @f(%x: int32) -> T { A(add(%x, 2)) }")
    mod["g"] = relay.Function([], relay.const(np.random.rand(3)))
    relay.assert_structural_equal(pickle.loads(pickle.dumps(mod)), mod)
    other = copy.copy(mod)
    del other["f"]
    assert "f" in mod and "f" not in other and copy.deepcopy(mod)["f"] is mod["f"]


def test_pickling_is_deep_without_recursion():
    x = vec()
    e = x
    for _ in range(50_000):
        e = e + x
    assert relay.structural_equal(pickle.loads(pickle.dumps(relay.Function([x], e))), relay.Function([x], e))


def test_literals_pickle_exactly():
    for value in (3, -7, 1.5, -0.25, 1e300, 2**63, float("inf")):
        literal = pickle.loads(pickle.dumps(relay.Literal(value)))
        assert literal.value == value


def test_differences_of_values_and_types_are_told():
    def tensor(*shape, dtype="float32"):
        return relay.TensorType(shape, dtype)

    def difference(a, b):
        return relay.structural_difference(a, b).split("\n")[0]

    five = [relay.const(np.array(values)) for values in ([1, 2, 3, 4, 5], [1, 2, 9, 4, 6])]
    assert difference(*five) == "the whole: constants differ: at [2] 3, and 9 (2 of 5 elements differ)"
    assert difference(relay.const(1.0), relay.const(2.0)) == "the whole: constants differ: 1.0, and 2.0"
    assert difference(tensor(2, 3), tensor(2, 4)) == ".shape[1]: 3, and 4"
    functions = [relay.FuncType([tensor(1), relay.TupleType([tensor(2, 3), tensor(2, 3, dtype=dtype)])], tensor()) for dtype in ("int8", "int16")]
    assert difference(*functions) == ".arg_types[1].fields[1].dtype: int8, and int16"
    assert difference(tensor(2), tensor(2, 4)) == "Tensor[(2), float32], and Tensor[(2, 4), float32]"
    x = relay.var("x", shape=(2,))
    function = relay.Function([x], x)
    assert difference(relay.IRModule.from_expr(function), function) == "IRModule, and Function"


def test_bind_by_name_wants_a_function():
    x = relay.var("x", shape=(2,))
    with pytest.raises(KeyError, match="'x' is the name of a parameter, which a Call has not: give variables themselves"):
        relay.bind(x + x, {"x": x})


def annotated_function() -> relay.Function:
    """With every part that a function can have."""
    return relay.parse("""
        def @f<s: Shape>(%x: Tensor[s, float32], %y: Tensor[s, float32], Inline=1) -> Tensor[s, float32] where Broadcast(Tensor[s, float32], Tensor[s, float32], Tensor[s, float32]) { add(%x, %y) }
    """)["f"]


def parts(function: relay.Function) -> tuple:
    return (function.ret_type, list(function.type_params), dict(function.attrs.items()), function.span, [str(r) for r in function.type_constraints])


def test_with_body_keeps_the_rest():
    f = annotated_function()
    assert len(f.type_constraints) == 1
    x, y = f.params
    g = f.with_body(relay.multiply(x, y))
    assert g.params == f.params and g.body.op.name == "multiply"
    assert parts(g) == parts(f)
    assert f.with_body(f.body) is f
    assert f.with_body(f.body, f.params) is f
    h = f.with_body(relay.exp(y), params=[y])
    assert h.params == [y] and parts(h) == parts(f)
    relay.check(relay.IRModule({"f": g}))
    with pytest.raises(TypeError):
        f.with_body("no expression")


def test_bind_keeps_relations():
    f = annotated_function()
    z = relay.var("z", f.params[1].type_annotation)
    for bound in (relay.bind(f, {"y": z}), relay.bind(f, {f.params[1]: relay.exp(f.params[0])})):
        assert parts(bound) == parts(f)
    bare = relay.parse("def @f(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) -> Tensor[(2), float32] where Broadcast { add(%x, %y) }")["f"]
    bound = relay.bind(bare, {"y": relay.const([1.0, 2.0])})
    # The relation was of both parameters and the result, and still is.
    assert [str(r) for r in bound.type_constraints] == ["Broadcast(Tensor[(2), float32], Tensor[(2), float32], Tensor[(2), float32])"]
    relay.check(relay.IRModule({"f": bound}))
    open_ = relay.parse("def @f(%x, %y) where Broadcast { add(%x, %y) }")["f"]
    with pytest.raises(relay.RelayError, match="relation Broadcast is of all parameters and the result, which must be annotated"):
        relay.bind(open_, {"y": relay.const(1.0)})


def test_mutators_keep_relations():
    class Rename(relay.ExprMutator):
        def visit_var(self, var):
            return relay.Var(var.name_hint + "_", var.type_annotation)

    f = annotated_function()
    renamed = Rename().visit(f)
    assert [p.name_hint for p in renamed.params] == ["x_", "y_"]
    assert parts(renamed) == parts(f)


def test_text_with_comments_of_nodes():
    x = relay.var("x", shape=(2,))
    text = relay.nn.relu(x).astext(annotate=lambda node: "/* call */ */" if isinstance(node, relay.Call) else None)
    # With the package tvm loaded, by another test, the version stands before it.
    assert text.removeprefix('#[version = "0.0.5"]\n') == "free_var %x: Tensor[(2), float32];\nnn.relu(%x) /* call * / */"
    assert relay.structural_equal(relay.parse_expr(text), relay.nn.relu(x), True)


def test_a_span_of_none_is_no_place():
    x = relay.Var("x", relay.TensorType((2,)), span=None)
    call = relay.Call(relay.op.get("exp"), [x], None, None, None)
    nodes = [call, relay.Tuple([x], None), relay.Let(x, call, x, span=None), relay.If(x, x, x, span=None), relay.Function([x], x, span=None)]
    nodes += [relay.TupleGetItem(x, 0, span=None), relay.RefCreate(x, None), relay.Constant(relay.NDArray(np.ones(2)), None), relay.GlobalVar("g", span=None)]
    assert all(not node.span.known if hasattr(node.span, "known") else node.span == relay.Span() for node in nodes)
    with pytest.raises(TypeError):
        relay.Tuple([x], span=3)
