"""Questions that a deployment script asks of a model: features, types, layers, work, weights; and what it refuses."""
import pytest

import tvm
from tvm import relay
from tvm.relay.analysis import Feature, all_vars, bound_vars, detect_feature, free_vars
from tvm.relay.testing import lstm, mobilenet


def network():
    mod, params = mobilenet.get_workload(batch_size=1, image_shape=(3, 32, 32))
    return relay.transform.InferType()(mod), params


def test_weights_are_the_parameters_but_one():
    mod, params = network()
    main = mod["main"]
    assert {v.name_hint for v in main.params} - set(params) == {"data"}
    assert not free_vars(main) and len(bound_vars(main)) == len(main.params) == len(all_vars(main))
    assert sum(v.numpy().size for v in params.values()) > 1_000_000


def test_work_and_layers():
    mod, _ = network()
    macs = relay.analysis.get_total_mac_number(mod["main"])
    assert 5_000_000 < int(macs) < 50_000_000
    depth = relay.analysis.count_layers(mod["main"], valid_ops=["nn.conv2d", "nn.dense"])
    assert depth == 28
    assert relay.analysis.list_op_freqs(mod)["nn.conv2d"] == 27
    assert relay.analysis.all_dtypes(mod["main"]) == {"float32"}


def test_features():
    mod, _ = network()
    plain = detect_feature(mod["main"])
    assert plain >= {Feature.fVar, Feature.fCall, Feature.fOp} and not plain & {Feature.fLet, Feature.fIf, Feature.fMatch, Feature.fRefCreate}
    assert Feature.fLet in detect_feature(relay.transform.ToANormalForm()(mod)["main"])
    recurrent, _ = lstm.get_workload(2, 4)
    assert Feature.fLet in detect_feature(recurrent)


def test_forms():
    mod, _ = network()
    assert relay.analysis.check_basic_block_normal_form(mod["main"]) is True
    assert relay.analysis.well_formed(mod["main"])
    x = relay.var("x")
    assert not relay.analysis.well_formed(relay.Let(x, relay.const(1), relay.Let(x, relay.const(2), x)))
    p = relay.prelude.Prelude() if hasattr(relay, "prelude") else None
    p = relay.prelude.Prelude()
    _, cons, nil = p.mod.get_type("List")
    v = relay.Var("v")
    partial = relay.Match(v, [relay.Clause(relay.PatternConstructor(cons, [relay.PatternWildcard(), relay.PatternWildcard()]), relay.const(1))], complete=False)
    missing = relay.analysis.unmatched_cases(partial, p.mod)
    assert len(missing) == 1 and missing[0].constructor.name_hint == nil.name_hint


def test_what_is_captured():
    x, y = relay.var("x", "float32"), relay.var("y", "float32")
    inner = relay.Function([x], x + y)
    assert [v.name_hint for v in free_vars(inner)] == ["y"]
    with pytest.raises(Exception):
        relay.build(tvm.IRModule.from_expr(relay.Function([x], inner)), target="llvm")


if __name__ == "__main__":
    pytest.main([__file__])
