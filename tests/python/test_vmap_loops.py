"""Lanes of gradients of loops that end at different turns: each is what the gradient of its lane alone is."""

import numpy as np
import pytest
import relay
import relay.numpy as rnp

X, N = np.asarray([0.3, 0.4, 0.5, 0.2]), np.asarray([1, 0, 6, 3])


def newton(x, n):
    return relay.while_loop(lambda s: abs(s * s - x) > 1e-4, lambda s: 0.5 * (s + x / s), x * n + 1)


def counted(x, n):
    return relay.fori_loop(0, n, lambda i, s: rnp.sin(s) * 1.5 + i * x, x)


@relay.function
def branching(x, n):
    s = x
    while n > 0:
        if s > 0.5:
            s = rnp.exp(-s)
            n -= 1
        else:
            s = s * 1.7 + x
            n -= 1
    return s * x


@relay.function
def nested(x, n):
    s = x
    for _ in range(n):
        while s < 1:
            s = s * 1.5 + x
        s = rnp.sin(s)
    return s


def scanned(x, n):
    def turn(carry, row):
        grown = relay.while_loop(lambda v: v < 2, lambda v: v * 1.5 + row * x, carry)
        return abs(rnp.cos(grown)) + 0.3, grown

    last, all_of = relay.scan(turn, x, rnp.asarray([0.3, 0.1, 0.7], dtype="float64"))
    return last + (all_of**2).sum() + n


def branch_of_loops(x, n):
    return relay.cond(n > 2, lambda: counted(x, n) * x, lambda: newton(x, n))


LOOPS = [newton, counted, branching, nested, scanned, branch_of_loops]


def each(fun, *args):
    lanes = [relay.tree.flatten(fun(*lane)) for lane in zip(*args)]
    return relay.tree.unflatten(lanes[0][1], [np.stack(leaf) for leaf in zip(*[leaves for leaves, _ in lanes])])


def same(found, expected):
    for one, other in zip(relay.tree.leaves(found), relay.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loop", LOOPS)
def test_gradients(loop):
    same(relay.vmap(relay.grad(loop))(X, N), each(relay.grad(loop), X, N))
    same(relay.vmap(relay.value_and_grad(loop), (None, 0))(X[1], N), each(relay.value_and_grad(loop), X[[1, 1, 1, 1]], N))


@pytest.mark.parametrize("loop", [newton, counted, branching])
def test_second_derivatives(loop):
    same(relay.vmap(relay.grad(relay.grad(loop)))(X, N), each(relay.grad(relay.grad(loop)), X, N))
    same(relay.vmap(relay.hessian(loop))(X, N), each(relay.hessian(loop), X, N))


def vectors(x, n):
    return relay.while_loop(lambda s: (s * s).sum() < 100, lambda s: s * x + n, x)


@pytest.mark.parametrize("jacobian", [relay.jacobian, relay.jacfwd])
def test_jacobians(jacobian):
    x = np.asarray([[2.0, 3.0, 1.0], [5.0, 6.0, 7.0], [1.5, 0.5, 0.2], [9.0, 7.0, 8.0]])
    same(relay.vmap(jacobian(vectors, (0,)))(x, X), each(jacobian(vectors, (0,)), x, X))


def test_lanes_in_lanes():
    matrix = np.asarray([[0.3, 0.4], [0.5, 0.2]])
    both = relay.vmap(relay.vmap(relay.value_and_grad(counted)))(matrix, N.reshape(2, 2))
    same(relay.tree.map(lambda leaf: np.asarray(leaf).reshape(4), both), each(relay.value_and_grad(counted), matrix.reshape(4), N))


def test_what_comes_beside_and_custom_seeds():
    def both(x, n):
        return counted(x, n), {"turns": n, "root": newton(x, n)}

    same(relay.vmap(relay.value_and_grad(both, has_aux=True))(X, N), each(relay.value_and_grad(both, has_aux=True), X, N))
    pulled = lambda x, n, g: relay.vjp(lambda x: {"a": newton(x, n), "b": x * x}, x)[1]({"a": g, "b": 1.0})  # noqa: E731
    same(relay.vmap(pulled)(X, N, X + 1), each(pulled, X, N, X + 1))


def test_gradient_of_lanes_of_gradients():
    def total(scale):
        return (relay.vmap(relay.grad(lambda x, n: counted(x * scale, n)))(X, N) ** 2).sum()

    h = 1e-6
    np.testing.assert_allclose(relay.grad(total)(np.float64(0.9)), (total(np.float64(0.9 + h)) - total(np.float64(0.9 - h))) / (2 * h), rtol=1e-6)


def test_weights_that_lanes_share():
    w = np.asarray([[0.5, -0.3], [0.2, 0.4]])

    def run(w, x, n):
        return relay.while_loop(lambda s: s[1] < n, lambda s: (rnp.tanh(w @ s[0] + x), s[1] + 1), (x, 0))[0].sum()

    x = np.asarray([[1.0, 0.5], [0.1, -0.2], [0.3, 0.9], [2.0, 1.0]])
    same(relay.vmap(relay.grad(run, (0, 1)), (None, 0, 0))(w, x, N), each(relay.grad(run, (0, 1)), np.stack([w] * 4), x, N))


def test_many_turns_need_no_deep_stack():
    n = np.asarray([100_000, 10, 50_000], "int32")
    turn = lambda x, n: relay.fori_loop(0, n, lambda i, s: s * 0.99999 + x * 1e-5, x)  # noqa: E731
    value, slope = relay.vmap(relay.value_and_grad(turn))(np.ones(3), n)
    np.testing.assert_allclose(value, np.ones(3), rtol=1e-9)
    np.testing.assert_allclose(slope, np.ones(3), rtol=1e-9)


def test_a_gradient_that_is_written_out_says_what_to_write():
    mod = relay.parse("""
def @loop(%x: float32, %n: int32) -> float32 { if (%n > 0) { @loop(sin(%x), %n - 1) } else { %x } }
""")
    mod["slope"] = relay.grad("loop", 0, mod)
    with pytest.raises(relay.RelayError, match=r"(?s)lanes may take different branches here.*help: .*`grad\(@f\)` in the program"):
        relay.vmap("slope", axis_size=2, mod=mod)
    mod["calls"] = relay.parse_expr("fn (%x: float32, %n: int32) { grad(@loop)(%x, %n) }")
    mod["each"] = relay.vmap("calls", axis_size=2, mod=mod)
    found = relay.compile(mod, entry="each")(np.asarray([0.5, 0.5], "float32"), np.asarray([0, 2], "int32"))
    np.testing.assert_allclose(found, [1, np.cos(np.sin(0.5)) * np.cos(0.5)], rtol=1e-6)


def rooted(x):
    return relay.while_loop(lambda s: s < 1, lambda s: s + rnp.sqrt(1 - s) + 0.05, x)


def rooted_pair(x):
    def turn(state):
        (s, root), k = state
        return (s + root + 0.05, rnp.sqrt(1 - s)), k + 1 / (1 - s)

    (s, root), k = relay.while_loop(lambda state: state[0][0] < 1, turn, ((x, rnp.sqrt(abs(x))), x))
    return s * root + k


def rooted_branch(x):
    return relay.cond(x > 0, lambda: rooted(rnp.sqrt(x)) * rnp.log(x), lambda: x * 2)


@relay.function
def rooted_recursion(x):
    s = x
    while s < 4:
        if s < 1:
            s = s + rooted(rnp.sqrt(1 - s) * 0.5)
        else:
            s = s + rnp.sqrt(4 - s) + 0.05
    return s


def rooted_ends(x):
    s = relay.while_loop(lambda s: s < 1, lambda s: s + rnp.sqrt(1 - s) + 0.05, x)
    return relay.cond(s > 1.5, lambda: rooted(s - 1.5) * rnp.sqrt(s - 1.5), lambda: rooted(s - 1) * rnp.sqrt(1.5 - s))


@pytest.mark.parametrize("loop", [rooted, rooted_pair, rooted_branch, rooted_recursion, rooted_ends])
def test_lanes_that_are_done_have_no_part_in_gradients(loop):
    """A turn for lanes that ended or never began is not finite, and all of it is discarded."""
    x = np.asarray([0.1, 2.0, 0.7, -0.5, 5.0])
    slope = relay.grad(loop)
    expected = each(slope, x)
    assert np.isfinite(expected).all()
    same(relay.vmap(slope)(x), expected)
    same(relay.grad(lambda x: relay.vmap(loop)(x).sum())(x), expected)
    same(relay.vmap(relay.vmap(slope))(x.reshape(1, 5)), expected[None])


def test_ends_that_differ_from_lane_to_lane():
    mod = relay.parse("""
def @loop(%x: float64) -> float64 {
  if (%x < 1f64) { @loop(%x + sqrt(1f64 - %x) + 0.05f64) } else { if (%x < 8f64) { if (%x < 3f64) { sqrt(3f64 - %x) } else { @loop(%x + sqrt(8f64 - %x) + 0.5f64) } } else { sqrt(%x - 7f64) } }
}
def @slope(%x: float64) { grad(@loop)(%x) }
""")
    x = np.asarray([0.1, 2.0, 5.0, 9.0])
    mod["each"] = relay.vmap("slope", axis_size=4, mod=mod)
    run = relay.compile(mod, entry="slope")
    same(relay.compile(mod, entry="each")(x), np.stack([run(one) for one in x]))


def test_no_lanes():
    assert relay.vmap(rooted)(np.zeros(0)).shape == (0,)
    assert relay.vmap(relay.grad(rooted_branch))(np.zeros(0)).shape == (0,)
