"""Batch norms folded into convolutions before export, step by step, with the counts that a script checks after each step."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.testing import count_ops, squeezenet, vgg
from tvm.relay.testing.init import create_workload
from tvm.relay.testing.layers import batch_norm_infer, conv2d

data = relay.var("data", shape=(1, 3, 12, 12))
y = conv2d(data, kernel_size=(3, 3), channels=8, padding=(1, 1), name="a")
y = relay.nn.relu(batch_norm_infer(y, epsilon=2e-5, name="bn_a"))
y = conv2d(y, kernel_size=(1, 1), channels=4, name="b")
y = batch_norm_infer(y, epsilon=2e-5, scale=False, name="bn_b")
mod, params = create_workload(relay.Function(relay.analysis.free_vars(y), y))
rng = np.random.RandomState(2)
for name in params:
    if "var" in name:
        params[name] = tvm.nd.array(rng.uniform(0.5, 2, params[name].shape).astype("float32"))
    elif "bn" in name:
        params[name] = tvm.nd.array(rng.normal(0, 1, params[name].shape).astype("float32"))

x = rng.normal(size=(1, 3, 12, 12)).astype("float32")
before = relay.create_executor("graph", mod=mod).evaluate()(x, **params).numpy()

mod["main"] = bind_params_by_name(mod["main"], params)
assert len(mod["main"].params) == 1
mod = transform.SimplifyInference()(mod)
assert "nn.batch_norm" not in count_ops(mod["main"])
multiplies = count_ops(mod["main"])["multiply"]
with tvm.transform.PassContext(opt_level=3):
    mod = transform.FoldConstant()(mod)
    mod = transform.ForwardFoldScaleAxis()(mod)
    mod = transform.BackwardFoldScaleAxis()(mod)
    mod = transform.FoldConstant()(mod)
ops = count_ops(mod["main"])
assert ops["nn.conv2d"] == 2 and ops.get("multiply", 0) < multiplies and ops.get("multiply", 0) == 0, ops
after = relay.create_executor("graph", mod=mod).evaluate()(x).numpy()
np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-4)

for net in (squeezenet, vgg):
    net_mod, net_params = net.get_workload(batch_size=1, num_classes=10, image_shape=(3, 64, 64)) if net is squeezenet else net.get_workload(batch_size=1, num_classes=10, image_shape=(3, 32, 32), num_layers=11)
    with tvm.transform.PassContext(opt_level=3):
        optimised, left = relay.optimize(net_mod, target="llvm", params=net_params)
    assert "batch_norm" not in optimised.astext(show_meta_data=False)
