"""tvm.relay.dataflow_pattern: matching, rewriting, partitioning."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import DFPatternCallback, is_constant, is_op, is_tuple_get_item, rewrite, wildcard


def conv_bn():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    conv = relay.nn.conv2d(x, w)
    g, b, m, v = (relay.var(n, shape=(4,)) for n in "gbmv")
    return relay.nn.batch_norm(conv, g, b, m, v)[0], conv


def test_match():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    pattern = is_op("add")(wildcard(), wildcard())
    assert pattern.match(x + y) and not pattern.match(x * y)
    assert is_op("nn.relu")(is_op("add")(wildcard(), is_constant())).match(relay.nn.relu(x + relay.const(1.0)))
    either = is_op("add")(wildcard(), wildcard()) | is_op("subtract")(wildcard(), wildcard())
    assert either.match(x - y) and either.match(x + y)
    out, conv = conv_bn()
    params = [wildcard() for _ in range(4)]
    assert is_tuple_get_item(is_op("nn.batch_norm")(is_op("nn.conv2d")(wildcard(), wildcard()), *params), 0).match(out)


def test_attributes_and_types():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 1, 1))
    strided = is_op("nn.conv2d")(wildcard(), wildcard()).has_attr({"strides": [2, 2]})
    assert strided.match(relay.nn.conv2d(x, w, strides=(2, 2))) and not strided.match(relay.nn.conv2d(x, w))
    assert wildcard().has_dtype("float32").match(x)


class FuseScale(DFPatternCallback):
    """x * a * b is x * (a * b) for constants a and b."""

    def __init__(self):
        super().__init__()
        self.x, self.a, self.b = wildcard(), is_constant(), is_constant()
        self.pattern = is_op("multiply")(is_op("multiply")(self.x, self.a), self.b)

    def callback(self, pre, post, node_map):
        a, b = node_map[self.a][0], node_map[self.b][0]
        return relay.multiply(node_map[self.x][0], relay.const(a.data.numpy() * b.data.numpy()))


def test_rewrite():
    x = relay.var("x", shape=(2,))
    out = rewrite(FuseScale(), x * relay.const(2.0) * relay.const(3.0) * relay.const(4.0))
    constants = []
    relay.analysis.post_order_visit(out, lambda e: constants.append(e) if isinstance(e, relay.Constant) else None)
    assert [float(c.data.numpy()) for c in constants] == [24.0]


def test_partition():
    x, w, b = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3)), relay.var("b", shape=(4,))
    relu = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w), b))
    pattern = is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard()))
    parted = pattern.partition(relu, {"Composite": "conv_bias_relu"})
    assert isinstance(parted.op, relay.Function) and parted.op.attrs["Composite"] == "conv_bias_relu" and len(parted.args) == 3


if __name__ == "__main__":
    pytest.main([__file__])
