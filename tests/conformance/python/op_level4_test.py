"""Operators of level 4: comparisons, reductions, where, slices. And level 6: sorting."""

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay, te
from tvm.relay.testing import run_infer_type
from tvm.topi import testing as topi_testing

executor_kind = tvm.testing.parameter("debug", "graph", "vm")
random = np.random.RandomState(4)


def rand(*shape):
    return random.uniform(-2, 2, shape).astype("float32")


def run(func, *inputs, kind, target, dev):
    return relay.create_executor(kind, device=dev, target=target).evaluate(func)(*inputs)


@pytest.mark.parametrize("op", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_comparison(op, executor_kind, target, dev):
    x, y = relay.var("x", shape=(4, 1), dtype="int32"), relay.var("y", shape=(5,), dtype="int32")
    z = getattr(relay, op)(x, y)
    assert run_infer_type(z).checked_type == relay.TensorType((4, 5), "bool")
    a, b = random.randint(0, 3, (4, 1)).astype("int32"), random.randint(0, 3, 5).astype("int32")
    assert (run(relay.Function([x, y], z), a, b, kind=executor_kind, target=target, dev=dev).numpy() == getattr(np, op)(a, b)).all()


@pytest.mark.parametrize("op", ["logical_and", "logical_or", "logical_xor"])
def test_logical(op, target, dev):
    x, y = relay.var("x", shape=(4,), dtype="bool"), relay.var("y", shape=(4,), dtype="bool")
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert (run(relay.Function([x, y], getattr(relay, op)(x, y)), a, b, kind="graph", target=target, dev=dev).numpy() == getattr(np, op)(a, b)).all()


@pytest.mark.parametrize("op, ref", [
    ("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor), ("left_shift", np.left_shift),
    ("right_shift", np.right_shift),
])  # fmt: skip
def test_bitwise(op, ref, target, dev):
    x, y = relay.var("x", shape=(5,), dtype="int32"), relay.var("y", shape=(5,), dtype="int32")
    a, b = np.array([0, 5, 255, -8, 1 << 20], "int32"), np.array([1, 3, 4, 2, 5], "int32")
    assert (run(relay.Function([x, y], getattr(relay, op)(x, y)), a, b, kind="graph", target=target, dev=dev).numpy() == ref(a, b)).all()


REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean, "prod": np.prod, "variance": np.var, "std": np.std}


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
@pytest.mark.parametrize("axis, keepdims, exclude", [(None, False, False), (1, False, False), ((0, -1), True, False), (1, False, True)])
def test_reduction(name, axis, keepdims, exclude, target, dev):
    x = relay.var("x", shape=(2, 3, 4))
    y = getattr(relay, name)(x, axis=axis, keepdims=keepdims, exclude=exclude)
    data = rand(2, 3, 4)
    wanted = REDUCTIONS[name](data, axis=(0, 2) if exclude else axis, keepdims=keepdims)
    typed = run_infer_type(y)
    assert typed.checked_type == relay.TensorType(wanted.shape, "float32")
    for kind in ("debug", "graph"):
        tvm.testing.assert_allclose(run(relay.Function([x], y), data, kind=kind, target=target, dev=dev).numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_reduction_of_symbolic_shape():
    d1, d2 = te.size_var("d1"), te.size_var("d2")
    x = relay.var("x", relay.TensorType((d1, d2, 3)))
    assert run_infer_type(relay.sum(x, axis=(1,), keepdims=True)).checked_type == relay.TensorType((d1, 1, 3))
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(relay.sum(x, axis=5))


@pytest.mark.parametrize("op, ref", [(relay.argmax, np.argmax), (relay.argmin, np.argmin)])
@pytest.mark.parametrize("select_last", [False, True])
def test_arg_reduce(op, ref, select_last, target, dev):
    x = relay.var("x", shape=(3, 5), dtype="int32")
    y = op(x, axis=1, select_last_index=select_last)
    assert run_infer_type(y).checked_type == relay.TensorType((3,), "int32")
    data = random.randint(0, 2, (3, 5)).astype("int32")
    wanted = 4 - ref(data[:, ::-1], 1) if select_last else ref(data, 1)
    tvm.testing.assert_allclose(run(relay.Function([x], y), data, kind="graph", target=target, dev=dev).numpy(), wanted)


@pytest.mark.parametrize("op, ref", [(relay.all, np.all), (relay.any, np.any)])
def test_all_any(op, ref, target, dev):
    x = relay.var("x", shape=(4, 3), dtype="bool")
    data = random.randint(0, 2, (4, 3)).astype(bool)
    assert (run(relay.Function([x], op(x, axis=1)), data, kind="graph", target=target, dev=dev).numpy() == ref(data, 1)).all()


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4), (3, 4)), ((4,), (3, 1), (1, 4)), ((), (2,), (1,))])
def test_where(shapes, executor_kind, target, dev):
    c, x, y = relay.var("c", shape=shapes[0], dtype="bool"), relay.var("x", shape=shapes[1]), relay.var("y", shape=shapes[2])
    cond, a, b = np.asarray(rand(*shapes[0]) > 0), rand(*shapes[1]), rand(*shapes[2])
    wanted = np.where(cond, a, b)
    z = relay.where(c, x, y)
    assert run_infer_type(z).checked_type == relay.TensorType(wanted.shape, "float32")
    tvm.testing.assert_allclose(run(relay.Function([c, x, y], z), cond, a, b, kind=executor_kind, target=target, dev=dev).numpy(), wanted)


@pytest.mark.parametrize("begin, end, strides, mode", [
    ([1, 1], [3, 4], None, "end"), ([0, -1], [4, -6], [2, -1], "end"), ([1, 0], [2, -1], None, "size"), ([0, 0], [10, 10], [1, 2], "end"),
])  # fmt: skip
def test_strided_slice(begin, end, strides, mode, executor_kind, target, dev):
    x = relay.var("x", shape=(4, 5))
    data = rand(4, 5)
    y = relay.strided_slice(x, begin=begin, end=end, strides=strides, slice_mode=mode)
    wanted = topi_testing.strided_slice_python(data, begin, end, strides or [1], slice_mode=mode)
    assert run_infer_type(y).checked_type == relay.TensorType(wanted.shape, "float32")
    tvm.testing.assert_allclose(run(relay.Function([x], y), data, kind=executor_kind, target=target, dev=dev).numpy(), wanted)


def test_strided_slice_axes_and_set(target, dev):
    x, v = relay.var("x", shape=(4, 5)), relay.var("v", shape=(4, 2))
    data, values = rand(4, 5), rand(4, 2)
    func = relay.Function([x], relay.strided_slice(x, [1], [4], axes=[1]))
    tvm.testing.assert_allclose(run(func, data, kind="graph", target=target, dev=dev).numpy(), data[:, 1:4])
    func = relay.Function([x, v], relay.strided_set(x, v, begin=relay.const([0, 1]), end=relay.const([4, 3])))
    wanted = topi_testing.strided_set_python(data, values, [0, 1], [4, 3], [1, 1])
    tvm.testing.assert_allclose(run(func, data, values, kind="graph", target=target, dev=dev).numpy(), wanted)


def test_broadcast_to_and_likes(target, dev):
    x, like = relay.var("x", shape=(4, 1)), relay.var("like", shape=(3, 4, 5))
    for y in (relay.broadcast_to(x, (3, 4, 5)), relay.broadcast_to_like(x, like), relay.zeros_like(like), relay.ones_like(like)):
        assert run_infer_type(y).checked_type == relay.TensorType((3, 4, 5), "float32")
    data = rand(4, 1)
    result = run(relay.Function([x], relay.broadcast_to(x, (3, 4, 5))), data, kind="graph", target=target, dev=dev)
    tvm.testing.assert_allclose(result.numpy(), np.broadcast_to(data, (3, 4, 5)))
    y = relay.var("y", shape=(3, 4, 5))
    result = run(relay.Function([y], relay.collapse_sum_to(y, (4, 1))), np.ones((3, 4, 5), "float32"), kind="graph", target=target, dev=dev)
    tvm.testing.assert_allclose(result.numpy(), np.full((4, 1), 15))


def test_mean_variance_and_logsumexp(target, dev):
    x = relay.var("x", shape=(3, 4))
    data = rand(3, 4)
    mean, variance = run(relay.Function([x], relay.mean_variance(x, axis=1).astuple()), data, kind="graph", target=target, dev=dev)
    tvm.testing.assert_allclose(mean.numpy(), data.mean(1), rtol=1e-5, atol=1e-6)
    tvm.testing.assert_allclose(variance.numpy(), data.var(1), rtol=1e-4)
    result = run(relay.Function([x], relay.logsumexp(x, axis=[1])), data, kind="graph", target=target, dev=dev)
    tvm.testing.assert_allclose(result.numpy(), np.log(np.exp(data).sum(1)), rtol=1e-5)


# ---- Level 6 ----


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("is_ascend", [True, False])
def test_sort_and_argsort(axis, is_ascend, target, dev):
    x = relay.var("x", shape=(5, 7))
    data = rand(5, 7)
    sorted_ = np.sort(data, axis) if is_ascend else -np.sort(-data, axis)
    order = np.argsort(data if is_ascend else -data, axis)
    tvm.testing.assert_allclose(run(relay.Function([x], relay.sort(x, axis, is_ascend)), data, kind="graph", target=target, dev=dev).numpy(), sorted_)
    y = relay.argsort(x, axis=axis, is_ascend=is_ascend, dtype="int64")
    assert run_infer_type(y).checked_type.dtype == "int64"
    tvm.testing.assert_allclose(run(relay.Function([x], y), data, kind="graph", target=target, dev=dev).numpy(), order)


@pytest.mark.parametrize("ret_type", ["both", "values", "indices"])
@pytest.mark.parametrize("k", [0, 1, 3])
def test_topk(ret_type, k, target, dev):
    x = relay.var("x", shape=(4, 6))
    data = rand(4, 6)
    out = relay.topk(x, k, axis=-1, ret_type=ret_type, is_ascend=False, dtype="int32")
    out = out.astuple() if isinstance(out, relay.expr.TupleWrapper) else out
    result = run(relay.Function([x], out), data, kind="graph", target=target, dev=dev)
    order = np.argsort(-data, axis=-1)[:, : k or 6]
    values = np.take_along_axis(data, order, -1)
    wanted = {"both": [values, order], "values": [values], "indices": [order]}[ret_type]
    for ours, theirs in zip(result if ret_type == "both" else [result], wanted):
        tvm.testing.assert_allclose(ours.numpy(), theirs)


def test_topk_of_k_that_is_computed(target, dev):
    x, k = relay.var("x", shape=(5,)), relay.var("k", shape=(), dtype="int64")
    func = relay.Function([x, k], relay.topk(x, k, ret_type="values"))
    data = rand(5)
    tvm.testing.assert_allclose(run(func, data, np.array(2), kind="vm", target=target, dev=dev).numpy(), -np.sort(-data)[:2])


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right, target, dev):
    s, v = relay.var("s", shape=(6,)), relay.var("v", shape=(4,))
    a, b = np.array([0, 1, 1, 2, 5, 8], "float32"), np.array([1, -1, 9, 5], "float32")
    wanted = topi_testing.searchsorted_ref(a, b, right, "int32")
    tvm.testing.assert_allclose(wanted, np.searchsorted(a, b, "right" if right else "left"))
    result = run(relay.Function([s, v], relay.searchsorted(s, v, right)), a, b, kind="graph", target=target, dev=dev)
    tvm.testing.assert_allclose(result.numpy(), wanted)
