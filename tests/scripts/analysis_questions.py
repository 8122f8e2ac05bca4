"""tvm.relay.analysis: variables, operators, features, kinds, form."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import analysis
from tvm.relay.analysis import Feature, all_type_vars, all_vars, bound_vars, check_kind, detect_feature, free_type_vars, free_vars, well_formed


def names(variables):
    return sorted(v.name_hint for v in variables)


def test_variables():
    x, y, z = (relay.var(n, shape=(2,)) for n in "xyz")
    let = relay.Let(y, x + x, y + z)
    assert names(free_vars(let)) == ["x", "z"] and names(bound_vars(let)) == ["y"] and names(all_vars(let)) == ["x", "y", "z"]
    f = relay.Function([x], let)
    assert names(free_vars(f)) == ["z"]
    # in the order of their uses
    assert [v.name_hint for v in free_vars(z * x - y)] == ["z", "x", "y"]


def test_type_variables():
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    t = relay.FuncType([a, b], relay.TupleType([a, b]), [a])
    mod = tvm.IRModule()
    assert [v.name_hint for v in free_type_vars(t, mod)] == ["b"] and {v.name_hint for v in all_type_vars(t, mod)} == {"a", "b"}
    assert check_kind(relay.TensorType((1,))) == relay.TypeKind.Type


def test_operators():
    net, _ = relay.testing.mlp.get_workload(1)
    freqs = analysis.list_op_freqs(net)
    assert freqs["nn.dense"] == 3 and freqs["nn.relu"] == 2
    assert analysis.get_total_mac_number(relay.transform.InferType()(net)["main"]) == 784 * 128 + 128 * 64 + 64 * 10


def test_features():
    x = relay.var("x", "float32")
    assert Feature.fLet not in detect_feature(relay.Function([x], x))
    assert Feature.fLet in detect_feature(relay.Let(relay.var("y"), x, x)) and Feature.fIf in detect_feature(relay.If(relay.const(True), x, x))
    mod = tvm.IRModule()
    mod.import_from_std("prelude.rly")
    assert Feature.fMatch in detect_feature(mod["hd"])


def test_form():
    x = relay.var("x", "float32")
    assert well_formed(relay.Function([x], x + x))
    assert not well_formed(relay.Let(x, relay.const(1.0), relay.Let(x, relay.const(2.0), x)))


def test_unmatched_cases():
    mod = tvm.IRModule()
    mod.import_from_std("prelude.rly")
    _, cons, nil = mod.get_type("List")
    v = relay.Var("v")
    only_nil = relay.Match(v, [relay.Clause(relay.PatternConstructor(nil), v)])
    cases = analysis.unmatched_cases(only_nil, mod)
    assert len(cases) == 1 and cases[0].constructor == cons
    both = relay.Match(v, [relay.Clause(relay.PatternConstructor(nil), v), relay.Clause(relay.PatternWildcard(), v)])
    assert len(analysis.unmatched_cases(both, mod)) == 0


def test_intermediate_results():
    x = relay.var("x", shape=(1, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.exp(relay.negative(x)))))
    inner = relay.analysis.extract_intermdeiate_expr(mod, 0)
    assert relay.testing.count_ops(inner["main"]) == {"negative": 1}
    whole = relay.analysis.extract_intermdeiate_expr(mod, 2)
    assert tvm.ir.structural_equal(whole, mod)


def test_visits():
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    seen = []
    analysis.post_order_visit(y + y, lambda e: seen.append(type(e).__name__))
    assert seen.count("Call") == 2 and seen[-1] == "Call"


if __name__ == "__main__":
    pytest.main([__file__])
