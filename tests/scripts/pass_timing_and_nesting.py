"""Instruments: timing of nested sequences, counts of nodes, passes that are left out."""
import pytest

import tvm
from tvm import relay
from tvm.ir.instrument import PassInstrument, PassTimingInstrument, pass_instrument


def model():
    x = relay.var("x", shape=(1, 8, 8, 8))
    w = relay.var("w", shape=(8, 8, 3, 3))
    y = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1)))
    y = relay.add(relay.multiply(y, relay.const(2.0)), relay.const(0.0))
    return tvm.IRModule.from_expr(relay.Function([x, w], y))


@pass_instrument
class CallCounter:
    def __init__(self):
        self.entered, self.left = [], []

    def enter_pass_ctx(self):
        print("enter")

    def exit_pass_ctx(self):
        print("exit")

    def run_before_pass(self, mod, info):
        self.entered.append(info.name)

    def run_after_pass(self, mod, info):
        self.left.append(info.name)


@tvm.instrument.pass_instrument
class NoFusion:
    def should_run(self, mod, info):
        return info.name != "FuseOps"


def test_timing():
    timing = PassTimingInstrument()
    with tvm.transform.PassContext(opt_level=3, instruments=[timing]):
        seq = tvm.transform.Sequential([relay.transform.InferType(), relay.transform.FoldScaleAxis(), relay.transform.FuseOps()])
        seq(model())
        profiles = timing.render()
    assert "FuseOps" in profiles and "InferType" in profiles and "ForwardFoldScaleAxis" in profiles


def test_counts_and_order():
    counter = CallCounter()
    with tvm.transform.PassContext(opt_level=3, instruments=[counter]):
        relay.transform.SimplifyExpr()(model())
    assert "SimplifyExpr" in counter.entered and sorted(counter.entered) == sorted(counter.left)


def test_should_run():
    with tvm.transform.PassContext(opt_level=3, instruments=[NoFusion()]):
        mod = relay.transform.FuseOps()(relay.transform.InferType()(model()))
    found = []
    relay.analysis.post_order_visit(mod["main"], lambda n: found.append(n) if isinstance(n, relay.Function) else None)
    assert len(found) == 1


def test_override_and_clear():
    counter = CallCounter()
    current = tvm.transform.PassContext.current()
    current.override_instruments([counter])
    relay.transform.InferType()(model())
    assert counter.entered == ["InferType"]
    current.override_instruments([])
    relay.transform.InferType()(model())
    assert counter.entered == ["InferType"]


def test_exceptions_come_out():
    @pass_instrument
    class Bad:
        def run_before_pass(self, mod, info):
            raise RuntimeError("run_before_pass failed")

    with pytest.raises(Exception) as caught:
        with tvm.transform.PassContext(instruments=[Bad()]):
            relay.transform.InferType()(model())
    assert "run_before_pass failed" in str(caught.value)


def test_subclass_of_the_base():
    class Printer(PassInstrument):
        def run_before_pass(self, mod, info):
            print(info.name, info.opt_level)

    with tvm.transform.PassContext(opt_level=4, instruments=[Printer()]):
        relay.build(model(), target="llvm")
