"""Operators whose shapes only a run decides, in the virtual machine."""
import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay


def any_dims(rank):
    return tuple(relay.Any() for _ in range(rank))


def check_result(args, mod, expected, flatten=False, assert_shape=False, only_vm=False, targets=None, disable_targets=None):
    if not isinstance(expected, list):
        expected = [expected]
    for kind in ["debug", "vm"]:
        for tgt, dev in targets or tvm.testing.enabled_targets():
            if disable_targets and tgt in disable_targets:
                continue
            if kind == "debug" and (only_vm or dev.device_type != tvm.cpu().device_type):
                continue
            result = relay.create_executor(kind, mod=mod, device=dev, target=tgt).evaluate()(*args)
            results = [r.numpy() for r in result] if isinstance(result, tvm.runtime.container.ADT) else [result.numpy()]
            for ref, out in zip(expected, results):
                if assert_shape:
                    assert out.shape == ref
                else:
                    tvm.testing.assert_allclose(out, ref, atol=2e-6)


@pytest.mark.parametrize("op, ref", [(relay.add, np.add), (relay.maximum, np.maximum), (relay.power, np.power)])
def test_any_broadcast(op, ref):
    x, y = relay.var("x", shape=any_dims(2)), relay.var("y", shape=(1, relay.Any()))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], op(x, y)))
    a, b = np.random.rand(3, 4).astype("float32"), np.random.rand(1, 4).astype("float32")
    check_result([a, b], mod, ref(a, b))
    check_result([a[:1], b], mod, ref(a[:1], b))


def test_any_concat_and_stack():
    x, y = relay.var("x", shape=(relay.Any(), 2)), relay.var("y", shape=(1, 2))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.concatenate([x - relay.const(3.0), y * relay.const(5.0)], axis=0)))
    a, b = np.random.rand(3, 2).astype("float32"), np.random.rand(1, 2).astype("float32")
    check_result([a, b], mod, np.concatenate([a - 3, b * 5], 0))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.stack([x, x], axis=1)))
    check_result([a], mod, np.stack([a, a], 1))


def test_any_reshape():
    x = relay.var("x", shape=any_dims(3))
    relu = relay.nn.relu(x)
    data = np.random.uniform(size=(2, 3, 4)).astype("float32")
    for newshape, wanted in (((-1,), (24,)), ((0, -1), (2, 12)), ((0, 0, 2, -1), (2, 3, 2, 2))):
        mod = tvm.IRModule.from_expr(relay.Function([x], relay.reshape(relu, newshape)))
        check_result([data], mod, wanted, assert_shape=True)
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.reshape(x, relay.concatenate([relay.const([-1], "int64"), relay.take(relay.shape_of(x, "int64"), relay.const([2]))], 0))))
    check_result([data], mod, (6, 4), assert_shape=True)


def test_arange_full_and_tile():
    n = relay.var("n", shape=(), dtype="int32")
    mod = tvm.IRModule.from_expr(relay.Function([n], relay.arange(n, dtype="int32")))
    check_result([np.array(6, "int32")], mod, np.arange(6))
    shape = relay.var("shape", shape=(2,), dtype="int64")
    mod = tvm.IRModule.from_expr(relay.Function([shape], relay.full(relay.const(3.0), shape, "float32")))
    check_result([np.array([2, 3], "int64")], mod, np.full((2, 3), 3.0))
    mod = tvm.IRModule.from_expr(relay.Function([shape], relay.tile(relay.const([[1.0, 2.0]]), shape)))
    check_result([np.array([2, 2], "int64")], mod, np.tile([[1, 2]], (2, 2)))


def test_argwhere_and_unique():
    x = relay.var("x", shape=any_dims(2), dtype="bool")
    data = np.array([[True, False, True], [False, False, True]])
    check_result([data], tvm.IRModule.from_expr(relay.Function([x], relay.argwhere(x))), np.argwhere(data))
    v = relay.var("v", shape=(relay.Any(),), dtype="int32")
    unique = relay.unique(v, is_sorted=True)
    out = relay.create_executor("vm", mod=tvm.IRModule.from_expr(relay.Function([v], unique[0]))).evaluate()(np.array([3, 1, 3, 2], "int32"))
    assert out.numpy()[:3].tolist() == [1, 2, 3]


def test_topk_with_k_of_the_run():
    data, k = relay.var("data", shape=(relay.Any(),)), relay.var("k", shape=(), dtype="int32")
    mod = tvm.IRModule.from_expr(relay.Function([data, k], relay.topk(data, k, ret_type="values")))
    check_result([np.array([3, 9, 1, 4], "float32"), np.array(2, "int32")], mod, np.array([9, 4], "float32"))


def test_any_dense_and_conv():
    data = relay.var("data", shape=(relay.Any(), 4))
    weight = np.random.rand(6, 4).astype("float32")
    mod = tvm.IRModule.from_expr(relay.Function([data], relay.nn.dense(data, relay.const(weight))))
    x = np.random.rand(5, 4).astype("float32")
    check_result([x], mod, x @ weight.T)
    image = relay.var("image", shape=(relay.Any(), 3, relay.Any(), relay.Any()))
    conv = relay.nn.conv2d(image, relay.const(np.ones((2, 3, 3, 3), "float32")), kernel_size=(3, 3), channels=2, padding=(1, 1))
    check_result([np.ones((1, 3, 7, 5), "float32")], tvm.IRModule.from_expr(relay.Function([image], conv)), (1, 2, 7, 5), assert_shape=True)


if __name__ == "__main__":
    tvm.testing.main()
