"""Sparse products and conversions."""
import collections

import numpy as np

import tvm
import tvm.testing
from tvm import relay
from tvm.relay.testing import run_infer_type

Csr = collections.namedtuple("Csr", ["data", "indices", "indptr"])


def csr(matrix):
    rows, columns = np.nonzero(matrix)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=matrix.shape[0]))])
    return Csr(matrix[rows, columns].astype("float32"), columns.astype("int32"), indptr.astype("int32"))


def random_sparse(m, n, density=0.3):
    return (np.random.rand(m, n) * (np.random.rand(m, n) < density)).astype("float32")


def test_sparse_dense():
    x_np, w_np = np.random.rand(5, 8).astype("float32"), random_sparse(6, 8)
    w = csr(w_np)
    x = relay.var("x", shape=x_np.shape)
    weight = Csr(*(relay.const(part) for part in w))
    out = relay.create_executor("graph").evaluate(relay.Function([x], relay.nn.sparse_dense(x, weight)))(x_np)
    tvm.testing.assert_allclose(out.numpy(), x_np @ w_np.T, rtol=1e-4)
    left = relay.nn.sparse_dense(x, weight, sparse_lhs=True)
    out = relay.create_executor("graph").evaluate(relay.Function([x], left))(x_np)
    tvm.testing.assert_allclose(out.numpy(), w_np @ x_np.T, rtol=1e-4)


def test_sparse_transpose_and_add():
    m = random_sparse(4, 4)
    parts = csr(m)
    t = relay.nn.sparse_transpose(Csr(*(relay.const(p) for p in parts)))
    data, indices, indptr = (p.numpy() for p in relay.create_executor("debug").evaluate(relay.Function([], t.astuple() if isinstance(t, relay.expr.TupleWrapper) else t))())
    back = np.zeros((4, 4), "float32")
    for row in range(4):
        for k in range(indptr[row], indptr[row + 1]):
            back[row, indices[k]] = data[k]
    np.testing.assert_array_equal(back, m.T)
    d = relay.var("d", shape=(4, 4))
    dense = np.random.rand(4, 4).astype("float32")
    total = relay.nn.sparse_add(d, Csr(*(relay.const(p) for p in parts)))
    tvm.testing.assert_allclose(relay.create_executor("graph").evaluate(relay.Function([d], total))(dense).numpy(), dense + m, rtol=1e-6)


def test_sparse_to_dense():
    indices = relay.var("i", shape=(2, 2), dtype="int32")
    values = relay.var("v", shape=(2,))
    d = relay.sparse_to_dense(indices, (3, 4), values, relay.const(0.5))
    assert run_infer_type(d).checked_type == relay.TensorType((3, 4), "float32")
    out = relay.create_executor("graph").evaluate(relay.Function([indices, values], d))(np.array([[0, 1], [2, 3]], "int32"), np.array([7, 8], "float32"))
    wanted = np.full((3, 4), 0.5, "float32")
    wanted[0, 1], wanted[2, 3] = 7, 8
    np.testing.assert_array_equal(out.numpy(), wanted)


if __name__ == "__main__":
    test_sparse_dense()
    test_sparse_transpose_and_add()
    test_sparse_to_dense()
