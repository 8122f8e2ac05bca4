"""Calibration on data that a generator gives, several modes side by side, and what each costs in accuracy."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay import quantize as qtz

rng = np.random.RandomState(7)


def network():
    x = relay.var("image", shape=(2, 3, 10, 10))
    for i, channels in enumerate((8, 8, 16)):
        w = relay.const(rng.normal(0, 0.25, (channels, 3 if i == 0 else 8, 3, 3)).astype("float32"))
        x = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w, padding=(1, 1), channels=channels, kernel_size=(3, 3)), relay.const(np.zeros(channels, "float32"))))
    x = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x))
    x = relay.nn.dense(x, relay.const(rng.normal(0, 0.3, (5, 16)).astype("float32")))
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(x), x))


def batches(count):
    data = np.random.RandomState(1)
    for _ in range(count):
        yield {"image": data.normal(0, 1, (2, 3, 10, 10)).astype("float32")}


mod = network()
exact = [relay.create_executor("graph", mod=mod).evaluate()(b["image"]).numpy() for b in batches(4)]
losses = {}
for mode, chunk in (("global_scale", -1), ("kl_divergence", -1), ("kl_divergence", 1), ("percentile", -1), ("max", 2)):
    with qtz.qconfig(calibrate_mode=mode, weight_scale="max", calibrate_chunk_by=chunk, skip_conv_layers=[0], skip_dense_layer=False, global_scale=6.0):
        assert qtz.current_qconfig().calibrate_mode == mode
        quantised = qtz.quantize(mod, params=None, dataset=list(batches(3)))
    ops = relay.analysis.list_op_freqs(quantised)
    assert ops["nn.conv2d"] == 3 and ops["nn.dense"] == 1 and ops["clip"] >= 3, ops
    found = [relay.create_executor("vm", mod=quantised).evaluate()(b["image"]).numpy() for b in batches(4)]
    losses[mode, chunk] = float(np.mean([np.abs(a - b).mean() for a, b in zip(exact, found)]) / np.mean([np.abs(a).mean() for a in exact]))
print(losses)
assert max(losses.values()) < 0.3 and losses["max", 2] < 0.1
assert losses["kl_divergence", -1] == losses["kl_divergence", 1]
assert qtz.current_qconfig().calibrate_mode == "global_scale"
