"""What the tests of `relay.numpy` against NumPy share: dtypes, samples of them, and the comparison."""

import numpy as np

import relay

INTS = ["int8", "int16", "int32", "int64"]
UINTS = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
NUMBERS = INTS + UINTS + FLOATS
ALL = ["bool", *NUMBERS]


def sample(dtype, shape, seed=0, low=None):
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return np.asarray(random.normal(size=shape) * 3, dtype)
    start = 0 if dtype.startswith("u") else -9
    return random.integers(start if low is None else low, 10, shape).astype(dtype)


def check(found, expected, dtype=None, rtol=None):
    assert isinstance(found, relay.Array), type(found)
    expected = np.asarray(expected)
    assert found.shape == expected.shape, f"{found.shape}, and NumPy's {expected.shape}"
    wanted = dtype or str(expected.dtype)
    assert found.dtype == wanted, f"{found.dtype}, and not {wanted}"
    rtol = rtol or (1e-12 if wanted == "float64" else 2e-6)
    np.testing.assert_allclose(np.asarray(found), expected.astype(wanted), rtol=rtol, atol=1e-14 if wanted == "float64" else 1e-7)
