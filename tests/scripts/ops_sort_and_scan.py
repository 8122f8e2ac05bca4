"""sort, argsort, topk, cumsum, unique, searchsorted, meshgrid, trilu."""
import numpy as np
import pytest

import tvm
import tvm.testing
import tvm.topi.testing
from tvm import relay

executor_kind = tvm.testing.parameter("graph", "vm", "debug")


@pytest.mark.parametrize("is_ascend", [True, False])
@pytest.mark.parametrize("axis", [-1, 0])
def test_sort(executor_kind, is_ascend, axis):
    data = np.random.permutation(24).reshape(4, 6).astype("float32")
    x = relay.var("x", shape=data.shape)
    run = lambda e: relay.create_executor(executor_kind).evaluate(relay.Function([x], e))(data).numpy()  # noqa: E731
    ref = np.sort(data, axis=axis) if is_ascend else -np.sort(-data, axis=axis)
    np.testing.assert_array_equal(run(relay.sort(x, axis=axis, is_ascend=is_ascend)), ref)
    order = np.argsort(data if is_ascend else -data, axis=axis)
    np.testing.assert_array_equal(run(relay.argsort(x, axis=axis, is_ascend=is_ascend, dtype="int32")), order)


@pytest.mark.parametrize("ret_type", ["both", "values", "indices"])
def test_topk(executor_kind, ret_type):
    data = np.random.permutation(30).reshape(3, 10).astype("float32")
    x = relay.var("x", shape=data.shape)
    out = relay.topk(x, 4, axis=-1, ret_type=ret_type, is_ascend=False, dtype="int64")
    if isinstance(out, relay.expr.TupleWrapper):
        out = out.astuple()
    found = relay.create_executor(executor_kind).evaluate(relay.Function([x], out))(data)
    values, indices = -np.sort(-data, axis=-1)[:, :4], np.argsort(-data, axis=-1)[:, :4]
    if ret_type == "both":
        np.testing.assert_array_equal(found[0].numpy(), values)
        np.testing.assert_array_equal(found[1].numpy(), indices)
    else:
        np.testing.assert_array_equal(found.numpy(), values if ret_type == "values" else indices)


def test_scans(executor_kind):
    data = np.random.randint(1, 4, (3, 4)).astype("int32")
    x = relay.var("x", shape=data.shape, dtype="int32")
    run = lambda e: relay.create_executor(executor_kind).evaluate(relay.Function([x], e))(data).numpy()  # noqa: E731
    np.testing.assert_array_equal(run(relay.cumsum(x, axis=1)), np.cumsum(data, 1))
    np.testing.assert_array_equal(run(relay.cumprod(x, axis=0)), np.cumprod(data, 0))
    exclusive = np.cumsum(data, 1) - data
    np.testing.assert_array_equal(run(relay.cumsum(x, axis=1, exclusive=True)), exclusive)
    assert run(relay.cumsum(x, dtype="int64")).dtype == "int64"


def test_searchsorted():
    rows, values = np.sort(np.random.rand(2, 6), axis=1).astype("float32"), np.random.rand(2, 3).astype("float32")
    a, b = relay.var("a", shape=rows.shape), relay.var("b", shape=values.shape)
    for right in (True, False):
        out = relay.create_executor("graph").evaluate(relay.Function([a, b], relay.searchsorted(a, b, right, "int32")))(rows, values)
        np.testing.assert_array_equal(out.numpy(), tvm.topi.testing.searchsorted_ref(rows, values, right, "int32"))


def test_grids_and_triangles():
    a, b = relay.var("a", shape=(3,)), relay.var("b", shape=(4,))
    u, v = np.arange(3, dtype="float32"), np.arange(4, dtype="float32")
    out = relay.create_executor("debug").evaluate(relay.Function([a, b], relay.meshgrid([a, b], indexing="ij").astuple()))(u, v)
    for found, ref in zip(out, np.meshgrid(u, v, indexing="ij")):
        np.testing.assert_array_equal(found.numpy(), ref)
    m = relay.var("m", shape=(4, 4))
    data = np.random.rand(4, 4).astype("float32")
    for upper in (True, False):
        out = relay.create_executor("graph").evaluate(relay.Function([m], relay.trilu(m, relay.const(0), upper)))(data)
        np.testing.assert_array_equal(out.numpy(), np.triu(data) if upper else np.tril(data))


if __name__ == "__main__":
    tvm.testing.main()
