"""arange, full, cast, clip, fixed_point_multiply, bit operations, rounding, comparisons."""
import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay


def run(expr, *feeds):
    params = relay.analysis.free_vars(expr)
    return relay.create_executor("graph", device=tvm.cpu(), target="llvm").evaluate(relay.Function(params, expr))(*feeds).numpy()


def test_constant_makers():
    np.testing.assert_array_equal(run(relay.arange(relay.const(1), relay.const(10), relay.const(3), dtype="int32")), np.arange(1, 10, 3))
    np.testing.assert_array_equal(run(relay.full(relay.const(2.5), (2, 2))), np.full((2, 2), 2.5))
    assert run(relay.zeros((3,), "int64")).dtype == "int64" and run(relay.ones((3,), "float32")).sum() == 3
    x = relay.var("x", shape=(2, 3))
    assert run(relay.full_like(x, relay.const(4.0)), np.zeros((2, 3), "float32")).sum() == 24
    assert run(relay.ones_like(x) + relay.zeros_like(x), np.zeros((2, 3), "float32")).sum() == 6


@pytest.mark.parametrize("src, dst", [("float32", "int32"), ("float32", "uint8"), ("int32", "float16"), ("bool", "int8"), ("int64", "bool")])
def test_cast(src, dst):
    data = np.array([0, 1, 2, 100]).astype(src)
    x = relay.var("x", shape=(4,), dtype=src)
    np.testing.assert_array_equal(run(relay.cast(x, dst), data), data.astype(dst))


def test_clip_and_bits():
    data = np.random.uniform(-5, 5, (10,)).astype("float32")
    x = relay.var("x", shape=(10,))
    np.testing.assert_array_equal(run(relay.clip(x, -1.0, 4.0), data), np.clip(data, -1, 4))
    a, b = np.array([1, 6, 12, 255], "int32"), np.array([3, 1, 2, 4], "int32")
    p, q = relay.var("p", shape=(4,), dtype="int32"), relay.var("q", shape=(4,), dtype="int32")
    for op, ref in ((relay.bitwise_and, np.bitwise_and), (relay.bitwise_or, np.bitwise_or), (relay.bitwise_xor, np.bitwise_xor), (relay.left_shift, np.left_shift), (relay.right_shift, np.right_shift)):
        np.testing.assert_array_equal(run(op(p, q), a, b), ref(a, b))
    np.testing.assert_array_equal(run(relay.bitwise_not(p), a), ~a)


def test_fixed_point():
    x = relay.var("x", shape=(3,), dtype="int32")
    out = run(relay.fixed_point_multiply(x, multiplier=2**30, shift=1), np.array([10, -11, 12], "int32"))
    assert out.tolist() in ([10, -11, 12], [10, -10, 12])


@pytest.mark.parametrize("op, ref", [(relay.less, np.less), (relay.less_equal, np.less_equal), (relay.greater, np.greater), (relay.equal, np.equal), (relay.not_equal, np.not_equal)])
def test_comparisons(op, ref):
    a, b = np.random.randint(0, 3, (5, 4)).astype("float32"), np.random.randint(0, 3, (4,)).astype("float32")
    x, y = relay.var("x", shape=a.shape), relay.var("y", shape=b.shape)
    out = run(op(x, y), a, b)
    assert out.dtype == "bool"
    np.testing.assert_array_equal(out, ref(a, b))


def test_special_values():
    data = np.array([0.0, np.nan, np.inf, -np.inf], "float32")
    x = relay.var("x", shape=(4,))
    for op, ref in ((relay.isnan, np.isnan), (relay.isinf, np.isinf), (relay.isfinite, np.isfinite)):
        np.testing.assert_array_equal(run(op(x), data), ref(data))


if __name__ == "__main__":
    tvm.testing.main()
