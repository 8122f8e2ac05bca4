"""`relay.compile(precision=)`: products and convolutions on narrow numbers."""

import numpy as np
import pytest

import relay

PROGRAM = """
def @main(%x: Tensor[(n, 40), float32], %w: Tensor[(30, 40), float32]) { nn.softmax(nn.dense(%x, %w)) }
"""


def as_bfloat16(array):
    """The nearest numbers of bfloat16, as float32."""
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(("precision", "narrow"), [("bf16", as_bfloat16), ("fp16", lambda x: x.astype(np.float16).astype(np.float32))])
@pytest.mark.parametrize("rows", [1, 7, 33])
def test_products_are_of_narrow_numbers(precision, narrow, rows, constant):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(rows, 40)).astype(np.float32), rng.normal(size=(30, 40)).astype(np.float32)
    program = relay.compile(relay.parse(PROGRAM), params={"w": w} if constant else None, precision=precision)
    found = np.asarray(program(x) if constant else program(x, w))
    assert found.dtype == np.float32
    wanted = softmax(narrow(narrow(x) @ narrow(w).T))
    np.testing.assert_allclose(found, wanted, atol=0.02)
    exact = softmax(x.astype(np.float64) @ w.astype(np.float64).T)
    assert np.abs(found - exact).max() > 1e-6, "the products are of float32"


def test_other_precisions_are_refused():
    module = relay.parse(PROGRAM)
    with pytest.raises(ValueError, match="precision is bf16 or fp16, not 'int3'"):
        relay.compile(module, precision="int3")
