"""take, gather, gather_nd, scatter, one_hot, slices, where."""
import numpy as np

import tvm
import tvm.topi.testing
from tvm import relay
from tvm.relay.testing import run_infer_type
from tvm.topi.testing import gather_nd_python, gather_python, one_hot, strided_slice_python

rng = np.random.default_rng(11)


def evaluate(build, *arrays):
    params = [relay.var(f"p{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    func = relay.Function(params, build(*params))
    outs = [relay.create_executor(k, device=tvm.cpu(), target="llvm").evaluate(func)(*arrays).numpy() for k in ("graph", "debug", "vm")]
    for other in outs[1:]:
        np.testing.assert_array_equal(outs[0], other)
    return outs[0]


def test_take():
    data, index = rng.random((4, 5)).astype("float32"), np.array([[0, 3], [2, 9]], "int32")
    np.testing.assert_array_equal(evaluate(lambda d, i: relay.take(d, i, axis=0, mode="clip"), data, index), np.take(data, index, 0, mode="clip"))
    np.testing.assert_array_equal(evaluate(lambda d, i: relay.take(d, i, axis=1, mode="wrap"), data, index), np.take(data, index, 1, mode="wrap"))


def test_gather():
    data, index = rng.random((3, 4)).astype("float32"), rng.integers(0, 3, (2, 4)).astype("int64")
    np.testing.assert_array_equal(evaluate(lambda d, i: relay.gather(d, 0, i), data, index), gather_python(data, 0, index))
    nd = np.array([[0, 2, 1], [3, 0, 1]], "int32")
    np.testing.assert_array_equal(evaluate(lambda d, i: relay.gather_nd(d, i), data, nd), gather_nd_python(data, nd))


def test_scatter():
    data, index, update = np.zeros((3, 3), "float32"), np.array([[0, 1, 2]], "int64"), np.full((1, 3), 5, "float32")
    wanted = np.diag([5, 5, 5]).astype("float32")
    np.testing.assert_array_equal(evaluate(lambda d, i, u: relay.scatter_elements(d, i, u, axis=0), data, index, update), wanted)
    np.testing.assert_array_equal(evaluate(lambda d, i, u: relay.op.scatter_add(d, i, u, axis=0), data + 1, index, update), wanted + 1)
    where = np.array([[1, 2]], "int64")
    out = evaluate(lambda d, i, u: relay.scatter_nd(d, i, u, mode="add"), np.ones(4, "float32"), where, np.array([2, 3], "float32"))
    np.testing.assert_array_equal(out, [1, 3, 4, 1])


def test_one_hot():
    index = rng.integers(0, 6, (3, 2)).astype("int32")
    for axis in (-1, 0, 1):
        out = evaluate(lambda i: relay.one_hot(i, relay.const(1.0), relay.const(0.0), 6, axis, "float32"), index)
        np.testing.assert_array_equal(out, one_hot(index, 1.0, 0.0, 6, axis, "float32"))


def test_strided_slice():
    data = rng.random((6, 7, 8)).astype("float32")
    x = relay.var("x", shape=data.shape)
    for begin, end, strides in (([1, 0, 2], [4, 7, 8], [1, 2, 3]), ([-1, 0, 0], [-5, 7, 8], [-2, 1, 1]), ([0], [3], [1])):
        z = relay.strided_slice(x, begin=begin, end=end, strides=strides)
        wanted = strided_slice_python(data, begin, end, strides)
        assert tuple(int(d) for d in run_infer_type(z).checked_type.shape) == wanted.shape
        np.testing.assert_array_equal(evaluate(lambda d: relay.strided_slice(d, begin=begin, end=end, strides=strides), data), wanted)
    out = evaluate(lambda d: relay.strided_slice(d, begin=[1], end=[2], axes=[1], slice_mode="size"), data)
    assert out.shape == (6, 2, 8)


def test_where_and_masks():
    a, b = rng.random((3, 4)).astype("float32"), rng.random((1, 4)).astype("float32")
    np.testing.assert_array_equal(evaluate(lambda x, y: relay.where(relay.greater(x, y), x, y), a, b), np.maximum(a, b))
    seq, length = rng.random((5, 2, 3)).astype("float32"), np.array([2, 4], "int32")
    out = evaluate(lambda d, n: relay.sequence_mask(d, n, mask_value=-1.0, axis=0), seq, length)
    np.testing.assert_array_equal(out, tvm.topi.testing.sequence_mask(seq, length, -1.0, 0))


if __name__ == "__main__":
    test_take()
    test_gather()
    test_scatter()
    test_one_hot()
    test_strided_slice()
    test_where_and_masks()
