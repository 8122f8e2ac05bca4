"""A researcher's own post-training quantiser: collects ranges by instrumented outputs, rewrites to qnn, verifies"""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import ExprMutator
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.frontend.common import infer_type
from tvm.contrib import graph_executor


def net():
    x = relay.var("data", shape=(8, 3, 12, 12))
    w1, b1 = relay.var("w1", shape=(8, 3, 3, 3)), relay.var("b1", shape=(8,))
    w2 = relay.var("w2", shape=(5, 8))
    y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w1, kernel_size=(3, 3), channels=8, padding=(1, 1)), b1))
    y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y))
    return relay.Function([x, w1, b1, w2], relay.nn.dense(y, w2, units=5))


rng = np.random.RandomState(7)
params = {"w1": rng.randn(8, 3, 3, 3).astype("float32") * 0.2, "b1": rng.randn(8).astype("float32") * 0.1, "w2": rng.randn(5, 8).astype("float32")}
mod = tvm.IRModule.from_expr(net())
mod["main"] = bind_params_by_name(mod["main"], params)
mod = relay.transform.InferType()(mod)
TARGETS = ("nn.conv2d", "nn.dense")


class Collector(relay.ExprVisitor):
    def __init__(self):
        super().__init__()
        self.inputs = []

    def visit_call(self, call):
        super().visit_call(call)
        if call.op.name in TARGETS:
            self.inputs.append(call.args[0])


def run(m, data):
    lib = relay.build(m, "llvm")
    g = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    g.set_input("data", data)
    g.run()
    return [g.get_output(i).numpy() for i in range(g.get_num_outputs())]


col = Collector()
col.visit(mod["main"])
probe = tvm.IRModule.from_expr(relay.Function(mod["main"].params, relay.Tuple(col.inputs)))
calib = [rng.randn(8, 3, 12, 12).astype("float32") for _ in range(4)]
maxima = np.max([[np.abs(o).max() for o in run(probe, c)] for c in calib], axis=0)
scales = maxima / 127.0
assert len(scales) == 2


class Quantize(ExprMutator):
    def __init__(self, scales):
        super().__init__()
        self.scales = iter(scales)
        self.done = 0

    def visit_call(self, call):
        new = super().visit_call(call)
        if call.op.name not in TARGETS:
            return new
        data, weight = new.args
        s = float(next(self.scales))
        w = weight.data.numpy()
        per = np.abs(w).reshape(w.shape[0], -1).max(1) / 127.0
        qw = relay.const(np.clip(np.round(w / per.reshape((-1,) + (1,) * (w.ndim - 1))), -127, 127).astype("int8"))
        sc_w = relay.const(per.astype("float32"))
        z = relay.const(0, "int32")
        qd = relay.qnn.op.quantize(data, relay.const(s), z, out_dtype="int8")
        self.done += 1
        if call.op.name == "nn.conv2d":
            a = call.attrs
            o = relay.qnn.op.conv2d(qd, qw, z, z, relay.const(s), sc_w, kernel_size=a.kernel_size, channels=a.channels, padding=a.padding, strides=a.strides, out_dtype="int32")
            return relay.qnn.op.dequantize(o, relay.const((s * per).astype("float32")), z, axis=1)
        o = relay.qnn.op.dense(qd, qw, z, z, relay.const(s), sc_w, units=call.attrs.units, out_dtype="int32")
        return relay.qnn.op.dequantize(o, relay.const((s * per).astype("float32")), z, axis=1)


q = Quantize(scales)
qf = q.visit(mod["main"])
assert q.done == 2
qmod = relay.transform.InferType()(tvm.IRModule.from_expr(qf))
text = qmod.astext(show_meta_data=False)
assert "qnn.conv2d" in text and "qnn.dense" in text and "int8" in text
test = rng.randn(8, 3, 12, 12).astype("float32")
f, g = run(mod, test)[0], run(qmod, test)[0]
assert np.abs(f - g).max() < 0.05 * np.abs(f).max() + 0.02, np.abs(f - g).max()
assert infer_type(qmod["main"].body).checked_type == relay.TensorType((8, 5))
sizes = {}
relay.analysis.post_order_visit(qmod["main"], lambda n: sizes.setdefault(n.data.dtype, []).append(n.data.numpy().nbytes) if isinstance(n, relay.Constant) else None)
assert sum(sizes["int8"]) == 8 * 27 + 40
print("ok")
