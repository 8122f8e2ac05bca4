"""Quantisation calibrated on a data set by KL divergence; accuracy against the floats; lists of skipped layers."""
import numpy as np
import tvm
import tvm.relay as relay
from tvm.contrib import graph_executor
from tvm.relay.testing import resnet

np.random.seed(0)
mod, params = resnet.get_workload(num_layers=8, batch_size=1, image_shape=(3, 28, 28), num_classes=10)


def dataset(n=4):
    for _ in range(n):
        yield {"data": tvm.nd.array(np.random.uniform(-1, 1, (1, 3, 28, 28)).astype("float32"))}


def quantise(mod, params, data_aware):
    if data_aware:
        with relay.quantize.qconfig(calibrate_mode="kl_divergence", weight_scale="max", skip_dense_layer=False):
            return relay.quantize.quantize(mod, params, dataset=dataset())
    with relay.quantize.qconfig(calibrate_mode="global_scale", global_scale=8.0, dtype_input="int8"):
        return relay.quantize.quantize(mod, params)


def run(mod, params=None):
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm", params=params)
    m = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    out = []
    np.random.seed(1)
    for _ in range(3):
        m.set_input("data", np.random.uniform(-1, 1, (1, 3, 28, 28)).astype("float32"))
        m.run()
        out.append(m.get_output(0).asnumpy())
    return np.concatenate(out)


exact = run(mod, params)
for aware in (True, False):
    near = run(quantise(mod, params, aware))
    assert near.shape == exact.shape
    assert np.abs(near - exact).max() < 0.3
print(relay.quantize.qconfig(skip_conv_layers=[0, 1]))
