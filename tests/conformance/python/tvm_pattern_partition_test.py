"""tvm.relay.dataflow_pattern: cutting matches out as functions."""

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import (
    FunctionPattern, dominates, is_constant, is_expr, is_if, is_let, is_op, is_tuple, is_tuple_get_item, is_var, wildcard,
)  # fmt: skip
from tvm.relay.testing import run_infer_type

x, y, z = (relay.var(name, shape=(4, 4)) for name in "xyz")


def same(a, b):
    tvm.ir.assert_structural_equal(a, b, map_free_vars=True)


def function_of(call):
    assert isinstance(call, relay.Call) and isinstance(call.op, relay.Function)
    return call.op


def test_partition():
    cut = (wildcard() + wildcard()).partition(x + y)
    function = function_of(cut)
    assert function.attrs["PartitionedFromPattern"] == "add_"
    assert [a.same_as(b) for a, b in zip(cut.args, (x, y))] == [True, True]
    same(function.body, function.params[0] + function.params[1])


def test_partition_what_does_not_match():
    assert (wildcard() + wildcard()).partition(x * y).same_as(x * y) is False
    expr = x * y
    assert (wildcard() + wildcard()).partition(expr).same_as(expr)


def test_partition_names_operators():
    pattern = is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.dense")(wildcard(), wildcard()), wildcard()))
    cut = pattern.partition(relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, y), relay.var("b", shape=(4,)))))
    assert function_of(cut).attrs["PartitionedFromPattern"] == "nn.dense_nn.bias_add_nn.relu_"
    assert len(cut.args) == 3


def test_partition_names_tuples_and_projections():
    pattern = is_tuple_get_item(is_op("split")(wildcard()), 1)
    cut = pattern.partition(relay.split(x, 2, axis=0)[1])
    assert function_of(cut).attrs["PartitionedFromPattern"] == "split_TupleGetItem1_"
    pattern = is_op("concatenate")(is_tuple([wildcard(), wildcard()]))
    cut = pattern.partition(relay.concatenate([x, y], 0))
    assert function_of(cut).attrs["PartitionedFromPattern"] == "Tuple_concatenate_"


def test_partition_with_attributes():
    cut = (wildcard() + wildcard()).partition(x + y, {"Composite": "mine", "Level": 3})
    attrs = function_of(cut).attrs
    assert attrs["Composite"] == "mine" and attrs["Level"] == 3 and attrs["PartitionedFromPattern"] == "add_"


def test_partition_with_a_check():
    data = relay.var("d", shape=(1, 4, 8, 8))
    first = relay.nn.conv2d(data, relay.var("w", shape=(4, 4, 3, 3)), padding=(1, 1))
    second = relay.nn.conv2d(first, relay.var("v", shape=(4, 4, 3, 3)), padding=(1, 1), strides=(2, 2))
    pattern = is_op("nn.conv2d")(wildcard(), wildcard())
    cut = pattern.partition(second, check=lambda call: list(call.attrs.strides) == [2, 2])
    assert function_of(cut) and cut.args[0].op.name == "nn.conv2d"


def test_partition_check_sees_the_match():
    seen = []
    (wildcard() + wildcard()).partition(relay.exp(x + y), check=lambda e: seen.append(e) or False)
    assert len(seen) == 1 and seen[0].op.name == "add"


def test_partition_check_that_raises():
    def check(expr):
        raise RuntimeError("no idea")

    with pytest.raises(RuntimeError, match="no idea"):
        (wildcard() + wildcard()).partition(x + y, check=check)


def test_partition_embeds_constants_of_constant_patterns():
    one = relay.const(1.0)
    cut = is_op("add")(wildcard(), is_constant()).partition(x + one)
    assert len(cut.args) == 1 and isinstance(function_of(cut).body.args[1], relay.Constant)
    cut = is_op("add")(wildcard(), wildcard()).partition(x + one)
    assert len(cut.args) == 2 and cut.args[1].same_as(one)
    cut = is_op("add")(wildcard(), is_expr(relay.const(1.0))).partition(x + one)
    assert len(cut.args) == 1


def test_partition_embeds_constants_of_alternatives():
    pattern = is_op("add")(wildcard(), is_constant() | is_var())
    assert len(pattern.partition(x + relay.const(1.0)).args) == 1
    assert len(pattern.partition(x + y).args) == 2
    pattern = is_op("add")(wildcard(), wildcard() | is_constant())
    assert len(pattern.partition(x + relay.const(1.0)).args) == 2


def test_partition_passes_a_value_once():
    cut = is_op("nn.relu")(is_op("add")(wildcard(), wildcard())).partition(relay.nn.relu(x + x))
    assert len(cut.args) == 1
    (param,) = function_of(cut).params
    same(function_of(cut).body, relay.nn.relu(param + param))


def test_partition_diamond():
    stem = is_op("nn.relu")(wildcard())
    pattern = is_op("add")(is_op("exp")(stem), is_op("log")(stem))
    r = relay.nn.relu(x)
    cut = pattern.partition(relay.exp(r) + relay.log(r))
    function = function_of(cut)
    assert function.attrs["PartitionedFromPattern"] == "nn.relu_exp_log_add_" and len(cut.args) == 1
    body = function.body
    assert body.args[0].args[0].same_as(body.args[1].args[0])


def test_partition_leaves_a_diamond_with_another_use():
    stem = is_op("nn.relu")(wildcard())
    pattern = is_op("add")(is_op("exp")(stem), is_op("log")(stem))
    r = relay.nn.relu(x)
    expr = relay.Tuple([relay.exp(r) + relay.log(r), r])
    assert pattern.partition(expr).same_as(expr)


def test_partition_chain_of_matches():
    pattern = is_op("nn.relu")(wildcard() + wildcard())
    expr = relay.nn.relu(relay.nn.relu(x + y) + y)
    cut = pattern.partition(expr)
    inner = cut.args[0]
    assert function_of(cut).attrs["PartitionedFromPattern"] == function_of(inner).attrs["PartitionedFromPattern"] == "add_nn.relu_"
    names = {p.name_hint for f in (function_of(cut), function_of(inner)) for p in f.params}
    assert len(names) == 4 and all(name.startswith("FunctionVar_") for name in names)


def test_partition_does_not_overlap():
    """Two matches that share a node: the one nearer to the result is cut out, the other stays."""
    pattern = is_op("exp")(is_op("exp")(wildcard()))
    cut = pattern.partition(relay.exp(relay.exp(relay.exp(x))))
    assert function_of(cut).attrs["PartitionedFromPattern"] == "exp_exp_" and cut.args[0].op.name == "exp"
    assert cut.args[0].args[0].same_as(x)


def test_partition_shared_inner_node_of_two_matches():
    s = x + y
    pattern = is_op("exp")(wildcard() + wildcard())
    expr = relay.Tuple([relay.exp(s), relay.exp(s)])
    assert pattern.partition(expr).same_as(expr)


def test_partition_twice_leaves_what_is_cut_out():
    pattern = wildcard() + wildcard()
    once = pattern.partition(x + y)
    assert pattern.partition(once).same_as(once)


def test_partition_any_arguments():
    cut = is_op("concatenate")(None).partition(relay.concatenate([x, y], 0))
    assert len(cut.args) == 1 and isinstance(cut.args[0], relay.Tuple)
    cut = is_op("where")(None).partition(relay.where(x, y, z))
    assert len(cut.args) == 3
    cut = is_op("concatenate")(is_tuple(None)).partition(relay.concatenate([x, y, z], 0))
    assert len(cut.args) == 3


def test_partition_optional_parts():
    pattern = is_op("nn.dense")(wildcard(), wildcard()).optional(lambda p: is_op("nn.relu")(p))
    d = relay.nn.dense(x, y)
    assert function_of(pattern.partition(relay.nn.relu(d))).attrs["PartitionedFromPattern"] == "nn.dense_nn.relu_"
    assert function_of(pattern.partition(d)).attrs["PartitionedFromPattern"] == "nn.dense_"


def test_partition_dominated_region():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    unary = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    pattern = dominates(conv, unary, is_op("add")(wildcard(), wildcard()))
    data, weight = relay.var("d", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    c = relay.nn.conv2d(data, weight, padding=(1, 1))
    cut = pattern.partition(relay.tanh(relay.nn.relu(relay.exp(c)) + relay.negative(c)))
    region = cut.args[0]
    assert len(region.args) == 2 and region.args[0].same_as(data) and region.args[1].same_as(weight)
    assert function_of(region).attrs["PartitionedFromPattern"] == "nn.conv2d_exp_nn.relu_negative_add_"


def test_partition_dominated_regions_in_a_row():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    unary = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    pattern = dominates(conv, unary, is_op("add")(wildcard(), wildcard()))
    value, weight = relay.var("d", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    for _ in range(3):
        c = relay.nn.conv2d(value, weight, padding=(1, 1))
        value = relay.exp(c) + relay.nn.relu(c)
    cut = pattern.partition(value)
    for _ in range(3):
        assert function_of(cut).attrs["PartitionedFromPattern"] == "nn.conv2d_exp_nn.relu_add_"
        cut = cut.args[0]
    assert isinstance(cut, relay.Var)


def test_partition_functions():
    f = relay.Function([x, y], x + y)
    pattern = FunctionPattern([wildcard(), wildcard()], wildcard() + wildcard())(wildcard(), wildcard())
    cut = pattern.partition(relay.Call(f, [z, z]))
    assert len(cut.args) == 1 and isinstance(function_of(cut).body.op, relay.Function)
    assert function_of(cut).attrs["PartitionedFromPattern"] == "add_FunctionCall_"


def test_partition_if():
    cond = relay.var("c", shape=(), dtype="bool")
    cut = is_if(is_var(), is_op("add")(wildcard(), wildcard()), wildcard()).partition(relay.If(cond, x + y, z))
    assert function_of(cut).attrs["PartitionedFromPattern"] == "add_If_" and len(cut.args) == 4


def test_partition_let_keeps_its_variable():
    v = relay.var("v")
    expr = relay.Let(v, x + y, relay.exp(v))
    cut = is_let(is_var(), wildcard() + wildcard(), is_op("exp")(wildcard())).partition(expr)
    if cut.same_as(expr):
        return
    assert not relay.analysis.free_vars(cut.op)


def test_partition_inside_a_function():
    f = relay.Function([x, y], relay.exp(x + y))
    cut = (wildcard() + wildcard()).partition(f)
    assert isinstance(cut, relay.Function) and isinstance(cut.body.args[0].op, relay.Function)
    run_infer_type(cut)


def test_partition_result_computes_the_same():
    a, b = (relay.var(n, shape=(3, 3)) for n in "ab")
    expr = relay.nn.relu(relay.multiply(a, b) + b) - a
    pattern = is_op("nn.relu")(is_op("multiply")(wildcard(), wildcard()) + wildcard())
    before, after = relay.Function([a, b], expr), relay.Function([a, b], pattern.partition(expr))
    data = [np.random.default_rng(n).standard_normal((3, 3)).astype("float32") for n in range(2)]
    results = [relay.create_executor("graph", mod=tvm.IRModule.from_expr(f)).evaluate()(*data).numpy() for f in (before, after)]
    np.testing.assert_array_equal(*results)


def test_partition_large_program():
    value = x
    for _ in range(5000):
        value = relay.nn.relu(value + y)
    cut = is_op("nn.relu")(wildcard() + wildcard()).partition(value)
    count = 0
    while not isinstance(cut, relay.Var):
        function_of(cut)
        cut, count = cut.args[0], count + 1
    assert count == 5000


def test_partition_wrong_attributes():
    with pytest.raises(TypeError, match="attribute Bad"):
        (wildcard() + wildcard()).partition(x + y, {"Bad": object()})
