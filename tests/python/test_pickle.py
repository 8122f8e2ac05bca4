"""Pickles: modules, nodes, types, dimensions, attributes, values."""

import copy
import pickle

import numpy as np
import pytest
import relay
from relay import transform


def again(thing):
    return pickle.loads(pickle.dumps(thing))


def test_modules_keep_attributes_names_and_parameters() -> None:
    x, other = relay.var("x", shape=(2,)), relay.var("x", shape=(2,))
    attrs = {"link-params": 1, "a": (1, "b", 2.5, None), "0": True}
    mod = relay.IRModule.from_expr(relay.Function([x, other], x + other, attrs=attrs))
    loaded = again(mod)
    relay.assert_structural_equal(loaded, mod)
    assert [param.name_hint for param in loaded["main"].params] == ["x", "x"]
    assert dict(loaded["main"].attrs.items()) == attrs


def test_modules_keep_places_and_types() -> None:
    mod = relay.parse("type T { A(int32), B, }\ndef @f(%x: int32) -> T {\n  A(add(%x, 2))\n}", "program.rly")
    assert again(mod)["f"].type is None
    relay.check(mod)
    loaded = again(mod)
    del mod
    body = loaded["f"].body
    assert str(loaded["f"].checked_type) == "fn (int32) -> T"
    assert (body.span.source_name, body.span.line, body.args[0].span.column) == ("program.rly", 3, 5)
    assert next(iter(loaded.type_definitions.values())).span.line == 1
    assert body.op is loaded.constructor("A")


def test_modules_with_relations_and_symbolic_extents() -> None:
    n, m = relay.ShapeVar("n"), relay.ShapeVar("seq-len")
    x = relay.var("x", shape=(n, 2 * m + 1, (n * m) // 3, relay.Any()))
    function = relay.Function([x], relay.nn.relu(x))
    mod = relay.IRModule.from_expr(function)
    for made in (again(mod), relay.parse(str(mod)), copy.copy(mod)):
        relay.assert_structural_equal(made, mod)
        assert relay.structural_hash(made) == relay.structural_hash(mod)
    relay.assert_structural_equal(again(function), function)
    text = "def @f[a](%x: a, %y: a) -> a where Identity(a, a) {\n  %x\n}"
    program = relay.parse(text)
    relay.assert_structural_equal(again(program), program)
    relay.assert_structural_equal(again(program["f"]), program["f"])
    assert [str(c) for c in again(program["f"]).type_constraints] == ["Identity(a, a)"]


def test_different_extents_differ() -> None:
    n, m = relay.ShapeVar("n"), relay.ShapeVar("m")

    def function(*shape):
        x = relay.var("x", shape=shape)
        return relay.Function([x], x)

    assert relay.structural_equal(function(n, m), function(m, n))
    assert not relay.structural_equal(function(n, m), function(n, n))
    assert not relay.structural_equal(function(n, n), function(n, m))
    assert not relay.structural_equal(function(n, n + 1), function(n, n + 2))
    assert not relay.structural_equal(function(n), function(3))


def test_dimensions_alone() -> None:
    n, m = relay.ShapeVar("n"), relay.ShapeVar("m")
    terms = [n + 1, n - m, 2 * n * m, n // 4, n % 3, n.min(m), n.max(7), (n + 1) // (m + 2), relay.Any(), n]
    loaded_n, loaded_m, *loaded = again((n, m, *terms))
    names = {n.symbol: loaded_n, m.symbol: loaded_m}
    assert [str(term) for term in loaded] == [str(term) for term in terms]
    assert loaded[0] == loaded_n + 1 and loaded[7] == (loaded_n + 1) // (loaded_m + 2) and names
    deep = n
    for i in range(40):
        deep = (deep + 1) // 2
    assert str(again(deep)) == str(deep)
    x = again(relay.var("x", shape=(n + 1,)))
    assert str(x.type_annotation) == "Tensor[(n + 1), float32]"
    scheme = relay.FuncType([relay.TensorType((n,))], relay.TensorType((n + 1,)), [n.symbol])
    assert again(scheme) == scheme


def test_implicit_names_stay_implicit() -> None:
    mod = relay.parse("def @main(%x: Tensor[(n, m), float32]) { %x }")
    assert str(again(mod)) == str(mod) and "<" not in str(again(mod))


def test_attributes_alone() -> None:
    call = relay.nn.conv2d(relay.var("x"), relay.var("w"), strides=(2, 3), out_dtype="float32")
    function = relay.Function([], relay.const(1.0), attrs={"a": 1})
    for attrs in (call.attrs, function.attrs):
        for made in (again(attrs), copy.copy(attrs), copy.deepcopy(attrs)):
            assert made is attrs  # equal ones are one object
    assert relay.Attrs({"a": 1}) is function.attrs
    assert relay.Attrs(dict(call.attrs.items()), call.attrs.type_key) is call.attrs
    with pytest.raises(ValueError, match="no operator has attributes of type relay.attrs.None"):
        relay.Attrs({}, "relay.attrs.None")


LISTS = """import "prelude"
def @iota(%n: int32, %xs: List[int32]) -> List[int32] { if (%n == 0) { %xs } else { @iota(%n - 1, Cons(%n, %xs)) } }
def @main(%n: int32) { @iota(%n, Nil) }
def @how_many(%xs: List[int32]) { @count(%xs) }
def @count(%xs: List[int32]) -> int32 { match (%xs) { Cons(_, %rest) => { 1 + @count(%rest) }, Nil => { 0 } } }
"""


def test_long_lists_are_pickled_and_copied() -> None:
    mod = relay.parse(LISTS)
    value = relay.compile(mod)(20_000)
    for made in (again(value), copy.deepcopy(value)):
        assert made == value and made.constructor == "Cons" and int(made.fields[0]) == 1
    assert relay.compile(mod, entry="how_many")(again(value)) == 20_000


def test_what_values_share_stays_shared() -> None:
    mod = relay.parse("type T { Leaf(Tensor[(2), float32]), Node(T, T, (T, int32)), Cell(ref(T)), }\ndef @main(%t: T) { %t }")
    leaf = relay.Value(mod.constructor("Leaf"), [np.ones(2, "float32")])
    tree = leaf
    for _ in range(60):  # as a tree, more than there is memory
        tree = relay.Value(mod.constructor("Node"), [tree, tree, (tree, np.int32(1))])
    made = again(tree)
    assert made == tree and len(pickle.dumps(tree)) < 100_000
    assert copy.deepcopy(tree) == tree
    cell = relay.Value.reference(leaf)
    pair = relay.Value(mod.constructor("Node"), [relay.Value(mod.constructor("Cell"), [cell])] * 2 + [(leaf, np.int32(2))])
    loaded = again(pair)
    first, second = (loaded.fields[i].fields[0] for i in range(2))
    first.value = tree
    assert second.value == tree and cell.value == leaf


def test_values_are_made_by_hand() -> None:
    mod = relay.parse(LISTS)
    cons, nil = mod.constructor("Cons"), mod.constructor("Nil")
    xs = relay.Value(nil)
    for i in range(3):
        xs = relay.Value(cons, [np.int32(i), xs])
    assert str(xs) == "Cons(2, Cons(1, Cons(0, Nil)))" or "Cons" in str(xs)
    assert relay.compile(mod, entry="how_many")(xs) == 3
    with pytest.raises(TypeError, match="Cons takes 2 fields, not 1"):
        relay.Value(cons, [1])
    reference = relay.Value.reference(np.float32(1))
    assert reference.kind == "reference" and again(reference).value == 1


def test_typed_modules_run_after_a_pickle() -> None:
    mod = relay.parse("def @main(%x: Tensor[(n), float32]) { sum(multiply(%x, 2)) }")
    typed = transform.InferType()(mod)
    x = np.arange(4, dtype="float32")
    assert relay.compile(again(typed))(x) == relay.compile(typed)(x) == 12
