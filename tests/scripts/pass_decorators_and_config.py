"""Passes as decorated classes and functions, with their parameters, contexts, instruments and options."""
import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay import ExprMutator, transform


def get_ones_module():
    x = relay.var("x", relay.TensorType((1, 4), "float32"))
    y = relay.add(x, relay.const(1.0))
    return tvm.IRModule.from_expr(relay.Function([x], relay.multiply(y, relay.const(2.0))))


@relay.transform.function_pass(opt_level=1)
class TestReplaceFunc:
    """Simple test function to replace one argument to another."""

    def __init__(self, multiplier):
        self.multiplier = multiplier

    def transform_function(self, func, mod, ctx):
        obj = self

        class ReplaceConstant(ExprMutator):
            def visit_constant(self, c):
                return relay.multiply(obj.multiplier, c)

        return ReplaceConstant().visit(func)


@tvm.transform.module_pass(opt_level=2, name="Count", required=["InferType"])
class CountCalls:
    def __init__(self):
        self.counts = {}

    def transform_module(self, mod, ctx):
        for gv, func in mod.functions.items():
            def visit(node):
                if isinstance(node, relay.Call) and isinstance(node.op, tvm.ir.Op):
                    self.counts[node.op.name] = self.counts.get(node.op.name, 0) + 1

            relay.analysis.post_order_visit(func, visit)
        return mod


@relay.transform.function_pass(opt_level=0, name="identity")
def identity(func, mod, ctx):
    assert isinstance(func, relay.Function) and isinstance(mod, tvm.IRModule) and isinstance(ctx, tvm.transform.PassContext)
    return func


def test_class_pass():
    mod = get_ones_module()
    custom_pass = TestReplaceFunc(relay.const(3.0))
    assert custom_pass.info.name == "TestReplaceFunc" and custom_pass.info.opt_level == 1
    mod3 = custom_pass(mod)
    assert mod3["main"].body.checked_type == relay.TensorType((1, 4), "float32")
    folded = relay.transform.FoldConstant()(mod3)
    got = relay.create_executor("debug", mod=folded).evaluate()(np.ones((1, 4), "float32")).numpy()
    assert (got == (1 + 3) * 6).all()


def test_counting_pass_in_a_sequence():
    counter = CountCalls()
    seq = tvm.transform.Sequential([relay.transform.SimplifyExpr(), counter, identity], opt_level=0, name="counted", required=["InferType"])
    assert seq.info.name == "counted" and counter.info.required == ["InferType"]
    with tvm.transform.PassContext(opt_level=3):
        seq(get_ones_module())
    assert counter.counts == {"add": 1, "multiply": 1}


def test_levels_disabled_and_required():
    ran = []

    @tvm.transform.module_pass(opt_level=4)
    def late(mod, ctx):
        ran.append(ctx.opt_level)
        return mod

    mod = get_ones_module()
    seq = tvm.transform.Sequential([late])
    with tvm.transform.PassContext(opt_level=3):
        seq(mod)
    assert ran == []
    with tvm.transform.PassContext(opt_level=3, required_pass=["late"]):
        seq(mod)
    assert ran == [3]
    with tvm.transform.PassContext(opt_level=4, disabled_pass={"late"}):
        seq(mod)
    assert ran == [3]


@tvm.instrument.pass_instrument
class Recorder:
    def __init__(self):
        self.events = []

    def enter_pass_ctx(self):
        self.events.append("enter")

    def exit_pass_ctx(self):
        self.events.append("exit")

    def should_run(self, mod, info):
        return "Simplify" not in info.name

    def run_before_pass(self, mod, info):
        self.events.append("before " + info.name)

    def run_after_pass(self, mod, info):
        self.events.append("after " + info.name)


def test_instruments():
    recorder = Recorder()
    timing = tvm.ir.instrument.PassTimingInstrument()
    seq = tvm.transform.Sequential([transform.InferType(), transform.SimplifyExpr(), transform.FoldConstant()])
    with tvm.transform.PassContext(opt_level=3, instruments=[timing, recorder]):
        seq(get_ones_module())
        profiles = timing.render()
    assert "FoldConstant" in profiles
    assert recorder.events[0] == "enter" and recorder.events[-1] == "exit"
    assert "before FoldConstant" in recorder.events and not any("SimplifyExpr" in event for event in recorder.events)


def test_configs():
    with tvm.transform.PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 1, "relay.backend.use_auto_scheduler": False}) as ctx:
        assert int(ctx.config["relay.FuseOps.max_depth"]) == 1
        assert tvm.transform.PassContext.current().opt_level == 3
    with pytest.raises(AttributeError):
        tvm.transform.PassContext(config={"relay.NoSuchOption": 1})
    assert "relay.FuseOps.max_depth" in tvm.transform.PassContext.list_configs()


def test_print_ir(capfd):
    seq = tvm.transform.Sequential([transform.InferType(), transform.FoldConstant(), tvm.transform.PrintIR(show_meta_data=False), transform.DeadCodeElimination()])
    with tvm.transform.PassContext(opt_level=3):
        seq(get_ones_module())
    out = capfd.readouterr()
    assert "def @main" in out.err + out.out
