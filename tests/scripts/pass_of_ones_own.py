"""Function passes, module passes, Sequential, contexts."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.expr_functor import ExprMutator, ExprVisitor


@relay.transform.function_pass(opt_level=1)
class Halve:
    """Every constant is divided by a number."""

    def __init__(self, by=2.0):
        self.by = by

    def transform_function(self, func, mod, ctx):
        by = self.by

        class Mutator(ExprMutator):
            def visit_constant(self, const):
                return relay.const(const.data.numpy() / by, const.data.dtype)

        return Mutator().visit(func)


@tvm.transform.module_pass(opt_level=2, name="AddIdentity")
def add_identity(mod, ctx):
    x = relay.var("x", "float32")
    extra = tvm.IRModule({relay.GlobalVar("identity"): relay.Function([x], x)})
    extra.update(mod)
    return extra


class CountCalls(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.calls = []

    def visit_call(self, call):
        super().visit_call(call)
        self.calls.append(call.op.name)


def sample():
    x = relay.var("x", shape=(2,))
    return tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x * relay.const(4.0)) + relay.const(6.0)))


def test_function_pass():
    fpass = Halve(by=4.0)
    assert fpass.info.name == "Halve" and fpass.info.opt_level == 1
    out = fpass(sample())
    values = []
    relay.analysis.post_order_visit(out["main"], lambda e: values.append(float(e.data.numpy())) if isinstance(e, relay.Constant) else None)
    assert sorted(values) == [1.0, 1.5]


def test_module_pass():
    assert isinstance(add_identity, tvm.transform.ModulePass) and add_identity.info.name == "AddIdentity"
    out = add_identity(sample())
    assert {v.name_hint for v in out.get_global_vars()} == {"main", "identity"}


def test_sequential_runs_what_the_level_allows():
    seq = tvm.transform.Sequential([Halve(), add_identity, relay.transform.InferType()], opt_level=1, name="mine")
    assert seq.info.name == "mine"
    with tvm.transform.PassContext(opt_level=1):
        assert "identity" not in seq(sample()).astext()
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["Halve"]):
        out = seq(sample())
    assert "identity" in out.astext() and "4f" in out.astext()
    with tvm.transform.PassContext(opt_level=0, required_pass=["Halve"]):
        assert "2f" in seq(sample()).astext()


def test_visitor():
    visitor = CountCalls()
    visitor.visit(sample()["main"])
    assert visitor.calls == ["multiply", "nn.relu", "add"]


def test_current_context():
    with tvm.transform.PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 4}) as ctx:
        now = tvm.transform.PassContext.current()
        assert now.opt_level == 3 and int(now.config["relay.FuseOps.max_depth"]) == 4 and ctx.opt_level == 3
    with pytest.raises(AttributeError):
        tvm.transform.PassContext(config={"relay.NoSuchPass.option": True})


if __name__ == "__main__":
    pytest.main([__file__])
