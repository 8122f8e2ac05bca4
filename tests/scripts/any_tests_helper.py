"""Programs with relay.Any through test_any.py's check_result."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import relay
from tvm.relay.loops import while_loop
from tvm.relay.testing import run_infer_type as infer_type


def any_dims(ndim):
    return tuple(relay.Any() for _ in range(ndim))


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
            for r, e in zip(results, expected):
                if assert_shape:
                    assert r.shape == e, "Shape mismatch: expect %s but got %s." % (str(e), str(r.shape))
                else:
                    tvm.testing.assert_allclose(r, e, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("op,np_op", [(relay.add, np.add), (relay.multiply, np.multiply), (relay.greater, np.greater)])
def test_any_broadcast(op, np_op):
    for x_shape, y_shape, x_np, y_np in [((relay.Any(),), (3, 2), (1,), (3, 2)), ((relay.Any(), 2), (1, 2), (1, 2), (1, 2)), ((relay.Any(), relay.Any()), (3, 2), (3, 1), (3, 2))]:
        x, y = relay.var("x", shape=x_shape), relay.var("y", shape=y_shape)
        mod = tvm.IRModule.from_expr(relay.Function([x, y], op(x, y)))
        a, b = np.random.rand(*x_np).astype("float32"), np.random.rand(*y_np).astype("float32")
        check_result([a, b], mod, np_op(a, b))


@pytest.mark.parametrize("shape,newshape,out", [((3, 4), (-1,), None), ((2, 3, 4), (0, -1), (2, 12)), ((2, 6), (-1, 3), (4, 3))])
def test_any_reshape(shape, newshape, out):
    x = relay.var("x", shape=any_dims(len(shape)), dtype="float32")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.reshape(x, newshape)))
    data = np.random.uniform(size=shape).astype("float32")
    check_result([data], mod, data.reshape(out or newshape))


def test_any_argwhere_unique_and_nonzero():
    x = relay.var("x", shape=any_dims(1), dtype="int32")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.argwhere(x)))
    data = np.array([0, 3, 0, 5], "int32")
    check_result([data], mod, np.argwhere(data), flatten=True)


def test_any_concat_and_split():
    x, y = relay.var("x", shape=(relay.Any(), 2)), relay.var("y", shape=(1, 2))
    xx, yy = x - relay.expr.const(3.0), y * relay.expr.const(5.0)
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.op.concatenate([xx, yy], axis=0)))
    a, b = np.random.rand(3, 2).astype("float32"), np.random.rand(1, 2).astype("float32")
    check_result([a, b], mod, np.concatenate([a - 3.0, b * 5.0], axis=0))
    z = relay.op.split(x, indices_or_sections=2, axis=1)
    mod = tvm.IRModule.from_expr(relay.Function([x], z.astuple()))
    check_result([a], mod, np.split(a, 2, axis=1))


def test_recursive_concat():
    x = relay.var("x", shape=(relay.Any(), 1), dtype="int32")
    i = relay.var("i", shape=(), dtype="int32")

    def _cond(i, st):
        return relay.op.less(i, relay.const(10))

    def _body(i, st):
        return i + relay.const(1), relay.op.concatenate([st, relay.reshape(i, (1, 1))], axis=0)

    loop = while_loop(_cond, [i, x], _body)
    start = relay.var("start", shape=(), dtype="int32")
    body = loop(start, relay.op.reshape(relay.const(0), newshape=(1, 1)))
    mod = tvm.IRModule.from_expr(relay.Function([start], relay.TupleGetItem(body, 1)))
    check_result([np.array(0, "int32")], mod, np.array([0] + list(range(10)), "int32").reshape(-1, 1))


def test_types_of_any():
    x = relay.var("x", shape=(relay.Any(), 3))
    typed = infer_type(relay.nn.dense(x, relay.const(np.zeros((5, 3), "float32"))))
    assert isinstance(typed.checked_type.shape[0], tvm.tir.Any) and int(typed.checked_type.shape[1]) == 5
    assert tvm.ir.structural_equal(relay.TensorType((relay.Any(), 5), "float32"), typed.checked_type)
