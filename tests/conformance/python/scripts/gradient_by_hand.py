"""Fitting a line: weights in references, a step as a program. The gradient pass is a later one; the script says so and writes the
gradient itself."""

import numpy as np

import tvm
from tvm import relay
from tvm.relay.backend.interpreter import RefValue

x = relay.var("x", shape=(8,))
relay.transform.gradient(relay.Function([x], relay.sum(x * x)))  # what the steps below do by hand

x, y = relay.var("x", shape=(8,)), relay.var("y", shape=(8,))
w = relay.Var("w", relay.RefType(relay.TensorType((), "float32")))
b = relay.Var("b", relay.RefType(relay.TensorType((), "float32")))
rate = relay.const(0.1)

sb = relay.ScopeBuilder()
w0, b0 = sb.let("w0", relay.RefRead(w)), sb.let("b0", relay.RefRead(b))
error = sb.let("error", x * w0 + b0 - y)
loss = sb.let("loss", relay.mean(error * error))
dw = sb.let("dw", relay.mean(relay.const(2.0) * error * x))
db = sb.let("db", relay.mean(relay.const(2.0) * error))
sb.let("_1", relay.RefWrite(w, w0 - rate * dw))
sb.let("_2", relay.RefWrite(b, b0 - rate * db))
sb.ret(loss)
step = relay.Function([x, y, w, b], sb.get())
mod = relay.transform.InferType()(tvm.IRModule.from_expr(step))
assert str(mod["main"].checked_type.ret_type) in ("float32", "Tensor[(), float32]")

xs = np.linspace(-1, 1, 8).astype("float32")
ys = 3 * xs + 1
for kind, steps in (("debug", 60), ("vm", 200)):
    weight, bias = RefValue(tvm.nd.array(0.0)), RefValue(tvm.nd.array(0.0))
    run = relay.create_executor(kind, mod=mod).evaluate()
    losses = [float(run(xs, ys, weight, bias).numpy()) for _ in range(steps)]
    assert losses[-1] < 1e-2 * losses[0]
    print(kind, "w", weight.value.numpy(), "b", bias.value.numpy(), "loss", losses[-1])
    assert abs(weight.value.numpy() - 3) < 0.2 and abs(bias.value.numpy() - 1) < 0.1
