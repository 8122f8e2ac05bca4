"""Operators of level 3: shapes, casts, indexing, scans."""

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay, te
from tvm.relay.testing import run_infer_type
from tvm.topi import testing as topi_testing

executor_kind = tvm.testing.parameter("debug", "graph", "vm")
random = np.random.RandomState(3)


def rand(*shape):
    return random.uniform(-4, 4, shape).astype("float32")


def run(func, *inputs, kind, target, dev):
    return relay.create_executor(kind, device=dev, target=target).evaluate(func)(*inputs)


@pytest.mark.parametrize("name", ["abs", "ceil", "floor", "trunc", "round", "sign", "negative", "copy"])
def test_rounding(name, executor_kind, target, dev):
    x = relay.var("x", shape=(2, 9))
    data = np.concatenate([rand(2, 4), np.array([[0.5, 1.5, -0.5, -2.5, 0.0]] * 2, "float32")], axis=1)
    func = relay.Function([x], getattr(relay, name)(x))
    wanted = getattr(np, name)(data)
    if name == "round":  # away from zero at the half
        wanted = np.sign(data) * np.floor(np.abs(data) + 0.5)
    tvm.testing.assert_allclose(run(func, data, kind=executor_kind, target=target, dev=dev).numpy(), wanted)


def test_zeros_ones_full(executor_kind, target, dev):
    for op, ref in ((relay.zeros, np.zeros), (relay.ones, np.ones)):
        y = op(shape=(12, 5), dtype="float64")
        assert run_infer_type(y).checked_type == relay.TensorType((12, 5), "float64")
        tvm.testing.assert_allclose(relay.create_executor(executor_kind, device=dev, target=target).evaluate(y).numpy(), ref((12, 5)))
    x = relay.var("x", relay.TensorType((), "int8"))
    func = relay.Function([x], relay.full(x, (3, 2)))
    tvm.testing.assert_allclose(run(func, np.array(7, "int8"), kind=executor_kind, target=target, dev=dev).numpy(), np.full((3, 2), 7))


def test_full_like():
    n = te.size_var("n")
    base = relay.var("base", relay.TensorType((n, 4), "float32"))
    fill = relay.var("fill", relay.TensorType((), "float32"))
    assert run_infer_type(relay.full_like(base, fill)).checked_type == base.type_annotation
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(relay.full(relay.var("x", shape=(3,)), shape=(2,)))


@pytest.mark.parametrize("source, wanted", [("float32", "int32"), ("int32", "float64"), ("float32", "bool"), ("bool", "int8")])
def test_cast(source, wanted, executor_kind, target, dev):
    x = relay.var("x", shape=(8,), dtype=source)
    y = x.astype(wanted)
    typed = run_infer_type(y)
    assert f'dtype="{wanted}"' in typed.astext() and typed.checked_type == relay.TensorType((8,), wanted)
    data = (rand(8) > 0) if source == "bool" else rand(8).astype(source)
    tvm.testing.assert_allclose(run(relay.Function([x], y), data, kind=executor_kind, target=target, dev=dev).numpy(), data.astype(wanted))


def test_cast_like_and_reinterpret(target, dev):
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(5,), dtype="int32")
    assert run_infer_type(relay.cast_like(x, y)).checked_type == relay.TensorType((3,), "int32")
    data = rand(3)
    result = run(relay.Function([x], relay.reinterpret(x, "int32")), data, kind="debug", target=target, dev=dev)
    assert result.dtype == "int32" and (result.numpy() == data.view("int32")).all()


def test_clip(executor_kind, target, dev):
    a = relay.var("a", relay.TensorType((10, 4), "float32"))
    y = relay.clip(a, 1.0, 4.0)
    assert run_infer_type(y).checked_type == relay.TensorType((10, 4), "float32")
    data = rand(10, 4)
    tvm.testing.assert_allclose(run(relay.Function([a], y), data, kind=executor_kind, target=target, dev=dev).numpy(), np.clip(data, 1, 4))


@pytest.mark.parametrize("axes", [None, (0, 2, 3, 1), (-1, -2, -3, -4)])
def test_transpose(axes, executor_kind, target, dev):
    x = relay.var("x", shape=(2, 3, 4, 5))
    data = rand(2, 3, 4, 5)
    wanted = np.transpose(data, axes)
    y = relay.transpose(x, axes=axes)
    assert run_infer_type(y).checked_type == relay.TensorType(wanted.shape, "float32")
    tvm.testing.assert_allclose(run(relay.Function([x], y), data, kind=executor_kind, target=target, dev=dev).numpy(), wanted)


def test_transpose_symbolic():
    n, t, d = (te.size_var(name) for name in "ntd")
    x = relay.var("x", relay.TensorType((n, t, d), "float32"))
    typed = run_infer_type(relay.transpose(x, axes=(1, 0, 2)))
    assert "axes=" in typed.astext() and typed.checked_type == relay.TensorType((t, n, d), "float32")


@pytest.mark.parametrize("newshape, wanted", [
    ((8, 3), (8, 3)), ((-1,), (24,)), ((0, -1), (2, 12)), ((-2,), (2, 3, 4)), ((2, -2), (2, 3, 4)), ((-3, 4), (6, 4)),
    ((2, -4, 1, 3, 4), (2, 1, 3, 4)), ((-4, -1, 2, -2), (1, 2, 3, 4)), ((0, -3), (2, 12)), ((-3, -2), (6, 4)),
])  # fmt: skip
def test_reshape(newshape, wanted, target, dev):
    x = relay.var("x", shape=(2, 3, 4))
    y = relay.reshape(x, newshape=newshape)
    assert tuple(run_infer_type(y).checked_type.concrete_shape) == wanted
    data = rand(2, 3, 4)
    tvm.testing.assert_allclose(run(relay.Function([x], y), data, kind="graph", target=target, dev=dev).numpy(), data.reshape(wanted))


def test_reshape_that_does_not_fit():
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(relay.reshape(relay.var("x", shape=(2, 3)), (4, 2)))


def test_reshape_like():
    x, y = relay.var("x", shape=(1, 2, 3)), relay.var("y", shape=(1, 6, 1))
    assert run_infer_type(relay.reshape_like(x, y)).checked_type == relay.TensorType((1, 6, 1), "float32")
    z = relay.var("z", shape=(1, 6, 3))
    assert run_infer_type(relay.reshape_like(relay.var("a", shape=(6, 3)), z, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)).checked_type.concrete_shape == (1, 6, 3)


@pytest.mark.parametrize("axis", [None, [0], [0, 2], [-2]])
def test_squeeze(axis, target, dev):
    x = relay.var("x", shape=(1, 3, 1) if axis != [-2] else (3, 1, 4))
    data = rand(*x.type_annotation.concrete_shape)
    wanted = np.squeeze(data, tuple(axis) if axis else None)
    func = relay.Function([x], relay.squeeze(x, axis=axis))
    assert run_infer_type(func).checked_type.ret_type == relay.TensorType(wanted.shape, "float32")
    tvm.testing.assert_allclose(run(func, data, kind="graph", target=target, dev=dev).numpy(), wanted)


@pytest.mark.parametrize("indices_shape, axis", [((1,), None), ((2, 2), 0), ((3,), 1), ((4, 1), -1)])
def test_take(indices_shape, axis, executor_kind, target, dev):
    x, i = relay.var("x", shape=(4, 5)), relay.var("i", shape=indices_shape, dtype="int32")
    data, indices = rand(4, 5), random.randint(0, 4, indices_shape).astype("int32")
    wanted = np.take(data, indices, axis=axis)
    y = relay.take(x, i, axis=axis)
    assert run_infer_type(y).checked_type == relay.TensorType(wanted.shape, "float32")
    tvm.testing.assert_allclose(run(relay.Function([x, i], y), data, indices, kind=executor_kind, target=target, dev=dev).numpy(), wanted)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_take_outside(mode, target, dev):
    x, i = relay.var("x", shape=(4,)), relay.var("i", shape=(3,), dtype="int32")
    data, indices = rand(4), np.array([-1, 4, 9], "int32")
    func = relay.Function([x, i], relay.take(x, i, mode=mode))
    tvm.testing.assert_allclose(run(func, data, indices, kind="graph", target=target, dev=dev).numpy(), np.take(data, indices, mode=mode))


@pytest.mark.parametrize("parts, axis", [(3, 0), ([2, 4], 0), ((1, 2), 1)])
def test_split(parts, axis, executor_kind, target, dev):
    x = relay.var("x", shape=(6, 4))
    data = rand(6, 4)
    wanted = np.split(data, parts, axis)
    y = relay.split(x, parts, axis)
    assert len(y) == len(wanted)
    result = run(relay.Function([x], y.astuple()), data, kind=executor_kind, target=target, dev=dev)
    for ours, theirs in zip(result, wanted):
        tvm.testing.assert_allclose(ours.numpy(), theirs)


def test_split_infer_type():
    d = [te.size_var(f"d{i}") for i in range(4)]
    x = relay.var("x", relay.TensorType((d[0], 6, d[2], d[3]), "float32"))
    part = relay.TensorType((d[0], 2, d[2], d[3]), "float32")
    assert run_infer_type(relay.split(x, 3, axis=1).tuple_value).checked_type == relay.ty.TupleType([part] * 3)
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(relay.split(relay.var("y", shape=(5,)), 2).tuple_value)


def test_stack_tile_repeat_reverse(executor_kind, target, dev):
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    a, b = rand(2, 3), rand(2, 3)
    cases = [
        (relay.stack([x, y], axis=1), np.stack([a, b], 1)),
        (relay.tile(x, (2, 2)) + relay.tile(y, (2, 2)), np.tile(a, (2, 2)) + np.tile(b, (2, 2))),
        (relay.repeat(x, 2, axis=1) + relay.repeat(y, 2, 1), np.repeat(a, 2, 1) + np.repeat(b, 2, 1)),
        (relay.reverse(x, axis=1) * y, a[:, ::-1] * b),
    ]
    for expr, wanted in cases:
        tvm.testing.assert_allclose(run(relay.Function([x, y], expr), a, b, kind=executor_kind, target=target, dev=dev).numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("start, stop, step", [(None, 20, None), (1, 20, None), (1, 20, 1.5), (20, 1, -1)])
def test_arange(start, stop, step, target, dev):
    dtype = "float32"
    args = [relay.const(v, dtype) if v is not None else None for v in (start, stop, step)]
    y = relay.arange(stop=args[1], start=args[0], step=args[2], dtype=dtype) if start is not None else relay.arange(args[1], dtype=dtype)
    wanted = np.arange(start or 0, stop, step or 1).astype(dtype)
    tvm.testing.assert_allclose(relay.create_executor("vm", device=dev, target=target).evaluate(y).numpy(), wanted)


@pytest.mark.parametrize("axis", [0, 1])
def test_gather(axis, target, dev):
    x, i = relay.var("x", shape=(3, 4)), relay.var("i", shape=(2, 4) if axis == 0 else (3, 2), dtype="int32")
    data, indices = rand(3, 4), random.randint(0, 3, i.type_annotation.concrete_shape).astype("int32")
    func = relay.Function([x, i], relay.gather(x, axis, i))
    wanted = topi_testing.gather_python(data, axis, indices)
    tvm.testing.assert_allclose(wanted, np.take_along_axis(data, indices, axis))
    tvm.testing.assert_allclose(run(func, data, indices, kind="graph", target=target, dev=dev).numpy(), wanted)


def test_gather_nd(executor_kind, target, dev):
    x, i = relay.var("x", shape=(3, 4, 5)), relay.var("i", shape=(2, 6), dtype="int32")
    data, indices = rand(3, 4, 5), np.stack([random.randint(0, 3, 6), random.randint(0, 4, 6)]).astype("int32")
    result = run(relay.Function([x, i], relay.gather_nd(x, i)), data, indices, kind=executor_kind, target=target, dev=dev)
    tvm.testing.assert_allclose(result.numpy(), data[tuple(indices)])


@pytest.mark.parametrize("mode, combine", [("update", None), ("add", np.add)])
def test_scatter_nd(mode, combine, target, dev):
    x, i, u = relay.var("x", shape=(5,)), relay.var("i", shape=(1, 4), dtype="int64"), relay.var("u", shape=(4,))
    data, indices, updates = rand(5), np.array([[0, 3, 3, 1]]), np.array([1, 2, 2, 4], "float32")
    wanted = data.copy()
    if combine is None:
        wanted[indices[0]] = updates
    else:
        combine.at(wanted, indices[0], updates)
    func = relay.Function([x, i, u], relay.scatter_nd(x, i, u, mode))
    tvm.testing.assert_allclose(run(func, data, indices, updates, kind="graph", target=target, dev=dev).numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("reduction", ["update", "add", "min", "max"])
def test_scatter_elements(reduction, target, dev):
    x, i, u = relay.var("x", shape=(4, 2)), relay.var("i", shape=(3, 2), dtype="int64"), relay.var("u", shape=(3, 2))
    data, indices, updates = rand(4, 2), np.array([[0, 1], [2, 3], [3, 0]]), rand(3, 2)
    wanted = data.copy()
    for row in range(3):
        for col in range(2):
            at = (indices[row, col], col)
            wanted[at] = {"update": lambda a, b: b, "add": lambda a, b: a + b, "min": min, "max": max}[reduction](wanted[at], updates[row, col])
    func = relay.Function([x, i, u], relay.op.scatter_elements(x, i, u, axis=0, reduction=reduction))
    tvm.testing.assert_allclose(run(func, data, indices, updates, kind="graph", target=target, dev=dev).numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("op, ref", [("cumsum", np.cumsum), ("cumprod", np.cumprod)])
@pytest.mark.parametrize("axis", [None, 1])
def test_scan(op, ref, axis, target, dev):
    x = relay.var("x", shape=(3, 4), dtype="int32")
    data = random.randint(1, 4, (3, 4)).astype("int32")
    result = run(relay.Function([x], getattr(relay.op, op)(x, axis=axis, dtype="int64")), data, kind="graph", target=target, dev=dev)
    assert result.dtype == "int64"
    tvm.testing.assert_allclose(result.numpy(), ref(data, axis))


@pytest.mark.parametrize("is_sorted", [True, False])
def test_unique(is_sorted, target, dev):
    x = relay.var("x", shape=(relay.Any(),), dtype="int32")
    data = np.array([4, 1, 4, 3, 1, 0], "int32")
    func = relay.Function([x], relay.unique(x, is_sorted=is_sorted, return_counts=True)[4])
    counts = run(func, data, kind="vm", target=target, dev=dev).numpy()
    values, first, theirs = np.unique(data, return_index=True, return_counts=True)
    tvm.testing.assert_allclose(counts, theirs if is_sorted else theirs[np.argsort(first)])


def test_trilu_meshgrid_adv_index(target, dev):
    x = relay.var("x", shape=(4, 4))
    data = rand(4, 4)
    lower = relay.trilu(x, relay.const(1), upper=False)
    tvm.testing.assert_allclose(run(relay.Function([x], lower), data, kind="graph", target=target, dev=dev).numpy(), np.tril(data, 1))
    a, b = relay.var("a", shape=(2,)), relay.var("b", shape=(3,))
    grids = run(relay.Function([a, b], relay.meshgrid([a, b], indexing="ij").astuple()), data[0, :2], data[0, :3], kind="graph", target=target, dev=dev)
    for ours, theirs in zip(grids, np.meshgrid(data[0, :2], data[0, :3], indexing="ij")):
        tvm.testing.assert_allclose(ours.numpy(), theirs)
    i, j = relay.var("i", shape=(3,), dtype="int64"), relay.var("j", shape=(3,), dtype="int64")
    picked = run(relay.Function([x, i, j], relay.adv_index([x, i, j])), data, np.array([0, 1, 3]), np.array([2, 2, 0]), kind="graph", target=target, dev=dev)
    tvm.testing.assert_allclose(picked.numpy(), data[[0, 1, 3], [2, 2, 0]])


def test_tests_of_floats(target, dev):
    x = relay.var("x", shape=(4,))
    data = np.array([1, np.nan, np.inf, -np.inf], "float32")
    for name in ("isnan", "isfinite", "isinf"):
        y = getattr(relay, name)(x)
        assert run_infer_type(y).checked_type.dtype == "bool"
        assert (run(relay.Function([x], y), data, kind="graph", target=target, dev=dev).numpy() == getattr(np, name)(data)).all()


@pytest.mark.parametrize("slope", [0.1, 0.5])
def test_leaky_relu_and_prelu(slope, target, dev):
    x, alpha = relay.var("x", shape=(1, 3, 2)), relay.var("alpha", shape=(3,))
    data = rand(1, 3, 2)
    func = relay.Function([x], relay.nn.leaky_relu(x, alpha=slope))
    tvm.testing.assert_allclose(run(func, data, kind="graph", target=target, dev=dev).numpy(), np.where(data > 0, data, slope * data), rtol=1e-6)
    func = relay.Function([x, alpha], relay.nn.prelu(x, alpha))
    a = np.array([0.1, 0.2, 0.3], "float32")
    tvm.testing.assert_allclose(run(func, data, a, kind="graph", target=target, dev=dev).numpy(), np.where(data > 0, data, a[None, :, None] * data), rtol=1e-6)


def test_sparse_to_dense_and_unravel(target, dev):
    i, v = relay.var("i", shape=(3,), dtype="int32"), relay.var("v", shape=(3,))
    func = relay.Function([i, v], relay.sparse_to_dense(i, (5,), v, relay.const(9.0)))
    result = run(func, np.array([0, 2, 4], "int32"), np.array([1, 2, 3], "float32"), kind="graph", target=target, dev=dev)
    tvm.testing.assert_allclose(result.numpy(), [1, 9, 2, 9, 3])
    f = relay.Function([i], relay.unravel_index(i, relay.const([2, 3])))
    tvm.testing.assert_allclose(run(f, np.array([0, 4, 5], "int32"), kind="graph", target=target, dev=dev).numpy(), np.array(np.unravel_index([0, 4, 5], (2, 3))))


@pytest.mark.parametrize("expr, shape", [
    (lambda x: relay.reshape(x, relay.shape_of(x)), (2, 3)),
    (lambda x: relay.op.dyn.tile(x, relay.const([2, 1])), (4, 3)),
    (lambda x: relay.broadcast_to(x, relay.const([2, 2, 3])), (2, 2, 3)),
])  # fmt: skip
def test_shapes_as_expressions(expr, shape, target, dev):
    x = relay.var("x", shape=(2, 3))
    result = run(relay.Function([x], expr(x)), rand(2, 3), kind="vm", target=target, dev=dev)
    assert result.shape == shape


def test_reverse_sequence(target, dev):
    x, n = relay.var("x", shape=(3, 2)), relay.var("n", shape=(2,), dtype="int32")
    data = rand(3, 2)
    wanted = np.stack([np.concatenate([data[:1, 0], data[1:, 0]]), np.concatenate([data[1::-1, 1], data[2:, 1]])], 1)
    func = relay.Function([x, n], relay.reverse_sequence(x, n, seq_axis=0, batch_axis=1))
    tvm.testing.assert_allclose(run(func, data, np.array([1, 2], "int32"), kind="graph", target=target, dev=dev).numpy(), wanted)
