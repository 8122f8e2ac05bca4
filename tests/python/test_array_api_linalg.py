"""Products, linear algebra and Fourier transforms of `relay.numpy` against NumPy."""

import math

import numpy as np
import pytest
from array_api_samples import NUMBERS, check, sample

import relay
import relay.numpy as rnp


def test_products():
    for dtype in NUMBERS:
        for one, two in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((4, 1, 2, 3), (5, 3, 2)), ((0, 3), (3, 2))]:
            a, b = sample(dtype, one), sample(dtype, two, 1)
            check(rnp.matmul(rnp.asarray(a), rnp.asarray(b)), np.matmul(a, b), rtol=1e-4)
        a, b = sample(dtype, (2, 3, 4)), sample(dtype, (3, 4, 5), 1)
        for axes in (2, ([1, 2], [0, 1]), ([2], [1]), 0):
            check(rnp.tensordot(rnp.asarray(a), rnp.asarray(b), axes=axes), np.tensordot(a, b, axes), rtol=1e-4)
        for axis in (-1, -2):
            check(rnp.vecdot(rnp.asarray(a), rnp.asarray(a[0]), axis=axis), np.vecdot(a, a[0], axis=axis), rtol=1e-4)


def test_linalg():
    x = sample("float64", (2, 3, 3))
    r = rnp.asarray(x)
    for name in ("matrix_transpose", "diagonal", "trace"):
        check(getattr(rnp.linalg, name)(r), getattr(np.linalg, name)(x))
    for offset in (-1, 1, 5):
        check(rnp.linalg.diagonal(r, offset=offset), np.linalg.diagonal(x, offset=offset))
    for order in (2, 1, math.inf, -math.inf, 0, 3):
        for axis in (None, -1, 0):
            check(rnp.linalg.vector_norm(r, axis=axis, ord=order), np.linalg.vector_norm(x, axis=axis, ord=order))
    for order in ("fro", 1, -1, math.inf, -math.inf):
        check(rnp.linalg.matrix_norm(r, ord=order), np.linalg.matrix_norm(x, ord=order))
    for n in (0, 1, 5):
        check(rnp.linalg.matrix_power(r, n), np.linalg.matrix_power(x, n), rtol=1e-8)
    check(rnp.linalg.cross(r[0], r[1]), np.linalg.cross(x[0], x[1]))
    check(rnp.linalg.outer(r[0, 0], r[0, 1]), np.linalg.outer(x[0, 0], x[0, 1]))


def test_linear_systems():
    for shape in [(1, 1), (4, 4), (3, 5, 5), (2, 1, 2, 2)]:
        a, b = sample("float64", shape), sample("float64", (*shape[:-1], 3), 1)
        a[..., 0, 0] = 0  # a pivot has to be looked for
        if shape[-1] == 1:
            a = a + 2
        r = rnp.asarray(a)
        check(rnp.linalg.solve(r, rnp.asarray(b)), np.linalg.solve(a, b), rtol=1e-8)
        check(rnp.linalg.inv(r), np.linalg.inv(a), rtol=1e-8)
        check(rnp.linalg.det(r), np.linalg.det(a), rtol=1e-8)
        for found, expected in zip(rnp.linalg.slogdet(r), np.linalg.slogdet(a)):
            check(found, expected, rtol=1e-8)
        square = a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])
        check(rnp.linalg.cholesky(rnp.asarray(square)), np.linalg.cholesky(square), rtol=1e-8)
        check(rnp.linalg.cholesky(rnp.asarray(square), upper=True), np.linalg.cholesky(square, upper=True), rtol=1e-8)
    check(rnp.linalg.solve(rnp.asarray([[2.0, 0.0], [1.0, 1.0]]), rnp.asarray([2.0, 3.0])), np.array([1.0, 2.0], "float32"))
    check(rnp.linalg.matrix_power(r, -2), np.linalg.matrix_power(a, -2), rtol=1e-7)
    slope = relay.grad(lambda m: rnp.linalg.slogdet(m)[1])(rnp.asarray([[2.0, 1.0], [1.0, 3.0]], dtype="float64"))
    np.testing.assert_allclose(np.asarray(slope), np.linalg.inv([[2.0, 1.0], [1.0, 3.0]]).T, rtol=1e-9)
    for wrong in (rnp.ones((2, 3)), rnp.ones((3,))):
        with pytest.raises(ValueError, match="square matrices"):
            rnp.linalg.inv(wrong)
    with pytest.raises(ValueError, match="2 rows of the matrices and 3"):
        rnp.linalg.solve(rnp.eye(2), rnp.ones((3,)))


def test_fft_gives_pairs():
    x = sample("float64", (3, 8))
    for axis in (0, 1):
        real, imaginary = rnp.fft.fft(rnp.asarray(x), axis=axis)
        expected = np.fft.fft(x, axis=axis)
        check(real, expected.real)
        check(imaginary, expected.imag)
        check(rnp.fft.ifft(real, imaginary, axis=axis)[0], x)
        half = rnp.fft.rfft(rnp.asarray(x), axis=axis)
        check(half[0], np.fft.rfft(x, axis=axis).real)
        check(rnp.fft.irfft(*half, n=x.shape[axis], axis=axis), x)
    for norm in ("ortho", "forward"):
        pair = rnp.fft.fft(rnp.asarray(x), n=5, norm=norm)
        check(pair[0], np.fft.fft(x, 5, norm=norm).real)
        check(rnp.fft.ifft(*pair, n=9, norm=norm)[1], np.fft.ifft(np.fft.fft(x, 5, norm=norm), 9, norm=norm).imag)
        check(rnp.fft.irfft(*rnp.fft.rfft(rnp.asarray(x), n=9, norm=norm), n=6, norm=norm), np.fft.irfft(np.fft.rfft(x, 9, norm=norm), 6, norm=norm))
        check(rnp.fft.hfft(rnp.asarray(x), rnp.asarray(x + 1), n=9, norm=norm), np.fft.hfft(x + 1j * (x + 1), 9, norm=norm))
        check(rnp.fft.ihfft(rnp.asarray(x), n=7, norm=norm)[1], np.fft.ihfft(x, 7, norm=norm).imag)
        several = rnp.fft.fftn(rnp.asarray(x), s=(4, 6), norm=norm)
        check(several[1], np.fft.fftn(x, (4, 6), axes=(0, 1), norm=norm).imag)
        check(rnp.fft.ifftn(*several, norm=norm)[0], np.fft.ifftn(np.fft.fftn(x, (4, 6), axes=(0, 1), norm=norm), axes=(0, 1), norm=norm).real)
        several = rnp.fft.rfftn(rnp.asarray(x), axes=(1, 0), norm=norm)
        check(several[0], np.fft.rfftn(x, axes=(1, 0), norm=norm).real)
        check(rnp.fft.irfftn(*several, s=(8, 3), axes=(1, 0), norm=norm), x)
    for size in (7, 8):
        row = sample("float32", (2, size))
        check(rnp.fft.fftshift(rnp.asarray(row)), np.fft.fftshift(row))
        check(rnp.fft.ifftshift(rnp.asarray(row), axes=1), np.fft.ifftshift(row, axes=1))
    assert rnp.fft.fftfreq(4, dtype="float64").dtype == "float64"
    for wrong, message in ((lambda: rnp.fft.fft(rnp.asarray(x), norm="none"), "norm is"), (lambda: rnp.fft.fft(rnp.asarray(x), n=0), "one number at least"),
                           (lambda: rnp.fft.fftn(rnp.asarray(x), axes=(0, 0)), "one twice"), (lambda: rnp.fft.fftn(rnp.asarray(x), s=(2,), axes=(0, 1)), "1 extents for 2")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            wrong()
    check(rnp.fft.fftfreq(5), np.fft.fftfreq(5).astype("float32"))
    check(rnp.fft.rfftfreq(6, d=0.5), np.fft.rfftfreq(6, 0.5).astype("float32"))
