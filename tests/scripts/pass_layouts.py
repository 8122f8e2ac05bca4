"""ConvertLayout and AlterOpLayout."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.testing.temp_op_attr import TempOpAttr


def network():
    x = relay.var("x", shape=(1, 8, 10, 10))
    w1, w2, b = relay.var("w1", shape=(16, 8, 3, 3)), relay.var("w2", shape=(8, 16, 1, 1)), relay.var("b", shape=(16,))
    y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w1, channels=16, kernel_size=(3, 3), padding=(1, 1)), b))
    y = relay.nn.conv2d(y, w2, channels=8, kernel_size=(1, 1))
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(y), y))


def check_same(before, after):
    args = [np.random.uniform(-1, 1, p.type_annotation.concrete_shape).astype("float32") for p in before["main"].params]
    outs = [relay.create_executor("debug", mod=m).evaluate()(*args).numpy() for m in (before, after)]
    np.testing.assert_allclose(*outs, rtol=1e-3, atol=1e-4)


def layouts(mod):
    found = []
    relay.analysis.post_order_visit(mod["main"], lambda e: found.append(e.attrs.data_layout) if isinstance(e, relay.Call) and e.op == relay.op.get("nn.conv2d") else None)
    return found


def test_convert_layout():
    mod = network()
    seq = tvm.transform.Sequential([transform.RemoveUnusedFunctions(), transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}), transform.FoldConstant()])
    with tvm.transform.PassContext(opt_level=3):
        after = seq(mod)
    assert layouts(after) == ["NHWC", "NHWC"]
    # only at the borders of the network, and for the weights
    assert relay.testing.count_ops(after["main"]).get("layout_transform", 0) <= 4
    check_same(mod, after)


def test_alter_op_layout():
    def alter_conv2d(attrs, inputs, tinfos, out_type):
        data, weight = inputs
        new_attrs = dict(attrs)
        new_attrs["data_layout"], new_attrs["kernel_layout"] = "NHWC", "HWIO"
        return relay.nn.conv2d(data, relay.layout_transform(weight, "OIHW", "HWIO"), **new_attrs)

    mod = network()
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter_conv2d):
        with tvm.transform.PassContext(opt_level=3):
            after = tvm.transform.Sequential([transform.CanonicalizeOps(), transform.AlterOpLayout()])(mod)
    assert layouts(after) == ["NHWC", "NHWC"]
    check_same(mod, after)


if __name__ == "__main__":
    pytest.main([__file__])
