"""Arrays as the array API standard has them where a comparison of values says little: masks of rank 0, the exchange of memory, results with names,
and numbers of Python beyond a dtype's range."""

import inspect
import math

import numpy as np
import pytest

import relay
import relay.numpy as rnp

SHAPES = [(), (3,), (2, 3), (0, 2)]


def numbers(shape):
    return np.arange(int(np.prod(shape)), dtype="float32").reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("truth", [True, False])
def test_a_mask_of_rank_0_makes_an_axis_of_one_element_or_none(shape, truth):
    data = numbers(shape)
    found = rnp.asarray(data)[rnp.asarray(truth)]
    assert found.shape == ((1,) if truth else (0,)) + shape and found.dtype == "float32"
    np.testing.assert_array_equal(np.asarray(found), data[np.asarray(truth)])
    traced = relay.function(lambda x, mask: x[mask])(data, np.asarray(truth))
    np.testing.assert_array_equal(np.asarray(traced), data[np.asarray(truth)])


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize(
    "key",
    [lambda m: (m, 1), lambda m: (slice(None), m), lambda m: (..., m), lambda m: (None, m, slice(0, 1)), lambda m: (m, m), lambda m: (1, m, slice(1, None))],
    ids=["number", "behind", "dots", "new-axis", "twice", "between"],
)
def test_a_mask_of_rank_0_stands_beside_other_indices(truth, key):
    data = numbers((2, 3))
    expected = data[key(np.asarray(truth))]
    found = rnp.asarray(data)[key(rnp.asarray(truth))]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("truth", [True, False])
def test_a_mask_of_rank_0_replaces_all_or_nothing(shape, truth):
    expected = numbers(shape)
    x = rnp.asarray(expected)
    expected[np.asarray(truth)] = 7
    found = x.at[rnp.asarray(truth)].set(7)
    assert found.shape == shape
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_a_truth_value_of_numpy_is_a_mask_and_one_of_python_is_not():
    assert rnp.ones((3,))[np.True_].shape == (1, 3)
    assert relay.function(lambda x: x[np.False_])(rnp.ones((3,))).shape == (0, 3)
    with pytest.raises(IndexError, match="a truth value is no index"):
        rnp.ones((3,))[True]


def test_the_exchange_of_memory_names_its_parameters():
    wanted = ["stream", "max_version", "dl_device", "copy"]
    parameters = inspect.signature(rnp.ones((2,)).__dlpack__).parameters
    assert list(parameters) == wanted and all(one.kind is one.KEYWORD_ONLY and one.default is None for one in parameters.values())
    for dtype in ("float32", "bfloat16"):
        x = rnp.ones((2,), dtype=dtype)
        assert "dltensor" in repr(x.__dlpack__(stream=None, max_version=None, dl_device=None, copy=None))
        assert "dltensor" in repr(x.__dlpack__(dl_device=(1, 0), max_version=(1, 0), copy=True))
    with pytest.raises(TypeError, match="unexpected keyword argument 'device'"):
        rnp.ones((2,)).__dlpack__(device=1)


def test_results_of_several_arrays_have_names():
    matrix = np.asarray([[2.0, 1.0], [0.0, -3.0]], "float32")
    for slogdet in (rnp.linalg.slogdet, relay.function(rnp.linalg.slogdet)):
        found = slogdet(matrix)
        assert found._fields == ("sign", "logabsdet") and found[0] is found.sign and found[1] is found.logabsdet
        assert float(found.sign) == -1 and float(found.logabsdet) == pytest.approx(np.log(6))


BEYOND = {
    "number": lambda v, dtype: rnp.asarray(v, dtype=dtype),
    "list": lambda v, dtype: rnp.asarray([v], dtype=dtype),
    "full": lambda v, dtype: rnp.full((2,), v, dtype=dtype),
    "beside": lambda v, dtype: rnp.zeros((2,), dtype=dtype) + v,
    "clip": lambda v, dtype: rnp.clip(rnp.full((2,), v, dtype=dtype), min=-math.inf, max=v),
    "replaced": lambda v, dtype: rnp.zeros((2,), dtype=dtype).at[0].set(v)[:1],
}


@pytest.mark.parametrize("name", BEYOND)
@pytest.mark.parametrize("dtype, value", [("float32", 1e300), ("float16", 1e6), ("bfloat16", 1e300), ("float64", math.inf)])
@pytest.mark.filterwarnings("error")
def test_a_float_beyond_the_range_of_a_dtype_is_infinite(name, dtype, value):
    for sign in (1, -1):
        for make in (BEYOND[name], relay.function(BEYOND[name], static_argnames=("v", "dtype"))):
            found = make(v=sign * value, dtype=dtype)
            assert found.dtype == dtype and bool(rnp.all(found == sign * math.inf))


def test_numbers_of_python_keep_their_limits():
    greatest = rnp.finfo("float32").max
    assert float(rnp.asarray(greatest)) == greatest and math.isnan(float(rnp.asarray(math.nan)))
    for value in (2**31, -(2**31) - 1):
        with pytest.raises(OverflowError, match="does not fit int32"):
            rnp.asarray(value)


def test_an_integer_beyond_a_float_is_refused_eager_and_traced() -> None:
    x = rnp.ones((2,), dtype="float16")
    for add in (lambda x: x + 70000, relay.function(lambda x: x + 70000)):
        with pytest.raises(OverflowError, match="70000.* does not fit float16"):
            add(x)
