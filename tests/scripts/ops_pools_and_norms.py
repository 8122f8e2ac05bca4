"""Pools and normalisations."""
import numpy as np

import tvm
import tvm.testing
import tvm.topi.testing
from tvm import relay


def run(func, *args):
    return relay.create_executor("graph", device=tvm.cpu(0), target="llvm").evaluate(func)(*args)


@tvm.testing.uses_gpu
def test_max_and_avg_pool():
    data = np.random.uniform(-4, 4, size=(1, 3, 15, 13)).astype("float32")
    x = relay.var("x", shape=data.shape)
    for pool, word in ((relay.nn.max_pool2d, "max"), (relay.nn.avg_pool2d, "avg")):
        for size, stride, pad in ((2, 2, 0), (3, 1, 1), (3, 2, 1)):
            y = pool(x, pool_size=(size, size), strides=(stride, stride), padding=(pad, pad))
            wanted = tvm.topi.testing.poolnd_python(data, [size] * 2, [stride] * 2, [1, 1], [pad] * 2, [pad] * 2, word, False)
            tvm.testing.assert_allclose(run(relay.Function([x], y), data).numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_adaptive_pool():
    data = np.random.rand(2, 6, 14, 11).astype("float32")
    x = relay.var("x", shape=data.shape)
    y = relay.nn.adaptive_avg_pool2d(x, (4, 5))
    tvm.testing.assert_allclose(run(relay.Function([x], y), data).numpy(), tvm.topi.testing.adaptive_pool(data, (4, 5), "avg", "NCHW"), rtol=1e-5)


def test_lrn_and_l2():
    data = np.random.rand(1, 7, 4, 4).astype("float32")
    x = relay.var("x", shape=data.shape)
    y = relay.nn.lrn(x, size=5, axis=1, bias=0.5, alpha=1e-3, beta=0.75)
    tvm.testing.assert_allclose(run(relay.Function([x], y), data).numpy(), tvm.topi.testing.lrn_python(data, 5, 1, 0.5, 1e-3, 0.75), rtol=1e-5)
    y = relay.nn.l2_normalize(x, eps=0.001, axis=[1])
    tvm.testing.assert_allclose(run(relay.Function([x], y), data).numpy(), tvm.topi.testing.l2_normalize_python(data, 0.001, [1]), rtol=1e-5)


def test_layer_and_batch_norm():
    data = np.random.randn(4, 10).astype("float32")
    gamma, beta = np.random.rand(10).astype("float32"), np.random.rand(10).astype("float32")
    x, g, b = (relay.var(n, shape=a.shape) for n, a in (("x", data), ("g", gamma), ("b", beta)))
    found = run(relay.Function([x, g, b], relay.nn.layer_norm(x, g, b, axis=-1)), data, gamma, beta)
    tvm.testing.assert_allclose(found.numpy(), tvm.topi.testing.layer_norm_python(data, gamma, beta, axis=-1), rtol=1e-4, atol=1e-4)
    mean, var = relay.var("mean", shape=(10,)), relay.var("var", shape=(10,))
    bn = relay.nn.batch_norm(x, g, b, mean, var)
    args = [data, gamma, beta, data.mean(0), data.var(0)]
    wanted = tvm.topi.testing.batch_norm(*args, axis=1, epsilon=1e-5, center=True, scale=True, training=False, momentum=0.1)
    found = run(relay.Function([x, g, b, mean, var], bn.astuple()), *args)
    for ours, theirs in zip(found, wanted):
        tvm.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    test_max_and_avg_pool()
    test_adaptive_pool()
    test_lrn_and_l2()
    test_layer_and_batch_norm()
