"""Converters of kernels and clusters: distances by products, argmin, voting."""
import numpy as np

import tvm
from tvm import relay

rng = np.random.default_rng(5)
support, coefficient = rng.normal(size=(9, 4)).astype("float32"), rng.normal(size=(1, 9)).astype("float32")
rho, gamma = np.float32(0.3), np.float32(0.25)
centres = rng.normal(size=(5, 4)).astype("float32")
x_np = rng.normal(size=(20, 4)).astype("float32")


def squared_distances(x, points):
    p = relay.const(points)
    cross = relay.nn.dense(x, p)
    return relay.sum(x * x, axis=1, keepdims=True) - cross * relay.const(2.0) + relay.expand_dims(relay.sum(p * p, axis=1), 0)


x = relay.var("x", shape=(relay.Any(), 4))
kernel = relay.exp(squared_distances(x, support) * relay.const(-gamma))
decision = relay.squeeze(relay.nn.dense(kernel, relay.const(coefficient)), axis=[1]) + relay.const(rho)
label = relay.cast(relay.greater(decision, relay.const(0.0)), "int64")
cluster = relay.argmin(squared_distances(x, centres), axis=1)
neighbours = relay.topk(squared_distances(x, support), k=3, axis=1, ret_type="indices", is_ascend=True)
mod = tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([label, cluster, neighbours, decision])))

for kind in ("vm", "debug"):
    out = [v.numpy() for v in relay.create_executor(kind, mod=mod, device=tvm.cpu(0), target="llvm").evaluate()(x_np)]
    d = ((x_np[:, None] - support[None]) ** 2).sum(-1)
    wanted = np.exp(-gamma * d) @ coefficient[0] + rho
    np.testing.assert_allclose(out[3], wanted, rtol=1e-3, atol=1e-4)
    assert (out[0] == (wanted > 0)).all()
    assert (out[1] == ((x_np[:, None] - centres[None]) ** 2).sum(-1).argmin(1)).all()
    assert (np.sort(out[2], 1) == np.sort(np.argsort(d, 1)[:, :3], 1)).all()
