"""Arguments that are given away: results lie in their memory."""

import copy

import numpy as np
import pytest

import relay
import relay.numpy as rnp

WEIGHTS = "(Tensor[(1000), float32], Tensor[(3, 4), float32])"
FIRST = f"def @main(%n: float32) -> {WEIGHTS} {{ (ones(shape=[1000], dtype=\"float32\") * %n, zeros(shape=[3, 4], dtype=\"float32\") + %n) }}"
STEP = f"def @main(%p: {WEIGHTS}, %g: Tensor[(1000), float32]) {{ (%p.0 - %g * 0.5f, tanh(%p.1)) }}"


def address(array):
    return array.__array_interface__["data"][0]


def test_results_lie_in_donated_memory():
    first, step = relay.compile(relay.parse(FIRST)), relay.compile(relay.parse(STEP), donate="p")
    kept = relay.compile(relay.parse(STEP))
    weights, slope = first(np.float32(2)), np.arange(1000, dtype="float32")
    for _ in range(5):
        wanted, places = kept(weights, slope), [address(part) for part in weights]
        weights = step(weights, slope)
        assert [address(part) for part in weights] == places
        for part, expected in zip(weights, wanted):
            np.testing.assert_array_equal(part, expected)


# Steps of one kernel that makes several results, each over an argument; the second one reads both arguments after the first result is known.
LINE = "Tensor[(5003), float32]"
ADAM = f"""
def @main(%s: ({LINE}, {LINE}, {LINE}), %g: {LINE}) {{
  let %m = %s.1 * 0.9f + %g * 0.1f;
  let %v = %s.2 * 0.99f + %g * %g * 0.01f;
  (%s.0 - %m / (sqrt(%v) + 0.1f), %m, %v)
}}"""
CROSSED = f"def @main(%s: ({LINE}, {LINE}), %g: {LINE}) {{ (%s.0 + %s.1 * %g, %s.0 * %s.1 - %g) }}"
SWAPPED = f"def @main(%s: ({LINE}, {LINE}, {LINE}), %g: {LINE}) {{ (%s.2 * %g, %s.0 + %g, %s.1 - %s.0 * %g) }}"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("text, parts, least", [(ADAM, 3, 3), (CROSSED, 2, 1), (SWAPPED, 3, 1)])
def test_several_results_of_one_kernel(text, parts, least, threads):
    make = ", ".join(f'cos(arange(0f, 5003f, 1f, dtype="float32") * {k + 1}f + %n)' for k in range(parts))
    make = relay.compile(relay.parse(f"def @main(%n: float32) {{ ({make}) }}"))
    kept, step = (relay.compile(relay.parse(text), threads=threads, donate=donate) for donate in ((), "s"))
    state, slope = make(np.float32(1)), np.sin(np.arange(5003, dtype="float32"))
    for _ in range(4):
        wanted, places = kept(state, slope), {address(part) for part in state}
        state = step(state, slope)
        assert len({address(part) for part in state} & places) >= least
        for part, expected in zip(state, wanted):
            np.testing.assert_array_equal(part, expected)


STATE = "Tensor[(64, 8), float32]"
LOOP = f"""
def @layer(%cache: ({STATE}, {STATE}), %i: int32, %x: Tensor[(1, 8), float32]) -> (Tensor[(1, 8), float32], ({STATE}, {STATE})) {{
  let %keys = scatter_nd(%cache.0, reshape(%i, newshape=[1, 1]), %x, mode="update");
  let %values = scatter_nd(%cache.1, reshape(%i, newshape=[1, 1]), %x * 2f, mode="update");
  (sum(%keys, axis=[0], keepdims=True) * 0.5f + sum(%values, axis=[0], keepdims=True) * 0.25f, (%keys, %values))
}}
def @step(%caches: (({STATE}, {STATE}), ({STATE}, {STATE})), %i: int32, %x: Tensor[(1, 8), float32]) {{
  let %a = @layer(%caches.0, %i, %x);
  let %b = @layer(%caches.1, %i, %a.0);
  (%b.0, (%a.1, %b.1))
}}
def @main(%caches: (({STATE}, {STATE}), ({STATE}, {STATE})), %i: int32, %n: int32, %x: Tensor[(1, 8), float32])
    -> (Tensor[(1, 8), float32], (({STATE}, {STATE}), ({STATE}, {STATE}))) {{
  if (%i < %n) {{
    let %r = @step(%caches, %i, %x);
    @main(%r.1, %i + 1, %n, %r.0)
  }} else {{ (%x, %caches) }}
}}
"""


def test_a_loop_over_nested_tuples_writes_in_place():
    mod = relay.parse(LOOP)
    run, x = relay.compile(mod, donate="caches"), np.ones((1, 8), "float32")
    caches = tuple((np.zeros((64, 8), "float32"), np.zeros((64, 8), "float32")) for _ in range(2))
    expected = relay.evaluate(mod, caches, 0, 6, x)
    y, caches = run(caches, 0, 3, x)

    def places():
        return sorted(address(part) for pair in caches for part in pair)

    # A step that copied a cache would leave it elsewhere: the old one lives until the new one is there.
    before = places()
    y, caches = run(caches, 3, 6, y)
    assert places() == before
    np.testing.assert_allclose(y, expected[0], rtol=1e-6)
    for ours, theirs in zip(caches, expected[1]):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_arrays_that_a_caller_made_are_left_alone():
    step = relay.compile(relay.parse(STEP), donate=[0, "g"])
    weights, slope = (np.ones(1000, "float32"), np.ones((3, 4), "float32")), np.full(1000, 2, "float32")
    step(weights, slope)
    assert (weights[0] == 1).all() and (weights[1] == 1).all() and (slope == 2).all()


def test_parts_of_results_are_left_alone():
    run = relay.compile(relay.parse("def @main(%x: Tensor[(3), float32]) { %x * 2f }"), donate=0)
    whole = relay.compile(relay.parse("def @main(%x: Tensor[(6), float32]) { %x + 1f }"))(np.zeros(6, "float32"))
    run(whole[:3])
    assert (whole == 1).all()


def test_old_names_of_donated_memory_stay_readable():
    first, step = relay.compile(relay.parse(FIRST)), relay.compile(relay.parse(STEP), donate="p")
    weights = first(np.float32(1))
    views = [part[1:] for part in weights]
    for _ in range(3):
        weights = step(weights, np.zeros(1000, "float32"))
    del weights
    assert np.isfinite(views[0]).all() and np.isfinite(views[1]).all()


def test_memory_that_two_arguments_share_is_not_donated():
    run = relay.compile(relay.parse("def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { %x * 2f + %y }"), donate="x")
    x = relay.compile(relay.parse("def @main(%n: float32) { ones(shape=[3], dtype=\"float32\") * %n }"))(np.float32(1))
    with pytest.raises(ValueError, match="two arguments share memory"):
        run(x, x)
    np.testing.assert_array_equal(run(x, x.copy()), [3, 3, 3])


@pytest.mark.parametrize("donate, message", [("q", "no parameter q"), (2, "no parameter at position 2"), (-1, "position -1"), ([None], "names and positions")])
def test_what_is_donated_exists(donate, message):
    with pytest.raises((ValueError, TypeError), match=message):
        relay.compile(relay.parse(STEP), donate=donate)


def test_cells_of_the_caller_keep_no_array_of_it():
    mod = relay.parse(
        """
        def @make(%y: Tensor[(64), float32]) { ref(%y) }
        def @set(%r: ref(Tensor[(64), float32]), %y: Tensor[(64), float32]) { ref_write(%r, %y) }
        def @get(%r: ref(Tensor[(64), float32])) { ref_read(%r) }
        def @grow(%r: ref(Tensor[(64), float32]), %y: Tensor[(64), float32]) { let %o = %y * 2f; ref_write(%r, ref_read(%r) + %o); () }
        """
    )
    make, keep, get, grow = (relay.compile(mod, entry=name, donate=["y"] if name == "grow" else ()) for name in ("make", "set", "get", "grow"))
    y = np.full(64, 2, "float32")
    cell = make(np.zeros(64, "float32"))
    keep(cell, y)
    y[:] = 7
    assert np.all(get(cell) == 2)
    y[:] = 2
    grow(cell, y)
    assert np.all(get(cell) == 6)


def test_an_array_that_was_given_away_says_so():
    first, step = relay.compile(relay.parse(FIRST)), relay.compile(relay.parse(STEP), donate="p")
    slope, old = np.zeros(1000, "float32"), first(np.float32(2))
    new = step(old, slope)
    message = "given away in a call of @main, as %p, which is donated: use what the call gave, or a copy from before it"
    for use in (lambda: old[0] + 1, lambda: old[0] @ slope, lambda: old[1].mean(), lambda: slope - old[0]):
        with pytest.raises(TypeError, match=message):
            use()
    for use in (lambda: float(old[1][0, 0]), lambda: np.asarray(old[1], "float64"), lambda: np.tanh(old[0])):
        with pytest.raises((TypeError, ValueError)):
            use()
    for call in (step, relay.compile(relay.parse(STEP))):
        with pytest.raises(TypeError, match=f"argument 1 of @main, %p.* ndarray: {message}"):
            call(old, slope)
    assert (new[0] == 2).all() and message in repr(old[0])


def test_a_call_that_is_refused_takes_nothing():
    first, step = relay.compile(relay.parse(FIRST)), relay.compile(relay.parse(STEP), donate="p")
    weights = first(np.float32(2))
    for wrong in [(weights, "text"), (weights,), (weights, np.zeros(3), 1)]:
        with pytest.raises(TypeError):
            step(*wrong)
    for slope in [np.zeros(3, "float32"), np.zeros((1000, 1), "float32"), np.zeros(1000, "int32")]:
        with pytest.raises((TypeError, relay.RelayError)):
            step(weights, slope)
        with pytest.raises((TypeError, relay.RelayError)):
            step(p=weights, g=slope)
    assert (weights[0] == 2).all() and (step(weights, np.zeros(1000, "float32"))[0] == 2).all()


def test_memory_that_others_read_is_not_taken():
    first = relay.compile(relay.parse('def @main(%n: float32) { ones(shape=[1000], dtype="float32") * %n }'))
    step = relay.compile(relay.parse("def @main(%p: Tensor[(1000), float32]) { %p + 100f }"), donate="p")
    x = first(np.float32(1))
    reader = relay.NDArray(x[2:])  # as the argument of a call that another thread makes
    assert (step(x) == 101).all()
    assert (x == 1).all() and (np.asarray(reader) == 1).all()
    del reader
    assert (step(x) == 101).all()
    with pytest.raises((TypeError, RuntimeError), match="given away"):
        step(x)


def test_donated_arrays_of_functions_of_python():
    @relay.function(donate_argnums=0)
    def improve(p, by):
        return {name: value - by for name, value in p.items()}

    start = {"w": rnp.zeros((4,)), "b": rnp.asarray(3)}
    made = relay.function(lambda p: {"w": p["w"] + 1, "n": p["b"] + 0, "b": p["w"].sum() + 2.5})(start)
    last = improve(made, 1.0)
    assert last["w"].tolist() == [0] * 4 and start["w"].tolist() == [0] * 4
    message = r"this array was given away in a call of improve, as %p__{}, which is donated"
    w, b, n = made["w"], made["b"], made["n"]
    for use in (lambda: np.asarray(w), w.tolist, w.numpy, lambda: str(w), lambda: repr(w), lambda: f"{w}", w.__dlpack__,
                lambda: copy.deepcopy(w)):  # fmt: skip
        with pytest.raises(RuntimeError, match=message.format("w")):
            use()
    for use in (lambda: float(b), b.item, lambda: bool(b)):
        with pytest.raises(RuntimeError, match=message.format("b")):
            use()
    with pytest.raises(RuntimeError, match=message.format("n")):
        range(n)
    for use in (lambda: w + 1, lambda: np.sin(w), lambda: relay.grad(lambda v: v.sum())(w), lambda: improve(made, 1.0), lambda: relay.function(lambda v: v)(w)):
        with pytest.raises(TypeError, match="given away in a call of improve, as %p__"):
            use()
    assert w.shape == (4,) and w.dtype == "float32"
