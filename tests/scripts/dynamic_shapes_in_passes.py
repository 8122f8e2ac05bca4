"""Dynamic extents: relay.Any, shape_of, DynamicToStatic, FlexibleShapeDispatch, run by the machine."""
import numpy as np
import pytest

import tvm
from tvm import relay, te
from tvm.relay import transform


def run(mod, *args):
    return relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*args).numpy()


def test_reshape_by_shape_of():
    x, y = relay.var("x", shape=(relay.Any(), 4)), relay.var("y", shape=(2, 2, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.reshape(x, relay.shape_of(y))))
    assert run(mod, np.ones((4, 4), "float32"), np.ones((2, 2, 4), "float32")).shape == (2, 2, 4)
    static = transform.DynamicToStatic()(transform.InferType()(mod))
    assert "dyn.reshape" not in str(static)


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_dense(rows):
    x, w = relay.var("x", shape=(relay.Any(), 5)), relay.var("w", shape=(3, 5))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    a, b = np.random.randn(rows, 5).astype("float32"), np.random.randn(3, 5).astype("float32")
    np.testing.assert_allclose(run(mod, a, b), a @ b.T, rtol=1e-4, atol=1e-5)


def test_flexible():
    x = relay.var("x", shape=(relay.Any(), 4))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
    flexible = transform.FlexibleShapeDispatch(buckets=[2, 4], auto_pad=True)(mod)
    for rows in (2, 4):
        value = np.random.randn(rows, 4).astype("float32")
        np.testing.assert_allclose(run(flexible, value), np.maximum(value, 0))


def test_symbolic_var():
    n = te.var("n")
    x = relay.var("x", shape=(n, 2))
    ty = transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))))["main"].ret_type
    assert len(ty.shape) == 2


def test_topk_and_nonzero():
    x = relay.var("x", shape=(relay.Any(),))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.argwhere(relay.greater(x, relay.const(0.0)))))
    assert run(mod, np.array([-1, 2, 3], "float32")).tolist() == [[1], [2]]


if __name__ == "__main__":
    pytest.main([__file__])
