"""Networks on the edge of quantisation: factors that are no constants, chains of additions, several outputs."""
import numpy as np
import pytest

import tvm
from tvm import relay, te
from tvm.relay import testing
from tvm.relay.expr import Call


def quantise_and_build(out):
    f = relay.Function(relay.analysis.free_vars(out), out)
    mod, params = testing.create_workload(f)
    with relay.quantize.qconfig(skip_conv_layers=[]):
        qmod = relay.quantize.quantize(mod, params)
    relay.build(qmod, "llvm", params=params)
    return qmod


def conv(data, name, channels=8):
    return relay.nn.conv2d(data, relay.var(name + "_weight"), kernel_size=(3, 3), padding=(1, 1), channels=channels)


def test_gate():
    data = relay.var("data", shape=(1, 8, 16, 16))
    gate = relay.sigmoid(relay.var("gate_weight", shape=(1, 8, 1, 1)))
    quantise_and_build(relay.nn.relu(conv(data, "weight")) * gate)


def test_sum_of_three():
    data = relay.var("data", shape=(1, 8, 16, 16))
    y = conv(data, "w1")
    z = relay.add(relay.add(y, conv(y, "w2")), data)
    quantise_and_build(relay.nn.relu(z))


def test_pool_and_concatenate():
    data = relay.var("data", shape=(1, 8, 16, 16))
    a = relay.nn.max_pool2d(conv(data, "w1"), (2, 2), (2, 2))
    b = relay.nn.avg_pool2d(conv(data, "w2"), (2, 2), (2, 2))
    quantise_and_build(relay.nn.batch_flatten(relay.concatenate([a, b], axis=1)))


def test_constant_addition():
    data = relay.var("data", shape=(1, 8, 16, 16))
    qmod = quantise_and_build(relay.add(conv(data, "w"), relay.const(np.ones((8, 1, 1), "float32"))))
    found = []
    relay.analysis.post_order_visit(qmod["main"], lambda e: found.append(e) if isinstance(e, Call) and e.op.name.endswith("nn.conv2d") else None)
    assert len(found) == 1 and found[0].checked_type.dtype == "int32"


def test_skipped():
    data = relay.var("data", shape=(1, 8, 16, 16))
    f = relay.Function(relay.analysis.free_vars(conv(data, "w")), conv(data, "w"))
    out = conv(data, "w")
    mod, params = testing.create_workload(relay.Function(relay.analysis.free_vars(out), out))
    with relay.quantize.qconfig(skip_conv_layers=[0]):
        qmod = relay.quantize.quantize(mod, params)
    assert "int8" not in qmod.astext(show_meta_data=False).split("#[metadata]")[0]


def test_unknown_option():
    with pytest.raises((AttributeError, TypeError, tvm.TVMError)):
        with relay.quantize.qconfig(no_such_option=1):
            pass


if __name__ == "__main__":
    pytest.main([__file__])
