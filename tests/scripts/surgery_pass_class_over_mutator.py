"""A pass decorated on a class that is itself a mutator and holds patterns as fields of the class."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import is_constant, is_op, is_tuple, wildcard
from tvm.relay.expr_functor import ExprMutator


@relay.transform.function_pass(opt_level=3)
class MergeScales(ExprMutator):
    """Two multiplications by constants become one."""

    twice = is_op("multiply")(is_op("multiply")(wildcard(), is_constant()), is_constant())
    joined = is_op("concatenate")(is_tuple(None))

    def visit_call(self, call):
        visited = super().visit_call(call)
        if self.twice.match(visited):
            inner = visited.args[0]
            product = inner.args[1].data.asnumpy() * visited.args[1].data.asnumpy()
            return relay.multiply(inner.args[0], relay.const(product))
        if self.joined.match(visited) and len(visited.args[0].fields) == 1:
            return visited.args[0].fields[0]
        return visited

    def transform_function(self, func, mod, ctx):
        return self.visit(func)


x = relay.var("x", shape=(3, 4))
y = x * relay.const(np.full((4,), 2.0, "float32")) * relay.const(np.full((4,), 3.0, "float32"))
y = relay.concatenate([y], axis=0)
mod = tvm.IRModule.from_expr(relay.Function([x], y))
mod = relay.transform.InferType()(mod)
with tvm.transform.PassContext(opt_level=3):
    out = MergeScales()(mod)
text = out.astext(show_meta_data=False)
assert text.count("multiply(") == 1, text
assert "concatenate" not in text
value = relay.create_executor("graph", mod=out).evaluate()(np.ones((3, 4), "float32"))
assert (value.numpy() == 6).all()
