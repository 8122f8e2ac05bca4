"""Several rewrites by patterns: gelu, batch norm of parts, dominators, functions, if, tuples."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import (
    DFPatternCallback, dominates, is_constant, is_expr, is_if, is_let, is_op, is_tuple, is_tuple_get_item, is_var, rewrite, wildcard,
)


class GeluRewriter(DFPatternCallback):
    """x * (0.5 + erf(x * c) * 0.5) becomes one function."""

    def __init__(self):
        super().__init__(require_type=True)
        self.x, self.c, self.half, self.half2 = wildcard(), is_constant(), is_constant(), is_constant()
        erf = is_op("erf")(is_op("multiply")(self.x, self.c))
        self.pattern = is_op("multiply")(self.x, is_op("add")(self.half, is_op("multiply")(erf, self.half2)))

    def callback(self, pre, post, node_map):
        return relay.nn.relu(node_map[self.x][0])


class Once(DFPatternCallback):
    def __init__(self):
        super().__init__(rewrite_once=True)
        self.x = wildcard()
        self.pattern = is_op("exp")(self.x)

    def callback(self, pre, post, node_map):
        return relay.exp(relay.exp(node_map[self.x][0]))


def test_gelu():
    x = relay.var("x", shape=(2, 3))
    y = x * (relay.const(0.5) + relay.erf(x * relay.const(0.7)) * relay.const(0.5))
    out = rewrite(GeluRewriter(), relay.Function([x], y))
    tvm.ir.assert_structural_equal(out, relay.Function([x], relay.nn.relu(x)), map_free_vars=True)


def test_rewrite_once():
    x = relay.var("x", shape=(2,))
    assert relay.testing.count_ops(rewrite(Once(), relay.exp(x))) == {"exp": 2}


def test_commutative():
    x, y = relay.var("x"), relay.var("y")
    p = is_op("add")(is_op("exp")(wildcard()), is_var("y"))
    assert p.match(relay.exp(x) + y) and p.match(y + relay.exp(x)) and not p.match(x + relay.exp(y))


def test_dominator():
    is_conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
    is_elementwise = (wildcard().has_attr({"TOpPattern": tvm.relay.op.op.OpPattern.ELEMWISE}) | is_op("nn.relu"))(None)
    reduction = is_op("add")(wildcard(), wildcard())
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(3, 3, 1, 1))
    conv = relay.nn.conv2d(x, w)
    diamond = relay.add(relay.nn.relu(conv), relay.nn.relu(relay.nn.relu(conv)))
    pattern = dominates(is_conv2d, is_op("nn.relu")(wildcard()), reduction)
    assert pattern.match(diamond)
    assert is_elementwise is not None


def test_other_nodes():
    x, y, c = relay.var("x"), relay.var("y"), relay.var("c")
    assert is_tuple((wildcard(), wildcard())).match(relay.Tuple([x, y])) and not is_tuple((wildcard(),)).match(relay.Tuple([x, y]))
    assert is_tuple_get_item(is_tuple(None), 1).match(relay.TupleGetItem(relay.Tuple([x, y]), 1))
    assert is_if(is_var("c"), wildcard(), wildcard()).match(relay.If(c, x, y)) and is_let(is_var("x"), wildcard(), wildcard()).match(relay.Let(x, y, x))
    assert is_expr(x).match(x) and not is_expr(x).match(y)
    assert is_var("x").match(x) and is_var().match(y) and not is_var("x").match(y)
    assert wildcard().has_shape((2, 3)).match(relay.var("t", shape=(2, 3)))
    assert wildcard().has_type(relay.TensorType((2,), "int8")).match(relay.var("t", shape=(2,), dtype="int8"))


def test_optional():
    x, w, b = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3)), relay.var("b", shape=(4,))
    pattern = is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard()).optional(lambda p: is_op("nn.relu")(p))
    plain = relay.nn.bias_add(relay.nn.conv2d(x, w), b)
    assert pattern.match(plain) and pattern.match(relay.nn.relu(plain)) and not pattern.match(relay.exp(plain))


def test_partition_with_a_check():
    x, w = relay.var("x", shape=(1, 8)), relay.var("w", shape=(4, 8))
    pattern = is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard()))
    out = relay.nn.relu(relay.nn.dense(x, w))
    assert pattern.partition(out, check=lambda e: False) is out or tvm.ir.structural_equal(pattern.partition(out, check=lambda e: False), out)
    assert "PartitionedFromPattern" in pattern.partition(out).op.attrs.keys()


if __name__ == "__main__":
    pytest.main([__file__])
