"""relay.vmap: every lane is what the function gives for it alone, in both executors."""

import numpy as np
import pytest
import relay
from relay import RelayError

from test_gradients_of_programs import PROGRAMS

LANES = 4
X, Y = np.array([0.7, 1.5, -0.4, 0.2]), np.array([1.3, 0.2, 0.9, -1.1])


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [np.asarray(value)]


def both(mod, *args, entry="main"):
    """The leaves of the result, the same in both executors."""
    found = leaves(relay.compile(mod, entry=entry)(*args))
    for one, other in zip(found, leaves(relay.evaluate(mod, *args, entry=entry)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    return found


def one_by_one(mod, *args, entry="main"):
    run = relay.compile(mod, entry=entry)
    return [np.stack(lane) for lane in zip(*[leaves(run(*lane)) for lane in zip(*args)], strict=True)]


def same(found, expected, rtol=1e-9):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("size", [LANES, None])
@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_of_programs(name, size):
    mod = relay.parse(PROGRAMS[name])
    expected = one_by_one(mod, X, Y)
    if name == "data types with tensors" and size is None:
        with pytest.raises(RelayError, match="give axis_size"):
            relay.vmap("main", axis_size=size, mod=mod)
        return
    mod["lanes"] = relay.vmap("main", axis_size=size, mod=mod)
    same(both(mod, X, Y, entry="lanes"), expected)
    mod["shared"] = relay.vmap("main", (None, 0), axis_size=size, mod=mod)
    same(both(mod, X[0], Y, entry="shared"), one_by_one(mod, np.full(LANES, X[0]), Y))


# The gradients of these keep a record of each lane's way, or references in functions that lanes choose between.
OWN_WAYS = {"a loop with several ways": "walk_turns", "loops beside closures": "ref", "closures": "ref", "polymorphic": "the types of values"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_of_gradients(name):
    mod = relay.parse(PROGRAMS[name])
    mod["slope"] = relay.grad("main", (0, 1), mod)
    if name in OWN_WAYS:
        with pytest.raises(RelayError, match=OWN_WAYS[name]):
            relay.vmap("slope", axis_size=LANES, mod=mod)
        return
    expected = one_by_one(mod, X, Y, entry="slope")
    mod["lanes"] = relay.vmap("slope", axis_size=LANES, mod=mod)
    same(both(mod, X, Y, entry="lanes"), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_of_calls_of_gradients(name):
    """Gradients that are not written out yet: lanes may part in all of them."""
    mod = relay.parse(PROGRAMS[name])
    mod["slope"] = relay.parse_expr("fn (%x: float64, %y: float64) { grad(@main, argnums=[0, 1])(%x, %y) }")
    x, y = (X, Y) if name != "a loop with several ways" else (X[[0, 2, 3, 3]], Y[[0, 2, 3, 3]])  # a lane that ended overflows
    expected = one_by_one(mod, x, y, entry="slope")
    mod["lanes"] = relay.vmap("slope", axis_size=LANES, mod=mod)
    same(both(mod, x, y, entry="lanes"), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_lanes(name):
    x, y = (X, Y) if name != "a loop with several ways" else (X[[0, 2, 3, 3]], Y[[0, 2, 3, 3]])  # a lane that ended overflows
    mod = relay.parse(PROGRAMS[name])
    mod["slope"] = relay.grad("main", (0, 1), mod)
    expected = one_by_one(mod, x, y, entry="slope")
    mod["lanes"] = relay.vmap("main", axis_size=LANES, mod=mod)
    mod["sum_of_lanes"] = relay.parse_expr("fn (%x: Tensor[(4), float64], %y: Tensor[(4), float64]) { sum(@lanes(%x, %y)) }")
    mod["slopes"] = relay.grad("sum_of_lanes", (0, 1), mod)
    same(both(mod, x, y, entry="slopes"), expected)


def test_examples_each_with_a_gradient():
    mod = relay.parse("""
def @loss(%w: Tensor[(3, 2), float64], %x: Tensor[(2), float64], %k: int32) {
  let %s = nn.log_softmax(sum(%w * %x, axis=[1]), axis=0);
  negative(take(%s, %k, axis=0))
}
""")
    w, x, k = np.arange(6.0).reshape(3, 2) / 5, np.random.default_rng(0).normal(size=(5, 2)), np.array([0, 2, 1, 1, 0], "int32")
    mod["each"] = relay.vmap(relay.value_and_grad("loss", 0, mod), in_axes=(None, 0, 0), mod=mod)
    value, slope = both(mod, w, x, k, entry="each")
    s = x @ w.T
    p = np.exp(s) / np.exp(s).sum(1, keepdims=True)
    np.testing.assert_allclose(value, -np.log(p[np.arange(5), k]))
    np.testing.assert_allclose(slope, (p - np.eye(3)[k])[:, :, None] * x[:, None, :])


def test_axes():
    x, y = relay.var("x", shape=(2, 3), dtype="float64"), relay.var("y", shape=(3,), dtype="float64")
    fn = relay.Function([x, y], relay.Tuple([relay.sum(x * y, axis=[1]), y]))
    a, b = np.random.default_rng(1).normal(size=(2, 5, 3)), np.random.default_rng(2).normal(size=(3, 5))
    mod = relay.IRModule.from_expr(relay.vmap(fn, in_axes=(1, -1), out_axes=(-1, 0)))
    same(both(mod, a, b), [np.einsum("ilj,jl->il", a, b), b.T])
    mod = relay.IRModule.from_expr(relay.vmap(fn, in_axes=(1, None), out_axes=(0, None)))
    same(both(mod, a, b[:, 0]), [np.einsum("ilj,j->li", a, b[:, 0]), b[:, 0]])
    mod = relay.IRModule.from_expr(relay.vmap(fn, in_axes=None, axis_size=2))
    same(both(mod, a[:, 0], b[:, 0]), [np.stack([a[:, 0] @ b[:, 0]] * 2), np.stack([b[:, 0]] * 2)])


def test_tuples_of_parameters():
    mod = relay.parse("def @main(%p: (float64, (Tensor[(2), float64], float64)), %q: float64) { %p.1.0 * %p.0 + %p.1.1 * %q }")
    mod["lanes"] = relay.vmap("main", in_axes=((None, (1, 0)), None), mod=mod)
    vectors = np.arange(6.0).reshape(2, 3)
    (found,) = both(mod, (2.0, (vectors, np.arange(3.0))), 10.0, entry="lanes")
    np.testing.assert_allclose(found, vectors.T * 2 + np.arange(3.0)[:, None] * 10)


def test_nested_is_an_outer_product():
    x, y = relay.var("x", shape=(), dtype="float64"), relay.var("y", shape=(), dtype="float64")
    inner = relay.vmap(relay.Function([x, y], x * relay.exp(y)), in_axes=(None, 0), axis_size=4)
    mod = relay.IRModule.from_expr(relay.vmap(inner, in_axes=(0, None), axis_size=3))
    same(both(mod, X[:3], Y), [np.outer(X[:3], np.exp(Y))])


def test_jvp_of_lanes_and_lanes_of_jvp():
    x = relay.var("x", shape=(3,), dtype="float64")
    fn = relay.Function([x], relay.tanh(x) * relay.sum(x))
    at, to = np.random.default_rng(3).normal(size=(2, 5, 3))
    h = 1 - np.tanh(at) ** 2
    expected = h * to * at.sum(1, keepdims=True) + np.tanh(at) * to.sum(1, keepdims=True)
    same(both(relay.IRModule.from_expr(relay.vmap(relay.jvp(fn), axis_size=5)), at, to)[1:], [expected])
    same(both(relay.IRModule.from_expr(relay.jvp(relay.vmap(fn, axis_size=5))), at, to)[1:], [expected])


def test_lists_of_lanes():
    mod = relay.parse("""
import "prelude.rly"
type Layer { Dense(Tensor[(2, 2), float64]), Tanh }
def @run(%l: List[Layer], %x: Tensor[(2), float64]) -> Tensor[(2), float64] {
  match (%l) { Cons(Dense(%w), %r) => @run(%r, sum(%w * %x, axis=[1])), Cons(Tanh, %r) => @run(%r, tanh(%x)), Nil => %x }
}
def @main(%w: Tensor[(2, 2), float64], %x: Tensor[(2), float64]) { @run(Cons(Dense(%w), Cons(Tanh, Cons(Dense(%w), Nil))), %x) }
""")
    w, x = np.random.default_rng(4).normal(size=(3, 2, 2)), np.random.default_rng(5).normal(size=(3, 2))
    mod["lanes"] = relay.vmap("main", axis_size=3, mod=mod)
    same(both(mod, w, x, entry="lanes"), [np.einsum("lij,lj->li", w, np.tanh(np.einsum("lij,lj->li", w, x)))])
    mod["shared"] = relay.vmap("main", in_axes=(None, 0), axis_size=3, mod=mod)
    same(both(mod, w[0], x, entry="shared"), [np.tanh(x @ w[0].T) @ w[0].T])


def test_loops_end_when_the_last_lane_does():
    mod = relay.parse("""
def @collatz(%n: int64, %steps: int32) -> int32 {
  if (%n == 1i64) { %steps } else if (mod(%n, 2i64) == 0i64) { @collatz(%n / 2i64, %steps + 1) } else { @collatz(%n * 3i64 + 1i64, %steps + 1) }
}
def @main(%n: int64) { @collatz(%n, 0) }
""")
    mod["lanes"] = relay.vmap("main", axis_size=5, mod=mod)
    assert [one.tolist() for one in both(mod, np.array([1, 27, 7, 2, 97]), entry="lanes")] == [[0, 111, 16, 1, 118]]


def test_kernels_of_libraries_run_lane_by_lane():
    x = relay.var("x", shape=(4,), dtype="float64")
    mod = relay.IRModule.from_expr(relay.vmap(relay.Function([x], relay.sort(x)), axis_size=3))
    at = np.random.default_rng(6).normal(size=(3, 4))
    same(both(mod, at), [np.sort(at)])


PICK = """
import "prelude.rly"
def @main(%x: float64) { let %l = if (%x < 0f64) { Nil } else { Cons(%x, Nil) }; match (%l) { Nil => 0f64, Cons(%a, _) => %a } }
"""


@pytest.mark.parametrize(("program", "options", "message"), [
    ("def @main(%x: Tensor[(4), float64]) { argwhere(%x) }", {}, "argwhere has no form for many lanes: it counts"),
    ("def @main(%x: Tensor[(4), float64]) { sort(%x) }", {}, "sort has no form for many lanes: its library kernel runs once"),
    ("def @main(%n: Tensor[(1), int64], %x: float64) { dyn.full(%x, %n, dtype=\"float64\") }", {}, "values of shape, which differ from lane to lane"),
    (PICK, {}, "lanes may take different branches here"),
    ("def @main(%x: float64) { %x }", {"in_axes": 3}, "axis 3 of lanes is outside"),
    ("def @main(%x: float64) { %x }", {"out_axes": None}, "differs from lane to lane"),
    ("def @main(%x: (float64, float64)) { %x.0 }", {"in_axes": ((0, 0, 0),)}, "the axes of parameter x are 3"),
    ("def @main(%x: float64, %f: fn (float64) -> float64) { %f(%x) }", {"in_axes": (0, 2)}, "lanes are the first axis"),
])  # fmt: skip
def test_refusals(program, options, message):
    mod = relay.parse(program)
    with pytest.raises(RelayError, match=message):
        relay.vmap("main", mod=mod, **options)


def test_arguments():
    x = relay.var("x", shape=())
    fn = relay.Function([x], x)
    with pytest.raises(ValueError, match="2 entries for 1 parameter"):
        relay.vmap(fn, in_axes=(0, 0))
    with pytest.raises(ValueError, match="give axis_size"):
        relay.vmap(fn, in_axes=None)
    with pytest.raises(TypeError, match="not str"):
        relay.vmap(fn, in_axes=("0",))
    with pytest.raises(ValueError, match="axis_size"):
        relay.vmap(fn, axis_size=-1)


@pytest.mark.parametrize("name, expected", [("fac", [1, 2, 6]), ("even", [0, 1, 0]), ("odd", [1, 0, 1])])
def test_a_function_that_reaches_itself(name, expected):
    mod = relay.parse("""
def @fac(%n: float32) -> float32 { if (%n < 1f) { 1f } else { %n * @fac(%n - 1f) } }
def @even(%n: float32) -> float32 { if (%n < 1f) { 1f } else { @odd(%n - 1f) } }
def @odd(%n: float32) -> float32 { if (%n < 1f) { 0f } else { @even(%n - 1f) } }
""")
    mod["lanes"] = relay.vmap(name, mod=mod)
    np.testing.assert_array_equal(relay.compile(mod, entry="lanes")(np.array([1, 2, 3], "float32")), expected)
