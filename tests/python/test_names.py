"""Names that are no words: they print in quotes and are read back."""

import pytest
import relay

ODD = ["seq-len", "?", "a b", "n.0", "0", "fn", "_", "Tensor", 'q"uo\\te', "länge", "tab\there"]


@pytest.mark.parametrize("name", ODD)
def test_extents(name: str) -> None:
    n = relay.ShapeVar(name)
    x = relay.var("x", shape=(n, n + 1))
    mod = relay.IRModule.from_expr(relay.Function([x], x))
    parsed = relay.parse(str(mod))
    relay.assert_structural_equal(parsed, mod)
    shape = parsed["main"].params[0].type_annotation.shape
    assert shape[0].symbol.name == name and shape[1] == shape[0] + 1


@pytest.mark.parametrize("name", ODD)
def test_types_constructors_and_type_parameters(name: str) -> None:
    header, a = relay.GlobalTypeVar(name), relay.TypeVar(name + " a")
    nil = relay.Constructor(name + "nil", [], header)
    cons = relay.Constructor(name, [a, header(a)], header)
    data = relay.TypeData(header, [a], [nil, cons])
    xs, rest = relay.Var("xs", header(relay.scalar_type("int32"))), relay.Var("rest")
    patterns = [relay.PatternConstructor(cons, [relay.PatternWildcard(), relay.PatternVar(rest)]), relay.PatternConstructor(nil, [])]
    empty = relay.Call(nil, [])
    body = relay.Match(xs, [relay.Clause(patterns[0], rest), relay.Clause(patterns[1], relay.Call(cons, [relay.const(1), empty]))])
    mod = relay.IRModule({"main": relay.Function([xs], body)}, {header: data})
    relay.check(mod)
    parsed = relay.parse(str(mod))
    relay.assert_structural_equal(parsed, mod)
    relay.check(parsed)
    assert str(relay.compile(parsed)(relay.Value(parsed.constructor(name + "nil")))).startswith(name)
    t = relay.TypeVar(name)
    y = relay.Var("y", t)
    generic = relay.IRModule.from_expr(relay.Function([y], y, t, [t]))
    relay.assert_structural_equal(relay.parse(str(generic)), generic)


@pytest.mark.parametrize("key", ["link-params", "0", "a b", "n.0", "if", 'q"', "virtual_device", "\n", "\0", "é", "="])
def test_keys_of_attributes(key: str) -> None:
    x = relay.var("x", shape=(2,))
    function = relay.Function([x], x, attrs={key: 1, "z": "text"})
    mod = relay.IRModule.from_expr(function)
    relay.assert_structural_equal(relay.parse(str(mod)), mod)


def test_an_attribute_has_a_name() -> None:
    x = relay.var("x", shape=(2,))
    for make in (
        lambda: relay.Function([x], x, attrs={"": 1}),
        lambda: relay.Function([x], x).with_attr("", 1),
    ):
        with pytest.raises(relay.RelayError, match="an attribute has a name"):
            make()


def test_names_in_quotes_are_checked() -> None:
    for text, why in (
        ('def @main(%x: Tensor[(""), float32]) { %x }', "a name cannot be empty"),
        (r'def @main(%x: Tensor[("\q"), float32]) { %x }', "unknown escape in a quoted name"),
        ('def @main() { "a" }', "expected an expression"),
        ('def @main(%x: "nothing") { %x }', "unknown type nothing"),
    ):
        with pytest.raises(relay.RelayError, match=why):
            relay.parse(text)


def test_what_a_module_defines_has_a_name() -> None:
    f = relay.Function([], relay.const(1.0))
    with pytest.raises(relay.RelayError, match="a function of a module has a name"):
        relay.IRModule({"": f})
    with pytest.raises(relay.RelayError, match="a data type of a module has a name"):
        relay.IRModule({}, [relay.TypeData(relay.GlobalTypeVar(""), [], [])])
    header = relay.GlobalTypeVar("T")
    with pytest.raises(relay.RelayError, match="a constructor of data type T has no name"):
        relay.IRModule({}, [relay.TypeData(header, [], [relay.Constructor("", [], header)])])


def test_differences_of_functions_in_modules_are_told_apart() -> None:
    t = relay.TypeVar("t")
    x, y = relay.Var("x", t), relay.var("y", shape=(2,))
    one, other = relay.IRModule.from_expr(relay.Function([x], x, t, [t])), relay.IRModule.from_expr(relay.Function([y], y))
    told = relay.structural_difference(one, other)
    assert told is not None and told.startswith("@main: the whole: type parameters [t] against []"), told
