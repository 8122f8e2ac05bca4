"""A mutator that takes out multiplications by one and pairs of transposes, as preparation for partitioning."""
import typing

import numpy as np
import tvm
import tvm.ir
from tvm import relay
from tvm.relay.expr_functor import ExprMutator


class DropMultiplyByOne(ExprMutator):
    def visit_call(self, call):
        if call.op.name == "multiply":
            for this, other in ((0, 1), (1, 0)):
                if isinstance(call.args[this], tvm.relay.expr.Constant):
                    data = call.args[this].data.asnumpy()
                    if data.shape == () and data.item() == 1.0:
                        return self.visit(call.args[other])
        return super().visit_call(call)


class DropTransposePairs(ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        if call.op.name == "transpose":
            inner = call.args[0]
            if isinstance(inner, relay.Call) and inner.op.name == "transpose":
                outer_axes = [int(a) for a in call.attrs["axes"]]
                inner_axes = [int(a) for a in inner.attrs["axes"]]
                if [inner_axes[a] for a in outer_axes] == list(range(len(outer_axes))):
                    return inner.args[0]
        return call


def run_all(mod: tvm.ir.IRModule, mutators: typing.List[ExprMutator]) -> tvm.ir.IRModule:
    for mutator in mutators:
        mod["main"] = mutator.visit(mod["main"])
    return relay.transform.InferType()(mod)


x = relay.var("x", shape=(2, 3), dtype="float32")
w = relay.var("w", shape=(4, 3), dtype="float32")
y = relay.transpose(x, axes=[1, 0])
y = relay.multiply(y, relay.const(1.0))
y = relay.transpose(y, axes=(1, 0))
y = relay.nn.dense(y, w)
mod = tvm.IRModule.from_expr(relay.Function([x, w], y))
before = relay.create_executor("debug", mod=mod).evaluate()
after_mod = run_all(tvm.IRModule.from_expr(mod["main"]), [DropMultiplyByOne(), DropTransposePairs()])
assert isinstance(after_mod["main"].body, relay.Call)
assert after_mod["main"].body.op.name == "nn.dense"
assert after_mod["main"].body.args[0].same_as(after_mod["main"].params[0])
a, b = np.random.rand(2, 3).astype("float32"), np.random.rand(4, 3).astype("float32")
after = relay.create_executor("debug", mod=after_mod).evaluate()
np.testing.assert_allclose(before(a, b).asnumpy(), after(a, b).asnumpy(), rtol=1e-6)
print(after_mod["main"])
