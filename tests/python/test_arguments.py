"""One rule for what becomes an argument: of `@main` in both executors, and of `params`."""

import numpy as np
import pytest

import relay


def ways(param):
    """The identity of a type, called in three ways."""
    mod = relay.parse(f"def @main(%x: {param}) {{ %x }}")
    return {
        "argument 1 of @main, %x": [relay.compile(mod), lambda value: relay.evaluate(mod, value)],
        "params[x]": [lambda value: relay.compile(mod, params={"x": value})()],
    }


EXACT = [
    ("float32", 3, 3),
    ("float32", True, 1),
    ("float32", 2**24 + 1, 2**24),
    ("float32", 0.1, np.float32(0.1)),
    ("float32", float("inf"), np.inf),
    ("float64", 0.1, 0.1),
    ("float16", 65504, 65504),
    ("int64", 3, 3),
    ("int64", 2**62, 2**62),
    ("int64", -(2**63), -(2**63)),
    ("uint64", 2**64 - 1, 2**64 - 1),
    ("int8", -128, -128),
    ("bool", True, True),
    ("bool", 0, False),
    ("Tensor[(1, 2), float32]", [[1.0, 2.0]], [[1, 2]]),
    ("Tensor[(1, 2), float32]", ((1, 2.5),), [[1, 2.5]]),
    ("Tensor[(2), float32]", [2**70, -1], [2.0**70, -1]),
    ("Tensor[(2), int64]", [2**62, -1], [2**62, -1]),
    ("Tensor[(2), uint64]", [2**64 - 1, 1], [2**64 - 1, 1]),
    ("Tensor[(2), int32]", [True, 7], [1, 7]),
    ("Tensor[(2), int8]", [np.int64(3), np.array(4)], [3, 4]),
    ("Tensor[(0), int32]", [], []),
    ("Tensor[(2), bool]", [True, False], [True, False]),
]


@pytest.mark.parametrize("param, value, expected", EXACT)
def test_exact_conversions(param, value, expected):
    dtype = param.split()[-1].rstrip("]")
    for runs in ways(param).values():
        for run in runs:
            result = run(value)
            assert result.dtype.name == dtype and np.array_equal(result, np.asarray(expected, dtype))


@pytest.mark.parametrize(
    "param, value, error, text",
    [
        ("int32", 3.7, TypeError, "expected int32, found the float 3.7"),
        ("int32", 3.0, TypeError, "expected int32, found the float 3.0"),
        ("int8", 3.5, TypeError, "expected int8, found the float 3.5"),
        ("bool", 0.3, TypeError, "expected bool, found the float 0.3"),
        ("bool", 2, OverflowError, "2 does not fit bool"),
        ("uint8", -1, OverflowError, "-1 does not fit uint8"),
        ("int8", 300, OverflowError, "300 does not fit int8"),
        ("int64", 2**63, OverflowError, "9223372036854775808 does not fit int64"),
        ("uint64", 2**64, OverflowError, "18446744073709551616 does not fit uint64"),
        ("float32", 1e40, OverflowError, "1e+40 does not fit float32"),
        ("float16", 65520, OverflowError, "65520.0 does not fit float16"),
        ("float64", 10**400, OverflowError, "does not fit float64"),
        ("Tensor[(2), int64]", [1.9, -1.9], TypeError, "expected int64, found the float 1.9"),
        ("Tensor[(2), int64]", [2**63, -1], OverflowError, "9223372036854775808 does not fit int64"),
        ("Tensor[(2), uint8]", [255, 256], OverflowError, "256 does not fit uint8"),
        ("Tensor[(2), float16]", [1.0, 1e5], OverflowError, "100000.0 does not fit float16"),
        ("Tensor[(3), int32]", ["1", "2", "3"], TypeError, "expected numbers of int32, found '1'"),
        ("Tensor[(2), float32]", [1.0, None], TypeError, "expected numbers of float32, found None"),
        ("Tensor[(2), float32]", [1j, 1], TypeError, "expected numbers of float32, found 1j"),
        ("Tensor[(2), bool]", [True, 2], OverflowError, "2 does not fit bool"),
        ("float32", "1", TypeError, "a tensor cannot be made of this str"),
        ("float32", None, TypeError, "a tensor cannot be made of this NoneType"),
        ("Tensor[(2), float32]", [[1.0], [2.0, 3.0]], TypeError, "a tensor cannot be made of this list"),
    ],
)  # fmt: skip
def test_others_are_refused(param, value, error, text):
    for where, runs in ways(param).items():
        for run in runs:
            with pytest.raises(error) as caught:
                run(value)
            assert str(caught.value).startswith(where + ": ") and text in str(caught.value)


def test_arrays_keep_their_dtype():
    for where, runs in ways("Tensor[(2), float32]").items():
        for run in runs:
            with pytest.raises(relay.RelayError, match=r"expected Tensor\[\(2\), float32\], found Tensor\[\(2\), float64\]") as caught:
                run(np.zeros(2))
            assert where in str(caught.value)


def test_tuples_and_names():
    mod = relay.parse("def @main(%a: int32, %t: (int8, Tensor[(2), float32])) { (%a, %t) }")
    run = relay.compile(mod)
    for result in (run(1, (2, [3, 4])), run(t=[2, (3, 4)], a=1), relay.evaluate(mod, 1, (2, [3, 4]))):
        assert result[0] == 1 and result[1][0] == 2 and result[1][1].tolist() == [3, 4]
    for call in (lambda: run(1, (300, [3, 4])), lambda: run(a=1, t=(300, [3, 4])), lambda: relay.evaluate(mod, 1, (300, [3, 4]))):
        with pytest.raises(OverflowError, match="argument 2 of @main, %t: 300 does not fit int8"):
            call()


def test_what_has_no_type_takes_that_of_literals():
    mod = relay.parse("def @main(%x) { %x }")
    for value, dtype in [(3, "int32"), (2**40, "int64"), (1.5, "float32"), (True, "bool")]:
        result = relay.evaluate(mod, value)
        assert result == value and result.dtype.name == dtype
    for value in (2**63, 1e40):
        with pytest.raises(OverflowError, match="argument 1 of @main, %x: .* does not fit"):
            relay.evaluate(mod, value)


def test_constants():
    with np.errstate(all="raise"):
        for value, dtype in [(1.5, "int32"), ([1.5], "int32"), (0.3, "bool"), (np.array([1.5]), "int32"), (relay.NDArray([1.5]), "int8"), (["1"], "int32")]:
            with pytest.raises(TypeError, match=f"expected .*{dtype}, found"):
                relay.const(value, dtype)
        for value, dtype in [(1e40, "float32"), ([300], "int8"), (2, "bool"), (np.array([300]), "int8"), (np.array([1e40]), "float32"), (np.uint64(2**63), "int64")]:
            with pytest.raises(OverflowError, match=f"does not fit {dtype}"):
                relay.const(value, dtype)
    for value, dtype in [(1, "float32"), (1.5, "bfloat16"), (np.array([1, 2]), "int8"), (np.array([0.1]), "float32"), (relay.NDArray([1.5]), "float64")]:
        assert relay.const(value, dtype).data.dtype == dtype
    given = np.zeros(2, "float32")
    held = relay.const(given, "float32")
    given[:] = 7
    assert held.data.numpy().tolist() == [0, 0]


def test_params_are_named():
    mod = relay.parse("def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { %x + %w }")
    assert relay.compile(mod, params={"w": [1, 2.5]})([1, 1]).tolist() == [2, 3.5]
    with pytest.raises(relay.RelayError, match="@main has no parameter %v"):
        relay.compile(mod, params={"v": [1, 2]})
    with pytest.raises(TypeError, match=r"params\[w\]: expected a tensor, found \("):
        relay.compile(relay.parse("def @main(%w: (int32, int32)) { %w }"), params={"w": (1, 2)})
