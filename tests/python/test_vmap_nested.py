"""Two levels of lanes: operands of different ranks, with as many lanes as other extents."""

import numpy as np
import pytest
import relay
import relay.numpy as rnp

RANDOM = np.random.RandomState(0)
SHAPES = [(3, 3, 3), (2, 3, 4), (1, 2, 2), (2, 1, 2), (2, 2, 1), (1, 1, 1), (2, 2, 2)]


def same(found, expected):
    found, expected = relay.tree.leaves(found), relay.tree.leaves(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def each(fun, *args):
    """The function of each entry of the first axes, one by one."""
    lanes = [relay.tree.flatten(fun(*lane)) for lane in zip(*args)]
    return relay.tree.unflatten(lanes[0][1], [np.stack(leaf) for leaf in zip(*[leaves for leaves, _ in lanes])])


def each_of_each(fun, *args):
    return each(lambda *rows: each(fun, *rows), *args)


BROADCASTS = {
    "multiply": (lambda r, s: r * s, lambda r, s: r * s[..., None]),
    "divide": (lambda r, s: s / (r + 1), lambda r, s: s[..., None] / (r + 1)),
    "maximum": (lambda r, s: rnp.maximum(r, s), lambda r, s: np.maximum(r, s[..., None])),
    "where": (lambda r, s: rnp.where(s > 0.5, r, r * 2), lambda r, s: np.where(s[..., None] > 0.5, r, r * 2)),
    "sum": (lambda r, s: r - r.sum() * s, lambda r, s: r - r.sum(-1, keepdims=True) * s[..., None]),
    "outer": (lambda r, s: r[:, None] * r * s, lambda r, s: r[..., None] * r[..., None, :] * s[..., None, None]),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", BROADCASTS)
def test_ranks_that_differ(name, shape):
    fun, numpys = BROADCASTS[name]
    r, s = RANDOM.rand(*shape), RANDOM.rand(*shape[:2])
    same(relay.vmap(relay.vmap(fun))(r, s), numpys(r, s))


def test_a_shared_operand_at_each_level():
    r, s = RANDOM.rand(2, 2, 2), RANDOM.rand(2)
    same(relay.vmap(relay.vmap(lambda r, s: r * s, (0, None)))(r, s), r * s[:, None, None])
    same(relay.vmap(relay.vmap(lambda r, s: r * s), (0, None))(r, s), r * s[:, None])
    same(relay.vmap(relay.vmap(lambda r, s: r * s, (None, 0)), (0, None))(s, s), s[:, None] * s)
    same(relay.vmap(relay.vmap(lambda r, s: r * s, (0, None)), (None, 0))(s, s), s[:, None] * s)


def test_three_levels():
    r, s = RANDOM.rand(2, 2, 2, 2), RANDOM.rand(2, 2, 2)
    same(relay.vmap(relay.vmap(relay.vmap(lambda r, s: r * s)))(r, s), r * s[..., None])
    same(relay.vmap(relay.vmap(relay.vmap(lambda r, s: r * s), (0, None)))(r, s[:, 0]), r * s[:, 0][:, None, :, None])


def scaled(r):
    return (r / r.sum() * r[0]).sum()


def pushed(r):
    return relay.jvp(lambda w: rnp.sin(w) * w[0], (r,), (r * r,))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fun", [relay.grad(scaled), relay.value_and_grad(scaled), pushed], ids=["grad", "value_and_grad", "jvp"])
def test_derivatives(fun, shape):
    r = RANDOM.rand(*shape)
    same(relay.vmap(relay.vmap(fun))(r), each_of_each(fun, r))


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (1, 2), (3, 2), (2, 1), (1, 1)])
@pytest.mark.parametrize("jacobian", [relay.jacfwd, relay.jacrev, lambda fun: relay.jacfwd(relay.grad(lambda w: fun(w).sum()))], ids=["fwd", "rev", "fwd-of-grad"])
def test_jacobians(jacobian, shape):
    w = RANDOM.rand(*shape)
    fun = jacobian(lambda w: w * w[0])
    same(relay.vmap(fun)(w), each(fun, w))


@pytest.mark.parametrize("lanes, width", [(3, 2), (2, 2), (1, 2), (1, 3)])
def test_jacobians_by_several_arguments(lanes, width):
    x, w = RANDOM.rand(lanes), RANDOM.rand(lanes, width)
    fun = relay.jacfwd(lambda x, w: x * w, (0, 1))
    same(relay.vmap(fun)(x, w), each(fun, x, w))


def test_lanes_of_a_program():
    mod = relay.parse("def @inner(%r: Tensor[(2), float64], %w: float64) { %r * %w }")
    mod["in"] = relay.vmap("inner", in_axes=(0, None), axis_size=2, mod=mod)
    mod["both"] = relay.vmap("in", in_axes=(None, 0), axis_size=2, mod=mod)
    r, w = np.asarray([[1.0, 2.0], [3.0, 4.0]]), np.asarray([10.0, 100.0])
    same(relay.compile(mod, entry="both")(r, w), r * w[:, None, None])
    same(relay.evaluate(mod, r, w, entry="both"), r * w[:, None, None])
