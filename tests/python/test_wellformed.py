"""Modules that are put together by hand, of parts of others, or of values of others."""

import numpy as np
import pytest
import relay
from relay import transform

VECTOR = relay.TensorType((2,), "float32")


def twice_bound() -> relay.IRModule:
    x, v = relay.var("x", VECTOR), relay.var("v", VECTOR)
    inner = relay.Let(v, x * 2.0, v + v)
    return relay.IRModule.from_expr(relay.Function([x], relay.Let(v, x + 1.0, relay.Tuple([inner, v]))))


def out_of_scope() -> relay.IRModule:
    x, y = relay.var("x", VECTOR), relay.var("y", VECTOR)
    return relay.IRModule({"main": relay.Function([x], x + y)})


@pytest.mark.parametrize("make, text", [(twice_bound, "%v is bound in two places"), (out_of_scope, "%y is used where it is not in scope")])
def test_what_is_ill_formed_is_told_at_the_door(make, text):
    data = np.ones(2, "float32")
    messages = set()
    for use in [
        relay.check,
        lambda mod: relay.compile(mod, opt_level=0),
        lambda mod: relay.compile(mod),
        lambda mod: relay.evaluate(mod, data),
        transform.InferType(),
    ]:
        with pytest.raises(relay.RelayError, match=text) as caught:
            use(make())
        messages.add(str(caught.value).replace("note: in pass InferType\n", "").strip())
    assert len(messages) == 1


def test_both_places_of_a_variable_are_named():
    x = relay.var("x", VECTOR)
    mod = relay.IRModule({"main": relay.Function([x], x), "other": relay.Function([relay.var("y", VECTOR)], relay.Let(x, relay.const(1.0), x))})
    with pytest.raises(relay.RelayError) as caught:
        relay.check(mod)
    notes = [note.message for diagnostic in caught.value.diagnostics for note in diagnostic.notes]
    assert notes == ["bound by a parameter in @main", "bound by a let in @other"]


def test_functions_of_errors_are_named():
    def ill_typed():
        x = relay.var("x", VECTOR)
        return relay.Function([x], relay.nn.dense(x, x, units=3))

    good = relay.var("x", VECTOR)
    mod = relay.IRModule({"main": relay.Function([good], good), "first": ill_typed(), "second": ill_typed()})
    for check, notes in [(relay.check, []), (transform.InferType(), ["in pass InferType"]), (transform.FoldConstant(), ["in the input of pass FoldConstant"])]:
        with pytest.raises(relay.RelayError) as caught:
            check(mod)
        found = [[note.message for note in diagnostic.notes][-1 - len(notes):] for diagnostic in caught.value.diagnostics]
        assert found == [["in function @first", *notes], ["in function @second", *notes]]
    called, y = relay.GlobalVar("g"), relay.var("y", VECTOR)
    mutual = relay.IRModule({"f": relay.Function([y], relay.nn.dense(called(y), y)), "g": relay.Function([relay.var("z", VECTOR)], relay.GlobalVar("f")(y))})
    with pytest.raises(relay.RelayError, match="%y is used where it is not in scope\nnote: in function @g"):
        relay.check(mutual)


def test_one_name_for_two_parameters():
    a, b = relay.var("x", VECTOR), relay.var("x", VECTOR)
    mod = relay.IRModule.from_expr(relay.Function([a, b], a - b))
    one, two = np.ones(2, "float32"), np.full(2, 2, "float32")
    run = relay.compile(mod)
    assert run(two, one).tolist() == [1, 1]
    with pytest.raises(TypeError, match="2 parameters named x: give them by position"):
        run(one, x=two)
    with pytest.raises(relay.RelayError, match="@main has 2 parameters named %x"):
        relay.compile(mod, params={"x": one})
    with pytest.raises(KeyError, match="2 parameters are named x"):
        relay.bind(mod["main"], {"x": relay.const(one)})


def test_a_name_that_no_parameter_has():
    mod = relay.IRModule.from_expr(relay.Function([relay.var("weight", VECTOR)], relay.const(1.0)))
    with pytest.raises(relay.RelayError, match="@main has no parameter %wieght(.|\n)*did you mean %weight?"):
        relay.compile(mod, params={"wieght": np.ones(2, "float32")})


LISTS = "type L { A, B(float32) }\n"
SAME_NAME = "type L { A, B(int32) }\n"
MORE = "type L { A, B(float32), C }\n"
USE = "def @f(%l: L) -> float32 { match (%l) { A => 0f, B(%x) => %x } }\n"


@pytest.mark.parametrize("other", [SAME_NAME, MORE, "type M { N }\n"])
def test_functions_typed_in_another_module_are_checked_anew(other):
    home = relay.parse(LISTS + USE)
    relay.check(home)
    target = relay.parse(other + "def @g() { 1f }")
    target["f"] = home["f"]
    with pytest.raises(relay.RelayError, match="belongs to no type of the module|unknown type L"):
        relay.check(target)
    with pytest.raises(relay.RelayError, match="belongs to no type of the module|unknown type L"):
        relay.compile(target, entry="f")
    relay.check(home)


def test_a_type_that_is_only_mentioned_is_looked_for():
    home = relay.parse(LISTS + "def @f(%l: L) { %l }")
    relay.check(home)
    with pytest.raises(relay.RelayError, match="unknown type L"):
        relay.check(relay.IRModule({"f": home["f"]}))
    relay.check(relay.IRModule({"f": home["f"]}, home.type_definitions))


def test_a_match_is_complete_in_its_own_module_only():
    header = relay.GlobalTypeVar("L")
    a, b, c = (relay.Constructor(name, [], header) for name in "ABC")
    small, large = relay.TypeData(header, [], [a, b]), relay.TypeData(header, [], [a, b, c])
    x = relay.var("x", relay.TypeCall(header, []))
    clauses = [relay.Clause(relay.PatternConstructor(one, []), relay.const(1.0)) for one in (a, b)]
    home = relay.IRModule({"f": relay.Function([x], relay.Match(x, clauses))}, [small])
    relay.check(home)
    with pytest.raises(relay.RelayError, match="match does not cover C"):
        relay.check(relay.IRModule({"f": home["f"]}, [large]))


def test_a_call_of_a_function_that_is_another_one_here():
    home = relay.parse("def @g(%x: float32) { %x } def @f(%x: float32) { @g(%x) }")
    relay.check(home)
    with pytest.raises(relay.RelayError, match="expected|int32"):
        relay.check(relay.IRModule({"f": home["f"], "g": relay.parse("def @g(%x: int32) { %x }")["g"]}))
    with pytest.raises(relay.RelayError, match="unknown function @g"):
        relay.check(relay.IRModule({"f": home["f"]}))


def test_text_that_uses_another_module():
    home = relay.parse(LISTS + USE)
    relay.check(home)
    both = relay.parse("def @main(%x: float32) { @f(B(%x)) }", "more", home)
    assert both.function_names == ["f", "main"] and both["f"] is home["f"]
    assert both.get_constructor("B") is home.get_constructor("B")
    assert home.function_names == ["f"]
    assert relay.compile(both)(np.float32(3)) == 3
    for text, message in [
        ("def @f() { 1 }", "@f is defined twice"),
        ("type L { Z }", "type L is defined twice"),
        ("type N { B }", "constructor B is defined twice"),
        ("def @main() { @h() }", "unknown global @h"),
    ]:
        with pytest.raises(relay.RelayError, match=message):
            relay.parse(text, "more", home)


def made(definitions: str, value: str):
    return relay.compile(relay.parse(definitions + f"def @main() {{ {value} }}"))()


def test_values_of_another_program_with_the_same_type():
    take = relay.parse(LISTS + "def @main(%l: L) -> float32 { match (%l) { A => 0f, B(%x) => %x } }")
    value = made(LISTS, "B(3f)")
    assert relay.compile(take)(value) == 3 and relay.evaluate(take, value) == 3
    assert repr(value) == "B(3.0)" and repr(made(LISTS, "A()")) == "A"


@pytest.mark.parametrize(
    "definitions, value, text",
    [
        (SAME_NAME, "B(3)", "in it is|int32"),
        ("type L { B(float32), A }\n", "B(3f)", "constructor B with 1 field at place 0"),
        ("type L { A, C(float32) }\n", "C(3f)", "constructor C with 1 field at place 1"),
        ("type L { A, B(float32, float32) }\n", "B(3f, 4f)", "constructor B with 2 fields"),
        ("type L { A, B((float32, float32)) }\n", "B((3f, 4f))", "float32"),
        (MORE, "C()", "constructor C with 0 fields at place 2"),
        ("type M { A }\n", "A()", "expected L, found M"),
    ],
)
@pytest.mark.parametrize("saved", [False, True])
def test_values_of_another_type_of_that_name(tmp_path, definitions, value, text, saved):
    take = relay.parse(LISTS + "def @main(%l: L) -> float32 { match (%l) { A => 0f, B(%x) => %x } }")
    run = relay.compile(take)
    if saved:
        run.save(str(tmp_path / "take.rlx"))
        run = relay.load(tmp_path / "take.rlx")
    strange = made(definitions, value)
    for use in (run, lambda one: relay.evaluate(take, one)):
        with pytest.raises(relay.RelayError, match=text):
            use(strange)


POLYMORPHIC = "type List[A] { Nil, Cons(A, List[A]) }\n"


def test_lists_of_other_elements():
    total = """def @main(%l: List[float32]) -> float32 { match (%l) { Nil => 0f, Cons(%x, %rest) => %x + @main(%rest) } }"""
    run = relay.compile(relay.parse(POLYMORPHIC + total))
    assert run(made(POLYMORPHIC, "Cons(1f, Cons(2f, Nil))")) == 3
    with pytest.raises(relay.RelayError, match=r"float32.*found.*int32|int32"):
        run(made(POLYMORPHIC, "Cons(1, Cons(2, Nil))"))
    pair = relay.compile(relay.parse(POLYMORPHIC + "def @main(%p: (float32, List[float32])) { %p.0 }"))
    with pytest.raises(relay.RelayError):
        pair((1.0, made(POLYMORPHIC, "Cons(1, Nil)")))
    assert pair((1.0, made(POLYMORPHIC, "Cons(1f, Nil)"))) == 1


def test_long_values_are_shown_in_part():
    build = POLYMORPHIC + "def @b(%n: int32, %l: List[int32]) { if (%n == 0) { %l } else { @b(%n - 1, Cons(%n, %l)) } }"
    value = relay.compile(relay.parse(build + "def @main() { @b(100000, Nil) }"))()
    assert repr(value).startswith("Cons(1, Cons(2, ") and len(repr(value)) < 1000 and "…" in repr(value)
