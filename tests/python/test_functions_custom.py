"""Functions of Python with gradients of the user's own."""

import numpy as np
import pytest
import relay
import relay.numpy as rnp

X = np.array([0.4, 1.6, 3.0], "float32")


def rounded():
    return relay.custom_gradient(lambda v: rnp.round(v), lambda args, result, given: (given,))


def test_values_and_gradients():
    made = rounded()
    x = rnp.asarray(X)
    assert made(x).tolist() == [0, 2, 3] and made(x).dtype == "float32"
    assert relay.grad(lambda v: (made(v) * v).sum())(x).tolist() == pytest.approx((np.round(X) + X).tolist())
    step = relay.function(lambda v: relay.grad(lambda u: made(u * 2).sum())(v))
    assert step(x).tolist() == [2, 2, 2]
    assert relay.grad(lambda v: relay.vmap(made)(v).sum())(rnp.asarray([X, X])).tolist() == [[1, 1, 1], [1, 1, 1]]
    assert relay.vmap(relay.grad(lambda v: (made(v) * v).sum()))(rnp.asarray([X, 2 * X])).tolist()[0] == pytest.approx((np.round(X) + X).tolist())
    value, slope = relay.jvp(made, (x,), (rnp.ones((3,)),))
    assert value.tolist() == [0, 2, 3] and slope.tolist() == [1, 1, 1]
    assert np.asarray(relay.jacfwd(made)(x)).tolist() == np.asarray(relay.jacrev(made)(x)).tolist() == np.eye(3).tolist()


def test_trees_open_extents_and_loops():
    scaled = relay.custom_gradient(
        lambda p, k, name="y": {name: p["a"] * k + p["b"], "n": k},
        lambda args, result, given: ({"a": given["y"] * args[1] * 10, "b": None}, result["n"] * 0 + 7, None),
    )
    p = {"a": rnp.asarray(X), "b": rnp.asarray(X)}
    by_p, by_k = relay.grad(lambda p, k: scaled(p, k=k)["y"].sum(), (0, 1))(p, 2.0)
    assert by_p["a"].tolist() == [20, 20, 20] and by_p["b"].tolist() == [0, 0, 0] and by_k.item() == 7

    @relay.function
    def slope(v):
        def grown(u):
            for _ in range(2):
                u = rounded()(u * 1.5)
            return u.sum()

        return relay.grad(grown)(v)

    assert slope(rnp.asarray(X)).tolist() == [2.25] * 3 and slope(rnp.asarray(X[:2])).tolist() == [2.25] * 2
    looped = relay.custom_gradient(lambda v: v * v, lambda args, result, given: (relay.fori_loop(0, 3, lambda i, c: c * args[0], given),))
    assert relay.grad(lambda v: looped(v).sum())(rnp.asarray(X)).tolist() == pytest.approx((X**3).tolist())
    twice = relay.grad(lambda v: relay.grad(lambda u: looped(u).sum())(v).sum())
    assert twice(rnp.asarray(X)).tolist() == pytest.approx((3 * X**2).tolist())


def by_lanes(fun, x):
    """Gradients of the sum of what a function gives for the lanes: of all at once, and of each."""
    at_once = relay.grad(lambda m: relay.vmap(fun)(m).sum())(x)
    each = relay.vmap(relay.grad(lambda v: fun(v).sum()))(x)
    return at_once.tolist(), each.tolist()


def test_loops_in_functions_and_gradients_over_lanes():
    x = np.arange(6, dtype="float32").reshape(2, 3) / 4
    looped = relay.custom_gradient(lambda v: relay.fori_loop(0, 3, lambda i, c: c * 2, v), lambda args, result, given: (given * 5,))
    assert relay.vmap(looped)(x).tolist() == (8 * x).tolist()
    assert by_lanes(looped, x) == ([[5, 5, 5]] * 2,) * 2

    def doubled(args, result, given):
        while given.sum() < 50:
            given = given * 2
        return (given,)

    grown = relay.custom_gradient(lambda v: v * 2, doubled)
    want = [[0, 32.5, 65], [25.5, 34, 42.5]]
    assert by_lanes(lambda v: grown(v) * v, x) == (want, want)


def test_results_and_arguments_that_are_no_floats():
    x = np.arange(6, dtype="float32").reshape(2, 3)
    first = relay.custom_gradient(lambda v: (v * 2, rnp.argmax(v)), lambda args, result, given: (given[0] * 10,))
    assert by_lanes(lambda v: first(v)[0], x) == ([[10, 10, 10]] * 2,) * 2
    scaled = relay.custom_gradient(lambda v, k: v * k, lambda args, result, given: (given * args[1], (given * args[0]).sum()))
    by_x, by_k = relay.grad(lambda v, k: scaled(v, k).sum(), (0, 1))(x, 2.0)
    assert by_x.tolist() == [[2, 2, 2]] * 2 and by_k.item() == 15
    assert relay.grad(lambda v: scaled(v, 2).sum())(x.astype("float16")).tolist() == [[2, 2, 2]] * 2


def of(gradient, fun=lambda v: v):
    return relay.grad(lambda v: relay.custom_gradient(fun, gradient)(v).sum())(rnp.asarray(X))


def test_refusals():
    with pytest.raises(TypeError, match="gradient is a function of arguments, result and gradients, not int"):
        relay.custom_gradient(lambda v: v, 3)
    with pytest.raises(relay.RelayError, match="gives a tuple with a gradient for each argument, not a Tracer"):
        of(lambda args, result, given: given)
    with pytest.raises(relay.RelayError, match="gives 2 gradients for 1 argument"):
        of(lambda args, result, given: (given, given))
    with pytest.raises(relay.RelayError, match=r"argument 1 is float32\[3\], and its gradient float32\[\]"):
        of(lambda args, result, given: (given.sum(),))
    with pytest.raises(relay.RelayError, match="gradient of custom_gradient for argument 1 has another form than the argument"):
        of(lambda args, result, given: ((given, given),))
    with pytest.raises(TypeError, match="no arguments by name alone; 'k' is one"):
        of(lambda args, result, given: (given,), lambda v, *, k=2: v)
    with pytest.raises(relay.TraceError, match="reads a traced array of .* from outside: give it as an argument"):
        relay.function(lambda u: relay.custom_gradient(lambda v: v * u, lambda args, result, given: (given,))(u))(rnp.asarray(X))
