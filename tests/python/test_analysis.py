"""What analyses of Relay alone say: each mistake that `verify` finds, and parts of programs by number."""

import pytest

import relay
from relay import analysis


def test_verify_finds_nothing_in_a_sound_program():
    assert analysis.verify(relay.parse("def @main(%x: float32) { let %y = exp(%x); %y + %y }")) == []


def test_verify_finds_a_variable_bound_twice():
    x = relay.var("x", shape=())
    found = analysis.verify(relay.Let(x, relay.const(1.0), relay.Let(x, relay.const(2.0), x)))
    assert len(found) == 1 and found[0].severity == "error" and "%x" in found[0].message


def test_verify_finds_a_use_out_of_scope():
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    found = analysis.verify(relay.Tuple([relay.Let(x, y, x), x]))
    assert found and "%x" in found[0].message and not analysis.well_formed(relay.Tuple([relay.Let(x, y, x), x]))


def test_intermediate_expressions_by_number():
    mod = relay.parse("def @main(%x: float32, %y: float32) { (exp(%x), tanh(%y)).1 }")
    text = [analysis.extract_intermediate_expr(mod, i)["main"] for i in range(4)]
    assert [[v.name_hint for v in f.params] for f in text] == [["x"], ["y"], ["x", "y"], ["x", "y"]]
    assert [type(f.body).__name__ for f in text] == ["Call", "Call", "Tuple", "TupleGetItem"]
    assert analysis.extract_intermdeiate_expr(mod, 0)["main"].body.op.name == "exp"
    with pytest.raises(IndexError, match="0 to 3, not 4"):
        analysis.extract_intermediate_expr(mod, 4)
