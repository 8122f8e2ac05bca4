"""Matching and partitioning: chains of conv2d, bias_add and relu become composite functions, which another pass counts and inlines. A mutator matches.
"""

import numpy as np

import tvm
from tvm import relay
from tvm.relay.expr_functor import ExprMutator, ExprVisitor

CHAIN = ["nn.relu", "nn.bias_add", "nn.conv2d"]


def match(expr):
    """The arguments of a chain that ends in this expression, or None."""
    found, rest = [], expr
    for name in CHAIN:
        if not (isinstance(rest, relay.Call) and rest.op == relay.op.get(name)):
            return None
        found.append(rest)
        rest = rest.args[0]
    return found


class Partition(ExprMutator):
    def visit_call(self, call):
        chain = match(call)
        if chain is None:
            return super().visit_call(call)
        relu, bias, conv = chain
        args = [self.visit(arg) for arg in (conv.args[0], conv.args[1], bias.args[1])]
        params = [relay.var(f"p{i}", type_annotation=arg.checked_type) for i, arg in enumerate((conv.args[0], conv.args[1], bias.args[1]))]
        body = relay.Call(conv.op, params[:2], conv.attrs)
        body = relay.nn.relu(relay.nn.bias_add(body, params[2], axis=bias.attrs.axis))
        func = relay.Function(params, body).with_attr("Composite", "conv_bias_relu").with_attr("PartitionedFromPattern", "_".join(CHAIN))
        return relay.Call(func, args)


class CountComposites(ExprVisitor):
    count = 0

    def visit_function(self, fn):
        if fn.attrs is not None and "Composite" in fn.attrs.keys():
            self.count += 1
        super().visit_function(fn)


class InlineComposites(ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        if isinstance(call.op, relay.Function) and call.op.attrs is not None:
            return relay.bind(call.op.body, dict(zip(call.op.params, call.args)))
        return call


x = relay.var("x", shape=(1, 3, 6, 6))
y = x
for i in range(3):
    y = relay.nn.bias_add(relay.nn.conv2d(y, relay.var(f"w{i}", shape=(3, 3, 3, 3)), padding=(1, 1)), relay.var(f"b{i}", shape=(3,)))
    y = relay.nn.relu(y) if i != 1 else relay.tanh(y)
func = relay.Function(relay.analysis.free_vars(y), y)
mod = relay.transform.InferType()(tvm.IRModule.from_expr(func))

partitioned = tvm.IRModule.from_expr(Partition().visit(mod["main"]))
partitioned = relay.transform.InferType()(partitioned)
counter = CountComposites()
counter.visit(partitioned["main"])
assert counter.count == 2, counter.count

inputs = [np.random.rand(*param.checked_type.concrete_shape).astype("float32") for param in mod["main"].params]
wanted = relay.create_executor("graph", mod=mod).evaluate()(*inputs).numpy()
np.testing.assert_allclose(relay.create_executor("graph", mod=partitioned).evaluate()(*inputs).numpy(), wanted, rtol=1e-5, atol=1e-6)

inlined = relay.transform.InferType()(tvm.IRModule.from_expr(InlineComposites().visit(partitioned["main"])))
tvm.ir.assert_structural_equal(inlined["main"], mod["main"])
