"""Norms of channels and their gradients, which one kernel computes channel by channel."""

import numpy as np
import pytest
import relay

NORM = """
def @norm(%x: Tensor[(8, 48, 40, 36), float32], %gamma: Tensor[(48), float32], %g: Tensor[(8, 48, 40, 36), float32]) -> float32 {
  let %c = %x - mean(%x, axis=[0, 2, 3], keepdims=True);
  let %s = rsqrt(mean(%c * %c, axis=[0, 2, 3], keepdims=True) + 1e-5f);
  sum(nn.relu(%c * (%s * reshape(%gamma, newshape=[1, 48, 1, 1]))) * %g)
}
"""


def arguments():
    rng = np.random.default_rng(3)
    return [rng.normal(size=shape).astype("float32") for shape in ((8, 48, 40, 36), (48,), (8, 48, 40, 36))]


def expected(x, gamma, g):
    """Value and gradients of data and factors in float64."""
    x, gamma, g = (a.astype("float64") for a in (x, gamma, g))
    axes, count = (0, 2, 3), x.size / x.shape[1]
    c = x - x.mean(axes, keepdims=True)
    s = 1 / np.sqrt((c * c).mean(axes, keepdims=True) + 1e-5)
    factor = gamma.reshape(1, -1, 1, 1)
    normal = c * s
    inner = np.where(normal * factor > 0, g, 0.0)
    of_normal = inner * factor
    means = of_normal.sum(axes, keepdims=True) / count, (of_normal * normal).sum(axes, keepdims=True) / count
    of_x = s * (of_normal - means[0] - normal * means[1])
    return (np.maximum(normal * factor, 0) * g).sum(), of_x, (inner * normal).sum(axes)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_norm_and_its_gradient(threads):
    mod = relay.parse(NORM)
    mod["slope"] = relay.value_and_grad("norm", (0, 1), mod)
    given = arguments()
    value, (of_x, of_gamma) = relay.compile(mod, entry="slope", threads=threads)(*given)
    want = expected(*given)
    np.testing.assert_allclose(np.asarray(value), want[0], rtol=1e-4)
    np.testing.assert_allclose(np.asarray(of_x), want[1], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(np.asarray(of_gamma), want[2], rtol=1e-4, atol=1e-2)
    once = relay.compile(mod, entry="slope", threads=1)(*given)
    assert np.array_equal(np.asarray(once[1][0]), np.asarray(of_x))
    assert np.array_equal(np.asarray(once[1][1]), np.asarray(of_gamma))


def test_a_channel_goes_through_memory_once():
    mod = relay.parse(NORM)
    mod["slope"] = relay.value_and_grad("norm", (0, 1), mod)
    whole = [k for k in relay.compile(mod, entry="slope").profile(*arguments()) if k["bytes"] > 8 * 48 * 40 * 36 * 4]
    # The norm with its gradient, and the sum of the products behind it.
    assert len(whole) == 2, [k["name"] for k in whole]
