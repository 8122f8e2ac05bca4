"""Linear systems and decompositions of matrices against PyTorch; bases of vectors are compared by what they span."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import relay  # noqa: E402
from functions import Module, results  # noqa: E402
from relay.frontend.torch.backend import relay as backend  # noqa: E402

L = torch.linalg
G = torch.Generator().manual_seed(0)
A, B, V = (torch.randn(2, 3, *rest, generator=G) for rest in ((3,), (2,), ()))
TALL, WIDE = torch.randn(2, 5, 3, generator=G), torch.randn(3, 5, generator=G)
S = A @ A.mT + torch.eye(3)
C = L.cholesky(S)
SINGULAR = torch.stack([A[0], torch.ones(3, 3)])
INDEFINITE = torch.stack([S[0], torch.tensor([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]])])


def rebuilt(a, full):
    u, s, v = L.svd(a, full_matrices=full)
    k = s.shape[-1]
    return u[..., :k] * s[..., None, :] @ v[..., :k, :], s, u.mT @ u, v @ v.mT


def turned(a, triangle):
    values, vectors = L.eigh(a, UPLO=triangle)
    return values, vectors * values[..., None, :] @ vectors.mT


CASES = {
    "inv": (L.inv, A),
    "inverse": (torch.inverse, A),
    "inv of nothing": (L.inv, A[:, :0, :0]),
    "inv_ex": (lambda a: L.inv_ex(a), A),
    "inv_ex's info": (lambda a: L.inv_ex(a)[1], SINGULAR),
    "matrix_power": (lambda a: L.matrix_power(a, -3), A),
    "tensorinv": (lambda a: L.tensorinv(a, 1), torch.randn(6, 2, 3, generator=G)),
    "tensorsolve": (L.tensorsolve, torch.randn(2, 3, 6, generator=G), V),
    "solve": (L.solve, A, B),
    "solve of vectors": (L.solve, A, V),
    "solve of one vector": (L.solve, A[0], V[0]),
    "solve from the right": (lambda a, b: L.solve(a, b.mT, left=False), A, B),
    "solve_ex": (lambda a, b: L.solve_ex(a, b), A, B),
    "solve_triangular": (lambda a, b: L.solve_triangular(a, b, upper=True), A, B),
    "solve_triangular of broadcast": (lambda a, b: L.solve_triangular(a, b, upper=True), A, B[0]),
    "solve_triangular, unit": (lambda a, b: L.solve_triangular(a, b, upper=False, unitriangular=True), A, B),
    "solve_triangular from the right": (lambda a, b: L.solve_triangular(a, b.mT, upper=True, left=False), A, B),
    "cholesky_solve": (torch.cholesky_solve, B, C),
    "cholesky_solve, upper": (lambda b, c: torch.cholesky_solve(b, c.mT, upper=True), B, C),
    "cholesky_inverse": (torch.cholesky_inverse, C),
    "det": (L.det, A),
    "det of nothing": (L.det, A[:, :0, :0]),
    "slogdet": (lambda a: tuple(L.slogdet(a)), A),
    "logdet": (torch.logdet, S),
    "lu": (lambda a: tuple(L.lu(a)), A),
    "lu of a tall matrix": (lambda a: tuple(L.lu(a)), TALL),
    "lu of a wide matrix": (lambda a: tuple(L.lu(a)), WIDE),
    "lu_unpack": (lambda a: torch.lu_unpack(*L.lu_factor_ex(a)[:2]), TALL),
    "lu_unpack of exchanges": (lambda a: torch.lu_unpack(*L.lu_factor_ex(a)[:2], unpack_data=False)[0], A),
    "lu_factor": (lambda a: tuple(L.lu_factor(a)), A),
    "lu_factor_ex": (lambda a: tuple(L.lu_factor_ex(a)), torch.stack([A[0], torch.zeros(3, 3)])),
    "lu_solve": (lambda a, b: L.lu_solve(*L.lu_factor(a), b), A, B),
    "lu_solve of the transpose": (lambda a, b: L.lu_solve(*L.lu_factor(a), b, adjoint=True), A, B),
    "lu_solve from the right": (lambda a, b: L.lu_solve(*L.lu_factor(a), b.mT, left=False), A, B),
    "cholesky": (L.cholesky, S),
    "cholesky, upper": (lambda a: L.cholesky(a, upper=True), S),
    "cholesky_ex's info": (lambda a: L.cholesky_ex(a)[1], INDEFINITE),
    "qr": (lambda a: tuple(L.qr(a)), A),
    "qr of a tall matrix": (lambda a: tuple(L.qr(a)), TALL),
    "qr of a wide matrix": (lambda a: tuple(L.qr(a)), WIDE),
    "qr, complete": (lambda a: tuple(L.qr(a, mode="complete")), TALL),
    "qr of nothing": (lambda a: tuple(L.qr(a)), TALL[:, :0]),
    "qr, r": (lambda a: L.qr(a, mode="r")[1], TALL),
    "householder_product": (lambda a: L.householder_product(a, a[..., 0, :]), TALL),
    "eigh": (lambda a: turned(a, "L"), S),
    "eigh of the upper triangle": (lambda a: turned(torch.triu(a), "U"), S),
    "eigvalsh": (L.eigvalsh, S),
    "svd": (lambda a: rebuilt(a, False), TALL),
    "svd, full": (lambda a: rebuilt(a, True), TALL),
    "svdvals": (L.svdvals, WIDE),
    "pinv": (L.pinv, TALL),
    "pinv with rtol": (lambda a: L.pinv(a, rtol=0.5), TALL),
    "pinv with atol": (lambda a: L.pinv(a, atol=1.0), TALL),
    "pinv of a triangle": (lambda a: L.pinv(a, hermitian=True), A),
    "matrix_rank": (L.matrix_rank, TALL),
    "norms": (lambda a: (L.matrix_norm(a, 2), L.matrix_norm(a, "nuc"), L.cond(a)), A),
    "matrix_exp": (torch.matrix_exp, A * 3),
    "matrix_exp of doubles": (torch.matrix_exp, A.double()),
    "diagonal_scatter": (lambda a, b: torch.diagonal_scatter(a, b[..., 0, :2], 1, 2, 1), A, A),
}  # fmt: skip


def program(function, *args, **more):
    return relay.compile(relay.from_torch(torch.export.export(Module(function), tuple(args), **more))[0], cache=False)


@pytest.mark.parametrize("name", CASES)
def test_agrees(name):
    function, *args = CASES[name]
    got, wanted = results(program(function, *args)(*args)), results(function(*args))
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        one = np.asarray(one)
        assert one.shape == tuple(other.shape) and one.dtype == other.numpy().dtype
        np.testing.assert_allclose(one, other.numpy(), rtol=2e-3, atol=2e-4)


def test_the_batch_is_open():
    run = program(L.solve, A, B, dynamic_shapes={"args": ({0: torch.export.Dim.AUTO}, {0: torch.export.Dim.AUTO})})
    for size in (1, 4):
        a, b = torch.randn(size, 3, 3, generator=G), torch.randn(size, 3, 2, generator=G)
        np.testing.assert_allclose(np.asarray(run(a, b)), L.solve(a, b).numpy(), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("function,good,bad,words", [
    (L.inv, A, SINGULAR, "linalg.inv: the matrix has no inverse"),
    (lambda a: L.solve(a, a), A, SINGULAR, "linalg.solve: the matrix has no inverse"),
    (L.cholesky, S, INDEFINITE, "linalg.cholesky: the matrix is not positive definite"),
])  # fmt: skip
def test_matrices_that_have_no_result_are_errors(function, good, bad, words):
    run = program(function, good)
    assert np.isfinite(np.asarray(run(good))).all()
    with pytest.raises(relay.ExecutionError, match=words):
        run(bad)
    assert np.isnan(np.asarray(run(good * float("nan")))).any()  # as PyTorch: only finite numbers have such an error


def test_factors_without_exchanges_say_why():
    with pytest.raises(relay.RelayError, match="factors without exchanges of rows"):
        relay.from_torch(torch.export.export(Module(lambda a: torch.ops.aten.linalg_lu(a, pivot=False)), (A,)))


@pytest.mark.parametrize("name,function,args", [
    ("det", lambda a: L.det(a) * 2, (A,)),
    ("det of columns", lambda a: L.det(a.mT), (A,)),
    ("slogdet", lambda a: L.slogdet(a)[1], (A,)),
    ("inv", L.inv, (A,)),
    ("solve", L.solve, (A, B)),
    ("solve_triangular", lambda a, b: L.solve_triangular(a, b, upper=True), (A, B)),
    ("cholesky", L.cholesky, (S,)),
    ("eigvalsh", lambda a: L.eigvalsh(a) ** 2, (S,)),
    ("svdvals", lambda a: L.svdvals(a) ** 2, (A,)),
    ("qr", lambda a: L.qr(a)[1] ** 2, (A,)),
])  # fmt: skip
def test_gradients(name, function, args):
    torch._dynamo.reset()
    found = []
    for run in (torch.compile(function, backend=backend), function):
        given = [value.clone().requires_grad_() for value in args]
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="a part of the model runs in PyTorch")
            result = run(*given)
            result.sum().backward()
        found.append([result.detach(), *(value.grad for value in given)])
    for one, other in zip(*found):
        torch.testing.assert_close(one, other, rtol=2e-3, atol=2e-3)
