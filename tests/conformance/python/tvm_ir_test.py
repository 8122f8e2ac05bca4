"""tvm.ir, relay.expr, relay.ty, relay.expr_functor: nodes, types, modules, visitors, equality, JSON."""

import copy
import pickle

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay, te, tir
from tvm.ir import TensorType
from tvm.relay import ExprFunctor, ExprMutator, ExprVisitor, Kind
from tvm.relay.testing import run_infer_type


def test_const_dtypes():
    for value, dtype in ((1, "int32"), (1.0, "float32"), (True, "bool"), (np.float64(2), "float32"), (np.array([1, 2], "int8"), "int8")):
        made = relay.const(value)
        assert isinstance(made, relay.Constant) and made.data.dtype == dtype
        tvm.testing.assert_allclose(made.data.numpy(), np.asarray(value))
    assert relay.const(1, "int64").data.dtype == "int64"
    for array, dtype in ((np.ones(3), "float32"), (np.arange(3), "int32"), (np.int64(7), "int32"), (np.ones((2, 2))[::-1, :1], "float32"), (np.ones(2, "float16"), "float16")):
        made = relay.const(array)
        assert made.data.dtype == dtype and relay.op.const(array, "float64").data.dtype == "float64"
        np.testing.assert_array_equal(made.data.numpy(), array)
    assert relay.const(tvm.nd.array(np.ones(3))).data.dtype == "float64"
    with pytest.raises(OverflowError, match="1099511627776 does not fit int32"):
        relay.const(np.array([2**40]))
    assert relay.const(2, "bool").data.numpy() and not relay.const(0, "bool").data.numpy()
    np.testing.assert_array_equal(relay.const(np.array([0.5, 0]), "bool").data.numpy(), [True, False])
    assert relay.op.nn.const is relay.expr.const is relay.const
    assert relay.const(tvm.nd.array(np.ones(3, "float32"))).data.shape == (3,)


def test_arithmetic_on_expressions():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    wanted = {"add": x + y, "subtract": x - y, "multiply": x * y, "divide": x / y, "negative": -x, "less": x < y, "greater_equal": x >= y}
    for name, call in wanted.items():
        assert isinstance(call, relay.Call) and call.op.name == name
    for mixed in (x + relay.const(1.0), 1.0 - x, 2.0 * x):
        assert run_infer_type(mixed).checked_type == TensorType((2,), "float32")


def test_call_fields():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    call = relay.nn.conv2d(x, w, strides=(2, 2), padding=(1, 1))
    assert call.op == relay.op.get("nn.conv2d") and list(call.args) == [x, w]
    assert [int(s) for s in call.attrs.strides] == [2, 2] and call.attrs.data_layout == "NCHW"
    assert list(call.attrs.padding) == [1, 1, 1, 1]
    assert "strides" in call.attrs.keys() and call.attrs["groups"] == 1
    with pytest.raises(AttributeError):
        call.attrs.nothing


def test_let_if_tuple_fields():
    x = relay.var("x", shape=(2,))
    let = relay.Let(x, relay.const([1.0, 2.0]), relay.Tuple([x, x]))
    assert let.var is x and isinstance(let.value, relay.Constant) and len(let.body.fields) == 2
    choice = relay.If(relay.const(True), relay.const(1), relay.const(2))
    assert choice.cond.data.numpy() and choice.true_branch.data.numpy() == 1 and choice.false_branch.data.numpy() == 2
    item = relay.TupleGetItem(let.body, 1)
    assert item.index == 1 and item.tuple_value is let.body and let.body[0] is x


def test_function_fields_and_attributes():
    a = relay.TypeVar("a")
    x = relay.Var("x", a)
    func = relay.Function([x], x, a, [a])
    assert list(func.params) == [x] and func.ret_type == a and list(func.type_params) == [a]
    marked = func.with_attr("Primitive", 1).with_attr("name", "me")
    assert marked.attrs["Primitive"] == 1 and marked.attrs["name"] == "me" and func.attrs is None
    assert "name" not in marked.without_attr("name").attrs.keys()
    call = func(relay.const(1.0))
    assert isinstance(call, relay.Call) and call.op is func


def test_reference_nodes():
    made = relay.RefCreate(relay.const(1.0))
    read, write = relay.RefRead(made), relay.RefWrite(made, relay.const(2.0))
    assert read.ref is made and write.value.data.numpy() == 2 and made.value.data.numpy() == 1
    assert run_infer_type(made).checked_type == relay.RefType(TensorType((), "float32"))
    assert run_infer_type(write).checked_type == relay.TupleType([])


def test_match_and_patterns_with_defaults():
    mod = tvm.IRModule()
    mod.import_from_std("prelude.rly")
    _, cons, nil = mod.get_type("List")
    assert list(relay.PatternConstructor(nil).patterns) == [] and list(relay.PatternConstructor(nil, None).patterns) == []
    assert list(relay.PatternTuple().patterns) == [] and list(relay.PatternTuple(None).patterns) == []
    h = relay.Var("h")
    clauses = [relay.Clause(relay.PatternConstructor(cons, [relay.PatternVar(h), relay.PatternWildcard()]), h),
               relay.Clause(relay.PatternConstructor(nil), relay.const(0))]  # fmt: skip
    match = relay.Match(cons(relay.const(5), nil()), clauses)
    assert len(match.clauses) == 2 and match.complete and relay.analysis.unmatched_cases(match, mod) == []
    assert relay.create_executor(mod=mod).evaluate(match).numpy() == 5
    open_ = relay.Match(nil(), clauses[:1])
    assert len(relay.analysis.unmatched_cases(open_, mod)) == 1


def test_types_have_defaults():
    unit = relay.TupleType([])
    assert relay.FuncType([unit], unit) == relay.FuncType([unit], unit, None, None) == relay.FuncType([unit], unit, [], [])
    a = relay.TypeVar("a", Kind.Type)
    generic = relay.FuncType([a], a, [a])
    assert list(generic.type_params) == [a] and generic.ret_type == a
    assert TensorType((1, te.size_var("n"))).dtype == "float32"
    assert relay.scalar_type("int8") == TensorType((), "int8")
    assert (TensorType((2,)) == None) is False and TensorType((2,)) != None  # noqa: E711
    assert (te.var("n") == None) is False  # noqa: E711


def test_type_relation():
    ts = [relay.TensorType((1, 10)), relay.TensorType((1, 10)), relay.IncompleteType()]
    for name in ("Broadcast", "tvm.relay.type_relation.Broadcast"):
        relation = relay.TypeRelation(name, ts, 2, None)
        assert list(relation.args) == ts and relation.num_inputs == 2 and relation.name == "Broadcast"
    with pytest.raises(ValueError, match="num_inputs is 4, but there are 3 arguments"):
        relay.TypeRelation("Broadcast", ts, 4, None)
    with pytest.raises(tvm.TVMError, match="no type relation is called Broadcst"):
        relay.TypeRelation("Broadcst", ts, 2, None)


def test_concrete_shape():
    assert relay.TensorType((2, 3)).concrete_shape == (2, 3)
    with pytest.raises(ValueError, match="not known"):
        relay.TensorType((te.size_var("n"),)).concrete_shape


@pytest.mark.parametrize("line, end_line, column, end_column", [(1, 1, 1, 4), (3, 5, 7, 2), (100, 100, 20, 80)])
def test_span(line, end_line, column, end_column):
    span = relay.Span(relay.SourceName("model.py"), line, end_line, column, end_column)
    assert (span.line, span.end_line, span.column, span.end_column) == (line, end_line, column, end_column)
    assert span.source_name.name == "model.py" and span.source_name == relay.SourceName("model.py")
    x = relay.Var("x", relay.TensorType((2,)), span)
    assert x.span == span and "model.py" in repr(x.span)


def test_span_in_a_message():
    span = relay.Span(relay.SourceName("layer3"), 2, 2, 5, 9)
    call = relay.Call(relay.op.get("add"), [relay.var("x", shape=(2,)), relay.var("y", shape=(3,))], None, None, span)
    with pytest.raises(tvm.error.DiagnosticError, match="layer3:2:5"):
        run_infer_type(call)


def test_span_that_cannot_be():
    with pytest.raises(ValueError, match="ends before it begins"):
        relay.Span(relay.SourceName("f"), 3, 2, 1, 1)
    with pytest.raises(ValueError, match="this far"):
        relay.Span(relay.SourceName("f"), 1 << 19, 1 << 19, 1, 1 << 19)
    with pytest.raises(TypeError):
        relay.Span(relay.SourceName("f"), -1, 2, 1, 1)


def test_module():
    mod = tvm.IRModule({}, {}, None, None)
    x = relay.var("x", shape=(2,))
    mod["double"] = relay.Function([x], x + x)
    double = mod.get_global_var("double")
    y = relay.var("y", shape=(2,))
    mod["main"] = relay.Function([y], double(y))
    assert mod["main"].body.op == double and [v.name_hint for v in mod.get_global_vars()] == ["double", "main"]
    assert len(mod.functions) == 2 and "def @double" in mod.astext(show_meta_data=False)
    assert relay.create_executor("vm", mod=mod).evaluate()(np.ones(2, "float32")).numpy().tolist() == [2, 2]
    other = tvm.IRModule.from_expr(relay.Function([y], y))
    mod.update(other)
    assert mod["main"].body is other["main"].params[0]
    with pytest.raises(Exception, match="nothing"):
        mod["nothing"]


def test_modules_have_no_global_infos():
    with pytest.raises(NotImplementedError, match="global_infos"):
        tvm.IRModule({}, {}, global_infos={"a": 1})


def test_adt_made_in_python():
    mod = tvm.IRModule()
    box, t = relay.GlobalTypeVar("box"), relay.TypeVar("t")
    wrap = relay.Constructor("wrap", [t], box)
    mod[box] = relay.TypeData(box, [t], [wrap])
    v = relay.Var("v")
    b = relay.Var("b", box(t))
    mod["unbox"] = relay.Function([b], relay.Match(b, [relay.Clause(relay.PatternConstructor(wrap, [relay.PatternVar(v)]), v)]), t, [t])
    typed = relay.transform.InferType()(mod)
    assert str(typed["unbox"].checked_type.ret_type) == "t"
    five = relay.create_executor(mod=mod).evaluate(mod.get_global_var("unbox")(wrap(relay.const(5))))
    assert five.numpy() == 5


def test_structural_equal():
    def make(name, dtype="float32"):
        v = relay.var(name, shape=(2,), dtype=dtype)
        return relay.Function([v], relay.Let(w := relay.var(name + "1"), v + v, w * w))

    assert tvm.ir.structural_equal(make("a"), make("b"))
    assert tvm.ir.structural_hash(make("a")) == tvm.ir.structural_hash(make("b"))
    assert not tvm.ir.structural_equal(make("a"), make("a", "int32"))
    free = relay.var("x"), relay.var("y")
    assert not tvm.ir.structural_equal(*free) and tvm.ir.structural_equal(free[0], relay.var("x"), map_free_vars=True)
    x, y = free
    assert tvm.ir.structural_equal(x + x, y + y, True) and not tvm.ir.structural_equal(x + y, y + y, True)
    assert tvm.ir.structural_hash(x + x, True) == tvm.ir.structural_hash(y + y, True)
    with pytest.raises(ValueError, match="differ"):
        tvm.ir.assert_structural_equal(make("a"), relay.Function([free[0]], free[0]))


def test_sharing_matters():
    x = relay.var("x", shape=(2,))
    shared = relay.exp(x)
    assert not tvm.ir.structural_equal(relay.Function([x], shared + shared), relay.Function([x], relay.exp(x) + relay.exp(x)))


@pytest.mark.parametrize("node", [
    relay.const([1.0, 2.0]), relay.TensorType((1, 2)), relay.Function([x := relay.var("x", shape=(3,))], relay.nn.relu(x)), [1, "two"],
], ids=["constant", "type", "function", "list"])  # fmt: skip
def test_json(node):
    again = tvm.ir.load_json(tvm.ir.save_json(node))
    assert again == node if isinstance(node, list) else tvm.ir.structural_equal(again, node)


def test_pickle_and_copy():
    x = relay.var("x", shape=(3,))
    func = relay.Function([x], relay.nn.relu(x) + relay.const(np.arange(3, dtype="float32")))
    assert tvm.ir.structural_equal(pickle.loads(pickle.dumps(func)), func)
    assert tvm.ir.structural_equal(copy.copy(func), func)
    mod = tvm.IRModule.from_expr(func)
    other = copy.deepcopy(mod)
    other["more"] = func
    assert "more" not in mod and tvm.ir.structural_equal(pickle.loads(pickle.dumps(mod)), mod)


class CountCalls(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.names = []

    def visit_call(self, call):
        super().visit_call(call)
        self.names.append(call.op.name)


def test_visitor():
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    visitor = CountCalls()
    visitor.visit(relay.Function([x], relay.add(y, relay.tanh(y))))
    assert visitor.names == ["exp", "tanh", "add"]  # each node once, operands first
    seen = []
    relay.analysis.post_order_visit(relay.add(y, y), lambda node: seen.append(type(node).__name__))
    assert seen.count("Call") == 2 and seen[-1] == "Call"


class AddToSubtract(ExprMutator):
    def visit_call(self, call):
        new = super().visit_call(call)
        return relay.subtract(*new.args) if new.op == relay.op.get("add") else new


def test_mutator():
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], relay.exp(x) + relay.const(1.0))
    assert tvm.ir.structural_equal(AddToSubtract().visit(func), relay.Function([x], relay.exp(x) - relay.const(1.0)))
    same = relay.Function([x], relay.exp(x))
    assert AddToSubtract().visit(same) is same or tvm.ir.structural_equal(AddToSubtract().visit(same), same)


class Depth(ExprFunctor):
    def visit_call(self, call):
        return 1 + max(self.visit(arg) for arg in call.args)

    def visit_var(self, var):
        return 0

    def visit_constant(self, const):
        return 0


def test_functor_gives_values():
    x = relay.var("x", shape=(2,))
    assert Depth().visit(relay.exp(relay.exp(x) + relay.const(1.0))) == 3
    with pytest.raises(NotImplementedError):
        Depth().visit(relay.Tuple([x]))


def test_type_functor():
    class Names(relay.type_functor.TypeVisitor):
        def __init__(self):
            super().__init__()
            self.names = []

        def visit_type_var(self, tv):
            self.names.append(tv.name_hint)

    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    names = Names()
    names.visit(relay.FuncType([a, relay.TupleType([b])], a, [a, b]))
    assert set(names.names) == {"a", "b"}


def test_bind():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    assert tvm.ir.structural_equal(relay.bind(x + y, {y: relay.const(1.0)}), x + relay.const(1.0))
    bound = relay.build_module.bind_params_by_name(relay.Function([x, y], x + y), {"y": np.ones(2, "float32")})
    assert [p.name_hint for p in bound.params] == ["x"]


def test_tir_expressions_as_dimensions():
    n = tir.SizeVar("n", "int32")
    x = relay.var("x", shape=(n * 2 + 1, tir.IntImm("int32", 3)))
    typed = run_infer_type(relay.concatenate([x, x], axis=0))
    assert str(typed.checked_type.shape[1]) == "3"
    kept = run_infer_type(relay.exp(x)).checked_type
    assert kept.shape[0] == n * 2 + 1
    assert isinstance(relay.Any(), tir.Any)


def test_known_extents_are_numbers_with_a_value():
    shape = run_infer_type(relay.exp(relay.var("x", shape=(2, relay.Any(), 3)))).checked_type.shape
    assert isinstance(shape[0], tir.IntImm) and not isinstance(shape[1], tir.IntImm) and isinstance(shape[1], tir.Any)
    assert shape[0].value == 2 and shape[0].dtype == "int32" and shape[2] + shape[0].value == 5
    assert np.zeros((shape[0], shape[2])).shape == (2, 3)
    assert pickle.loads(pickle.dumps(shape[2])) == 3 and copy.deepcopy(shape[2]).value == 3


def test_op():
    op = relay.op.get("nn.conv2d")
    assert op.name == "nn.conv2d" and op.num_inputs == 2 and op.support_level == 2 and op == tvm.ir.Op.get("nn.conv2d")
    assert "nn.conv2d" in tvm.ir.Op.list_op_names() and len(op.description) > 20
    with pytest.raises(AttributeError, match="did you mean nn.conv2d"):
        relay.op.get("nn.conv2dd")


def test_text_round_trip():
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(2, 4), float32]) -> Tensor[(1, 2), float32] {
  %0 = nn.dense(%x, %w, units=2);
  nn.relu(%0)
}
"""
    mod = tvm.relay.fromtext(text)
    assert mod.astext(show_meta_data=False, show_types=False) == text
    assert "nn.relu(%0) /* ty=Tensor[(1, 2), float32] */" in mod.astext() and str(mod) == mod.astext()
    assert tvm.ir.structural_equal(relay.parse(mod.astext()), mod)


def test_parse_uses_definitions_of_a_module():
    first = relay.parse("def @one() -> int32 { 1 }")
    both = relay.parse("def @main() -> int32 { @one() + 1 }", init_module=first)
    assert relay.create_executor(mod=both).evaluate()().numpy() == 2
    with pytest.raises(tvm.TVMError, match="@one is defined twice"):
        relay.parse("def @one() -> int32 { 2 }", init_module=first)
    typed = relay.parse("type L { N, C(L) }")
    more = relay.parse("def @main() -> L { C(N) }", init_module=typed)
    assert relay.create_executor(mod=more).evaluate()().constructor.name_hint == "C"
    with pytest.raises(tvm.TVMError, match="type L is defined twice"):
        relay.parse("type L { M }", init_module=typed)


def test_name_supply():
    supply = tvm.ir.supply.NameSupply("p")
    assert supply.fresh_name("a") == "p_a" and supply.fresh_name("a") == "p_a_1" and supply.contains_name("a")
    assert supply.fresh_name("a", add_underscore=False) == "p_a1" and supply.contains_name("p_a1", add_prefix=False)
    mod = tvm.IRModule.from_expr(relay.const(1))
    globals_ = tvm.ir.supply.GlobalVarSupply(mod)
    assert globals_.fresh_global("main").name_hint == "tvmgen_default_main" and globals_.fresh_global("main", False).name_hint == "main_1"
    assert globals_.unique_global_for("main", False) == mod.get_global_var("main")
    assert globals_.unique_global_for("main").name_hint == "tvmgen_default_main" and globals_.unique_global_for("f").same_as(globals_.unique_global_for("f"))
    named = tvm.ir.supply.GlobalVarSupply([mod.with_attr("mod_name", "net"), mod])
    assert named.fresh_global("f").name_hint == "net_f"
    own = tvm.ir.supply.GlobalVarSupply(supply)
    g = relay.GlobalVar("g")
    own.reserve_global(g)
    assert own.unique_global_for("g", False).same_as(g) and own.unique_global_for("g").name_hint == "p_g"
    with pytest.raises(ValueError, match="the name g is taken"):
        own.reserve_global(relay.GlobalVar("g"))


def test_scope_builder():
    sb = relay.ScopeBuilder()
    one = sb.let("one", relay.const(1.0))
    two = sb.let("two", one + one)
    sb.ret(two)
    assert isinstance(sb.get(), relay.Let) and sb.get().var.name_hint == "one"
    assert relay.create_executor().evaluate(sb.get()).numpy() == 2


@pytest.mark.parametrize("words", ["/* call */", "**//", "*/ x /*", "/*/", "a\nb"])
def test_text_with_remarks_parses_again(words):
    x = relay.var("x", shape=(2,))
    function = relay.Function([x], relay.nn.relu(x))
    text = function.astext(annotate=lambda node: words if isinstance(node, relay.Call) else None)
    assert text.count("#[version") == 1 and text.count("/*") == 1
    again = tvm.relay.fromtext(text)
    tvm.ir.assert_structural_equal(again if isinstance(again, relay.Function) else again["main"], function)


def test_text_with_remarks_keeps_constants_and_braces():
    large = relay.const(np.arange(3000.0).astype("float32"))
    x = relay.var("x", shape=(3000,))
    expr = relay.add(relay.exp(x), large)
    words = "a }\n#[metadata]\n }"
    seen = []

    def remark(node):
        seen.append(node)
        return words if isinstance(node, relay.Call) else None

    text = expr.astext(annotate=remark)
    assert text.startswith('#[version = "0.0.5"]\nfree_var %x') and text.count(words) == 2
    assert text.replace(f" /* {words} */", "") == expr.astext()
    assert large in seen and not any(isinstance(node, relay.Function) for node in seen)
    function = relay.Function([x], expr)
    for thing in (expr, function, tvm.IRModule.from_expr(function)):
        full, short = thing.astext(annotate=remark), thing.astext(show_meta_data=False, annotate=remark)
        assert "b64ndarrays" in full and "b64ndarrays" not in short and short.count(words) == 2
    tvm.ir.assert_structural_equal(tvm.relay.fromtext(function.astext(annotate=remark)), function)


def test_types_of_text_by_position():
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.exp(relay.var("x", shape=(2,)))))
    for thing in (mod, mod["main"]):
        assert "/* ty=Tensor[(2), float32] */" in thing.astext(True, True) and "ty=" not in thing.astext(True, False)
        assert thing.astext(True, True) == thing.astext(show_types=True)


@pytest.mark.parametrize("word", ["float", "int", "uint"])
def test_dtypes_without_bits_have_32(word):
    assert relay.TensorType((2,), word) == relay.TensorType((2,), word + "32") and relay.var("x", shape=(), dtype=word).type_annotation.dtype == word + "32"


def test_numbers_of_one_bit_are_bools():
    cond, x = relay.var("cond", shape=(), dtype="uint1"), relay.var("x", shape=(2,))
    assert cond.type_annotation == relay.TensorType((), "bool")
    assert relay.transform.InferType()(tvm.IRModule.from_expr(relay.If(cond, x, x)))["main"].ret_type == relay.TensorType((2,), "float32")


def test_free_type_variables_may_have_other_names():
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    equal, pair = tvm.ir.structural_equal, relay.TupleType
    assert equal(a, b, True) and not equal(a, b) and not equal(a, relay.TypeVar("s", relay.TypeKind.ShapeVar), True)
    assert equal(relay.FuncType([a, b], a), relay.FuncType([b, a], b), True) and not equal(relay.FuncType([a, b], a), relay.FuncType([a, b], b), True)
    assert not equal(pair([a, b]), pair([a, a]), True) and tvm.ir.structural_hash(a, True) == tvm.ir.structural_hash(b, True)
    tvm.ir.assert_structural_equal(pair([a, b]), pair([b, a]), map_free_vars=True)
    with pytest.raises(ValueError, match="the programs differ"):
        tvm.ir.assert_structural_equal(pair([a, b]), pair([a, a]), map_free_vars=True)


def test_nothing_is_no_constant():
    with pytest.raises(TypeError, match="a constant is made of a number or an array, not of None"):
        relay.const(None)


def test_sums_of_integers_have_the_wider_dtype():
    narrow, wide = tvm.tir.IntImm("int32", 7), tvm.tir.IntImm("int64", 2)
    for made in (narrow + wide, wide + narrow, narrow * wide, narrow // wide, wide - narrow):
        assert made.dtype == "int64"
    assert (narrow + narrow).dtype == (narrow + 1).dtype == "int32" and (tvm.tir.IntImm("bool", 1) + narrow).dtype == "int32"


def test_devices_and_builds_are_no_objects():
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([], relay.const(1.0))), "llvm")
    assert not isinstance(lib, tvm.runtime.Object) and not isinstance(tvm.cpu(), tvm.runtime.Object)
    assert isinstance(tvm.target.Target("llvm"), tvm.runtime.Object) and isinstance(lib.ir_mod, tvm.runtime.Object)


def test_attributes_that_are_not_there():
    attrs = relay.nn.leaky_relu(relay.var("x", shape=(2,)), 0.5).attrs
    for wrong in (AttributeError, KeyError):
        with pytest.raises(wrong, match="the attributes have no 'beta': they have alpha"):
            attrs["beta"]
    assert attrs.get("beta") is None and attrs.get("beta", 3) == 3 and "alpha" in attrs.keys()
    assert not hasattr(attrs, "beta")


def test_fields_of_nodes():
    x = relay.var("x", shape=(2,))
    call = relay.nn.relu(x)
    assert call._checked_type_ is None
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], call)))
    assert mod["main"].body._checked_type_ == relay.TensorType((2,))
    assert mod.global_var_map_["main"].name_hint == "main"
    lists = tvm.IRModule()
    tvm.relay.prelude.Prelude(lists)
    assert lists.global_type_var_map_["List"].name_hint == "List"
    assert tvm.ir.structural_hash(tvm.runtime.convert([1, {"a": x}])) == tvm.ir.structural_hash(tvm.runtime.convert([1, {"a": x}]))


def test_numbers_of_polymorphic_functions():
    mod = tvm.relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { let %double = fn (%y) { %y * 2 }; (%double(%x), %double(3)) }')
    doubled, six = relay.create_executor("debug", mod=mod).evaluate()(np.array([1, 2], "float32"))
    assert doubled.numpy().tolist() == [2, 4] and six.numpy() == 6
