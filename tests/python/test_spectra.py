"""Orthogonal decompositions of relay.numpy.linalg, against NumPy."""

import numpy as np
import pytest

import relay
import relay.numpy as rnp

la = rnp.linalg
SHAPES = [(1, 1), (4, 4), (7, 3), (3, 7), (2, 5, 5), (3, 6, 4), (2, 0, 3), (20, 20)]


def matrices(shape, dtype):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def near(found, expected, dtype, scale=1.0):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape and found.dtype == dtype
    if found.size:
        assert np.abs(found - expected).max() <= (2e-4 if dtype == "float32" else 1e-11) * scale


def orthonormal(columns, dtype):
    columns = np.asarray(columns)
    near(np.swapaxes(columns, -1, -2) @ columns, np.broadcast_to(np.eye(columns.shape[-1], dtype=dtype), (*columns.shape[:-2], *[columns.shape[-1]] * 2)), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_qr(shape, dtype):
    a = matrices(shape, dtype)
    for mode in ("reduced", "complete"):
        q, r = la.qr(rnp.asarray(a), mode=mode)
        wanted = np.linalg.qr(a, mode=mode)
        assert q.shape == wanted[0].shape and r.shape == wanted[1].shape
        near(np.asarray(q) @ np.asarray(r), a, dtype)
        orthonormal(q, dtype)
        assert not np.tril(np.asarray(r), -1).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_svd(shape, dtype):
    a = matrices(shape, dtype)
    for full in (True, False):
        u, s, v = la.svd(rnp.asarray(a), full_matrices=full)
        wanted = np.linalg.svd(a, full_matrices=full)
        assert u.shape == wanted[0].shape and v.shape == wanted[2].shape
        near(s, wanted[1], dtype)
        k = s.shape[-1]
        near((np.asarray(u)[..., :k] * np.asarray(s)[..., None, :]) @ np.asarray(v)[..., :k, :], a, dtype)
        orthonormal(u, dtype)
        orthonormal(np.swapaxes(np.asarray(v), -1, -2), dtype)
    near(la.svdvals(rnp.asarray(a)), wanted[1], dtype)
    if a.size:
        inverse = np.linalg.pinv(a)
        near(la.pinv(rnp.asarray(a)), inverse, dtype, 10 * max(np.abs(inverse).max(), 1) ** 2)
        for order in ("nuc", 2, -2):
            near(la.matrix_norm(rnp.asarray(a), ord=order), np.linalg.matrix_norm(a, ord=order), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5), (3, 4, 4), (0, 0), (21, 21)], ids=str)
def test_eigh(shape, dtype):
    a = matrices(shape, dtype)
    a = a + np.swapaxes(a, -1, -2)
    values, vectors = la.eigh(rnp.asarray(np.tril(a)))  # the lower triangle counts
    near(values, np.linalg.eigvalsh(a), dtype)
    near(a @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values)[..., None, :], dtype)
    orthonormal(vectors, dtype)
    near(la.eigvalsh(rnp.asarray(a)), np.linalg.eigvalsh(a), dtype)


def test_matrices_without_full_rank():
    rank_one = np.outer(np.arange(4), np.arange(3)).astype("float32")
    for a in (rank_one, np.zeros((3, 2), "float32"), np.eye(3, dtype="float32") * 1e-30, np.eye(3, dtype="float32") * 1e30):
        u, s, v = la.svd(rnp.asarray(a))
        orthonormal(u, "float32")
        orthonormal(np.asarray(v).T, "float32")
        assert int(la.matrix_rank(rnp.asarray(a))) == np.linalg.matrix_rank(a)
        np.testing.assert_allclose(np.asarray(s), np.linalg.svd(a)[1], rtol=1e-5, atol=1e-6 * np.abs(a).max())
    np.testing.assert_allclose(np.asarray(la.pinv(rnp.asarray(rank_one))), np.linalg.pinv(rank_one), atol=1e-5)
    assert la.eigvalsh(rnp.asarray([[0.0, 1.0], [1.0, 0.0]])).tolist() == pytest.approx([-1, 1])


def test_gradients():
    a = matrices((5, 3), "float64")
    u, _, v = np.linalg.svd(a, full_matrices=False)
    near(relay.grad(lambda x: la.svdvals(x).sum())(rnp.asarray(a)), u @ v, "float64")
    near(relay.grad(lambda x: (la.qr(x).R ** 2).sum())(rnp.asarray(a)), 2 * a, "float64")
    b = a @ a.T + np.diag(np.arange(5.0))
    _, vectors = np.linalg.eigh(b)
    weights = np.arange(5.0)
    slope = relay.grad(lambda x: (la.eigvalsh((x + x.T) / 2) * rnp.asarray(weights)).sum())(rnp.asarray(b))
    near(slope, (vectors * weights) @ vectors.T, "float64", 100)


def test_inside_of_functions():
    @relay.function
    def whitened(x):
        values, vectors = la.eigh(x.T @ x / x.shape[0])
        return x @ vectors / rnp.sqrt(values)

    x = matrices((50, 4), "float64")
    y = np.asarray(whitened(x))
    near(y.T @ y / 50, np.eye(4), "float64", 100)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="eigh is of square matrices"):
        la.eigh(rnp.ones((2, 3)))
    with pytest.raises(ValueError, match="qr is of matrices"):
        la.qr(rnp.ones((3,)))
    with pytest.raises(ValueError, match='mode is "reduced" or "complete"'):
        la.qr(rnp.ones((3, 3)), mode="full")
    with pytest.raises(ValueError, match='ord is "fro", "nuc"'):
        la.matrix_norm(rnp.ones((3, 3)), ord=3)
