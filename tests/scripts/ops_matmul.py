"""dense, matmul and batch_matmul in all orders of their operands."""
import itertools

import numpy as np
import pytest

import tvm
import tvm.testing
import tvm.topi.testing
from tvm import relay, te
from tvm.relay.testing import run_infer_type


def run(func, *args):
    for target, dev in tvm.testing.enabled_targets():
        for kind in ["graph", "debug"]:
            yield relay.create_executor(kind, device=dev, target=target).evaluate(func)(*args).numpy()


@pytest.mark.parametrize("trans_a, trans_b", itertools.product([False, True], repeat=2))
def test_batch_matmul(trans_a, trans_b):
    a = np.random.rand(3, *((6, 5) if trans_a else (5, 6))).astype("float32")
    b = np.random.rand(3, *((4, 6) if trans_b else (6, 4))).astype("float32")
    x, y = relay.var("x", shape=a.shape), relay.var("y", shape=b.shape)
    z = relay.nn.batch_matmul(x, y, transpose_a=trans_a, transpose_b=trans_b)
    assert run_infer_type(z).checked_type == relay.ty.TensorType((3, 5, 4), "float32")
    wanted = tvm.topi.testing.batch_matmul(a, b, trans_x=trans_a, trans_y=trans_b)
    for out in run(relay.Function([x, y], z), a, b):
        tvm.testing.assert_allclose(out, wanted, rtol=1e-4)


def test_dense():
    n, c = te.size_var("n"), 5
    x = relay.var("x", relay.TensorType((n, c), "float32"))
    w = relay.var("w", relay.IncompleteType())
    y = relay.nn.dense(x, w, units=2)
    yy = run_infer_type(y)
    assert yy.checked_type == relay.TensorType((n, 2), "float32") and yy.args[1].checked_type == relay.TensorType((2, 5), "float32")
    assert "units=2" in y.astext()
    data, weight = np.random.rand(4, 5).astype("float32"), np.random.rand(2, 5).astype("float32")
    x, w = relay.var("x", shape=(4, 5)), relay.var("w", shape=(2, 5))
    for out in run(relay.Function([x, w], relay.nn.dense(x, w)), data, weight):
        tvm.testing.assert_allclose(out, tvm.topi.testing.dense(data, weight, None), rtol=1e-5)


def test_matmul_and_bias():
    a, b, c = (np.random.rand(*s).astype("float32") for s in ((6, 3), (6, 4), (4,)))
    x, y, z = (relay.var(n, shape=v.shape) for n, v in zip("xyz", (a, b, c)))
    out = relay.nn.bias_add(relay.nn.matmul(x, y, transpose_a=True), z, axis=-1)
    for found in run(relay.Function([x, y, z], out), a, b, c):
        tvm.testing.assert_allclose(found, a.T @ b + c, rtol=1e-4)


def test_einsum():
    a, b = np.random.rand(2, 3).astype("float32"), np.random.rand(3, 4).astype("float32")
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3, 4))
    for out in run(relay.Function([x, y], relay.einsum([x, y], "ij,jk->ki")), a, b):
        tvm.testing.assert_allclose(out, np.einsum("ij,jk->ki", a, b), rtol=1e-5)


if __name__ == "__main__":
    tvm.testing.main()
