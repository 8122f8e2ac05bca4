"""Forms of scripts that test operators one by one: arrays of another dtype, steps that are left out, patterns that are compared, items by number."""

import numpy as np
import pytest

import relay as plain
import tvm
import tvm.topi.testing
from tvm import relay
from tvm.relay.testing import check_grad


@pytest.mark.parametrize("kind", ["graph", "aot"])
def test_graph_executors_take_arrays_of_another_dtype(kind):
    x, count = relay.var("x", shape=(3,)), relay.var("count", shape=(), dtype="uint8")
    run = relay.create_executor(kind).evaluate(relay.Function([x, count], relay.Tuple([x * relay.const(2.0), count])))
    double, number = run(np.array([0.5, 1, 1.5], "float64"), np.int64(7))
    assert double.dtype == "float32" and (double.numpy() == [1, 2, 3]).all()
    assert number.dtype == "uint8" and int(number.numpy()) == 7
    # Parameters whose types are inferred have one, too.
    data, bias = relay.var("data", shape=(2, 3)), relay.var("bias")
    added = relay.create_executor(kind).evaluate(relay.Function([data, bias], relay.nn.bias_add(data, bias)))
    assert (added(np.ones((2, 3)), np.ones(3)).numpy() == 2).all()
    # Arrays of tvm.nd are copied as they are, so their dtype has to be right.
    with pytest.raises(plain.RelayError, match="expected Tensor\\[\\(3\\), float32\\], found Tensor\\[\\(3\\), float64\\]"):
        run(tvm.nd.array(np.ones(3)), np.uint8(1))


@pytest.mark.parametrize("kind", ["graph", "vm", "debug"])
def test_arguments_go_by_place_to_parameters_of_one_name(kind):
    parts = [relay.var("part", shape=(count,)) for count in (1, 2, 3)]
    run = relay.create_executor(kind).evaluate(relay.Function(parts, relay.concatenate(parts, 0)))
    arrays = [np.full(count, count, "float32") for count in (1, 2, 3)]
    assert (run(*arrays).numpy() == [1, 2, 2, 3, 3, 3]).all()
    with pytest.raises(TypeError, match="%part was given twice"):
        run(arrays[0], part=arrays[1])
    with pytest.raises(TypeError, match="there is none for %part"):
        run(*arrays[:2])


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_other_executors_take_the_dtype_of_the_parameter_alone(kind):
    x = relay.var("x", shape=(3,))
    with pytest.raises(plain.RelayError, match="found Tensor\\[\\(3\\), float64\\]"):
        relay.create_executor(kind).evaluate(relay.Function([x], x))(np.ones(3))


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


def filled(default, *more):
    """The values after empty rows are filled, and the types of the call's arguments."""
    places, values = relay.var("places", shape=(2, 2), dtype="int64"), relay.var("values", shape=(2,))
    call = relay.sparse_fill_empty_rows(places, values, [4, 3], default)
    params = [places, values, *relay.analysis.free_vars(default)] if isinstance(default, relay.Expr) else [places, values]
    run = relay.create_executor("vm").evaluate(relay.Function(params, call.astuple()))
    return run(np.array([[0, 1], [2, 0]]), np.array([1, 2], "float32"), *more)[1].numpy().tolist()


def test_the_number_of_empty_rows_may_be_a_vector_of_one():
    expected, number = [1, 9, 2, 9], np.full(1, 9, "float32")
    for default in (9.0, [9.0], number, relay.const(9.0), relay.const(number)):
        assert filled(default) == expected
    for extent in (1, relay.Any()):
        var = relay.var("number", shape=(extent,))
        assert filled(var, number) == expected and filled(relay.nn.relu(var), number) == expected
    assert filled(relay.var("number", shape=()), np.float32(9)) == expected
    with pytest.raises(plain.RelayError, match="default_value must have rank 0"):
        filled(relay.var("number", shape=(1, 1)), np.ones((1, 1), "float32"))


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


def test_values_by_a_name_that_two_parameters_have_are_refused():
    params = [relay.var("a", shape=(1,)), relay.var("a", shape=(1,))]
    for error in (tvm.TVMError, ValueError):
        with pytest.raises(error, match="two parameters are called %a"):
            relay.build_module.bind_params_by_name(relay.Function(params, params[0] + params[1]), {"a": [1.0]})
