"""Rewrites as compilers on top of TVM have them: batch normalisation folded, gelu found, constants checked, types asked."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import (DFPatternCallback, FunctionPattern, TupleGetItemPattern, dominates, has_attr, has_dtype, has_shape, has_type,
                                        is_constant, is_expr, is_if, is_let, is_op, is_tuple, is_tuple_get_item, is_var, rewrite, wildcard)


class FoldBatchNorm(DFPatternCallback):
    def __init__(self, eps=1e-5):
        super().__init__(require_type=True)
        self.data, self.weight = wildcard(), is_constant()
        self.gamma, self.beta, self.mean, self.var = is_constant(), is_constant(), is_constant(), is_constant()
        conv = is_op("nn.conv2d")(self.data, self.weight).has_attr({"groups": 1})
        self.conv = conv
        bn = is_op("nn.batch_norm")(conv, self.gamma, self.beta, self.mean, self.var)
        self.pattern = is_tuple_get_item(bn, 0)
        self.eps = eps

    def callback(self, pre, post, node_map):
        data = node_map[self.data][0]
        conv = node_map[self.conv][0]
        weight, gamma, beta, mean, var = (node_map[p][0].data.numpy() for p in (self.weight, self.gamma, self.beta, self.mean, self.var))
        scale = gamma / np.sqrt(var + self.eps)
        new_weight = relay.const((weight * scale[:, None, None, None]).astype("float32"))
        new_conv = relay.Call(conv.op, [data, new_weight], conv.attrs)
        return relay.nn.bias_add(new_conv, relay.const((beta - mean * scale).astype("float32")))


def network():
    x = relay.var("x", shape=(1, 3, 8, 8))
    rng = np.random.RandomState(0)
    c = lambda *s: relay.const(rng.rand(*s).astype("float32"))  # noqa: E731
    y = relay.nn.conv2d(x, c(4, 3, 3, 3), padding=(1, 1))
    y = relay.nn.batch_norm(y, c(4), c(4), c(4), c(4))[0]
    return relay.Function([x], relay.nn.relu(y))


before = tvm.IRModule.from_expr(network())
after = tvm.IRModule.from_expr(rewrite(FoldBatchNorm(), relay.transform.InferType()(before)["main"]))
assert "batch_norm" not in after.astext(show_meta_data=False)
data = np.random.RandomState(1).rand(1, 3, 8, 8).astype("float32")
runs = [relay.create_executor("graph", mod=m, device=tvm.cpu(), target="llvm").evaluate()(data).numpy() for m in (before, after)]
np.testing.assert_allclose(runs[0], runs[1], rtol=1e-4, atol=1e-5)

# gelu, whose input is used twice
inp = wildcard()
half, one, root = is_constant(), is_constant(), is_constant()
gelu = is_op("multiply")(inp, is_op("add")(is_op("multiply")(is_op("erf")(is_op("multiply")(inp, root)), half), one))
x = relay.var("x", shape=(2, 4))
expr = x * (relay.erf(x * relay.const(0.7071)) * relay.const(0.5) + relay.const(0.5))
assert gelu.match(expr)
z = relay.var("z", shape=(2, 4))
assert not gelu.match(z * (relay.erf(x * relay.const(0.7071)) * relay.const(0.5) + relay.const(0.5)))

part = gelu.partition(expr, {"Composite": "gelu", "Compiler": "special"})
assert isinstance(part, relay.Call) and part.op.attrs["Composite"] == "gelu"
assert gelu.partition(expr, {"Composite": "gelu"}, check=lambda e: False) == expr

# dominators
is_conv = is_op("nn.conv2d")(wildcard(), wildcard())
is_unary = (wildcard().has_attr({"TOpPattern": 0}))(wildcard()) | wildcard().has_attr({"TOpPattern": 0})(wildcard(), wildcard())
reduction = is_op("add")(wildcard(), wildcard())
diamond = dominates(is_conv, is_unary, reduction)
i, w = relay.var("input", shape=(1, 2, 4, 4)), relay.var("weight", shape=(2, 2, 1, 1))
conv = relay.nn.conv2d(i, w)
left = relay.nn.relu(relay.nn.relu(conv))
assert diamond.match(left + relay.nn.leaky_relu(conv, alpha=0.1))

assert has_dtype("float32").match(run := relay.transform.InferType()(before)["main"].body) and has_shape((1, 4, 8, 8)).match(run)
assert has_type(relay.TensorType((1, 4, 8, 8), "float32")).match(run)
assert is_var("x").match(relay.var("x")) and not is_var("x").match(relay.var("y")) and is_expr(x).match(x)
assert is_tuple([is_var("x"), wildcard()]).match(relay.Tuple([relay.var("x"), relay.const(1)]))
assert FunctionPattern([wildcard()], wildcard()).match(relay.Function([x], x))
assert is_if(is_var("c"), wildcard(), wildcard()).match(relay.If(relay.var("c", "bool"), relay.const(1), relay.const(2)))
assert is_let(is_var("v"), wildcard(), wildcard()).match(relay.Let(relay.var("v"), relay.const(1), relay.const(2)))
assert TupleGetItemPattern(wildcard(), 1).match(relay.TupleGetItem(relay.Tuple([x, x]), 1))
assert has_attr({"data_layout": "NCHW"}).match(conv) or wildcard().has_attr({"data_layout": "NCHW"}).match(conv)
