"""The page "Pattern Matching in Relay": operators, attributes, types, functions, dominators, rewriting, partitioning."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import (
    DFPatternCallback, FunctionPattern, TupleGetItemPattern, TuplePattern, dominates, has_dtype, has_shape, has_type, is_constant, is_expr, is_if, is_let,
    is_op, is_tuple, is_tuple_get_item, is_var, rewrite, wildcard,
)  # fmt: skip
from tvm.relay.testing import run_opt_pass

K_ELEMWISE, K_BROADCAST, K_INJECTIVE = 0, 1, 2

assert (is_op("add") | is_op("subtract"))(wildcard(), wildcard()).match(relay.var("x") - relay.var("y"))
x = relay.var("x", shape=(10, 10), dtype="float32")
assert wildcard().has_type(relay.TensorType((10, 10), "float32")).match(x) and has_shape((10, 10)).match(x)
assert has_dtype("float32").match(x) and not has_dtype("int8").match(x) and has_type(relay.TensorType((10, 10), "float32")).match(x)

w = relay.var("w")
conv = relay.nn.conv2d(relay.var("d"), w, strides=[2, 2], kernel_size=(3, 3), data_layout="NHWC")
assert is_op("nn.conv2d")(wildcard(), wildcard()).has_attr({"data_layout": "NHWC"}).match(conv)
assert not is_op("nn.conv2d")(wildcard(), wildcard()).has_attr({"data_layout": "NCHW"}).match(conv)

# Optional and tuples.
opt = is_op("nn.conv2d")(wildcard(), wildcard()).optional(lambda c: is_op("nn.bias_add")(c, wildcard())).optional(is_op("nn.relu"))
assert opt.match(relay.nn.relu(conv)) and opt.match(relay.nn.bias_add(conv, relay.var("b"))) and opt.match(conv)
a, b = relay.var("a"), relay.var("b")
assert is_tuple((wildcard(), wildcard())).match(relay.Tuple((a, b))) and is_tuple(None).match(relay.Tuple((a,)))
assert is_tuple_get_item(is_tuple((is_var("a"), wildcard())), 1).match(relay.TupleGetItem(relay.Tuple((a, b)), 1))
assert not TupleGetItemPattern(TuplePattern((is_var("c"), wildcard())), 0).match(relay.TupleGetItem(relay.Tuple((a, b)), 0))
assert is_if(wildcard(), is_var("a"), is_var("b")).match(relay.If(relay.var("c", shape=(), dtype="bool"), a, b))
assert is_let(is_var("a"), is_constant(), wildcard()).match(relay.Let(a, relay.const(1.0), a)) and is_expr(a).match(a)
assert FunctionPattern([wildcard(), wildcard()], wildcard() + wildcard()).match(relay.Function([a, b], a + b))

# A diamond: what dominates.
is_conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
is_unary_elemwise = (wildcard().has_attr({"TOpPattern": K_ELEMWISE}))(wildcard())
reduction = is_op("add")(wildcard(), wildcard())
diamond = dominates(is_conv2d, is_unary_elemwise, reduction)
inp, weight = relay.var("input"), relay.var("weight")
conv2d = relay.op.nn.conv2d(inp, weight)
relu = relay.op.nn.relu(relay.op.nn.relu(conv2d))
leaky = relay.op.nn.leaky_relu(conv2d, alpha=0)
assert diamond.match(relu + leaky)
assert not diamond.match(relu + inp)


class BatchnormCallback(DFPatternCallback):
    def __init__(self):
        super(BatchnormCallback, self).__init__()
        self.x, self.var, self.mean, self.beta, self.gamma, self.eps = (wildcard() for _ in range(6))
        self.pattern = self.gamma * (self.x - self.mean) / is_op("sqrt")(self.var + self.eps) + self.beta

    def callback(self, pre, post, node_map):
        x, var, mean, beta, gamma = (node_map[p][0] for p in (self.x, self.var, self.mean, self.beta, self.gamma))
        eps = node_map[self.eps][0]
        return relay.op.nn.batch_norm(x, gamma, beta, mean, var, epsilon=eps.data.numpy().item())[0]


x, var, mean, beta, gamma = (relay.var(n) for n in ("x", "var", "mean", "beta", "gamma"))
BN = gamma * (x - mean) / relay.op.sqrt(var + relay.const(1e-5)) + beta
out = rewrite(BatchnormCallback(), BN)
assert tvm.ir.structural_equal(out, relay.op.nn.batch_norm(x, gamma, beta, mean, var, epsilon=1e-5)[0], map_free_vars=True)

# Partition.
pattern = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard()))
i, w = relay.var("input", shape=(1, 2, 4, 4)), relay.var("weight", shape=(2, 2, 1, 1))
made = pattern.partition(relay.op.nn.relu(relay.op.nn.conv2d(i, w)), {"Composite": "conv_relu"})
assert isinstance(made.op, relay.Function) and made.op.attrs["Composite"] == "conv_relu" and made.op.attrs["PartitionedFromPattern"] == "nn.conv2d_nn.relu_"
refused = pattern.partition(relay.op.nn.relu(relay.op.nn.conv2d(i, w)), check=lambda pre: False)
assert refused.op == relay.op.get("nn.relu")
typed = run_opt_pass(relay.Function([i, w], made), relay.transform.InferType())
got = relay.create_executor("debug", mod=tvm.IRModule.from_expr(typed)).evaluate()(np.ones((1, 2, 4, 4), "float32"), np.ones((2, 2, 1, 1), "float32"))
assert (got.numpy() == 2).all()
