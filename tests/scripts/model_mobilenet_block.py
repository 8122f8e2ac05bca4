"""Inverted residual blocks in NHWC, and the same network from NCHW by a mutator."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.expr_functor import ExprMutator

rng = np.random.RandomState(0)
values = {}


def weight(name, shape):
    values[name] = rng.uniform(-0.3, 0.3, shape).astype("float32")
    return relay.var(name, shape=shape)


def block(x, name, channels, expand, stride):
    in_channels = channels[0]
    hidden = in_channels * expand
    y = relay.nn.conv2d(x, weight(f"{name}.expand", (hidden, in_channels, 1, 1)), channels=hidden, kernel_size=(1, 1))
    y = relay.clip(y, a_min=0.0, a_max=6.0)
    y = relay.nn.conv2d(y, weight(f"{name}.depth", (hidden, 1, 3, 3)), channels=hidden, kernel_size=(3, 3), groups=hidden, strides=(stride, stride), padding=(1, 1))
    y = relay.clip(y, 0.0, 6.0)
    y = relay.nn.conv2d(y, weight(f"{name}.project", (channels[1], hidden, 1, 1)), channels=channels[1], kernel_size=(1, 1))
    return y + x if stride == 1 and channels[0] == channels[1] else y


x = relay.var("x", shape=(1, 8, 16, 16))
y = block(block(x, "b0", (8, 8), 4, 1), "b1", (8, 12), 2, 2)
y = relay.nn.softmax(relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y)), weight("fc", (5, 12))))
mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(y), y))


class ToNHWC(ExprMutator):
    def visit_call(self, call):
        new = super().visit_call(call)
        if call.op == relay.op.get("nn.conv2d"):
            data, w = new.args
            attrs = dict(call.attrs)
            depthwise = int(attrs["groups"]) > 1
            attrs.update(data_layout="NHWC", kernel_layout="HWOI" if depthwise else "HWIO", out_layout="")
            out = relay.nn.conv2d(relay.layout_transform(data, "NCHW", "NHWC"), relay.transpose(w, (2, 3, 0, 1) if depthwise else (2, 3, 1, 0)), **attrs)
            return relay.layout_transform(out, "NHWC", "NCHW")
        return new


data = rng.rand(1, 8, 16, 16).astype("float32")
other = tvm.IRModule.from_expr(ToNHWC().visit(mod["main"]))
results = []
for m in (mod, other):
    with tvm.transform.PassContext(opt_level=3):
        run = relay.create_executor("graph", m, tvm.cpu(0), "llvm", values).evaluate()
    results.append(run(data).numpy())
np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)
macs = relay.analysis.get_total_mac_number(relay.transform.InferType()(mod)["main"])
print("multiply-accumulates:", macs)
assert macs > 100000
