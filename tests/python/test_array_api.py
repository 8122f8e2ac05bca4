"""Every function of the array API standard (2024.12) against NumPy: values, shapes and dtypes, on all dtypes, extents of 0 and numbers that are special."""

import math

import numpy as np
import pytest
from array_api_samples import ALL, FLOATS, INTS, NUMBERS, UINTS, check, sample

import relay
import relay.numpy as rnp

SHAPES = [(), (3,), (2, 3), (0, 2), (2, 1, 3)]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-8, 1e30, math.inf, -math.inf, math.nan]

# The standard's functions that the namespace has not, each with the reason.
ABSENT = {
    "imag": "no dtype of Relay is complex",
    "fft": "no dtype of Relay is complex: relay.numpy.fft gives spectra as pairs",
}
STANDARD = """
abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or
bitwise_right_shift bitwise_xor bool broadcast_arrays broadcast_to can_cast ceil clip concat conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum
diff divide e empty empty_like equal exp expand_dims expm1 eye finfo flip float32 float64 floor floor_divide from_dlpack full full_like greater greater_equal
hypot iinfo inf int16 int32 int64 int8 isdtype isfinite isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or
logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis nextafter nonzero not_equal ones ones_like
permute_dims pi positive pow prod real reciprocal remainder repeat reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze
stack std subtract sum take take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8 unique_all unique_counts unique_inverse
unique_values unstack var vecdot where zeros zeros_like __array_namespace_info__
""".split()


def special(dtype):
    return np.array(SPECIAL, dtype)


def test_the_namespace_is_whole():
    missing = [name for name in STANDARD if not hasattr(rnp, name)]
    assert missing == [] and "imag" in ABSENT


def test_functions_have_docstrings():
    assert [name for name in STANDARD if callable(getattr(rnp, name)) and not (getattr(rnp, name).__doc__ or "").strip()] == ["__array_namespace_info__"]


FLOAT_UNARY = "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin sinh sqrt tan tanh".split()


@pytest.mark.parametrize("name", FLOAT_UNARY)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_floats(name):
    reference = getattr(np, {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh"}.get(name, name))
    for dtype in FLOATS:
        for shape in SHAPES:
            x = sample(dtype, shape)
            check(getattr(rnp, name)(rnp.asarray(x)), reference(x).astype(dtype), rtol=1e-11 if dtype == "float64" else 1e-5)
        x = special(dtype)
        if name not in ("sin", "cos", "tan"):
            check(getattr(rnp, name)(rnp.asarray(x)), reference(x), rtol=1e-11 if dtype == "float64" else 1e-5)
        small = np.array([1e-9, -1e-9, 1e-5, 0.1], dtype)
        check(getattr(rnp, name)(rnp.asarray(small)), reference(small), rtol=1e-9 if dtype == "float64" else 2e-6)
    assert getattr(rnp, name)(rnp.asarray([1, 2])).dtype == "float32"


KEEPING = {"abs": NUMBERS, "ceil": NUMBERS, "floor": NUMBERS, "trunc": NUMBERS, "negative": INTS + FLOATS, "positive": NUMBERS, "sign": NUMBERS, "square": NUMBERS,
           "round": NUMBERS, "conj": FLOATS, "real": FLOATS}  # fmt: skip


@pytest.mark.parametrize("name", KEEPING)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_that_keep_the_dtype(name):
    for dtype in KEEPING[name]:
        for x in [*[sample(dtype, shape) for shape in SHAPES], *([special(dtype)] if dtype in FLOATS else [])]:
            check(getattr(rnp, name)(rnp.asarray(x)), getattr(np, name)(x), dtype)


def test_round_takes_the_even_one():
    check(rnp.round(rnp.asarray([0.5, 1.5, 2.5, -0.5, 2.4])), np.array([0, 2, 2, -0.0, 2], "float32"))
    assert np.signbit(np.asarray(rnp.round(rnp.asarray([-0.4])))).all()


@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan", "signbit", "logical_not"])
def test_tests(name):
    for dtype in FLOATS if name == "signbit" else NUMBERS:
        for x in [*[sample(dtype, shape) for shape in SHAPES], *([special(dtype)] if dtype in FLOATS else [])]:
            check(getattr(rnp, name)(rnp.asarray(x)), getattr(np, name)(x), "bool")


ARITHMETIC = {
    "add": NUMBERS, "subtract": NUMBERS, "multiply": NUMBERS, "divide": FLOATS, "maximum": NUMBERS, "minimum": NUMBERS, "equal": ALL, "not_equal": ALL,
    "less": NUMBERS, "less_equal": NUMBERS, "greater": NUMBERS, "greater_equal": NUMBERS, "hypot": FLOATS, "atan2": FLOATS, "copysign": FLOATS,
    "logaddexp": FLOATS, "nextafter": FLOATS, "bitwise_and": ["bool", *INTS, *UINTS], "bitwise_or": ["bool", *INTS, *UINTS],
    "bitwise_xor": ["bool", *INTS, *UINTS], "logical_and": ["bool"], "logical_or": ["bool"], "logical_xor": ["bool"],
}  # fmt: skip
NUMPY_NAMES = {"atan2": "arctan2"}


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_two(name):
    reference = getattr(np, NUMPY_NAMES.get(name, name))
    for dtype in ARITHMETIC[name]:
        for one, two in [((3,), (3,)), ((2, 1), (3,)), ((), (2, 3)), ((0, 2), (2,))]:
            a, b = sample(dtype, one), sample(dtype, two, 1)
            check(getattr(rnp, name)(rnp.asarray(a), rnp.asarray(b)), reference(a, b), rtol=1e-5 if dtype == "float32" else None)
        if dtype in FLOATS:
            a, b = special(dtype)[:, None], special(dtype)[None, :]
            check(getattr(rnp, name)(rnp.asarray(a), rnp.asarray(b)), reference(a, b), rtol=1e-5 if dtype == "float32" else None)


def test_the_sign_of_zero_stays():
    a, b = rnp.asarray([0.0, -0.0, 0.0, -0.0]), rnp.asarray([1.0, 1.0, -1.0, -1.0])
    for name in ("multiply", "divide", "atan2", "copysign"):
        found, expected = getattr(rnp, name)(a, b), getattr(np, NUMPY_NAMES.get(name, name))(np.asarray(a), np.asarray(b))
        assert (np.signbit(np.asarray(found)) == np.signbit(expected)).all(), name


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_division_rounded_down(name):
    for dtype in NUMBERS:
        a, b = sample(dtype, (2, 30)), sample(dtype, (30,), 1)
        b[b == 0] = 3
        check(getattr(rnp, name)(rnp.asarray(a), rnp.asarray(b)), getattr(np, name)(a, b), rtol=1e-4 if dtype == "float32" else 1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_pow():
    for dtype in NUMBERS:
        a, b = sample(dtype, (2, 5)), np.abs(sample(dtype, (5,), 1)) % np.array(4, dtype)
        check(rnp.pow(rnp.asarray(a), rnp.asarray(b)), np.power(a, b), rtol=1e-5 if dtype == "float32" else 1e-11)
    for dtype in FLOATS:
        a, b = special(dtype)[:, None], special(dtype)[None, :]
        check(rnp.pow(rnp.asarray(a), rnp.asarray(b)), np.power(a, b), rtol=1e-5)
        for exponent in (0, 1, 2, 3, 4, -1, 0.5):
            check(rnp.asarray(a) ** exponent, np.power(a, np.full_like(a, exponent)), rtol=1e-5)
    with pytest.raises(ValueError, match="no integer"):
        rnp.asarray([2]) ** -1


def test_shifts():
    for dtype in INTS + UINTS:
        a, bits = sample(dtype, (2, 4)), np.array([0, 1, 3, 70], "uint8").astype(dtype)
        check(rnp.bitwise_right_shift(rnp.asarray(a), rnp.asarray(bits)), np.right_shift(a, bits))
        check(rnp.bitwise_left_shift(rnp.asarray(a), rnp.asarray(bits)), np.left_shift(a, bits))
        check(rnp.bitwise_invert(rnp.asarray(a)), ~a)
    check(~rnp.asarray([True, False]), np.array([False, True]))


PROMOTION = [("int8", "int16", "int16"), ("uint8", "int8", "int16"), ("uint32", "int8", "int64"), ("uint8", "uint32", "uint32"), ("float32", "float64", "float64"),
             ("int64", "float32", "float32"), ("bool", "int8", "int8"), ("float16", "bfloat16", "float32"), ("uint64", "int8", "float64")]  # fmt: skip


@pytest.mark.parametrize("one,two,both", PROMOTION)
def test_promotion(one, two, both):
    a, b = rnp.zeros((2,), dtype=one), rnp.ones((2,), dtype=two)
    assert rnp.result_type(one, two) == rnp.result_type(b, a) == both
    assert (rnp.where(rnp.asarray(True), a, b)).dtype == both
    if one != "bool":
        assert (a + b).dtype == (b + a).dtype == both


def test_numbers_of_python_are_weak():
    for dtype in NUMBERS + ["float16", "bfloat16"]:
        assert (rnp.ones((2,), dtype=dtype) + 1).dtype == dtype and (1 * rnp.ones((2,), dtype=dtype)).dtype == dtype
    assert (rnp.ones((2,), dtype="int8") * 1.5).dtype == "float32" and (rnp.ones((2,), dtype="float64") * 0.1)[0].item() == 0.1
    assert (rnp.asarray([True]) | True).dtype == "bool"
    with pytest.raises(OverflowError):
        rnp.ones((2,), dtype="int8") + 1000


def test_dtypes():
    assert rnp.isdtype(rnp.int8, "signed integer") and rnp.isdtype(rnp.uint8, ("bool", "integral")) and not rnp.isdtype(rnp.bool, "numeric")
    assert rnp.isdtype(rnp.float64, rnp.float64) and not rnp.isdtype(rnp.float32, "complex floating")
    assert rnp.finfo(rnp.float32).eps == np.finfo("float32").eps and rnp.iinfo("uint8").max == 255 and rnp.iinfo(rnp.int64).min == -(2**63)
    assert rnp.can_cast(rnp.int8, rnp.int16) and not rnp.can_cast(rnp.float32, rnp.int8) and not rnp.can_cast(rnp.int64, rnp.uint64)
    for source in ALL:
        for target in ALL:
            x = sample(source, (5,), low=0)
            x = np.abs(x) if source in FLOATS else x
            check(rnp.astype(rnp.asarray(x), target), x.astype(target))
    assert rnp.float32 == "float32" and rnp.float32(2).dtype == "float32" and np.dtype(rnp.int8) == np.int8
    info = rnp.__array_namespace_info__()
    assert info.default_device() in info.devices() and set(info.dtypes()) == set(ALL) and info.capabilities()["boolean indexing"]
    assert info.default_dtypes()["real floating"] == rnp.asarray([1.0]).dtype and set(info.dtypes(kind="unsigned integer")) == set(UINTS)


def test_creation():
    for dtype in ALL:
        for shape in [(), 3, (2, 0), (2, 3)]:
            check(rnp.zeros(shape, dtype=dtype), np.zeros(shape, dtype))
            check(rnp.ones(shape, dtype=dtype), np.ones(shape, dtype))
            check(rnp.full(shape, 1, dtype=dtype), np.full(shape, 1, dtype))
            assert rnp.empty(shape, dtype=dtype).shape == np.empty(shape).shape
        x = rnp.asarray(sample(dtype, (2, 3)))
        check(rnp.zeros_like(x), np.zeros((2, 3), dtype))
        check(rnp.ones_like(x), np.ones((2, 3), dtype))
        check(rnp.full_like(x, 1), np.ones((2, 3), dtype))
        assert rnp.empty_like(x).dtype == dtype
    check(rnp.full((2,), 5), np.full((2,), 5, "int32"))
    check(rnp.full((2,), 5.5), np.full((2,), 5.5, "float32"))
    check(rnp.full((2,), True), np.full((2,), True))
    for args in [(5,), (2, 7), (1, 10, 3), (10, 0, -4), (3, 3), (5, 2)]:
        check(rnp.arange(*args), np.arange(*args, dtype="int32"))
        check(rnp.arange(*args, dtype="float64"), np.arange(*args, dtype="float64"))
    check(rnp.arange(0, 1, 0.25), np.arange(0, 1, 0.25, dtype="float32"))
    for args in [(0, 1, 5), (2.0, -3.0, 4), (1, 1, 1), (0, 1, 0)]:
        check(rnp.linspace(*args), np.linspace(*args, dtype="float32"))
        check(rnp.linspace(*args, endpoint=False, dtype="float64"), np.linspace(*args, endpoint=False))
    for k in (-2, 0, 1, 9):
        check(rnp.eye(3, 4, k=k), np.eye(3, 4, k=k, dtype="float32"))
        x = sample("int32", (2, 3, 4))
        check(rnp.tril(rnp.asarray(x), k=k), np.tril(x, k))
        check(rnp.triu(rnp.asarray(x), k=k), np.triu(x, k))
    for indexing in ("xy", "ij"):
        for found, expected in zip(rnp.meshgrid(rnp.arange(3), rnp.arange(2), indexing=indexing), np.meshgrid(np.arange(3), np.arange(2), indexing=indexing)):
            check(found, expected.astype("int32"))
    check(rnp.asarray([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]], "int32"))
    check(rnp.asarray([]), np.zeros(0, "float32"))
    own = np.arange(3.0)
    assert np.shares_memory(np.asarray(rnp.asarray(own, copy=False)), own) and not np.shares_memory(np.asarray(rnp.asarray(own)), own)
    check(rnp.from_dlpack(own), own)
    check(rnp.asarray(3), np.array(3, "int32"))


def test_manipulation():
    for dtype in ("float32", "int8", "bool"):
        x = sample(dtype, (2, 3, 4))
        r = rnp.asarray(x)
        check(rnp.permute_dims(r, (2, 0, 1)), x.transpose(2, 0, 1))
        check(rnp.matrix_transpose(r), x.swapaxes(1, 2))
        check(rnp.moveaxis(r, 0, -1), np.moveaxis(x, 0, -1))
        check(rnp.moveaxis(r, (0, 1), (-1, 0)), np.moveaxis(x, (0, 1), (-1, 0)))
        for shape in [(24,), (-1,), (4, -1), (2, 3, 2, 2), (3, 8)]:
            check(rnp.reshape(r, shape), x.reshape(shape))
        for axis in (0, 1, -1, (0, 2), None):
            check(rnp.flip(r, axis=axis), np.flip(x, axis))
        for shift, axis in [(1, None), (-5, None), (2, 1), ((1, -1), (0, 2)), (7, 2)]:
            check(rnp.roll(r, shift, axis=axis), np.roll(x, shift, axis))
        for axis in (0, 2, -1):
            check(rnp.expand_dims(r, axis=axis), np.expand_dims(x, axis))
            check(rnp.concat([r, r], axis=axis), np.concatenate([x, x], axis))
            check(rnp.stack([r, r], axis=axis), np.stack([x, x], axis))
            check(rnp.repeat(r, 3, axis=axis), np.repeat(x, 3, axis))
            for found, expected in zip(rnp.unstack(r, axis=axis), np.moveaxis(x, axis, 0)):
                check(found, expected)
        check(rnp.concat([r, r], axis=None), np.concatenate([x, x], None))
        check(rnp.repeat(r, 2), np.repeat(x, 2))
        check(rnp.repeat(r, rnp.asarray([1, 0, 2]), axis=1), np.repeat(x, [1, 0, 2], 1))
        for times in [(2,), (2, 1), (1, 2, 3), (2, 1, 1, 2), (0,)]:
            check(rnp.tile(r, times), np.tile(x, times))
        check(rnp.squeeze(rnp.asarray(x[:, :1, :]), axis=1), x[:, 0, :])
        check(rnp.broadcast_to(r, (5, 2, 3, 4)), np.broadcast_to(x, (5, 2, 3, 4)))
        for found, expected in zip(rnp.broadcast_arrays(r, r[0], r[..., :1]), np.broadcast_arrays(x, x[0], x[..., :1])):
            check(found, expected)
    check(rnp.concat([rnp.asarray([1]), rnp.asarray([1.5])]), np.array([1, 1.5], "float32"))
    check(rnp.reshape(rnp.zeros((0, 3)), (3, 0)), np.zeros((3, 0), "float32"))


REDUCTIONS = {"sum": NUMBERS, "prod": NUMBERS, "max": NUMBERS, "min": NUMBERS, "mean": FLOATS, "var": FLOATS, "std": FLOATS, "all": ALL, "any": ALL, "count_nonzero": ALL}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    for dtype in REDUCTIONS[name]:
        x = sample(dtype, (2, 3, 4), low=1 if name == "prod" else None)
        for axis in (None, 0, -1, (0, 2)):
            for keepdims in (False, True):
                found = getattr(rnp, name)(rnp.asarray(x), axis=axis, keepdims=keepdims)
                if name in ("sum", "prod"):
                    wanted = dtype if dtype in FLOATS or np.dtype(dtype).itemsize >= 4 else "uint32" if dtype.startswith("u") else "int32"
                    check(found, getattr(np, name)(x, axis=axis, keepdims=keepdims, dtype=wanted), wanted, rtol=1e-4)
                else:
                    expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                    check(found, expected, "int32" if name == "count_nonzero" else None, rtol=1e-5)
    if name in ("var", "std"):
        check(getattr(rnp, name)(rnp.asarray(x), correction=1), getattr(np, name)(x, correction=1))
    if name in ("sum", "prod", "all", "any", "count_nonzero"):
        assert getattr(rnp, name)(rnp.zeros((0, 3)), axis=0).shape == (3,)
    if name in ("max", "min"):
        assert math.isnan(getattr(rnp, name)(rnp.asarray([1.0, math.nan])).item())


def test_running_sums():
    for dtype in NUMBERS:
        x = sample(dtype, (3, 4))
        wanted = dtype if dtype in FLOATS or np.dtype(dtype).itemsize >= 4 else "uint32" if dtype.startswith("u") else "int32"
        for axis in (0, -1):
            check(rnp.cumulative_sum(rnp.asarray(x), axis=axis), np.cumulative_sum(x, axis=axis, dtype=wanted), wanted, rtol=1e-4)
            check(rnp.cumulative_prod(rnp.asarray(x), axis=axis), np.cumulative_prod(x, axis=axis, dtype=wanted), wanted, rtol=1e-4)
            check(rnp.cumulative_sum(rnp.asarray(x), axis=axis, include_initial=True),
                  np.cumulative_sum(x, axis=axis, dtype=wanted, include_initial=True), wanted, rtol=1e-4)  # fmt: skip
            check(rnp.diff(rnp.asarray(x), axis=axis), np.diff(x, axis=axis), rtol=1e-4)
    check(rnp.diff(rnp.asarray(x), n=2, prepend=rnp.zeros((3, 1), dtype=dtype)), np.diff(x, n=2, prepend=np.zeros((3, 1), dtype)), rtol=1e-4)


def test_sorting_and_searching():
    for dtype in NUMBERS:
        x = sample(dtype, (3, 5))
        r = rnp.asarray(x)
        for axis in (0, -1):
            check(rnp.sort(r, axis=axis), np.sort(x, axis=axis))
            check(rnp.argsort(r, axis=axis), np.argsort(x, axis=axis, kind="stable").astype("int32"))
            check(rnp.sort(r, axis=axis, descending=True), np.flip(np.sort(x, axis=axis), axis))
            for keepdims in (False, True):
                check(rnp.argmax(r, axis=axis, keepdims=keepdims), np.argmax(x, axis=axis, keepdims=keepdims).astype("int32"))
                check(rnp.argmin(r, axis=axis, keepdims=keepdims), np.argmin(x, axis=axis, keepdims=keepdims).astype("int32"))
            order = np.argsort(x, axis=axis)
            check(rnp.take_along_axis(r, rnp.asarray(order), axis=axis), np.take_along_axis(x, order, axis))
        check(rnp.argmax(r), np.argmax(x).astype("int32"))
        for found, expected in zip(rnp.nonzero(r), np.nonzero(x)):
            check(found, expected.astype("int32"))
        ordered = np.sort(x[0])
        for side in ("left", "right"):
            check(rnp.searchsorted(rnp.asarray(ordered), r, side=side), np.searchsorted(ordered, x, side=side).astype("int32"))
        check(rnp.take(r, rnp.asarray([2, 0, -1]), axis=0), np.take(x, [2, 0, -1], 0))
        check(rnp.where(r > 1, r, rnp.zeros_like(r)), np.where(x > 1, x, np.zeros_like(x)))
    order = rnp.asarray([2, 0, 1])
    check(rnp.searchsorted(rnp.asarray([2.0, 3.0, 1.0]), rnp.asarray([2.5]), sorter=order), np.array([2], "int32"))


def test_sets():
    for dtype in NUMBERS:
        x = sample(dtype, (3, 4))
        x = np.round(x).astype(dtype)
        r = rnp.asarray(x)
        expected, found = np.unique_all(x), rnp.unique_all(r)
        check(found.values, expected.values)
        check(found.indices, expected.indices.astype("int32"))
        check(found.inverse_indices, expected.inverse_indices.astype("int32"))
        check(found.counts, expected.counts.astype("int32"))
        check(rnp.unique_values(r), np.unique_values(x))
        check(rnp.unique_counts(r).counts, expected.counts.astype("int32"))
        check(rnp.unique_inverse(r).inverse_indices, expected.inverse_indices.astype("int32"))
    missing = rnp.unique_all(rnp.asarray([math.nan, 1.0, math.nan, 1.0]))
    assert missing.values.shape == (3,) and missing.counts.tolist() == [2, 1, 1] and missing.inverse_indices.tolist() == [1, 0, 2, 0]


def test_remainders_have_gradients_where_they_are_zero():
    for x in (4.0, 4.5, -4.0):
        for divisor in (2.0, -2.0):
            assert float(relay.grad(lambda v: v % divisor)(x)) == 1  # noqa: B023 (called at once)


def test_clip():
    for dtype in NUMBERS:
        x = sample(dtype, (2, 3))
        for low, high in ((1, 5), (None, 3), (2, None), (None, None)):
            check(rnp.clip(rnp.asarray(x), low, high), np.clip(x, low, high) if (low, high) != (None, None) else x, dtype)
    check(rnp.clip(rnp.asarray([1.0, 5.0]), rnp.asarray([2.0, 2.0]), rnp.asarray(4.0)), np.array([2.0, 4.0], "float32"))


INDICES = [
    0, -1, slice(None), slice(1, 3), slice(None, None, -1), slice(4, 0, -2), slice(-2, None), slice(10, 20), Ellipsis, None, (0, 1), (slice(1, None), -1),
    (Ellipsis, 0), (None, 0, Ellipsis, None), (slice(None, None, 2), None, slice(0, 0)), (0, 1, 2), (),
]  # fmt: skip


def test_indexing():
    x = sample("float32", (4, 3, 5))
    r = rnp.asarray(x)
    for key in INDICES:
        check(r[key], x[key])
    advanced = [
        [0, 2], ([0, 2], [1, 1]), (slice(None), [0, 2]), ([0, 1], slice(None), [1, 4]), (1, slice(None), [1, 4]), (np.array([[0, 3], [1, -1]]),), x > 0,
        (x[:, 0, 0] > 0,), (slice(None), np.array([True, False, True])), (Ellipsis, [0, 0, 1]), (None, [1, 2], 0), ([0, 1], None, [1, 2]),
        (slice(1, 3), [2, 0], slice(None, None, 2)),
    ]  # fmt: skip
    for key in advanced:
        check(r[key], x[key])
        given = tuple(rnp.asarray(one) if isinstance(one, (np.ndarray, list)) else one for one in key) if isinstance(key, tuple) else rnp.asarray(key)
        check(r[given], x[key])
    for wrong in (4, (0, 0, 0, 0), (0, 3), 1.5, "a"):
        with pytest.raises((IndexError, TypeError)):
            r[wrong]


def test_changed_copies():
    x = sample("float32", (4, 3, 5))
    r = rnp.asarray(x)
    for key in [0, slice(1, 3), (slice(None), 1), (Ellipsis, slice(None, None, 2)), ([0, 2],), ([0, 2], 1), (slice(None), [0, 2]), (slice(1, 3), 0, [1, 2]), x > 0,
                ([0, 1], slice(None), [1, 4]), (-1, -1, -1), (None, 1), slice(None, None, -1), slice(0, 0), ([3, 1], slice(0, 2))]:  # fmt: skip
        expected = x.copy()
        expected[key] = 7
        check(r.at[key].set(7), expected)
        expected = x.copy()
        expected[key] += 2
        check(r.at[key].add(2), expected)
        shape = x[key].shape
        if not (isinstance(key, np.ndarray)):
            values = sample("float32", shape, 3)
            expected = x.copy()
            expected[key] = values
            check(r.at[key].set(rnp.asarray(values)), expected)
    check(rnp.zeros((3,)).at[rnp.asarray([0, 0, 2])].add(1), np.array([2, 0, 1], "float32"))
    check(r.at[0].multiply(2).at[0].divide(2), x)
    check(r.at[1].min(0), np.where(np.arange(4)[:, None, None] == 1, np.minimum(x, 0), x))
    check(r.at[1].max(0)[1], np.maximum(x[1], 0))
    check(r.at[1, 1].get(), x[1, 1])
    check(r.at[1].apply(rnp.sin)[1], np.sin(x[1]))
    with pytest.raises(TypeError, match="arrays do not change"):
        r[0] = 1


def test_operators_of_python():
    x, y = rnp.asarray([1.0, 2.0]), rnp.asarray([3.0, 4.0])
    for found, expected in [(x + y, [4, 6]), (x - 1, [0, 1]), (2 * x, [2, 4]), (1 / x, [1, 0.5]), (y // 2, [1, 2]), (y % 2, [1, 0]), (x**2, [1, 4]), (2**x, [2, 4]), (-x, [-1, -2]),
                            (+x, [1, 2]), (abs(-x), [1, 2])]:  # fmt: skip
        check(found, np.array(expected, "float32"))
    check(x @ y, np.array(11, "float32"))
    check(x < y, np.array([True, True]))
    check((x == 1) & (y >= 3), np.array([True, False]))
    check(rnp.asarray([6]) ^ 3, np.array([5], "int32"))
    check(rnp.asarray([1]) << 3, np.array([8], "int32"))
    x += 1
    check(x, np.array([2, 3], "float32"))
    assert bool(rnp.asarray(True)) and int(rnp.asarray(3)) == 3 and float(rnp.asarray(1.5)) == 1.5 and [10, 20][rnp.asarray(1)] == 20 and complex(rnp.asarray(2.0)) == 2
    with pytest.raises(TypeError, match="no truth value"):
        bool(x)
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises(TypeError, match="of bool"):
        rnp.asarray([True]) + True
    assert x.__add__("a") is NotImplemented and len(x) == 2 and [float(one) for one in x] == [2, 3]


def test_methods_and_attributes():
    x = sample("float32", (2, 3))
    r = rnp.asarray(x)
    for name in ("sum", "mean", "max", "min", "prod", "std", "var", "all", "any", "argmax", "argmin", "cumsum", "round", "flatten", "ravel", "squeeze", "conj"):
        expected = getattr(x, name)()
        check(getattr(r, name)(), expected.astype("int32") if name.startswith("arg") else expected, rtol=1e-5)
    check(r.T, x.T)
    check(r.mT, x.T)
    check(r.reshape(3, 2), x.reshape(3, 2))
    check(r.reshape((-1,)), x.reshape(-1))
    check(r.astype("float64"), x.astype("float64"))
    check(r.transpose(1, 0), x.T)
    assert (r.ndim, r.size, r.shape, r.dtype, r.device, r.nbytes) == (2, 6, (2, 3), rnp.float32, "cpu", 24) and r.to_device("cpu") is r
    assert r.__array_namespace__() is rnp and r.__array_namespace__(api_version="2023.12") is rnp
    with pytest.raises(ValueError, match="1999"):
        r.__array_namespace__(api_version="1999")
    with pytest.raises(ValueError, match="only device"):
        r.to_device("gpu")


def test_numpy_takes_arrays_and_gives_them():
    x = rnp.asarray([1.0, 2.0])
    for found, expected in [(np.sin(x), np.sin([1.0, 2.0])), (np.add(x, 1), [2, 3]), (np.ones(2, "float32") + x, [2, 3]), (np.concatenate([x, x]), [1, 2, 1, 2]), (np.sum(x), 3),
                            (np.mean(x, axis=0), 1.5), (np.stack([x, x]).shape[0], 2), (np.where(x > 1, x, 0), [0, 2]), (np.dot(x, x), 5), (np.linalg.norm(x), 5**0.5),
                            (np.maximum(x, 1.5), [1.5, 2]), (np.add.reduce(x), 3), (np.float32(2) * x, [2, 4]), (np.arctan2(x, 1.0), np.arctan2([1.0, 2.0], 1))]:  # fmt: skip
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)
        assert isinstance(found, (relay.Array, int))
    assert np.from_dlpack(x).tolist() == [1, 2] and np.asarray(x).dtype == "float32" and np.array(x, dtype="float64").dtype == "float64"
    # Functions that Relay has not run in NumPy, on values alone.
    assert np.allclose(x, [1, 2]) and np.linalg.svd(rnp.eye(2)).S.tolist() == [1, 1] and np.add.accumulate(x).tolist() == [1, 3] and np.spacing(x)[0] > 0
    with pytest.raises(relay.TraceError, match="numpy.spacing has no counterpart"):
        relay.function(lambda v: np.spacing(v))(x)
    with pytest.raises(TypeError, match="does not change"):
        np.add(x, 1, out=(x,))


def test_other_functions_of_numpy():
    x = sample("float32", (3, 4))
    r = rnp.asarray(x)
    check(rnp.einsum("ij,kj->ik", r, r), np.einsum("ij,kj->ik", x, x), rtol=1e-5)
    check(rnp.median(r), np.median(x))
    check(rnp.median(r, axis=0), np.median(x, axis=0))
    check(rnp.pad(r, ((1, 2), (0, 1)), constant_values=5), np.pad(x, ((1, 2), (0, 1)), constant_values=5))
    check(rnp.pad(r, 1, "edge"), np.pad(x, 1, "edge"))
    check(rnp.vstack([r, r]), np.vstack([x, x]))
    check(rnp.hstack([r, r]), np.hstack([x, x]))
    check(rnp.split(r, 2, 1)[1], np.split(x, 2, 1)[1])
    check(rnp.split(r, [1], 0)[1], np.split(x, [1])[1])
    check(rnp.kron(r, r), np.kron(x, x))
    check(rnp.average(r, 0, weights=rnp.asarray([1.0, 2.0, 3.0])[:, None]), np.average(x, 0, weights=[1, 2, 3]), "float32", rtol=1e-5)
    check(rnp.bincount(rnp.asarray([0, 1, 1, 3]), length=5), np.array([1, 2, 0, 1, 0], "int32"))
    check(rnp.softmax(r, axis=1).sum(axis=1), np.ones(3, "float32"))
    check(rnp.logsumexp(r, axis=1), np.log(np.exp(x).sum(1)), rtol=1e-5)
    check(rnp.outer(r[0], r[1]), np.outer(x[0], x[1]))
    check(rnp.dot(r, r.T), np.dot(x, x.T), rtol=1e-5)
    check(rnp.inner(r, r), np.inner(x, x), rtol=1e-5)
    check(rnp.argwhere(r > 0), np.argwhere(x > 0).astype("int32"))


def test_half_precision():
    x = rnp.asarray([1.0, 2.0], dtype="bfloat16")
    assert (x * 2 + 1).tolist() == [3, 5] and (x * 2).dtype == "bfloat16" and rnp.exp(x).dtype == "bfloat16" and rnp.log1p(x).dtype == "bfloat16"
    assert rnp.asarray([0.5], dtype="float16").astype("float32").tolist() == [0.5]


def test_large_arrays_are_compiled():
    x = np.arange(10_000, dtype="float64")
    check(rnp.sum(rnp.asarray(x)), x.sum())
    check(rnp.sqrt(rnp.asarray(x)), np.sqrt(x))


@pytest.mark.parametrize("call", [
    lambda: rnp.reshape(rnp.zeros((3,)), (2, 2)), lambda: rnp.zeros((2,)) + rnp.zeros((3,)), lambda: rnp.sum(rnp.zeros((2,)), axis=1), lambda: rnp.concat([]),
    lambda: rnp.squeeze(rnp.zeros((2,)), axis=0), lambda: rnp.permute_dims(rnp.zeros((2, 2)), (0, 0)), lambda: rnp.asarray(["a"]), lambda: rnp.asarray(object()),
    lambda: rnp.zeros((2,), dtype="complex64"), lambda: rnp.asarray(np.zeros(2, "complex128")), lambda: rnp.matmul(rnp.zeros((2, 3)), rnp.zeros((2, 3))),
    lambda: rnp.zeros((2,), device="gpu"), lambda: rnp.asarray([2**40]), lambda: rnp.arange(0, 1, 0), lambda: rnp.broadcast_to(rnp.zeros((3,)), (2,)),
    lambda: rnp.tril(rnp.zeros((3,))), lambda: rnp.meshgrid(rnp.zeros((2,)), indexing="ab"), lambda: rnp.take(rnp.zeros((2,)), rnp.zeros((2,))),
])  # fmt: skip
def test_mistakes_are_errors(call):
    with pytest.raises((ValueError, TypeError, IndexError, OverflowError, relay.RelayError)) as error:
        call()
    assert str(error.value).strip()
