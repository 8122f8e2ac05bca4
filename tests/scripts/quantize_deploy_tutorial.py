"""The tutorial "Deploy a Quantized Model", with a small network in the place of the one that it downloads."""
import logging

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor

batch_size = 1
target = tvm.target.Target("llvm")
dev = tvm.device(target.kind.name)
rng = np.random.RandomState(7)


def get_model():
    x = relay.var("data", shape=(batch_size, 3, 16, 16))
    c1 = relay.nn.relu(relay.nn.conv2d(x, relay.var("w1", shape=(8, 3, 3, 3)), padding=(1, 1), channels=8, kernel_size=(3, 3)))
    c2 = relay.nn.relu(relay.nn.conv2d(c1, relay.var("w2", shape=(8, 8, 3, 3)), padding=(1, 1), channels=8, kernel_size=(3, 3)))
    y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(relay.add(c1, c2)))
    y = relay.nn.softmax(relay.nn.dense(y, relay.var("w3", shape=(10, 8))))
    params = {"w1": rng.randn(8, 3, 3, 3) * 0.2, "w2": rng.randn(8, 8, 3, 3) * 0.1, "w3": rng.randn(10, 8)}
    func = relay.Function(relay.analysis.free_vars(y), y)
    return tvm.IRModule.from_expr(func), {k: tvm.nd.array(v.astype("float32")) for k, v in params.items()}


calibration_samples = 3


def calibrate_dataset():
    for i in range(calibration_samples):
        yield {"data": rng.rand(batch_size, 3, 16, 16).astype("float32")}


def quantize(mod, params, data_aware):
    if data_aware:
        with relay.quantize.qconfig(calibrate_mode="kl_divergence", weight_scale="max"):
            mod = relay.quantize.quantize(mod, params, dataset=calibrate_dataset())
    else:
        with relay.quantize.qconfig(calibrate_mode="global_scale", global_scale=8.0):
            mod = relay.quantize.quantize(mod, params)
    return mod


def run_inference(mod):
    model = relay.create_executor("vm", mod, dev, target).evaluate()
    outputs = []
    for i, batch in enumerate(calibrate_dataset()):
        prediction = model(tvm.nd.array(batch["data"]))
        outputs.append(prediction.numpy())
        if i > 1:
            break
    return outputs


logging.basicConfig(level=logging.WARNING)
mod, params = get_model()
for data_aware in (True, False):
    quantized = quantize(mod, params, data_aware)
    text = quantized.astext(show_meta_data=False)
    assert "int8" in text and "int32" in text
    rng.seed(3)
    low = run_inference(quantized)
    rng.seed(3)
    high = run_inference(tvm.IRModule.from_expr(relay.build_module.bind_params_by_name(mod["main"], params)))
    for one, other in zip(low, high):
        assert one.shape == (1, 10) and np.abs(one - other).max() < 0.2

with relay.quantize.qconfig(skip_conv_layers=[0], skip_dense_layer=True):
    print(relay.quantize.current_qconfig())
    skipped = relay.quantize.quantize(mod, params)
lib = relay.build(skipped, target)
m = graph_executor.GraphModule(lib["default"](dev))
m.run(data=rng.rand(1, 3, 16, 16).astype("float32"))
assert m.get_output(0).shape == (1, 10)
