"""MergeComposite with checks that look at attributes and types, nested composites, and what stays outside."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import is_constant, is_op, is_tuple, is_tuple_get_item, wildcard
from tvm.relay.testing import run_opt_pass


def conv_bias():
    return is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), is_constant()), is_constant())


def composites(func):
    found = []
    relay.analysis.post_order_visit(func, lambda e: found.append(str(e.attrs["Composite"])) if isinstance(e, relay.Function) and e.attrs is not None and "Composite" in e.attrs else None)
    return found


def net(groups=1):
    x = relay.var("x", shape=(1, 4, 6, 6))
    w = relay.const(np.ones((4, 4 // groups, 3, 3), "float32"))
    y = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=4, groups=groups)
    return relay.Function([x], relay.nn.relu(relay.nn.bias_add(y, relay.const(np.ones(4, "float32")))))


def apply(func, table):
    return run_opt_pass(func, relay.transform.MergeComposite(table))


@pytest.mark.parametrize("groups", [1, 4])
def test_check(groups):
    def check(extract):
        conv = extract.args[0]
        return conv.attrs.groups == 1 and conv.args[0].checked_type.dtype == "float32"

    out = apply(net(groups), [("h4.conv_bias", conv_bias(), check)])
    assert composites(out) == (["h4.conv_bias"] if groups == 1 else [])


def test_priority_is_the_order():
    relu = is_op("nn.relu")(conv_bias())
    assert composites(apply(net(), [("h4.long", relu), ("h4.short", conv_bias())])) == ["h4.long"]
    assert composites(apply(net(), [("h4.short", conv_bias()), ("h4.long", relu)])) == ["h4.short"]


def test_pattern_of_a_tuple():
    x = relay.var("x", shape=(2, 4))
    s = relay.split(x, 2, axis=1)
    y = relay.concatenate([s[1], s[0]], axis=1)
    p = is_op("concatenate")(is_tuple([is_tuple_get_item(is_op("split")(wildcard()), 1), is_tuple_get_item(is_op("split")(wildcard()), 0)]))
    out = apply(relay.Function([x], y), [("h4.swap", p)])
    assert composites(out) == ["h4.swap"]


def test_result_is_the_same():
    value = np.random.randn(1, 4, 6, 6).astype("float32")
    a = relay.create_executor("debug", mod=tvm.IRModule.from_expr(net())).evaluate()(value).numpy()
    b = relay.create_executor("debug", mod=tvm.IRModule.from_expr(apply(net(), [("h4.conv_bias", conv_bias())]))).evaluate()(value).numpy()
    np.testing.assert_allclose(a, b, rtol=1e-5)


if __name__ == "__main__":
    pytest.main([__file__])
