"""NumPy's functions beyond the array API standard, against NumPy."""

import numpy as np
import pytest

import relay
import relay.numpy as rnp

R = np.random.default_rng(0)
X, Y, V = R.normal(size=(4, 6)), R.normal(size=(4, 6)), R.normal(size=7)
HOLES = X.copy()
HOLES[1, 2] = HOLES[3] = np.nan
ODD = np.array([np.inf, -np.inf, np.nan, 0.0, 2.0])
N = np.arange(6)

CASES = {
    "isclose": (np.array([1.0, 1 + 1e-9, np.inf, np.nan, -np.inf]), np.array([1.0, 1.0, np.inf, np.nan, np.inf])), "allclose": (X, X + 1e-12),
    "array_equal": (X, X), "isposinf": (ODD,), "isneginf": (ODD,), "nan_to_num": (ODD,),
    "ptp": (X, 1), "nansum": (HOLES, 1), "nanmean": (HOLES[:3], 1), "nanvar": (HOLES[:3], 0), "nanstd": (HOLES[:3],), "nanmax": (HOLES, 0), "nanmin": (HOLES,),
    "cov": (X,), "corrcoef": (X,), "exp2": (X,), "cbrt": (X,), "float_power": (np.abs(X), Y), "fmod": (X * 9, Y), "fmax": (HOLES, Y), "fmin": (Y, HOLES),
    "heaviside": (np.round(X), 0.5), "sinc": (np.round(X, 1),), "radians": (X,), "degrees": (X,), "rad2deg": (X,), "deg2rad": (X,), "around": (X,), "fix": (X,),
    "interp": (X, np.array([-1.0, 0.0, 0.5]), np.array([3.0, 1.0, 2.0])), "isin": (N, np.array([1, 4])), "digitize": (V, np.array([-1.0, 0.0, 1.0])),
    "polyval": (np.array([2.0, -1.0, 3.0]), X), "trapezoid": (X,), "convolve": (V, X[0]), "correlate": (V, X[0]),
    "array_split": (N, 4), "vsplit": (X, 2), "hsplit": (X, 3), "dsplit": (X.reshape(2, 3, 4), 2), "column_stack": ([N, N * 2],), "dstack": ([X, Y],),
    "fliplr": (X,), "flipud": (X,), "diag": (V, 2), "rot90": (X,), "triu_indices": (4, 1), "tril_indices": (3,), "vander": (V, 3), "geomspace": (1.0, 1000.0, 4),
    "logspace": (0.0, 3.0, 4), "tri": (3, 4, 1), "quantile": (X, np.array([0.1, 0.5, 1.0]), 1), "percentile": (X, 30.0), "shape": (X,), "ndim": (X,), "size": (X, 1),
    "true_divide": (X, Y), "rint": (X,), "select": ([N > 3, N > 1], [N, N * 10]),
}  # fmt: skip


def ours(value):
    if isinstance(value, list):
        return [ours(item) for item in value]
    return rnp.asarray(value) if isinstance(value, np.ndarray) else value


def same(found, wanted):
    if isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            same(one, other)
        return
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name):
    args = CASES[name]
    same(getattr(rnp, name)(*map(ours, args)), getattr(np, name)(*args))


SINGLE = [name for name in CASES if name not in ("isclose", "allclose", "array_equal", "isposinf", "isneginf", "isin", "digitize", "select", "triu_indices",
          "tril_indices", "shape", "ndim", "size", "geomspace", "logspace", "tri", "array_split", "column_stack")]  # fmt: skip


@pytest.mark.parametrize("name", SINGLE)
def test_float32_stays_float32(name):
    def single(value):
        if isinstance(value, list):
            return [single(item) for item in value]
        return rnp.asarray(value.astype("float32")) if isinstance(value, np.ndarray) else value

    found = getattr(rnp, name)(*map(single, CASES[name]))
    assert {item.dtype for item in (found if isinstance(found, list) else [found])} == {"float32"}


def test_every_function_has_a_case_and_a_docstring():
    from relay.numpy import more

    assert set(more.__all__) == set(CASES)
    assert all(getattr(more, name).__doc__ for name in more.__all__)


def test_forms():
    x, v = rnp.asarray(X), rnp.asarray(V)
    for k in (-1, 0, 1, 2, 3):
        same(rnp.rot90(x, k), np.rot90(X, k))
        same(rnp.diag(v, k), np.diag(V, k))
        same(rnp.diag(x, k), np.diag(X, k))
    for mode in ("full", "same", "valid"):
        same(rnp.convolve(x[0], v, mode), np.convolve(X[0], V, mode))
        same(rnp.correlate(x[0], v, mode), np.correlate(X[0], V, mode))
        same(rnp.correlate(v, x[0], mode), np.correlate(V, X[0], mode))
    same(rnp.quantile(x, 0.3, keepdims=True), np.quantile(X, 0.3, keepdims=True))
    same(rnp.percentile(x, rnp.asarray([10.0, 90.0]), axis=0, keepdims=True), np.percentile(X, [10.0, 90.0], axis=0, keepdims=True))
    same(rnp.cov(x, rowvar=False), np.cov(X, rowvar=False))
    same(rnp.trapezoid(x, x[0], axis=1), np.trapezoid(X, X[0], axis=1))
    same(rnp.nan_to_num(rnp.asarray(ODD), nan=1.0, posinf=2.0, neginf=3.0), np.nan_to_num(ODD, nan=1.0, posinf=2.0, neginf=3.0))
    assert bool(rnp.isclose(rnp.asarray(np.nan), rnp.asarray(np.nan), equal_nan=True)) and not bool(rnp.array_equal(x, v))
    same(rnp.isin(rnp.asarray(N), rnp.asarray([1]), invert=True), np.isin(N, [1], invert=True))


def test_inside_of_functions():
    run = relay.function(lambda x: (rnp.quantile(x, 0.5, axis=1), rnp.interp(x, x[0], x[1]), rnp.allclose(x, x)))
    middle, _, close = run(X)
    same(middle, np.quantile(X, 0.5, axis=1))
    assert bool(close)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="array_split makes unequal ones"):
        rnp.hsplit(rnp.ones((2, 5)), 2)
    with pytest.raises(ValueError, match="2 conditions and 1 choices"):
        rnp.select([True, False], [rnp.ones(1)])
    with pytest.raises(ValueError, match='"full", "same" or "valid"'):
        rnp.convolve(rnp.ones(3), rnp.ones(2), "some")
    with pytest.raises(ValueError, match="between numbers of one sign"):
        rnp.geomspace(-1.0, 1.0)
    with pytest.raises(ValueError, match="diag is of a vector or a matrix"):
        rnp.diag(rnp.ones((1, 1, 1)))
