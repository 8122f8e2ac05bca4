"""Training by hand: the gradient pass, first and higher order, loops of steps, check_grad of operators."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.testing import check_grad, run_infer_type
from tvm.relay.transform import gradient


def step(params, data, target):
    x, w, t = relay.var("x", shape=(8, 3)), relay.var("w", shape=(1, 3)), relay.var("t", shape=(8, 1))
    y = relay.nn.dense(x, w)
    loss = relay.mean((y - t) * (y - t))
    func = run_infer_type(relay.Function([x, w, t], loss))
    back = run_infer_type(gradient(func, mode="first_order"))
    ex = relay.create_executor("vm", mod=tvm.IRModule.from_expr(back), device=tvm.cpu(), target="llvm").evaluate()
    for _ in range(60):
        value, grads = ex(data, params, target)
        params = params - 0.2 * grads[1].numpy()
    return float(value.numpy()), params


rng = np.random.RandomState(0)
data = rng.randn(8, 3).astype("float32")
true = np.array([[1.0, -2.0, 0.5]], "float32")
loss, found = step(np.zeros((1, 3), "float32"), data, data @ true.T)
assert loss < 0.1, loss
x = relay.var("x", shape=(3, 4), dtype="float64")
for op in (relay.exp, relay.tanh, relay.sigmoid, relay.nn.relu, relay.sqrt):
    inputs = [np.abs(rng.randn(3, 4)) + 0.5]
    check_grad(relay.Function([x], op(x)), inputs=inputs)
t = relay.TensorType((), "float32")
v = relay.var("v", t)
f = run_infer_type(relay.Function([v], v * v * v))
g = run_infer_type(gradient(f))
h = relay.create_executor("debug").evaluate(g)
forward, (grad,) = h(np.array(2.0, "float32"))
assert abs(float(forward.numpy()) - 8) < 1e-5 and abs(float(grad.numpy()) - 12) < 1e-5
