"""ExprVisitor, ExprMutator, ExprFunctor, mixed-mode and type visitors."""
import pytest

import tvm
from tvm import relay
from tvm.relay import ExprFunctor, ExprMutator, ExprVisitor
from tvm.relay.expr_functor import Call
from tvm.relay.type_functor import TypeMutator, TypeVisitor


class Collect(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.ops, self.constants, self.lets = [], 0, 0

    def visit_op(self, op):
        self.ops.append(op.name)

    def visit_constant(self, const):
        self.constants += 1

    def visit_let(self, let):
        self.lets += 1
        super().visit_let(let)


class Swap(ExprMutator):
    """add becomes multiply, and the first argument of a function comes last."""

    def visit_call(self, call):
        new = super().visit_call(call)
        if isinstance(new.op, tvm.ir.Op) and new.op.name == "add":
            return relay.multiply(*new.args)
        return new

    def visit_function(self, fn):
        return relay.Function([*fn.params[1:], fn.params[0]], self.visit(fn.body), None, fn.type_params, fn.attrs)


class Depth(ExprFunctor):
    def visit_call(self, call):
        return 1 + max([self.visit(arg) for arg in call.args], default=0)

    def visit_var(self, var):
        return 0

    def visit_constant(self, const):
        return 0

    def visit_function(self, fn):
        return self.visit(fn.body)


def program():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    t = relay.var("t")
    return relay.Function([x, y], relay.Let(t, x + y, relay.exp(t) + relay.const(1.0)))


def test_visitor():
    v = Collect()
    v.visit(program())
    assert sorted(v.ops) == ["add", "exp"] and v.constants == 1 and v.lets == 1


def test_mutator():
    out = Swap().visit(program())
    assert [p.name_hint for p in out.params] == ["y", "x"] and "add" not in out.astext() and out.astext().count("multiply") == 2
    same = ExprMutator().visit(program())
    tvm.ir.assert_structural_equal(same, program())


def test_functor():
    x = relay.var("x", "float32")
    assert Depth().visit(relay.Function([x], relay.exp(relay.negative(x + relay.const(1.0))))) == 3
    with pytest.raises(NotImplementedError):
        Depth().visit(relay.If(relay.const(True), x, x))


def test_memo():
    class Count(ExprVisitor):
        calls = 0

        def visit_call(self, call):
            Count.calls += 1
            super().visit_call(call)

    x = relay.var("x", "float32")
    for _ in range(30):
        x = x + x
    Count().visit(x)
    assert Count.calls == 30


def test_types():
    class Half(TypeMutator):
        def visit_tensor_type(self, tt):
            return relay.TensorType(tt.shape, "float16")

    class Find(TypeVisitor):
        found = 0

        def visit_tensor_type(self, tt):
            Find.found += 1

    t = relay.FuncType([relay.TensorType((1,)), relay.TupleType([relay.TensorType((2,))])], relay.TensorType((3,)))
    Find().visit(t)
    assert Find.found == 3 and Half().visit(t).ret_type.dtype == "float16"


if __name__ == "__main__":
    pytest.main([__file__])
