"""Printing: headers, attributes, metadata, round trips of whole networks."""
import numpy as np

import tvm
import tvm.testing
from tvm import relay


def round_trip(thing):
    text = thing.astext()
    parsed = relay.fromtext(text) if isinstance(thing, tvm.IRModule) else relay.parse_expr(text)
    tvm.ir.assert_structural_equal(parsed, thing, map_free_vars=True)
    return text


def test_header():
    assert relay.const(1.0).astext().startswith('#[version = "0.0.5"]\n')
    assert str(tvm.IRModule.from_expr(relay.const(1.0))).startswith('#[version = "0.0.5"]\ndef @main()')


def test_attributes():
    x = relay.var("x", shape=(2, 8))
    assert "softmax(%x)" in round_trip(relay.nn.softmax(x)) and "axis=0" in round_trip(relay.nn.softmax(x, axis=0))
    assert 'out_dtype="float32"' not in round_trip(relay.nn.dense(x, relay.var("w", shape=(3, 8)), units=3))


def test_shared_nodes_are_named_once():
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    text = round_trip(relay.Function([x], y + y))
    assert text.count("exp(") == 1 and "%0" in text


def test_big_constants_are_metadata():
    c = relay.const(np.random.rand(3, 3).astype("float32"))
    mod = tvm.IRModule.from_expr(relay.add(c, c))
    text = mod.astext(show_meta_data=True)
    assert "meta[relay.Constant][0]" in text
    assert len(mod.astext(show_meta_data=False)) < len(text)


def test_control_flow():
    x, c = relay.var("x", shape=(2,)), relay.var("c", "bool")
    sb = relay.ScopeBuilder()
    with sb.if_scope(c):
        sb.ret(sb.let("two", x + x))
    with sb.else_scope():
        sb.ret(x)
    text = round_trip(relay.Function([x, c], sb.get()))
    assert "if (%c)" in text and "let %two" in text


def test_networks():
    for net, _ in (relay.testing.mlp.get_workload(1), relay.testing.dqn.get_workload(1), relay.testing.lstm.get_workload(2, 4)):
        round_trip(net)


def test_types():
    assert str(relay.TensorType((1, relay.Any()), "int8")) == "Tensor[(1, ?), int8]"
    assert str(relay.FuncType([relay.scalar_type("float32")], relay.TupleType([]))) == "fn (float32) -> ()"


if __name__ == "__main__":
    tvm.testing.main()
