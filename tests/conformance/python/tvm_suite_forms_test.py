"""Forms of scripts that test operators one by one: arrays of another dtype, steps that are left out, patterns that are compared, items by number."""

import numpy as np
import pytest

import tvm
import tvm.topi.testing
from tvm import relay
from tvm.relay.testing import check_grad


def test_references_of_slices_leave_steps_and_ends_out():
    data = np.zeros((3, 4), "float32")
    written = tvm.topi.testing.strided_set_python(data, np.ones((2, 3), "float32"), [1, 1], [3, 4], None)
    assert written.sum() == 6 and (written[1:, 1:] == 1).all() and data.sum() == 0
    assert (tvm.topi.testing.strided_set_python(data, 1, [1, 1], [3], [1])[1:, 1:] == 1).all()
    assert (tvm.topi.testing.strided_set_python(data, 1, [1], [3, 2], None)[1:, :2] == 1).all()
    assert tvm.topi.testing.strided_slice_python(data, [0, 0], [3, 4], [2]).shape == (2, 4)


def test_gradients_are_checked_with_inputs_of_open_shape():
    data, at = relay.var("data", shape=(3, 4), dtype="float64"), relay.var("at", shape=(relay.Any(),), dtype="int32")
    numbers = np.random.rand(3, 4)
    check_grad(relay.Function([data, at], relay.take(data, at, axis=1)), inputs=[numbers, np.array([1, 3], "int32")], test_inputs=[numbers])


def test_items_of_a_module_are_lists():
    mod = tvm.relay.parse('#[version = "0.0.5"]\ntype Box { Put(Tensor[(?, 1), uint16]) }\ndef @main() { Put }\ndef @other() { 1 }')
    (header, data), (name, function) = mod.type_definitions.items()[0], mod.functions.items()[0]
    assert header.name_hint == "Box" and data.constructors[0].name_hint == "Put"
    assert name.name_hint == "main" and function == mod["main"]
    assert isinstance(mod.functions, tvm.ir.Map) and len(mod.functions) == 2 and name in mod.functions
    assert [each.name_hint for each in mod.functions] == ["main", "other"] and "main" in repr(mod.functions)
    with pytest.raises(TypeError, match="item assignment"):
        mod.functions[name] = function
    assert tvm.ir.Map({"a": 1}).items() == [("a", 1)]


def test_patterns_and_clauses_are_compared():
    x, y = relay.Var("x"), relay.Var("y")
    equal = tvm.ir.structural_equal
    first, second = relay.PatternTuple([relay.PatternVar(x)]), relay.PatternTuple([relay.PatternVar(y)])
    assert equal(first, second) and tvm.ir.structural_hash(first) == tvm.ir.structural_hash(second)
    assert equal(relay.Clause(first, x), relay.Clause(second, y)) and not equal(relay.Clause(first, x), relay.Clause(second, x))
    assert not equal(first, relay.PatternWildcard()) and not equal(relay.PatternVar(x), x) and not equal(x, relay.PatternVar(x))
    assert not equal(first, relay.Clause(first, x)) and not equal(relay.Clause(first, x), relay.Match(x, [relay.Clause(first, x)]))
    tvm.ir.assert_structural_equal(first, second)
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        tvm.ir.assert_structural_equal(first, relay.PatternWildcard())


def test_places_that_nobody_gave_equal_none():
    made = relay.Var("x", None, relay.Span(relay.SourceName("net.py"), 1, 2, 3, 4))
    assert relay.Var("y").span == None and made.span != None and relay.Tuple([]).span == relay.Span()  # noqa: E711
    assert made.span == relay.Var("x", None, made.span).span and made.span != relay.Span() and len({made.span, made.span}) == 1
