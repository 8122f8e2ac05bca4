"""Forward mode: jvp against two reverse passes and against differences, and the forms that it gives."""

import itertools

import numpy as np
import pytest
import relay
from relay import RelayError

TENSOR = "Tensor[(3), float64]"
PROGRAMS = {
    "operators": f"def @f(%x: {TENSOR}, %y: {TENSOR}) -> float64 {{ sum(tanh(%x * %y) / (1f64 + exp(%y))) }}",
    "tuples": f"def @f(%x: {TENSOR}, %y: {TENSOR}) {{ let %p = (%x * %y, (%y, sin(%x))); (%p.1.1, concatenate((%p.0, %p.1.0), axis=0)) }}",
    "broadcast": f"def @f(%x: {TENSOR}, %y: {TENSOR}) {{ power(expand_dims(%x * %x, axis=1), expand_dims(%y, axis=0)) }}",
    "softmax": f"def @f(%x: {TENSOR}, %y: {TENSOR}) {{ nn.softmax(%x * %y) * max(%x) }}",
    "branches": f"def @f(%x: {TENSOR}, %y: {TENSOR}) {{ if (sum(%x) > 0f64) {{ %x * %y }} else {{ if (sum(%y) > 0f64) {{ %y }} else {{ sin(%x) }} }} }}",
    "loop": f"""
def @turns(%i: int32, %x: {TENSOR}, %a: {TENSOR}, %b: {TENSOR}) -> {TENSOR} {{
  if (%i < 5) {{ @turns(%i + 1, %x, %b, sin(%a) * %x) }} else {{ %a + %b }}
}}
def @f(%x: {TENSOR}, %y: {TENSOR}) -> {TENSOR} {{ @turns(0, %x, zeros_like(%x), %y) }}""",
    "recursion": f"""
def @even(%i: int32, %x: {TENSOR}) -> {TENSOR} {{ if (%i == 0) {{ %x }} else {{ %x * @odd(%i - 1, sin(%x)) }} }}
def @odd(%i: int32, %x: {TENSOR}) -> {TENSOR} {{ if (%i == 0) {{ %x * %x }} else {{ @even(%i - 1, %x + 1f64) }} }}
def @f(%x: {TENSOR}, %y: {TENSOR}) -> {TENSOR} {{ @even(4, %x) * @even(3, %y) }}""",
    "inner loop": f"""
def @f(%x: {TENSOR}, %y: {TENSOR}) -> {TENSOR} {{
  let %go = fn (%i: int32, %a: {TENSOR}) -> {TENSOR} {{ if (%i < 3) {{ %go(%i + 1, %a * %y) }} else {{ %a }} }};
  %go(0, %x)
}}""",
    "closures": f"""
def @f(%x: {TENSOR}, %y: {TENSOR}) -> {TENSOR} {{
  let %g = if (sum(%x) > 0f64) {{ fn (%a: {TENSOR}) {{ %a * %x }} }} else {{ fn (%a: {TENSOR}) {{ sin(%a) }} }};
  %g(%y)
}}""",
}


def flat(value):
    return [np.asarray(value)] if not isinstance(value, tuple) else [leaf for part in value for leaf in flat(part)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_against_differences(name):
    mod = relay.parse(PROGRAMS[name])
    mod["along"] = relay.jvp("f", mod)
    along, f = (relay.compile(mod, entry=entry) for entry in ("along", "f"))
    rng = np.random.default_rng(3)
    x, y, dx, dy = (rng.uniform(0.2, 1, 3) * rng.choice([-1, 1]) for _ in range(4))
    if name == "broadcast":
        y = np.abs(y)
    value, derivative = along(x, y, dx, dy)
    step = 1e-6
    after, before = flat(f(x + step * dx, y + step * dy)), flat(f(x - step * dx, y - step * dy))
    for got, wanted in zip(flat(value), flat(f(x, y)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    for got, a, b in zip(flat(derivative), after, before, strict=True):
        np.testing.assert_allclose(got, (a - b) / (2 * step), rtol=1e-6, atol=1e-8)


def test_loops_stay_loops():
    mod = relay.parse(PROGRAMS["loop"])
    mod["along"] = relay.jvp("f", mod)
    text = mod.astext()
    assert "type " not in text and "ref" not in text and "fn (" not in text
    (turns,) = [v.name_hint for v in mod.get_global_vars() if v.name_hint.startswith("turns_along")]
    # The counter has no direction, and the call of the next turn is the branch itself.
    assert len(mod[turns].params) == 7
    assert f"@{turns}" in str(mod[turns].body.true_branch.op)


def test_a_loop_of_many_turns_needs_no_more_memory():
    mod = relay.parse(PROGRAMS["loop"].replace("%i < 5", "%i < 300000"))
    mod["along"] = relay.jvp("f", mod)
    run = relay.compile(mod, entry="along")
    ones = np.ones(3)
    value, derivative = run(ones, ones, ones, ones)
    assert np.isfinite(value).all() and np.isfinite(derivative).all()


@pytest.mark.parametrize("name", ["operators", "loop", "closures"])
def test_directions_of_some_parameters(name):
    mod = relay.parse(PROGRAMS[name])
    mod["all"], mod["some"] = relay.jvp("f", mod), relay.jvp("f", mod, argnums=1)
    x, y, d = np.array([0.3, 0.5, 0.7]), np.array([0.2, -0.4, 0.6]), np.array([1.0, 2.0, -1.0])
    wanted = relay.compile(mod, entry="all")(x, y, np.zeros(3), d)
    got = relay.compile(mod, entry="some")(x, y, d)
    for a, b in zip(flat(got), flat(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_gradients_of_derivatives():
    mod = relay.parse(PROGRAMS["loop"])
    mod["along"] = relay.jvp("f", mod, argnums=0)
    mod = relay.parse(f"def @g(%x: {TENSOR}, %y: {TENSOR}) -> float64 {{ sum(@along(%x, %y, %y).1) }}", "g.rly", mod)
    mod["slope"] = relay.grad("g", 0, mod)
    slope, g = relay.compile(mod, entry="slope"), relay.compile(mod, entry="g")
    x, y = np.array([0.3, 0.5, 0.7]), np.array([0.2, -0.4, 0.6])
    for i in range(3):
        step = 1e-6 * np.eye(3)[i]
        np.testing.assert_allclose(slope(x, y)[i], (g(x + step, y) - g(x - step, y)) / 2e-6, rtol=1e-6)


def test_refusals():
    mod = relay.parse(f"def @f(%x: {TENSOR}) {{ argmax(%x) }} def @g(%x: {TENSOR}) {{ unique(%x).0 }}")
    with pytest.raises(RelayError, match="no gradient"):
        relay.jvp("f", mod)
    with pytest.raises(RelayError, match="unique has no gradient: only the run knows"):
        relay.jvp("g", mod)
    with pytest.raises(ValueError, match="argnums"):
        relay.jvp("f", mod, argnums=3)


THIRD = {
    "operators": "def @f(%x: float64) -> float64 { sin(%x) * exp(%x * 0.5f64) / (%x * %x + 1f64) }",
    "vectors": "def @f(%x: float64) -> float64 { let %v = %x * Constant(1.5, (3), float64); sum(sin(%v) / cumsum(%v, axis=0)) }",
    "branches": "def @f(%x: float64) -> float64 { if (%x > 0.5f64) { power(%x, 3.5f64) * tanh(%x) } else { exp(%x) } }",
}  # fmt: skip


def derivative(mod, name, mode, order):
    """The derivative of a function of one number, in reverse ("r") or forward mode; its name."""
    found = f"order{order}"
    if mode == "r":
        mod[found] = relay.grad(name, 0, mod)
        return found
    mod[f"{found}.along"] = relay.jvp(name, mod, argnums=0)
    x = relay.var("x", mod[name].params[0].type_annotation)
    along = relay.GlobalVar(f"{found}.along")(x, relay.const(1.0, "float64"))
    mod[found] = relay.Function([x], relay.TupleGetItem(along, 1))
    return found


@pytest.mark.parametrize("name", THIRD)
def test_third_order_in_every_mix(name):
    found = {}
    for modes in itertools.product("rf", repeat=3):
        mod = relay.parse(THIRD[name])
        last = "f"
        for order, mode in enumerate(modes):
            last = derivative(mod, last, mode, order)
        found["".join(modes)] = float(relay.compile(mod, entry=last)(np.float64(0.7)))
    run = relay.compile(relay.parse(THIRD[name]), entry="f")

    def at(x):
        return float(run(np.float64(x)))

    h = 0.02
    terms = [(-3, 1 / 8), (-2, -1), (-1, 13 / 8), (1, -13 / 8), (2, 1), (3, -1 / 8)]
    np.testing.assert_allclose(found["rrr"], sum(w * at(0.7 + k * h) for k, w in terms) / h**3, rtol=1e-3)
    for value in found.values():
        np.testing.assert_allclose(value, found["rrr"], rtol=1e-10)


X = relay.numpy.asarray(np.random.default_rng(5).normal(size=(2, 4)))
GAMMA = relay.numpy.asarray(np.random.default_rng(6).normal(size=(4,)))
IMAGE = relay.numpy.asarray(np.random.default_rng(7).normal(size=(1, 1, 4, 4)))
# Operators some of whose arguments have another rank than the result, so that these cannot be spread out to it.
OTHER_RANKS = {
    "max": (lambda v: v.max(), (GAMMA,)),
    "max of rows": (lambda v: v.max(axis=-1), (X,)),
    "min that keeps the axis": (lambda v: v.min(axis=1, keepdims=True), (X,)),
    "product": (lambda v: v.prod(axis=0), (X,)),
    "infinity norm": (lambda v: relay.numpy.linalg.vector_norm(v, ord=float("inf")), (GAMMA,)),
    "layer_norm": (lambda v, g, b: relay.nn.layer_norm(v, g, b), (X, GAMMA, GAMMA)),
    "rms_norm": (lambda v, g: relay.nn.rms_norm(v, g), (X, GAMMA)),
    "prelu": (lambda v, a: relay.nn.prelu(v, a), (X, GAMMA)),
    "variance": (lambda v: relay.mean_variance(v, axis=[1])[1], (X,)),
    "at[].multiply": (lambda v, u: v.at[1].multiply(u), (GAMMA, X[0, 0])),
    "at[].max": (lambda v, u: v.at[1].max(u), (GAMMA, X[0, 0])),
    "max_pool2d": (lambda v: relay.nn.max_pool2d(v, pool_size=(2, 2)), (IMAGE,)),
    "slope of max_pool2d": (relay.grad(lambda v: (relay.nn.max_pool2d(v, pool_size=(2, 2)) ** 3).sum()), (IMAGE,)),
    "slope of layer_norm": (relay.grad(lambda v: (relay.nn.layer_norm(v, GAMMA, GAMMA) ** 3).sum()), (X,)),
    "grid_sample": (lambda v, q: relay.image.grid_sample(v, q), (IMAGE, relay.numpy.asarray(np.random.default_rng(8).uniform(-0.6, 0.6, size=(1, 2, 3, 3))))),
    "singular values": (relay.numpy.linalg.svdvals, (relay.numpy.asarray([[1.0, 2.0], [3.0, 5.0]], dtype="float64"),)),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_RANKS)
def test_arguments_of_another_rank_than_the_result(name):
    fn, at = OTHER_RANKS[name]
    random = np.random.default_rng(9)
    along = [random.normal(size=np.shape(value)) for value in at]
    found = relay.jvp(fn, at, tuple(relay.numpy.asarray(part) for part in along))[1]
    step = 1e-6
    there, back = (np.asarray(fn(*[relay.numpy.asarray(np.asarray(value) + sign * step * part) for value, part in zip(at, along)])) for sign in (1, -1))
    np.testing.assert_allclose(np.asarray(found), (there - back) / (2 * step), rtol=1e-5, atol=1e-7)
