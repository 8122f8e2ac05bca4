"""relay.quantize as a script of a deployment has it: global scale, calibration on data, partitioned, compared with floats."""
import numpy as np

import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay import quantize as qtz


def network():
    data = relay.var("data", shape=(1, 3, 16, 16), dtype="float32")
    y = data
    shapes, channels = {}, [3, 16, 16]
    for i in (1, 2):
        w = relay.var(f"w{i}", shape=(channels[i], channels[i - 1], 3, 3))
        g, b, m, v = (relay.var(f"{n}{i}", shape=(channels[i],)) for n in ("gamma", "beta", "mean", "var"))
        y = relay.nn.conv2d(y, w, channels=channels[i], kernel_size=(3, 3), padding=(1, 1))
        y = relay.nn.relu(relay.nn.batch_norm(y, g, b, m, v)[0])
    y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y))
    func = relay.Function(relay.analysis.free_vars(y), y)
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(func))
    rng = np.random.RandomState(0)
    params = {}
    for p in mod["main"].params[1:]:
        shape = [int(d) for d in p.checked_type.shape]
        low = 0.5 if p.name_hint.startswith(("var", "gamma")) else -0.5
        params[p.name_hint] = tvm.nd.array(rng.uniform(low, 1, shape).astype("float32"))
    return mod, params


def run(mod, params, data):
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm", params=params)
    m = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    m.set_input("data", data)
    m.run()
    return m.get_output(0).numpy()


def calibrate_dataset():
    rng = np.random.RandomState(1)
    for _ in range(4):
        yield {"data": rng.rand(1, 3, 16, 16).astype("float32")}


mod, params = network()
data = np.random.RandomState(2).rand(1, 3, 16, 16).astype("float32")
want = run(mod, params, data)

with qtz.qconfig(skip_conv_layers=[], global_scale=4.0, weight_scale="power2", calibrate_mode="global_scale"):
    quantized = qtz.quantize(mod, params)
assert "int8" in quantized.astext(show_meta_data=False)

with qtz.qconfig(calibrate_mode="kl_divergence", weight_scale="max", skip_dense_layer=True):
    by_data = qtz.quantize(mod, params, dataset=list(calibrate_dataset()))
got = run(by_data, None, data)
assert np.abs(got - want).max() < 0.1 * np.abs(want).max()

config = qtz.current_qconfig()
assert config.nbit_input == 8 and config.nbit_weight == 8 and config.dtype_activation == "int32"
with qtz.qconfig(nbit_activation=32, round_for_shift=True, do_simulation=False):
    assert qtz.current_qconfig().round_for_shift
optimized = qtz.prerequisite_optimize(mod, params)
seq = tvm.transform.Sequential([qtz.annotate(), qtz.calibrate(), qtz.realize()])
with qtz.qconfig(skip_conv_layers=[], global_scale=4.0):
    steps = seq(optimized)
assert "int8" in steps.astext(show_meta_data=False)
