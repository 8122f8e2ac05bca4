"""Partitioning for code generators of others, as scripts for TVM write it: patterns, annotation, regions."""

import sys
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.dataflow_pattern import is_constant, is_op, is_tuple_get_item, wildcard
from tvm.relay.op.annotation import compiler_begin, compiler_end
from tvm.relay.op.contrib.register import get_pattern_table, register_pattern_table
from tvm.relay.testing.temp_op_attr import TempOpAttr

sys.path.insert(0, str(Path(__file__).parent))
from partition_helpers import SHAPE, tensor, module, supports, partitioned, external, count, run, same_numbers, merged, relu_of  # noqa: E402

# ---- MergeComposite ---------------------------------------------------------------------------------------------------------------


def composites(mod, name="main"):
    found = []

    def look(expr):
        if isinstance(expr, relay.Function) and expr.attrs is not None and "Composite" in expr.attrs.keys():
            found.append((expr.attrs["Composite"], expr.attrs["PartitionedFromPattern"]))

    relay.analysis.post_order_visit(mod[name], look)
    return found




def test_composite_attributes():
    mod = merged(module(relay.nn.relu(tensor("x") + tensor("y"))), [("t.add_relu", relu_of("add"))])
    assert composites(mod) == [("t.add_relu", "add_nn.relu_")]


def test_composite_is_called_with_the_inputs_in_order():
    x, y = tensor("x"), tensor("y")
    call = merged(module(relay.nn.relu(x - y), [x, y]), [("t.f", relu_of("subtract"))])["main"].body
    assert isinstance(call.op, relay.Function) and [arg.name_hint for arg in call.args] == ["x", "y"]


@pytest.mark.parametrize("order", [["long", "short"], ["short", "long"]])
def test_order_of_the_table_is_the_priority(order):
    patterns = {"long": ("t.long", relu_of("add")), "short": ("t.short", is_op("add")(wildcard(), wildcard()))}
    mod = merged(module(relay.nn.relu(tensor("x") + tensor("y"))), [patterns[name] for name in order])
    assert [name for name, _ in composites(mod)] == ["t." + order[0]]


def test_check_refuses_by_the_type():
    x, y = tensor("x"), tensor("y", dtype="float64")
    table = [("t.add", is_op("add")(wildcard(), wildcard()), lambda root: root.checked_type.dtype == "float64")]
    mod = merged(module(relay.Tuple([x + x, y + y]), [x, y]), table)
    assert len(composites(mod)) == 1 and isinstance(mod["main"].body.fields[1].op, relay.Function)


def test_check_of_a_later_entry_sees_types():
    seen = []
    x = tensor("x")
    table = [("t.relu", is_op("nn.relu")(wildcard())), ("t.exp", is_op("exp")(wildcard()), lambda root: seen.append(root.checked_type) or True)]
    mod = merged(module(relay.exp(relay.nn.relu(x))), table)
    assert len(composites(mod)) == 2 and seen == [relay.TensorType(SHAPE, "float32")]


def test_check_that_raises():
    def check(root):
        raise KeyError("no such layer")

    with pytest.raises(KeyError, match="no such layer"):
        merged(module(relay.exp(tensor("x"))), [("t.exp", is_op("exp")(wildcard()), check)])


def test_inner_value_with_another_user_is_no_match():
    y = tensor("x") + tensor("y")
    assert composites(merged(module(relay.Tuple([relay.nn.relu(y), y])), [("t.f", relu_of("add"))])) == []


def test_constant_of_the_pattern_stands_inside():
    table = [("t.scale", is_op("multiply")(wildcard(), is_constant()))]
    call = merged(module(tensor("x") * relay.const(2.0)), table)["main"].body
    assert len(call.args) == 1 and isinstance(call.op.body.args[1], relay.Constant)


def test_constant_of_a_wildcard_is_an_argument():
    call = merged(module(tensor("x") * relay.const(2.0)), [("t.scale", is_op("multiply")(wildcard(), wildcard()))])["main"].body
    assert len(call.args) == 2


def test_optional_part():
    pattern = is_op("add")(wildcard(), wildcard()).optional(lambda p: is_op("nn.relu")(p))
    x, y = tensor("x"), tensor("y")
    mod = merged(module(relay.Tuple([relay.nn.relu(x + y), x + x]), [x, y]), [("t.f", pattern)])
    assert sorted(ops for _, ops in composites(mod)) == ["add_", "add_nn.relu_"]


def test_projection_in_a_pattern():
    parts = relay.split(tensor("x", (2, 4)), 2, 1)
    table = [("t.first", is_op("nn.relu")(is_tuple_get_item(is_op("split")(wildcard()), 0)))]
    assert composites(merged(module(relay.nn.relu(parts[0])), table)) == [("t.first", "split_TupleGetItem0_nn.relu_")]


def test_composites_in_both_branches():
    c, x = relay.var("c", shape=(), dtype="bool"), tensor("x")
    mod = merged(module(relay.If(c, relay.exp(x), relay.exp(x + x)), [c, x]), [("t.exp", is_op("exp")(wildcard()))])
    assert len(composites(mod)) == 2


def test_composites_in_every_function():
    x, y = tensor("x"), tensor("y")
    mod = tvm.IRModule({"main": relay.Function([x], relay.exp(x)), "other": relay.Function([y], relay.exp(y))})
    mod = merged(mod, [("t.exp", is_op("exp")(wildcard()))])
    assert len(composites(mod)) == 1 and len(composites(mod, "other")) == 1


def test_merging_twice_changes_nothing():
    table = [("t.add_relu", relu_of("add"))]
    once = merged(module(relay.nn.relu(tensor("x") + tensor("y"))), table)
    tvm.ir.assert_structural_equal(once, merged(once, table))


def test_composites_compute_the_same():
    before = module(relay.nn.relu(tensor("x") + tensor("y")) * tensor("z"))
    same_numbers(before, merged(before, [("t.add_relu", relu_of("add"))]))


@pytest.mark.parametrize("table", [[("t.f",)], [("t.f", "exp")], [(1, is_op("exp")(wildcard()))], [("t.f", is_op("exp")(wildcard()), 3)], 5])
def test_what_is_no_table(table):
    with pytest.raises(TypeError):
        transform.MergeComposite(table)


def test_table_of_a_file(tmp_path):
    path = tmp_path / "table"
    path.write_text("pattern t.f: nn.relu(_);")
    assert composites(merged(module(relay.nn.relu(tensor("x"))), path))
    with pytest.raises(tvm.TVMError, match="cannot open"):
        relay.transform.MergeComposite(tmp_path / "none")


def test_tables_by_name():
    @register_pattern_table("tablelib")
    def table():
        return [("tablelib.exp", is_op("exp")(wildcard()))]

    assert [name for name, _ in get_pattern_table("tablelib")] == ["tablelib.exp"] and get_pattern_table("nolib") is None


# ---- AnnotateTarget ---------------------------------------------------------------------------------------------------------------


def annotated(mod, targets, **options):
    return tvm.transform.Sequential([transform.InferType(), transform.AnnotateTarget(targets, **options), transform.InferType()])(mod)


def annotations(mod):
    found = []

    def look(expr):
        if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op) and expr.op.name.startswith("annotation.compiler"):
            found.append((expr.op.name.rpartition("_")[2], expr.attrs.compiler))

    relay.analysis.post_order_visit(mod["main"], look)
    return found


def test_annotations_around_a_call():
    with supports("a1", "exp"):
        assert annotations(annotated(module(relay.exp(tensor("x"))), "a1")) == [("begin", "a1"), ("end", "a1")]


def test_default_where_no_target_takes_a_call():
    assert set(annotations(annotated(module(relay.exp(tensor("x"))), "a2"))) == {("begin", "default"), ("end", "default")}


def test_first_target_that_takes_a_call():
    with supports("a3", "exp"), supports("b3", "exp", "tanh"):
        found = annotations(annotated(module(relay.tanh(relay.exp(tensor("x")))), ["a3", "b3"]))
    assert found == [("begin", "a3"), ("end", "a3"), ("begin", "b3"), ("end", "b3")]


def test_attribute_is_asked_with_the_call():
    asked = []

    def take(expr):
        asked.append(tuple(int(extent) for extent in expr.args[0].checked_type.shape))
        return len(asked) == 1

    x = tensor("x")
    with TempOpAttr("exp", "target.a4", take):
        mod = annotated(module(relay.Tuple([relay.exp(x), relay.exp(relay.sum(x, 1))])), "a4")
    assert sorted(asked) == [(2,), (2, 3)] and annotations(mod).count(("end", "a4")) == 1


def test_composite_of_the_target():
    mod = merged(module(relay.nn.relu(tensor("x") + tensor("y"))), [("a5.f", relu_of("add"))])
    assert annotations(annotated(mod, "a5")).count(("begin", "a5")) == 2
    assert ("begin", "a") not in annotations(annotated(mod, "a"))


def test_tuples_between_calls():
    x = tensor("x")
    body = relay.concatenate([relay.exp(x), relay.tanh(x)], 0)
    with supports("a6", "exp", "tanh", "concatenate"):
        assert ("begin", "default") not in annotations(annotated(module(body), "a6"))
        assert len(annotations(annotated(module(body), "a6", include_non_call_ops=False))) == 6


def test_a_second_run_keeps_what_is_annotated():
    body = relay.tanh(relay.exp(tensor("x")))
    with supports("a7", "exp"), supports("b7", "exp", "tanh"):
        once = annotated(module(body), "a7")
        both = annotations(annotated(once, "b7"))
    assert [target for kind, target in both if kind == "end"] == ["a7", "b7"]


def test_effects_belong_to_nobody():
    x = tensor("x")
    with supports("a8", "debug"):
        assert annotations(annotated(module(relay.debug(x)), "a8")) == []


# ---- Regions ----------------------------------------------------------------------------------------------------------------------


def regions(mod):
    ops = [relay.op.get("annotation.compiler_begin"), relay.op.get("annotation.compiler_end")]
    return relay.analysis.AnnotatedRegionSet(mod["main"].body, *ops)


def test_region_set():
    with supports("r1", "exp", "tanh"):
        found = regions(annotated(module(relay.tanh(relay.exp(tensor("x")))), "r1"))
    assert len(found) == 2 and [(r.target, len(r.args), len(r.rets), len(r.nodes)) for r in found] == [("r1", 1, 1, 3)] * 2


def test_region_of_a_node():
    x = tensor("x")
    begin = compiler_begin(x, "r2")
    node = relay.exp(begin)
    found = regions(module(compiler_end(node, "r2")))
    assert found.get_region(node).target == "r2" and found.get_region(node) is found.get_region(begin) and found.get_region(x) is None


def test_merged_regions():
    with supports("r3", "exp", "tanh"):
        mod = transform.MergeCompilerRegions()(annotated(module(relay.tanh(relay.exp(tensor("x")))), "r3"))
    assert len(regions(mod)) == 1 and annotations(mod) == [("begin", "r3"), ("end", "r3")]


def test_cycle_of_two_targets():
    # Each target needs a result of the other one in between.
    x = tensor("x")
    a = relay.exp(x)
    b = relay.tanh(a)
    c = relay.exp(b) + a
    before = module(c)
    with supports("r4", "exp", "add"), supports("s4", "tanh"):
        after = partitioned(before, ["r4", "s4"])
    assert sorted(f.attrs["Compiler"] for f in external(after).values()) == ["r4", "r4", "s4"]
    same_numbers(before, after)


def test_residual_around_what_is_not_taken_but_does_not_depend():
    x, y = tensor("x"), tensor("y")
    with supports("r5", "exp", "add"):
        after = partitioned(module(relay.exp(x) + relay.tanh(y), [x, y]), "r5")
    assert len(external(after)) == 1


# ---- PartitionGraph ---------------------------------------------------------------------------------------------------------------


def test_attributes_of_a_function():
    with supports("p1", "exp"):
        ((name, func),) = external(partitioned(module(relay.exp(tensor("x"))), "p1", mod_name="net")).items()
    assert name == "tvmgen_net_p1_main_0" and func.attrs["global_symbol"] == name
    assert int(func.attrs["Primitive"]) == 1 and int(func.attrs["Inline"]) == 1


def test_names_without_a_module_name():
    with supports("p2", "exp"):
        assert list(external(partitioned(module(relay.exp(tensor("x"))), "p2", mod_name=""))) == ["tvmgen_p2_main_0"]


def test_names_with_signs():
    with supports("p-2", "exp"):
        assert list(external(partitioned(module(relay.exp(tensor("x"))), "p-2", mod_name="my.net"))) == ["tvmgen_my_net_p_2_main_0"]


def test_several_results_are_a_tuple():
    x = tensor("x")
    a = relay.exp(x)
    before = module(relay.Tuple([relay.sqrt(a), relay.tanh(a)]))
    with supports("p3", "exp", "tanh"):
        after = partitioned(before, "p3")
    (func,) = external(after).values()
    assert isinstance(func.body, relay.Tuple) and len(func.body.fields) == 2
    same_numbers(before, after, SHAPE)


def test_result_that_several_use():
    a = relay.exp(tensor("x"))
    before = module(relay.Tuple([relay.sqrt(a), relay.tanh(a), a]))
    with supports("p4", "exp"):
        after = partitioned(before, "p4")
    assert not isinstance(next(iter(external(after).values())).body, relay.Tuple)
    same_numbers(before, after, SHAPE)


@pytest.mark.parametrize("bind", [True, False])
def test_constants(bind):
    before = module(tensor("x") + relay.const(np.ones(SHAPE, "float32")))
    with supports("p5", "add"):
        after = partitioned(before, "p5", bind_constants=bind)
    (func,) = external(after).values()
    assert len(func.params) == (1 if bind else 2)
    same_numbers(before, after, SHAPE)


def test_constant_that_two_regions_share():
    c = relay.const(np.full(SHAPE, 3, "float32"))
    before = module(relay.tanh(tensor("x") + c) + c)
    with supports("p6", "add"):
        after = partitioned(before, "p6")
    assert all(len(func.params) == 1 for func in external(after).values()) and len(external(after)) == 2
    same_numbers(before, after, SHAPE)


def test_one_value_is_one_parameter():
    x = tensor("x")
    with supports("p7", "add", "multiply"):
        (func,) = external(partitioned(module((x + x) * x), "p7")).values()
    assert len(func.params) == 1


def test_tuple_goes_in():
    t = relay.var("t", relay.TupleType([relay.TensorType(SHAPE), relay.TensorType(SHAPE)]))
    with supports("p8", "concatenate"):
        (func,) = external(partitioned(module(relay.op.concatenate(t, 0)), "p8")).values()
    assert isinstance(func.params[0].checked_type, relay.TupleType)


def test_tuple_comes_out():
    x = tensor("x", (2, 4))
    parts = relay.split(x, 2, 1)
    before = module(relay.Tuple([parts[0], relay.exp(parts[1])]))
    with supports("p9", "split"):
        after = partitioned(before, "p9")
    same_numbers(before, after, (2, 4))


def test_nested_tuples_come_out_flat():
    x = tensor("x")
    inner = relay.Tuple([relay.exp(x), relay.tanh(x)])
    before = module(relay.Tuple([relay.exp(relay.exp(x)), inner]))
    with supports("p10", "exp", "tanh"):
        after = partitioned(before, "p10")
    for func in external(after).values():
        fields = func.checked_type.ret_type
        assert not isinstance(fields, relay.TupleType) or not any(isinstance(field, relay.TupleType) for field in fields.fields)


def test_branches():
    c, x = relay.var("c", shape=(), dtype="bool"), tensor("x")
    before = module(relay.If(c, relay.exp(relay.exp(x)), relay.tanh(x)), [c, x])
    with supports("p11", "exp", "tanh"):
        after = partitioned(before, "p11")
    assert len(external(after)) == 2 and isinstance(after["main"].body, relay.If)
    for flag in (True, False):
        data = np.ones(SHAPE, "float32")
        np.testing.assert_allclose(run(after, flag, data)[0], run(before, flag, data)[0], rtol=1e-5)


def test_value_that_both_branches_share_is_computed_before():
    c, x = relay.var("c", shape=(), dtype="bool"), tensor("x")
    a = relay.exp(x)
    before = module(relay.If(c, relay.exp(a), relay.tanh(a)), [c, x])
    with supports("p12", "exp", "tanh"):
        after = partitioned(before, "p12")
    assert len(external(after)) == 3
    np.testing.assert_allclose(run(after, False, np.ones(SHAPE, "float32"))[0], np.tanh(np.exp(np.ones(SHAPE))), rtol=1e-5)


def test_lets():
    x, v = tensor("x"), relay.var("v")
    before = module(relay.Let(v, relay.exp(relay.tanh(x)), relay.exp(v) + v), [x])
    with supports("p13", "exp", "add", "tanh"):
        after = partitioned(before, "p13")
    assert len(external(after)) == 2
    same_numbers(before, after, SHAPE)


def test_inner_functions():
    x, y = tensor("x"), tensor("y")
    f = relay.var("f")
    before = module(relay.Let(f, relay.Function([y], relay.exp(relay.exp(y))), relay.Call(f, [relay.Call(f, [x])])), [x])
    with supports("p14", "exp"):
        after = partitioned(before, "p14")
    assert len(external(after)) == 1
    same_numbers(before, after, SHAPE)


def test_every_global_function():
    x, y = tensor("x"), tensor("y")
    mod = tvm.IRModule()
    helper = relay.GlobalVar("helper")
    mod[helper] = relay.Function([y], relay.exp(y), relay.TensorType(SHAPE))
    mod["main"] = relay.Function([x], helper(relay.exp(x)))
    with supports("p15", "exp"):
        after = partitioned(mod, "p15")
    assert sorted(external(after)) == ["tvmgen_default_p15_helper_0", "tvmgen_default_p15_main_0"]


def test_open_extents():
    x = tensor("x", (relay.Any(), 3))
    before = module(relay.exp(x) + x)
    with supports("p16", "exp", "add"):
        after = partitioned(before, "p16")
    assert len(external(after)) == 1
    for rows in (1, 4):
        same_numbers(before, after, (rows, 3))


def test_no_arguments():
    with supports("p17", "zeros"):
        after = partitioned(module(relay.zeros(SHAPE, "float32"), []), "p17")
    (func,) = external(after).values()
    assert len(func.params) == 0


def test_composite_stands_in_the_function():
    mod = merged(module(relay.nn.relu(tensor("x") + tensor("y"))), [("p18.f", relu_of("add"))])
    (func,) = external(partitioned(mod, "p18")).values()
    assert func.body.op.attrs["Composite"] == "p18.f"


def test_without_merging_each_call_is_a_function():
    with supports("p19", "exp"):
        assert len(external(partitioned(module(relay.exp(relay.exp(tensor("x")))), "p19", merge=False))) == 2


def test_annotations_by_hand():
    x = tensor("x")
    body = compiler_end(relay.tanh(relay.exp(compiler_begin(x, "p20"))), "p20")
    after = transform.PartitionGraph()(transform.InferType()(module(body)))
    (func,) = external(after).values()
    assert count(func, "exp") == 1 and annotations(after) == []


def test_annotations_of_two_targets_at_one_node():
    x = tensor("x")
    with pytest.raises(Exception, match="two code generators"):
        transform.PartitionGraph()(transform.InferType()(module(compiler_begin(x, "u") + compiler_begin(x, "v"))))


def test_optimise_function_of_a_script():
    @tvm.register_func("relay.ext.p21.optimize", override=True)
    def optimise(mod):
        x = relay.var("x", shape=SHAPE)
        mod["main"] = relay.Function([x], relay.exp(x) + relay.const(0.0))
        return mod

    with supports("p21", "exp"):
        (func,) = external(partitioned(module(relay.exp(tensor("x"))), "p21")).values()
    assert count(func, "add") == 1 and func.attrs["Compiler"] == "p21"
