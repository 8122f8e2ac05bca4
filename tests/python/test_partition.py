"""Partitioning by the package `relay` alone (docs/external-code.md); tests in TVM's style are in tests/conformance/python."""

import numpy as np
import pytest
import relay
from relay import transform
from relay.dataflow_pattern import DFPatternCallback, is_op, rewrite, wildcard


def partitioned(mod, operators, merge=True):
    steps = [transform.AnnotateTarget("t", operators=operators)]
    if merge:
        steps.append(transform.MergeCompilerRegions())
    return transform.Sequential([*steps, transform.PartitionGraph()])(mod)


def functions(mod):
    return [name for name in mod.function_names if name != "main"]


def test_table_as_text():
    mod = relay.parse("def @main(%x: Tensor[(2), float32], %n: Tensor[(2), int32]) { (exp(%x), exp(cast(%n, dtype=\"float64\"))) }")
    made = transform.MergeComposite("pattern t.exp: exp(%x) where dtype(%x) == float32;")(mod)
    assert str(made).count('Composite="t.exp"') == 1


def test_facts_of_operators():
    relay.op.set_attr("tan", "target.facts", lambda call: call.checked_type.dtype == "float32")
    try:
        mod = relay.parse("def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float64]) { (tan(%x), tan(%y)) }")
        made = transform.Sequential([transform.AnnotateTarget("facts"), transform.PartitionGraph()])(mod)
        assert functions(made) == ["tvmgen_default_facts_main_0"]
    finally:
        relay.op.facts.reset_attr("tan", "target.facts")


def test_tables_by_name():
    assert relay.op.contrib.get_pattern_table("dnnl")[0][0] == "dnnl.conv1d_bias_relu" and "contrib" in dir(relay.op)


def test_a_model_through_onednn():
    mod = relay.parse("def @main(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]) { exp(nn.relu(nn.dense(%x, %w) + 1f)) }")
    x, w = np.arange(8, dtype="float32").reshape(2, 4) / 8, np.ones((3, 4), "float32")
    made = relay.op.contrib.dnnl.partition_for_dnnl(mod, {"w": w})
    assert functions(made) == ["tvmgen_default_dnnl_main_0"]
    np.testing.assert_allclose(relay.evaluate(made, x), relay.evaluate(mod, x, w), rtol=1e-6)


@pytest.mark.parametrize("merge", [True, False])
def test_a_deep_program(merge):
    x = relay.var("x", shape=(2,))
    value = x
    for _ in range(20000):
        value = relay.tanh(value)
    made = partitioned(relay.IRModule.from_expr(relay.Function([x], value)), ["tanh"], merge)
    assert len(functions(made)) == (1 if merge else 20000)


def test_many_regions_that_cannot_be_one():
    # Each sum needs the exponential of the one before: 2,000 regions in a row, each beside the next.
    x = relay.var("x", shape=(2,))
    value = x
    for _ in range(2000):
        value = value + relay.exp(value)
    made = partitioned(relay.IRModule.from_expr(relay.Function([x], value)), ["add"])
    assert len(functions(made)) == 2000


def test_a_wide_program_is_one_region():
    x = relay.var("x", shape=(2,))
    rows = [relay.tanh(relay.exp(x + relay.const(float(i)))) for i in range(1000)]
    made = partitioned(relay.IRModule.from_expr(relay.Function([x], relay.concatenate(rows, 0))), ["add", "tanh", "concatenate"])
    run = relay.evaluate(made, np.zeros(2, "float32"))
    np.testing.assert_allclose(run[:4], np.tanh(np.exp([0, 0, 1, 1])), rtol=1e-6)


def test_a_function_is_not_partitioned_again():
    x = relay.var("x", shape=(2,))
    once = partitioned(relay.IRModule.from_expr(relay.Function([x], relay.tanh(x))), ["tanh"])
    assert partitioned(once, ["tanh"]) is once


@pytest.mark.parametrize(("targets", "error"), [([], "no target"), ([""], "has a name"), (3, "is a list"), ([1], "list of texts")])
def test_wrong_targets(targets, error):
    with pytest.raises((relay.RelayError, TypeError), match=error):
        transform.AnnotateTarget(targets)


def test_a_fact_that_raises():
    def refuse(call):
        raise KeyError("no such kernel")

    mod = relay.parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }")
    with pytest.raises(KeyError, match="no such kernel"):
        transform.AnnotateTarget("t", lookup=lambda op, key: refuse)(mod)


def test_region_set_of_an_operator_that_is_not_there():
    with pytest.raises(relay.RelayError, match="there is no operator annotation.start"):
        relay.analysis.AnnotatedRegionSet(relay.var("x"), "annotation.start", "annotation.compiler_end")


def test_calibration_data_in_a_branch():
    mod = relay.parse("def @main(%c: bool, %x: Tensor[(2), float32]) { if (%c) { exp(%x) } else { %x } }")
    made = partitioned(mod, ["exp"])
    with pytest.raises(NotImplementedError, match="in a branch or an inner function"):
        relay.analysis.get_calibration_data(made, {"c": np.bool_(True), "x": np.ones(2, "float32")})


def test_calibration_data_of_a_let():
    mod = relay.parse("def @main(%x: Tensor[(2), float32]) { let %y = tanh(%x); let %z = exp(%y); %z + %y }")
    (found,) = relay.analysis.get_calibration_data(partitioned(mod, ["exp"]), {"x": np.zeros(2, "float32")}).values()
    assert found["inputs"][0].tolist() == [0, 0] and found["outputs"][0].tolist() == [1, 1]


def test_a_code_generator_has_a_name():
    with pytest.raises(ValueError, match="has a name"):
        relay.codegen.register("", lambda func: func)


def test_rewriting_of_a_module():
    class Nothing(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.pattern = is_op("exp")(wildcard())

        def callback(self, pre, post, node_map):
            return post

    with pytest.raises(TypeError, match="rewrite its functions"):
        rewrite(Nothing(), relay.parse("def @main(%x: float32) { exp(%x) }"))
