"""relay.quantize: qconfig, quantisation of a float network, calibration on data."""
import numpy as np
import pytest

import tvm
from tvm import relay


def network():
    data, weight = relay.var("data", shape=(1, 3, 8, 8)), relay.var("weight", shape=(4, 3, 3, 3))
    return tvm.IRModule.from_expr(relay.Function([data, weight], relay.nn.relu(relay.nn.conv2d(data, weight, kernel_size=(3, 3), channels=4, padding=(1, 1)))))


def test_context():
    with relay.quantize.qconfig(global_scale=4.0, skip_conv_layers=[]):
        assert relay.quantize.current_qconfig().global_scale == 4.0
    assert relay.quantize.current_qconfig().global_scale == 8.0


def test_quantise():
    weight = np.random.RandomState(0).uniform(-1, 1, (4, 3, 3, 3)).astype("float32")
    mod = network()
    with relay.quantize.qconfig(calibrate_mode="global_scale", global_scale=4.0, skip_conv_layers=[]):
        q = relay.quantize.quantize(mod, {"weight": weight})
    data = np.random.RandomState(1).uniform(-1, 1, (1, 3, 8, 8)).astype("float32")
    exact = relay.create_executor("graph", mod, tvm.cpu(), "llvm", {"weight": weight}).evaluate()(data).numpy()
    near = relay.create_executor("graph", mod=q).evaluate()(data).numpy()
    assert np.abs(exact - near).max() < 0.2 * np.abs(exact).max()


if __name__ == "__main__":
    pytest.main([__file__])
