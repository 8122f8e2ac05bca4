"""Functions that come out of programs check and convert their arguments as `@main` does."""

import numpy as np
import pytest

import relay

LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"


def executors(source):
    mod = relay.parse(source)
    return [relay.compile(mod), lambda *args, **kwargs: relay.evaluate(mod, *args, **kwargs)]


def closures(source, *args):
    return [run(*args) for run in executors(source)]


@pytest.mark.parametrize(
    "source, given, args, expected",
    [
        ("def @main() { fn(%x: float32) { %x * 2f } }", (), (3,), 6),
        ("def @main(%n: float64) { fn(%x: float64) { %x + %n } }", (0.0,), (0.1,), 0.1),
        ("def @main(%n: float64) { fn(%x: float64) { %x + %n } }", (0.0,), (np.float64(0.1),), 0.1),
        ("def @main() { fn(%x: int64) { %x + 1i64 } }", (), (2**40,), 2**40 + 1),
        ("def @main() { fn(%x: int64) { %x } }", (), (2**40 + 5,), 2**40 + 5),
        ("def @main() { fn(%x: Tensor[(2), float64]) { %x } }", (), ([1, 2.5],), [1, 2.5]),
        ("def @main() { fn(%x: (int8, bool)) { %x.0 } }", (), ((5, True),), 5),
    ],
)
def test_arguments_are_converted(source, given, args, expected):
    for function in closures(source, *given):
        result = function(*args)
        assert np.array_equal(result, expected) and result.dtype == np.asarray(result).dtype
        assert function(*args).dtype.name in source


@pytest.mark.parametrize(
    "param, value, error, text",
    [
        ("int32", 4.5, TypeError, r"argument 1 of fn: expected int32, found the float 4.5"),
        ("int32", [1, 2], relay.RelayError, r"argument 1 of fn: expected int32, found Tensor\[\(2\), int32\]"),
        ("int32", (1, 2), relay.RelayError, r"argument 1 of fn: expected int32, found Tensor\[\(2\), int32\]"),
        ("int8", 300, OverflowError, "argument 1 of fn: 300 does not fit int8"),
        ("int64", 2**63, OverflowError, "9223372036854775808 does not fit int64"),
        ("float32", np.float16(1), relay.RelayError, "argument 1 of fn: expected float32, found float16"),
        ("Tensor[(4), float32]", np.zeros((2, 2), "int64"), relay.RelayError, r"expected Tensor\[\(4\), float32\], found Tensor\[\(2, 2\), int64\]"),
        ("(int32, int32)", 1, relay.RelayError, r"expected \(int32, int32\), found int32"),
        ("int32", "1", TypeError, "argument 1 of fn: a tensor cannot be made of this str"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(param, value, error, text):
    for function in closures(f"def @main() {{ fn(%x: {param}) {{ %x }} }}"):
        with pytest.raises(error, match=text):
            function(value)


def test_wrong_kinds_are_refused():
    source = LIST + "def @main(%n: int32) { (fn(%x: int32) { %x + %n }, fn(%l: List[int32]) { %l }, Cons(1f, Nil), fn(%r: ref(int32)) { %r }) }"
    for add, identity, floats, reference in closures(source, 3):
        for value, found in [(add, r"fn \(int32\) -> int32"), (floats, "List")]:
            with pytest.raises(relay.RelayError, match=f"argument 1 of fn: expected int32, found {found}"):
                add(value)
        with pytest.raises(relay.RelayError, match=r"expected int32 in List\[int32\], found float32"):
            identity(floats)
        with pytest.raises(relay.RelayError, match="expected int32 in ref.int32., found float32"):
            reference(relay._core.reference_value(1.5))
        with pytest.raises(relay.RelayError, match=r"expected int32 in ref.int32., found Tensor\[\(2\), int32\]"):
            reference(relay._core.reference_value(np.zeros(2, "int32")))
        with pytest.raises(TypeError, match="fn takes 1 argument, found 0"):
            add()
        with pytest.raises(TypeError, match="fn takes 1 argument, found 2"):
            add(1, 2)
        with pytest.raises(TypeError, match="only closures can be called"):
            floats(1)


def test_closures_as_arguments_are_of_the_type_asked_for():
    make = "def @main() { (fn(%x: float32) { %x }, fn(%x: int32) { %x + 1 }, fn(%x: int32, %y: int32) { %x }) }"
    use = "def @main(%f: fn(int32) -> int32) { %f(4) }"
    for (floats, ints, two), run in zip(closures(make), executors(use)):
        assert run(ints) == 5
        for wrong, found in [(floats, r"fn \(float32\) -> float32"), (two, r"fn \(int32, int32\) -> int32")]:
            with pytest.raises(relay.RelayError, match=r"argument 1 of @main, %f: expected fn \(int32\) -> int32, found " + found):
                run(wrong)
        with pytest.raises(relay.RelayError, match=r"expected fn \(int32\) -> int32, found int32"):
            run(3)
    # A function of another executor is refused, too.
    with pytest.raises(relay.RelayError, match="cannot call a closure of another executor"):
        executors(use)[1](closures(make)[0][1])
    # Functions take at least what is asked for, and give no more.
    use = "def @main(%f: fn(fn(int32) -> int32) -> int32) { %f(fn(%x: int32) { %x * 2 }) }"
    make = "def @main() { (fn(%g: fn(int32) -> int32) { %g(21) }, fn(%g: fn(float32) -> int32) { 1 }) }"
    for (right, wrong), run in zip(closures(make), executors(use)):
        assert run(right) == 42
        with pytest.raises(relay.RelayError, match=r"found fn \(fn \(float32\) -> int32\) -> int32"):
            run(wrong)


def test_types_of_the_same_name_are_compared():
    made = "type T { A(int32), B, }\ndef @main() { fn(%t: T) { match (%t) { A(%x) => %x, B => 0 } } }"
    other = "type T { A(float32), B, }\ndef @main(%f: fn(T) -> int32) { %f(A(1.5f)) }"
    for function, run in zip(closures(made), executors(other)):
        with pytest.raises(relay.RelayError, match=r"expected fn \(T\) -> int32, found fn \(T\) -> int32"):
            run(function)
    for function, run in zip(closures(made), executors(other.replace("float32", "int32").replace("1.5f", "7"))):
        assert run(function) == 7


def test_closures_inside_of_values_know_their_types():
    source = LIST + (
        "def @main(%n: int64) { "
        "let %f = fn(%x: int64) { fn(%y: float64) { (%y, %x + %n) } };"
        "(Cons(%f, Cons(%f, Nil)), (%f,), ref(%f)) }"
    )
    for many, (one,), cell in closures(source, 2**40):
        inner = [many.fields[0], many.fields[1].fields[0], one, cell.value]
        for function in inner:
            y, x = function(2**41)(0.1)
            assert y == 0.1 and x == 2**41 + 2**40
            with pytest.raises(TypeError, match="expected int64, found the float 0.5"):
                function(0.5)
            with pytest.raises(relay.RelayError, match="expected float64, found float32"):
                function(1)(np.float32(1))


def test_numbers_in_data_and_references_of_arguments_are_numbers():
    source = LIST + "def @main(%r: ref(int32), %l: List[int32]) { match (%l) { Cons(%x, _) => %x + ref_read(%r), Nil => 0 } }\ndef @one(%x: Tensor[(2), int32]) { Cons(%x, Nil) }\ndef @two(%x: int32) { Cons(%x, Nil) }"
    mod = relay.parse(source)
    tensors, numbers = (relay.evaluate(mod, value, entry=entry) for value, entry in [([1, 2], "one"), (1, "two")])
    for run in (relay.compile(mod), lambda *args: relay.evaluate(mod, *args)):
        assert run(relay._core.reference_value(3), numbers) == 4
        with pytest.raises(relay.RelayError, match=r"expected int32 in List\[int32\], found Tensor\[\(2\), int32\]"):
            run(relay._core.reference_value(3), tensors)
        with pytest.raises(relay.RelayError, match=r"expected int32 in ref\(int32\), found Tensor\[\(2\), int32\]"):
            run(relay._core.reference_value(np.array([1, 2], "int32")), numbers)


def test_a_program_may_write_functions_into_references():
    source = "def @main(%r: ref(fn(int64) -> int64), %n: int64) { ref_write(%r, fn(%x: int64) { %x + %n }) }"
    for (cell,), run in zip(closures("def @main() { (ref(fn(%x: int64) { %x }),) }"), executors(source)):
        run(cell, 2**40)
        assert cell.value(2**41) == 2**41 + 2**40
        with pytest.raises(TypeError, match="expected int64, found the float"):
            cell.value(1.5)


def test_polymorphic_functions_know_their_instances():
    source = "def @main(%z: int64) { let %pair = fn(%x) { (%x, %z) }; (%pair(1i8), fn(%x: int64) { %pair(%x) }, fn(%x: float64) { %pair(%x) }) }"
    for _, ints, floats in closures(source, 2**40):
        assert ints(2**41) == (2**41, 2**40) and floats(0.1) == (0.1, 2**40)
    for function in closures("def @main() { fn<t>(%x: t) { %x } }"):
        assert function(3) == 3 and function((1.5, 2))[0] == 1.5
    # Nobody can tell what may be put into this reference.
    for function in closures("def @main() { fn<t>(%r: ref(t), %x: t) { ref_write(%r, %x) } }"):
        with pytest.raises(relay.RelayError, match=r"fn cannot be called from outside of its program: argument 1 may be of any type of the form ref"):
            function(relay._core.reference_value(1), 1.5)


def test_dimensions_are_compared():
    three = np.arange(3, dtype="float32")
    for function in closures("def @main(%x: Tensor[(n), float32]) { fn(%y: Tensor[(n), float32]) { %x + %y } }", three):
        assert np.array_equal(function(three), 2 * three)
        with pytest.raises(relay.RelayError, match=r"expected Tensor\[\([3n]\), float32\].*, found Tensor\[\(5\), float32\]"):
            function(np.zeros(5, "float32"))
    for function in closures("def @main() { fn(%y: Tensor[(m), float32], %z: Tensor[(m), float32]) { %y + %z } }"):
        with pytest.raises(relay.RelayError, match="[mn] = 3"):
            function(three, np.zeros(5, "float32"))


def test_closures_of_loaded_programs(tmp_path):
    program = relay.compile(relay.parse("def @main(%n: int64) { fn(%x: int64) { %x + %n } }"))
    program.save(tmp_path / "closure.rlx")
    function = relay.load(tmp_path / "closure.rlx")(2**40)
    assert function(2**41) == 2**41 + 2**40
    with pytest.raises(TypeError, match="expected int64, found the float 1.5"):
        function(1.5)


def test_references_hold_values_of_one_type():
    for function, cell in closures("def @main() { let %r = ref(1); (fn() { ref_read(%r) }, %r) }"):
        cell.value = 5
        assert function() == 5
        for wrong, error, text in [
            (2.5, TypeError, "the reference: expected int32, found the float 2.5"),
            (np.float32(2), relay.RelayError, "the reference: expected int32, found float32"),
            ((1, 2), relay.RelayError, "the reference: expected int32, found"),
            (function, relay.RelayError, "the reference: expected int32, found fn"),
        ]:
            with pytest.raises(error, match=text):
                cell.value = wrong
        assert function() == 5
    # One that Python makes is of the type that the program says.
    source = LIST + "def @main(%r: ref(List[int32])) { fn() { match (ref_read(%r)) { Cons(%x, _) => %x, Nil => 0 } } }\ndef @floats() { Cons(1.5f, Nil) }\ndef @nil() { let %l: List[int32] = Nil; %l }"
    mod = relay.parse(source)
    empty = relay.evaluate(mod, entry="nil")
    cell = relay._core.reference_value(empty)
    function = relay.evaluate(mod, cell)
    with pytest.raises(relay.RelayError, match=r"the reference: expected int32 in List\[int32\], found float32"):
        cell.value = relay.evaluate(mod, entry="floats")
    assert function() == 0
    cell = relay._core.reference_value(1.5)
    cell.value = 2
    assert cell.value.dtype == np.float32
    with pytest.raises(relay.RelayError, match="expected float32, found int32"):
        cell.value = np.int32(2)
    with pytest.raises(TypeError, match="what the reference may hold is not known"):
        relay._core.reference_value(cell).value = cell
