"""relay.grad and its kin against central differences."""

import numpy as np
import pytest
import relay
from relay import RelayError

EPS = 1e-6


def both(fn, *args, mod=None):
    """The result in both executors, which agree."""
    module = relay.IRModule() if mod is None else mod.copy()
    module["main"] = fn
    found = relay.compile(module)(*args)
    same(found, relay.evaluate(module, *args), rtol=1e-9)
    return found


def same(found, expected, rtol=1e-6):
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            same(one, other, rtol)
    else:
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=1e-8)


def differences(run, args, place):
    """The derivatives of all elements of the result by those of one argument."""
    base = np.asarray(args[place])
    rows = []
    for spot in np.ndindex(base.shape):
        ends = []
        for step in (EPS, -EPS):
            moved = base.copy()
            moved[spot] += step
            ends.append(np.asarray(run(*[moved if k == place else one for k, one in enumerate(args)])))
        rows.append((ends[0] - ends[1]) / (2 * EPS))
    return np.moveaxis(np.array(rows).reshape(base.shape + np.shape(rows[0])), range(base.ndim), range(-base.ndim, 0) or [])


def loss():
    x, w = relay.var("x", shape=(3,), dtype="float64"), relay.var("w", shape=(3,), dtype="float64")
    return relay.Function([x, w], relay.sum(relay.tanh(x * w) * relay.exp(x)))


X, W = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, -1.0])


def test_grad_and_value_and_grad():
    run = relay.compile(relay.IRModule.from_expr(loss()))
    expected = [differences(run, [X, W], k) for k in range(2)]
    same(both(relay.grad(loss()), X, W), expected[0])
    same(both(relay.grad(loss(), -1), X, W), expected[1])
    value, grads = both(relay.value_and_grad(loss(), (1, 0)), X, W)
    same(value, run(X, W))
    same(grads, (expected[1], expected[0]))


def test_vjp_and_jvp_are_transposes():
    x, w = relay.var("x", shape=(3,), dtype="float64"), relay.var("w", shape=(3,), dtype="float64")
    fn = relay.Function([x, w], relay.Tuple([relay.tanh(x * w), relay.sum(x)]))
    rng = np.random.default_rng(0)
    dx, dw, g, h = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), np.array(rng.normal())
    module = relay.IRModule.from_expr(relay.vjp(fn))
    value, (gx, gw) = relay.compile(module)(X, W, (g, h))
    forward, (ty, ts) = both(relay.jvp(fn), X, W, dx, dw)
    same(value, forward)
    assert np.isclose(gx @ dx + gw @ dw, g @ ty + h * ts)


def test_jacobian_and_hessian():
    x = relay.var("x", shape=(2, 2), dtype="float64")
    fn = relay.Function([x], relay.op.exp(relay.nn.dense(x, x)))
    at = np.array([[0.1, -0.2], [0.3, 0.4]])
    found = both(relay.jacobian(fn), at)
    assert found.shape == (2, 2, 2, 2)
    same(found, differences(relay.compile(relay.IRModule.from_expr(fn)), [at], 0))
    same(both(relay.jacfwd(fn), at), found)
    gradient = relay.compile(relay.IRModule.from_expr(relay.grad(loss())))
    same(both(relay.hessian(loss()), X, W), differences(lambda x, w: gradient(x, w), [X, W], 0), rtol=1e-5)


def test_jacobians_by_several_parameters():
    x, w = relay.var("x", shape=(3,), dtype="float64"), relay.var("w", shape=(2, 3), dtype="float64")
    fn = relay.Function([x, w], relay.tanh(relay.sum(w * x, axis=[1])))
    at = [np.array([0.1, -0.2, 0.7]), np.array([[0.3, 0.4, -1.0], [2.0, 0.5, 0.1]])]
    run = relay.compile(relay.IRModule.from_expr(fn))
    for made in (relay.jacrev(fn, (0, -1)), relay.jacfwd(fn, [0, 1])):
        for place, found in enumerate(both(made, *at)):
            same(found, differences(run, at, place))


def test_function_of_a_module():
    mod = relay.parse("def @square(%x: float64) -> float64 { %x * %x }\ndef @cube(%x: float64) -> float64 { @square(%x) * %x }")
    same(both(relay.grad("cube", mod=mod), 3.0, mod=mod), 27.0)
    same(both(relay.grad(mod.get_global_var("square"), mod=mod), 3.0, mod=mod), 6.0)


def test_refusals():
    x = relay.var("x", shape=(3,))
    with pytest.raises(RelayError, match="one number of a floating-point dtype; this one gives Tensor"):
        relay.grad(relay.Function([x], relay.exp(x)))
    with pytest.raises(RelayError, match="its result, int32, is no float"):
        relay.vjp(relay.Function([x], relay.argmax(x)))
    with pytest.raises(RelayError, match="jacfwd is of functions whose result, and the parameter, are tensors of known extents"):
        relay.jacfwd(relay.Function([x], relay.Tuple([x, x])))
    with pytest.raises(ValueError, match="argnums is an integer from -1 to 0"):
        relay.grad(relay.Function([x], relay.sum(x)), 1)
    with pytest.raises(ValueError, match="give the module"):
        relay.grad("f")
    with pytest.raises(ValueError, match="mode is first_order or higher_order"):
        relay.transform.gradient(relay.Function([x], x), mode="second")


def test_deep_dataflow():
    x = relay.var("x", shape=(), dtype="float64")
    body = x
    for _ in range(20_000):
        body = relay.negative(body) + x
    same(relay.compile(relay.IRModule.from_expr(relay.grad(relay.Function([x], body))))(1.0), 1.0)


def test_custom_gradient_is_used_and_the_value_stays():
    x, w = relay.var("x", shape=(3,)), relay.var("w", shape=(3,))
    inner = relay.Function([x, w], relay.Tuple([relay.round(x) * w, x]))
    fn = relay.custom_gradient(inner, lambda args, result, first, second: [first * args[1] + second, None])
    y = relay.var("y", shape=(3,))
    both = relay.Call(fn, [y, y])
    total = relay.Function([y], relay.sum(relay.TupleGetItem(both, 0)) + relay.sum(relay.TupleGetItem(both, 1)))
    module = relay.IRModule.from_expr(relay.value_and_grad(total))
    data = np.array([1.2, 2.6, 3.0], "float32")
    for value, gradient in (relay.compile(module)(data), relay.evaluate(module, data)):
        np.testing.assert_allclose(value, 24.8, rtol=1e-6)
        np.testing.assert_allclose(gradient, data + 1, rtol=1e-6)


def test_custom_gradient_of_open_extents_and_twice():
    n = relay.ShapeVar("n")
    x = relay.var("x", shape=(n,))
    cube = relay.custom_gradient(relay.Function([x], x * x * x, type_params=[n.symbol]),
                                 lambda args, result, given: [given * relay.const(3.0) * args[0] * args[0]])
    y = relay.var("y", shape=(4,))
    once = relay.grad(relay.Function([y], relay.sum(relay.Call(cube, [y]))))
    twice = relay.grad(relay.Function([y], relay.sum(relay.Call(once, [y]))))
    data = np.array([1, 2, 3, 4], "float32")
    np.testing.assert_allclose(relay.compile(relay.IRModule.from_expr(once))(data), 3 * data**2)
    np.testing.assert_allclose(relay.compile(relay.IRModule.from_expr(twice))(data), 6 * data)


def test_custom_gradient_stays_over_lanes():
    x, w = relay.var("x", shape=(3,), dtype="float64"), relay.var("w", shape=(3,), dtype="float64")
    pair = relay.custom_gradient(relay.Function([x, w], relay.Tuple([relay.round(x) * w, x])),
                                 lambda args, result, first, second: [first * args[1] * relay.const(5.0, "float64") + second, None])  # fmt: skip
    a, b = relay.var("a", shape=(3,), dtype="float64"), relay.var("b", shape=(3,), dtype="float64")
    called = relay.TupleWrapper(pair(a, b), 2)
    one = relay.Function([a, b], relay.op.tanh(called[0]) + called[1])
    rows, shared = np.array([[0.4, 1.6, 3.0], [0.1, 0.7, -1.2]]), np.array([1.0, 0.5, 0.2])
    value = np.tanh(np.round(rows) * shared) + rows
    slope = (1 - np.tanh(np.round(rows) * shared) ** 2) * shared * 5 + 1
    for count in (None, 2):
        many = relay.vmap(one, in_axes=(0, None), axis_size=count)
        same(both(many, rows, shared), value)
        lanes = relay.var("lanes", shape=(2, 3), dtype="float64")
        total = relay.Function([lanes, b], relay.sum(many(lanes, b)))
        for by, want in ((0, slope), (1, 0 * shared)):
            same(both(relay.grad(total, by), rows, shared), want)
        each = relay.vmap(relay.grad(relay.Function([a, b], relay.sum(one(a, b)))), in_axes=(0, None), axis_size=count)
        same(both(each, rows, shared), slope)
    twice = relay.vmap(relay.vmap(one, in_axes=(0, None)), in_axes=(0, 0), axis_size=2)
    lanes, others = relay.var("lanes", shape=(2, 2, 3), dtype="float64"), relay.var("others", shape=(2, 3), dtype="float64")
    total = relay.Function([lanes, others], relay.sum(twice(lanes, others)))
    same(both(relay.grad(total), np.stack([rows, rows]), np.stack([shared, shared])), np.stack([slope, slope]))


def test_custom_gradient_refuses():
    x = relay.var("x", shape=(3,))
    with pytest.raises(TypeError, match="gradient is a function"):
        relay.custom_gradient(relay.Function([x], x), 3)
    pair = relay.Var("p", relay.TupleType([relay.TensorType((3,), "float32")]))
    with pytest.raises(relay.RelayError, match="functions of tensors"):
        relay.custom_gradient(relay.Function([pair], pair), lambda *all: [])
    with pytest.raises(TypeError, match="gradient is a function of arguments, result and gradients, not Function"):
        relay.custom_gradient(relay.Function([x], x), relay.Function([x], x))
    alone = relay.custom_gradient(relay.Function([x], x), lambda args, result, given: given)
    with pytest.raises(RelayError, match="gives a list with an expression for each argument, not a [A-Z]"):
        relay.grad(relay.Function([x], relay.sum(alone(x))))
    for argnums in ([], [0, 0], [0, -1]):
        with pytest.raises(ValueError, match="^argnums names one parameter or several, each once, not "):
            relay.grad(relay.Function([x], relay.sum(x)), argnums)
    short = relay.custom_gradient(relay.Function([x], x), lambda args, result, given: [])
    y = relay.var("y", shape=(3,))
    with pytest.raises(relay.RelayError, match="0 expressions for 1 argument"):
        relay.grad(relay.Function([y], relay.sum(relay.Call(short, [y]))))


@pytest.mark.parametrize("named", ["f", relay.GlobalVar("f")], ids=["text", "variable"])
def test_functions_of_a_module_have_every_form(named):
    """A module has the function and what is derived from it: both with variables of their own."""
    text = "def @typed(%%x: float64) -> float64 { %%x * 2f64 } def @f(%%x: float64) -> float64 { let %%y = %%x * %%x; %s * %%y }"
    mod = relay.parse(text % "@typed(%y)")
    forms = {
        "jacobian": (relay.jacobian(named, mod=mod), 8 * 3.0**3),
        "checkpoint": (relay.checkpoint(named, mod=mod), 2 * 3.0**4),
        "grad": (relay.grad(relay.checkpoint(named, mod=mod), mod=mod), 8 * 3.0**3),
        "hessian": (relay.hessian(relay.checkpoint(named, mod=mod), mod=mod), 24 * 3.0**2),
    }
    for name, (made, expected) in forms.items():
        mod[name] = made
        same(relay.compile(mod, entry=name)(3.0), expected, rtol=1e-9)
    mod["lanes"] = relay.vmap(relay.checkpoint(named, mod=mod), mod=mod)
    same(relay.compile(mod, entry="lanes")(np.array([1.0, 3.0])), np.array([2.0, 162.0]), rtol=1e-9)
