"""Tests of what a first user broke."""

import numpy as np
import pytest
import relay



def list_type():
    header = relay.GlobalTypeVar("L")
    scalar = relay.TensorType((), "float32")
    nil = relay.Constructor("Nil", [], header)
    cons = relay.Constructor("Cons", [scalar, relay.TypeCall(header, [])], header)
    assert nil.tag is None
    data = relay.TypeData(header, [], [nil, cons])
    assert (nil.tag, cons.tag) == (0, 1)
    return header, scalar, nil, cons, data


@pytest.mark.parametrize("tag", [0, 5, 1_000_000, 2**31 - 1])
def test_constructors_have_the_tag_of_their_place(tag: int) -> None:
    header = relay.GlobalTypeVar("L")
    first, second = relay.Constructor("A", [], header, 0), relay.Constructor("B", [], header, tag)
    with pytest.raises(relay.RelayError, match=f"constructor B has tag {tag}, but its place in data type L is 1"):
        relay.TypeData(header, [], [first, second])


def test_a_list_that_is_built_by_hand_runs() -> None:
    header, scalar, nil, cons, data = list_type()
    mod = relay.IRModule({}, {header: data})
    name, of = relay.GlobalVar("sum"), relay.TypeCall(header, [])
    xs, head, tail = relay.Var("xs", of), relay.Var("head"), relay.Var("tail")
    pattern = relay.PatternConstructor(cons, [relay.PatternVar(head), relay.PatternVar(tail)])
    clauses = [relay.Clause(relay.PatternConstructor(nil, []), relay.const(0.0)), relay.Clause(pattern, head + relay.Call(name, [tail]))]
    mod[name] = relay.Function([xs], relay.Match(xs, clauses), scalar)
    value = relay.Call(nil, [])
    for number in range(10):
        value = relay.Call(cons, [relay.const(float(number)), value])
    mod["main"] = relay.Function([], relay.Call(name, [value]))
    relay.check(mod)
    for level in (0, 3):
        assert relay.compile(mod, opt_level=level)() == 45.0
    assert relay.evaluate(mod) == 45.0


@pytest.mark.parametrize("number, dtype", [(2**31, "int32"), (2**40, "int32"), ([1, 2**40], "int32"), (2**70, "int32"), (1e300, "float32")])
def test_numbers_do_not_become_others(number: object, dtype: str) -> None:
    with pytest.raises(OverflowError, match=f"does not fit {dtype}"):
        relay.const(number)


def test_numbers_that_fit() -> None:
    assert relay.const(2**40, "int64").data.item() == 2**40
    assert np.isinf(relay.const(float("inf")).data.item())
    assert relay.const(-(2**31)).data.item() == -(2**31)


def test_results_that_share_memory_are_read_only() -> None:
    run = relay.compile(relay.parse("def @main(%x: Tensor[(3), float32]) { %x }"))
    frozen = np.frombuffer(b"\0" * 12, "float32")
    assert not run(frozen).flags.writeable
    mine = np.zeros(3, "float32")
    result = run(mine)
    assert np.shares_memory(result, mine) and not result.flags.writeable
    assert not relay.const(mine).data.numpy().flags.writeable
    fresh = relay.compile(relay.parse("def @main(%x: Tensor[(3), float32]) { (add(%x, %x), %x) }"))(mine)
    assert [array.flags.writeable for array in fresh] == [True, False]


def test_values_are_not_hashable() -> None:
    header, scalar, nil, cons, data = list_type()
    mod = relay.IRModule({"main": relay.Function([], relay.Call(nil, []))}, {header: data})
    value = relay.compile(mod)()
    assert value == relay.evaluate(mod)
    with pytest.raises(TypeError, match="unhashable"):
        hash(value)
