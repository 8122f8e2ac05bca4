"""Splits a wide convolution into two, joined by concatenate; asks the types of nodes while it rewrites."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import op, transform
from tvm.relay.ty import TensorType, TupleType


@relay.transform.function_pass(opt_level=0)
class SplitConvs:
    def __init__(self, limit):
        self.limit = limit

    def transform_function(self, func, mod, ctx):
        limit = self.limit

        class Splitter(tvm.relay.ExprMutator):
            @staticmethod
            def type_of(node):
                infer_mod = relay.transform.InferType()(tvm.IRModule.from_expr(node))
                entry = infer_mod["main"]
                ty = (entry if isinstance(node, relay.Function) else entry.body).checked_type
                if isinstance(ty, TensorType):
                    return list(ty.concrete_shape)
                assert isinstance(ty, TupleType)
                return [list(f.concrete_shape) for f in ty.fields]

            def visit_call(self, call):
                if call.op == op.get("nn.conv2d"):
                    data = self.visit(call.args[0])
                    weight = self.visit(call.args[1])
                    out_c, in_c, kh, kw = self.type_of(weight)
                    if out_c > limit:
                        parts = op.transform.split(weight, indices_or_sections=out_c // limit, axis=0)
                        pieces = []
                        for i in range(out_c // limit):
                            pieces.append(
                                op.nn.conv2d(
                                    data,
                                    parts[i],
                                    channels=limit,
                                    kernel_size=(kh, kw),
                                    strides=call.attrs.strides,
                                    padding=call.attrs.padding,
                                    groups=call.attrs.groups,
                                )
                            )
                        return op.concatenate(pieces, axis=1)
                return super().visit_call(call)

        return Splitter().visit(func)


data = relay.var("data", shape=(1, 3, 8, 8))
weight = relay.var("weight", shape=(16, 3, 3, 3))
conv = relay.nn.conv2d(data, weight, channels=16, kernel_size=(3, 3), padding=(1, 1))
mod = tvm.IRModule.from_expr(relay.Function([data, weight], relay.nn.relu(conv)))
new = transform.InferType()(SplitConvs(4)(mod))
assert relay.analysis.list_op_freqs(new)["nn.conv2d"] == 4
d, w = np.random.randn(1, 3, 8, 8).astype("float32"), np.random.randn(16, 3, 3, 3).astype("float32")
results = [relay.create_executor("graph", mod=m, device=tvm.cpu(0), target="llvm").evaluate()(d, w).numpy() for m in (mod, new)]
tvm.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-5)
