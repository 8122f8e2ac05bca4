"""Train a conv net on random blobs with relay gradients; checks AD passes on modules."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.analysis import free_vars
from tvm.relay.transform import gradient

rng = np.random.RandomState(0)
N = 24
X = rng.randn(N, 1, 8, 8).astype("float32") * 0.1
y = rng.randint(0, 2, N)
X[y == 1, :, 2:5, 2:5] += 1.0
Y = np.eye(2, dtype="float32")[y]
shapes = {"w1": (4, 1, 3, 3), "b1": (4,), "w2": (2, 4), "b2": (2,)}
P = {k: (rng.randn(*s) * 0.3).astype("float32") for k, s in shapes.items()}


def model():
    x = relay.var("x", shape=X.shape)
    v = {k: relay.var(k, shape=s) for k, s in shapes.items()}
    h = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, v["w1"], padding=(1, 1), channels=4, kernel_size=(3, 3)), v["b1"]))
    h = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(h))
    o = relay.nn.bias_add(relay.nn.dense(h, v["w2"], units=2), v["b2"])
    t = relay.var("t", shape=Y.shape)
    loss = relay.negative(relay.mean(relay.sum(relay.nn.log_softmax(o) * t, axis=1)))
    return relay.Function([x, t] + list(v.values()), loss)


mod = transform.InferType()(tvm.IRModule.from_expr(model()))
grad = gradient(mod["main"], mod)
gm = tvm.IRModule.from_expr(grad)
gm = tvm.transform.Sequential([transform.InferType(), transform.PartialEvaluate(), transform.InferType(), transform.DeadCodeElimination(), transform.FoldConstant()], opt_level=0)(gm)
feats = relay.analysis.detect_feature(gm["main"])
assert relay.analysis.Feature.fRefCreate not in feats, feats
step = relay.create_executor("vm", mod=gm, device=tvm.cpu(0), target="llvm").evaluate()
hist = []
for it in range(200):
    loss, gs = step(X, Y, *P.values())
    hist.append(loss.numpy().item())
    for k, g in zip(P, gs[2:] if not hasattr(gs, "fields") else list(gs)[2:]):
        P[k] = P[k] - 1.0 * g.numpy()
print(hist[0], hist[-1])
assert hist[-1] < 0.5 * hist[0]
# a step function with the update inside the graph
v = list(mod["main"].params)
lr = relay.const(0.1)
fv = [relay.var(p.name_hint, p.checked_type) for p in v]
call = relay.Call(grad, fv)
tup = relay.var("g")
new = relay.Tuple([p - lr * relay.TupleGetItem(relay.TupleGetItem(tup, 1), i + 2) for i, p in enumerate(fv[2:])])
upd = relay.Function(fv, relay.Let(tup, call, relay.Tuple([relay.TupleGetItem(tup, 0), new])))
um = transform.InferType()(tvm.IRModule.from_expr(upd))
out = relay.create_executor("debug", mod=um).evaluate()(X, Y, *P.values())
assert len(out) == 2 and len(out[1]) == 4
l2, g2 = step(X, Y, *P.values())
np.testing.assert_allclose(out[1][0].numpy(), list(P.values())[0] - 0.1 * g2[2].numpy(), rtol=1e-4, atol=1e-5)
from tvm.relay.op.reduce import sum as _sum
print(_sum(fv[0]).op.name)
