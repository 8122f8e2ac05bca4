"""ExprMutator, ExprVisitor, MixedModeMutator, ExprFunctor and TypeMutator as passes of users have them."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay import ExprFunctor, ExprMutator, ExprVisitor, TypeMutator, TypeVisitor
from tvm.relay.expr_functor import MixedModeMutator


def executor(mod, *args):
    return relay.create_executor("debug", mod=mod).evaluate()(*args).numpy()


class ReluToClip(ExprMutator):
    def __init__(self, high):
        super().__init__()
        self.high = high

    def visit_call(self, call):
        op = self.visit(call.op)
        args = [self.visit(a) for a in call.args]
        if isinstance(call.op, tvm.ir.Op) and call.op.name == "nn.relu":
            return relay.clip(args[0], 0.0, self.high)
        return relay.Call(op, args, call.attrs, call.type_args, call.span)


@relay.transform.function_pass(opt_level=1, name="ReluToClip")
class ReluToClipPass:
    def __init__(self, high):
        self.high = high

    def transform_function(self, func, mod, ctx):
        return ReluToClip(self.high).visit(func)


class CountConvMacs(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.total, self.depth = 0, 0

    def visit_call(self, call):
        if call.op == relay.op.get("nn.conv2d"):
            out, weight = call.checked_type.shape, call.args[1].checked_type.shape
            self.total += int(np.prod([int(d) for d in out])) * int(np.prod([int(d) for d in weight[1:]]))
        super().visit_call(call)


class AddsToSubtracts(MixedModeMutator):
    def rewrite_call(self, pre, post):
        if pre.op == relay.op.get("add"):
            return relay.subtract(post.args[0], post.args[1])
        return post


class Depth(ExprFunctor):
    def visit_function(self, fn):
        return self.visit(fn.body)

    def visit_call(self, call):
        return 1 + max([self.visit(a) for a in call.args], default=0)

    def visit_var(self, var):
        return 0

    def visit_constant(self, const):
        return 0

    def visit_let(self, let):
        return max(self.visit(let.value), self.visit(let.body))

    def visit_if(self, f):
        return 1 + max(self.visit(f.true_branch), self.visit(f.false_branch))

    def visit_tuple(self, t):
        return max([self.visit(f) for f in t.fields], default=0)

    def visit_tuple_getitem(self, t):
        return self.visit(t.tuple_value)

    def visit_op(self, op):
        raise AssertionError("operators are not visited")


class HalfTypes(TypeMutator):
    def visit_tensor_type(self, tt):
        return relay.TensorType(tt.shape, "float16" if tt.dtype == "float32" else tt.dtype)


class Tensors(TypeVisitor):
    def __init__(self):
        super().__init__()
        self.found = []

    def visit_tensor_type(self, tt):
        self.found.append(tt)


x = relay.var("x", shape=(1, 3, 8, 8))
w = relay.var("w", shape=(4, 3, 3, 3))
mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.conv2d(x, w)) + relay.const(1.0))))
clipped = ReluToClipPass(2.0)(mod)
assert "clip" in clipped.astext() and "relu" not in clipped.astext()
a, b = np.random.rand(1, 3, 8, 8).astype("float32"), np.random.rand(4, 3, 3, 3).astype("float32")
np.testing.assert_allclose(executor(clipped, a, b), np.minimum(executor(mod, a, b) - 1, 2) + 1, rtol=1e-5)

visitor = CountConvMacs()
visitor.visit(mod["main"])
assert visitor.total == 4 * 6 * 6 * 27 == relay.analysis.get_total_mac_number(mod["main"])
changed = AddsToSubtracts().visit(mod["main"])
assert tvm.ir.structural_equal(relay.Function([x, w], relay.nn.relu(relay.nn.conv2d(x, w)) - relay.const(1.0)), changed)
assert Depth().visit(mod["main"]) == 3
function = relay.FuncType([relay.TensorType((2,), "float32"), relay.TensorType((), "int32")], relay.TupleType([relay.TensorType((2,), "float32")]))
half = HalfTypes().visit(function)
assert half.arg_types[0].dtype == "float16" and half.arg_types[1].dtype == "int32" and half.ret_type.fields[0].dtype == "float16"
tensors = Tensors()
tensors.visit(function)
assert len(tensors.found) == 3
