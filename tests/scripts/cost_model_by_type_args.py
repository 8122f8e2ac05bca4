"""A cost model over typed calls: types of arguments, of results and of polymorphic callees."""
from collections import Counter
from functools import reduce

import numpy as np
import tvm
from tvm import relay
from tvm.relay.expr_functor import ExprMutator, ExprVisitor
from tvm.relay.testing import resnet


class CostVisitor(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.bytes_read, self.flops, self.ops = 0, Counter(), []

    @staticmethod
    def size(ty):
        return reduce(lambda a, b: a * int(b), ty.shape, 1)

    def visit_call(self, call):
        super().visit_call(call)
        if not isinstance(call.op, tvm.ir.Op):
            return
        self.ops.append(call.op.name)
        for ty in call.type_args:
            for each in ty.fields if isinstance(ty, relay.TupleType) else [ty]:
                self.bytes_read += self.size(each) * 4
        if call.op.name == "nn.dense":
            data, weight = call.type_args
            self.flops["nn.dense"] += 2 * self.size(data) * int(weight.shape[0])
        elif call.op.name == "nn.conv2d":
            out, weight = call.checked_type, call.type_args[1]
            self.flops["nn.conv2d"] += 2 * self.size(out) * self.size(weight) // int(weight.shape[0])


mod, params = resnet.get_workload(num_layers=18, image_shape=(3, 32, 32), num_classes=10)
mod = relay.transform.InferType()(mod)
cost = CostVisitor()
cost.visit(mod["main"])
assert cost.flops["nn.conv2d"] // 2 + cost.flops["nn.dense"] // 2 == relay.analysis.get_total_mac_number(mod["main"])
assert cost.bytes_read > 1e6 and len(cost.ops) > 40


class Renew(ExprMutator):
    """Calls made anew with everything that the old one had, as mutators of converters do."""

    def visit_call(self, call):
        args = [self.visit(arg) for arg in call.args]
        return relay.Call(self.visit(call.op), args, call.attrs, call.type_args, call.span)


again = tvm.IRModule.from_expr(Renew().visit(mod["main"]))
assert tvm.ir.structural_equal(relay.transform.InferType()(again)["main"], mod["main"])

# Polymorphic callees: what their parameters stand for at a call.
poly = tvm.IRModule()
p = relay.prelude.Prelude(poly)
a = relay.TypeVar("a")
v = relay.Var("v", a)
twice = relay.GlobalVar("twice")
poly[twice] = relay.Function([v], relay.Tuple([v, v]), relay.TupleType([a, a]), [a])
lst, cons, nil = poly.get_type("List")
poly["main"] = relay.Function([], relay.Tuple([twice(relay.const(np.zeros((2, 3), "float32"))), p.hd(cons(relay.const(1), nil()))]))
poly = relay.transform.InferType()(poly)
first, second = poly["main"].body.fields
assert list(first.type_args) == [relay.TensorType((2, 3), "float32")]
assert list(second.type_args) == [relay.scalar_type("int32")] and list(second.args[0].type_args) == [relay.scalar_type("int32")]
