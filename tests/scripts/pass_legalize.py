"""Legalize with functions of the script's."""
import numpy as np

import tvm
from tvm import relay, te, topi
from tvm.relay import analysis, transform
from tvm.relay.testing import run_infer_type
from tvm.relay.testing.temp_op_attr import TempOpAttr


def run_opt_pass(expr, passes):
    passes = passes if isinstance(passes, list) else [passes]
    mod = tvm.IRModule.from_expr(expr)
    seq = tvm.transform.Sequential(passes)
    with tvm.transform.PassContext(opt_level=3):
        mod = seq(mod)
    entry = mod["main"]
    return entry if isinstance(expr, relay.Function) else entry.body


def test_legalize():
    """A convolution is multiplied by a number before it runs."""

    def before():
        x = relay.var("x", shape=(1, 64, 8, 8))
        weight = relay.var("weight", shape=(64, 64, 3, 3))
        y = relay.nn.relu(relay.nn.conv2d(x, weight, channels=64, kernel_size=(3, 3), padding=(1, 1)))
        return relay.Function([x, weight], y)

    def legalize_conv2d(attrs, inputs, types):
        data, weight = inputs
        weight = relay.multiply(weight, relay.const(2.0, "float32"))
        return relay.nn.conv2d(data, weight, **attrs)

    def expected():
        x = relay.var("x", shape=(1, 64, 8, 8))
        weight = relay.var("weight", shape=(64, 64, 3, 3))
        y = relay.nn.conv2d(x, relay.multiply(weight, relay.const(2.0, "float32")), channels=64, kernel_size=(3, 3), padding=(1, 1))
        return relay.Function([x, weight], relay.nn.relu(y))

    with TempOpAttr("nn.conv2d", "FTVMLegalize", legalize_conv2d):
        a = run_opt_pass(before(), transform.Legalize())
    tvm.ir.assert_structural_equal(a, run_infer_type(expected()))


def test_legalize_none():
    """A function that gives None leaves the call."""
    called = [False]

    def legalize_pool(attrs, inputs, types):
        called[0] = True
        return None

    x = relay.var("x", shape=(1, 4, 6, 6))
    before = relay.Function([x], relay.nn.global_max_pool2d(x))
    with TempOpAttr("nn.global_max_pool2d", "FTVMLegalize", legalize_pool):
        a = run_opt_pass(before, transform.Legalize())
    tvm.ir.assert_structural_equal(a, run_infer_type(before))
    assert called[0]


def test_legalize_by_types():
    def legalize_multiply(attrs, inputs, types):
        data, scale = inputs
        if types[0].dtype == "int8":
            return relay.cast(relay.multiply(relay.cast(data, "int16"), relay.cast(scale, "int16")), "int8")
        return None

    x, y = relay.var("x", shape=(4,), dtype="int8"), relay.var("y", shape=(4,), dtype="int8")
    with TempOpAttr("multiply", "FTVMLegalize", legalize_multiply):
        a = run_opt_pass(relay.Function([x, y], relay.multiply(x, y)), transform.Legalize())
    assert relay.testing.count_ops(a)["cast"] == 3


if __name__ == "__main__":
    test_legalize()
    test_legalize_none()
    test_legalize_by_types()
