"""`relay.function`: control flow, gradients, many examples at once, random numbers."""

import functools

import numpy as np
import pytest

import relay
import relay.numpy as rnp


def values(tree):
    return relay.functions.map_tree(lambda one: np.asarray(one).tolist(), tree)


# Control flow


def test_cond_switch_and_loops():
    def f(x, n):
        a = relay.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x)
        b = relay.switch(n, [lambda: 10.0, lambda: 20.0, lambda: 30.0])
        c = relay.fori_loop(0, n, lambda i, v: v + i, x)
        d = relay.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, x))
        e = relay.scan(lambda carry, row: (carry + row, carry * row), 0.0, x)
        g = relay.functions.map(lambda row: row * row, x)
        return a, b, c, d, e, g

    compiled = relay.function(f)
    for x in ([1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]):
        for n in (0, 1, 5):
            found, expected = values(compiled(rnp.asarray(x), n)), values(f(rnp.asarray(x), n))
            assert found == expected
            assert found[1] == [10, 20, 30][min(n, 2)] and found[3][0] == max(n, 0) and found[5] == [one * one for one in x]
            assert found[4] == (sum(x), [0.0, x[0] * x[1], (x[0] + x[1]) * x[2]])


def test_scan_with_trees_lengths_and_in_reverse():
    xs = {"a": rnp.asarray([1.0, 2.0, 3.0]), "b": rnp.asarray([[1], [2], [3]])}
    carry, ys = relay.scan(lambda c, x: ((c[0] + x["a"], c[1]), {"sum": c[0], "b": x["b"] * 2}), (0, 5), xs, reverse=True)
    assert values(carry) == (6, 5) and values(ys) == {"sum": [5, 3, 0], "b": [[2], [4], [6]]}
    assert values(relay.scan(lambda c, _: (c * 2, c), 1, None, length=4)) == (16, [1, 2, 4, 8])
    with pytest.raises(ValueError, match="needs xs or a length"):
        relay.scan(lambda c, x: (c, x), 0)
    with pytest.raises(ValueError, match="3 and 2 elements"):
        relay.scan(lambda c, x: (c, x), 0, (rnp.ones((3,)), rnp.ones((2,))))


def test_statements_of_python_become_control_flow():
    @relay.function
    def f(x, n):
        if x.sum() > 3 and n > 0:
            y, label = x * 2, "big"
        elif not x[0] < 0:
            y, label = x - 1, "big"
        else:
            y, label = -x, "big"
        total = 0.0
        for row in y:
            total += row * row
        i = 0
        while i < n and total < 1e6:
            total = total * 1.5
            i += 1
        for k in range(n):
            total = total + k
        sign = 1 if total > 100 else -1
        return y, total, i, sign, 0 < x[0] < 2, label

    def reference(x, n):
        y = x * 2 if x.sum() > 3 and n > 0 else x - 1 if not x[0] < 0 else -x
        total, i = float((y * y).sum()), 0
        while i < n and total < 1e6:
            total, i = total * 1.5, i + 1
        total += sum(range(n))
        return y, total, i, 1 if total > 100 else -1, bool(0 < x[0] < 2), "big"

    for x in ([1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [-1.0, 0.0, 0.0]):
        for n in (0, 3, 100):
            found, expected = f(np.array(x, "float32"), n), reference(np.array(x), n)
            for one, other in zip(found, expected):
                np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5) if not isinstance(one, str) else None
            assert found[5] == "big"
    assert f.programs == 1


def test_a_branch_may_return():
    @relay.function
    def f(x):
        if x > 10:
            return x
        y = x * 2
        if y > 4:
            return y
        return y - 1

    assert [f(float(x)).item() for x in (20, 3, 1)] == [20, 6, 1] and f.programs == 1


def test_python_decides_what_it_can():
    @relay.function
    def f(x, layers=(1, 2), flag=None):
        for i, layer in enumerate(layers):
            if flag is not None and i == 0:
                continue
            x = x * layer
        while len(x.shape) < 3:
            x = x[None]
        return x

    assert f(rnp.ones((2,))).shape == (1, 1, 2) and f(rnp.ones((2,))).tolist() == [[[2, 2]]]


def test_break_and_continue():
    def newton(x):
        turns = 0
        while True:
            step = (x * x - 2) / (2 * x)
            x = x - step
            turns += 1
            if abs(step) < 1e-4:
                break
            if turns >= 50:
                break
        return x, turns

    x, turns = relay.function(newton)(5.0)
    assert abs(x.item() - 2**0.5) < 1e-5 and turns.item() == newton(5.0)[1]

    def odd(x, n):
        total, i = 0, -1
        for i in range(n):
            if i % 2 == 0:
                continue
            for k in range(3):
                if k > i:
                    break
                total = total + k
            if total > x:
                break
            total = total + i
        return total, i

    traced = relay.function(odd)
    for x in (5, 1000):
        for n in (1, 4, 20):
            assert values(traced(x, n)) == odd(x, n)
            # A range of Python, left by a traced number.
            assert values(relay.function(odd, static_argnums=1)(x, n)) == odd(x, n)
    assert traced.programs == 1

    @relay.function
    def first_negative(xs):
        place = -1
        for x in xs:
            place += 1
            if x < 0:
                break
        else_ = place
        return else_

    assert [first_negative(rnp.asarray(row)).item() for row in ([1.0, -1.0, 2.0, -3.0], [-1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0])] == [1, 0, 3]

    @relay.function
    def plain(x, names=("a", "b", "c")):
        seen = []
        for name in names:
            if name == "b":
                continue
            seen.append(name)
            if name == "c":
                break
        return x, "".join(seen)

    assert plain(1.0)[1] == "ac"


def test_functions_inside_of_functions_have_control_flow_too():
    @relay.function
    def f(x):
        def step(v):
            if v > 0:
                return v - 1
            return v

        limit = rnp.asarray(0.5)
        return relay.while_loop(lambda v: v > limit, step, x)

    assert f(3.2).item() == pytest.approx(0.2, abs=1e-5)


SCALE = 2.0


def test_globals_and_closures_stay_what_they_are():
    global SCALE
    shift = 1.0

    def f(x):
        if x > 0:
            x = x * SCALE + shift
        return x

    assert relay.function(f)(2.0).item() == 5
    shift, SCALE = 2.0, 3.0
    assert relay.function(f)(2.0).item() == 8
    SCALE = 2.0


def test_carried_dtypes_widen():
    f = relay.function(lambda x: relay.fori_loop(0, 3, lambda i, total: total + x, 0))
    assert f(rnp.asarray([1.5, 2.0])[0]).dtype == "float32" and f(rnp.asarray(1.5)).item() == 4.5
    with pytest.raises(relay.TraceError, match="is int32 before a turn of a loop and float32 after it"):
        relay.fori_loop(0, 3, lambda i, total: total + 0.5, rnp.asarray(1))


def test_integers_beyond_the_dtype_of_numbers_are_no_results():
    same = relay.function(lambda v: v)
    assert same(2**31 - 1).item() == 2**31 - 1 and same(2**31 - 1).dtype == "int32" and relay.function(lambda v: v % 1000)(2**40).item() == 2**40 % 1000
    for value in (2**31, -(2**31) - 1, 2**40):
        with pytest.raises(OverflowError, match=f"^a result is {value}, and no int32, which results that come from numbers of Python alone are"):
            same(value)
    assert (relay.function(lambda x, v: x + v)(rnp.asarray([1], dtype="int64"), 2**40)).tolist() == [2**40 + 1]


# Gradients


def test_gradients_of_python_functions():
    f = lambda x: (x**3).sum()  # noqa: E731
    x = rnp.asarray([1.0, 2.0, 3.0])
    assert relay.grad(f)(x).tolist() == [3, 12, 27]
    value, slope = relay.value_and_grad(f)(x)
    assert value.item() == 36 and slope.tolist() == [3, 12, 27]
    assert relay.grad(relay.grad(lambda v: v**3))(2.0).item() == 12 and np.asarray(relay.hessian(f)(x)).tolist() == np.diag([6, 12, 18]).tolist()
    assert values(relay.jvp(lambda a, b: a * b, (x, x), (rnp.ones((3,)), rnp.zeros((3,))))) == ([1, 4, 9], [1, 2, 3])
    out, pull = relay.vjp(lambda a, b: {"p": a * b}, x, x)
    assert values(out) == {"p": [1, 4, 9]} and values(pull({"p": rnp.ones((3,))})) == ([1, 2, 3], [1, 2, 3])
    assert np.asarray(relay.jacobian(lambda v: v * v[0])(x)).tolist() == [[2, 0, 0], [2, 1, 0], [3, 0, 1]]
    assert np.asarray(relay.jacfwd(lambda v: v * v[0])(x)).tolist() == [[2, 0, 0], [2, 1, 0], [3, 0, 1]]
    step = relay.function(lambda w, x: w - 0.1 * relay.grad(lambda w: ((w * x) ** 2).sum())(w))
    assert step(x, x).tolist() == pytest.approx([0.8, 0.4, -2.4])


def test_gradients_of_trees_of_several_arguments_and_with_more_results():
    def loss(params, x, y):
        error = x @ params["w"] + params["b"] - y
        return (error**2).mean(), {"error": error}

    params = {"w": rnp.ones((2,)), "b": rnp.asarray(0.0)}
    x, y = rnp.asarray([[1.0, 2.0], [3.0, 4.0]]), rnp.asarray([1.0, 1.0])
    slopes, more = relay.grad(loss, has_aux=True)(params, x, y)
    assert values(slopes) == {"b": 8, "w": [20, 28]} and values(more) == {"error": [2, 6]}
    (value, more), slopes = relay.value_and_grad(loss, argnums=(0, 1), has_aux=True)(params, x, y)
    assert value.item() == 20 and values(slopes[1]) == [[2, 2], [6, 6]]


def test_gradients_through_control_flow():
    def f(x):
        if x.sum() > 0:
            y = x * x
        else:
            y = x * 3
        for _ in range(3):
            y = y * 2
        i = 0
        while y.sum() < 1000:
            y = y * 2
            i += 1
        return y.sum()

    assert relay.grad(f)(rnp.asarray([1.0, 2.0])).tolist() == [512, 1024]
    assert relay.grad(lambda x: relay.scan(lambda c, a: (c * a, c), 1.0, x)[0])(rnp.asarray([1.0, 2.0, 3.0])).tolist() == [6, 3, 2]
    assert relay.grad(lambda x: (relay.functions.stop_gradient(x) * x).sum())(rnp.asarray([3.0])).tolist() == [3]
    # Where one arm has no derivative, the other one's is the result.
    assert relay.grad(lambda x: rnp.log1p(x))(0.0).item() == 1 and relay.grad(lambda x: rnp.expm1(x))(0.0).item() == 1


def test_what_has_no_gradient_is_refused():
    x = rnp.asarray([1.0, 2.0])
    with pytest.raises(TypeError, match=r"this one gives an array of float32\[2\]"):
        relay.grad(lambda v: v)(x)
    with pytest.raises(TypeError, match="argument 1 is one of int32"):
        relay.grad(lambda v: v.sum() * 1.0)(rnp.asarray([1, 2]))
    with pytest.raises(TypeError, match="argument 1 is a number that is no float: choose others"):
        relay.grad(lambda v: v * 1.0)(3)
    with pytest.raises(TypeError, match="has_aux=True"):
        relay.grad(lambda v: (v.sum(), v))(x)
    with pytest.raises(ValueError, match="no argument at 2"):
        relay.grad(lambda v: v.sum(), argnums=2)(x)


def test_directions_and_gradients_have_the_types_of_what_they_stand_beside():
    x, pair = rnp.ones((3,)), {"a": rnp.ones((3,)), "b": rnp.ones((2,))}
    square = lambda v: v * v  # noqa: E731
    product = lambda p: p["a"].sum() * p["b"]  # noqa: E731
    for other, text in [(rnp.ones((2,)), r"float32\[2\]"), (rnp.ones((1,)), r"float32\[1\]"), (rnp.ones((2, 3)), r"float32\[2, 3\]"),
                        (np.ones(3), r"float64\[3\]"), (x.astype("int32"), r"int32\[3\]"), (1.0, r"float64\[\]")]:  # fmt: skip
        with pytest.raises(TypeError, match=r"^argument 1 is float32\[3\], and its direction " + text):
            relay.jvp(square, (x,), (other,))
        with pytest.raises(TypeError, match=r"^the result is float32\[3\], and its gradient " + text):
            relay.vjp(square, x)[1](other)
    with pytest.raises(TypeError, match=r"^argument 1\['b'\] is float32\[2\], and its direction float32\[3\]$"):
        relay.jvp(product, (pair,), ({"a": x, "b": x},))
    with pytest.raises(TypeError, match="^the directions have another form than the arguments$"):
        relay.jvp(product, (pair,), ({"a": x},))
    with pytest.raises(TypeError, match="^the gradient of the result has another form than the result$"):
        relay.vjp(square, x)[1]((x,))
    # A number of Python has the dtype of what it stands beside.
    assert values(relay.jvp(square, (rnp.asarray(3.0, dtype="float32"),), (1,))) == (9, 6)
    assert values(relay.vjp(lambda v: v.sum(), x)[1](2)) == ([2, 2, 2],)


@pytest.mark.parametrize("argnums, kind, text", [
    ("x", TypeError, "argnums is an integer, not 'x'"), (True, TypeError, "argnums is an integer, not True"),
    ((0, 1.5), TypeError, "argnums is an integer, not 1.5"), ((), ValueError, r"argnums names one argument or several, each once, not \(\)"),
    ([0, -2], ValueError, r"argnums names one argument or several, each once, not \[0, -2\]"),
    (2, ValueError, "argnums: there is no argument at 2 among 2"),
])  # fmt: skip
def test_argnums_that_name_no_arguments_are_refused(argnums, kind, text):
    with pytest.raises(kind, match=f"^{text}$"):
        relay.grad(lambda x, y: x * y, argnums=argnums)(1.0, 2.0)
    with pytest.raises(kind, match=f"^{text}$"):
        relay.jacobian(lambda x, y: x * y, argnums=argnums)(1.0, 2.0)


def test_jacobians_of_several_arguments_results_and_loops():
    w, x = rnp.asarray([[1.0, 2.0], [0.5, 1.0]]), rnp.asarray([3.0, -1.0])
    for jacobian in (relay.jacrev, relay.jacfwd):
        by_w, by_x = jacobian(lambda w, x: w @ x, (0, 1))(w, x)
        assert by_w.tolist() == [[[3, -1], [0, 0]], [[0, 0], [3, -1]]] and by_x.tolist() == w.tolist()

    def grown(v):
        while v.sum() < 100:  # lanes of one loop would end at different times
            v = v * v[0] + 1
        return v

    assert relay.jacfwd(grown)(x).tolist() == relay.jacrev(grown)(x).tolist()
    assert values(relay.jacfwd(lambda v: {"all": v * 2, "sum": v.sum()})(x)) == {"all": [[2, 0], [0, 2]], "sum": [1, 1]}
    assert relay.jacfwd(lambda a: a * a)(3.0).item() == 6
    with pytest.raises(TypeError, match=r"argument 2 is of int32\[2\]: choose another with argnums, or use astype"):
        relay.jacfwd(lambda a, b: a * b, 1)(x, rnp.asarray([1, 2]))


def test_forms_that_take_arguments_say_so():
    for call in (lambda: relay.vjp(lambda x: x), lambda: relay.vjp(lambda x: x)(1.0, 1.0)):
        with pytest.raises(TypeError, match=r"value, pull = relay.vjp\(fn, x\)"):
            call()
    for call in (lambda: relay.jvp(lambda x: x), lambda: relay.jvp(lambda x: x, 1.0, 1.0), lambda: relay.jvp(lambda x: x, (1.0,))):
        with pytest.raises(TypeError, match=r"value, slope = relay.jvp\(fn, \(x,\), \(dx,\)\)"):
            call()
    with pytest.raises(TypeError, match="argnums is for functions of programs"):
        relay.jvp(lambda x: x, (1.0,), (1.0,), argnums=0)


# Many examples at once


def test_vmap_of_python_functions():
    vmap = relay.functions.vmap
    x = rnp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert vmap(lambda row: row.sum())(x).tolist() == [3, 7, 11] and vmap(rnp.sum, in_axes=1)(x).tolist() == [9, 12]
    assert vmap(lambda row, s: row * s, in_axes=(0, None))(x, 2.0).tolist() == (x * 2).tolist()
    assert vmap(lambda row, s: {"a": row * s["s"]}, in_axes=(0, {"s": 0}), out_axes=1)(x, {"s": rnp.asarray([1.0, 2.0, 3.0])})["a"].tolist() == [[1, 6, 15], [2, 8, 18]]
    assert vmap(vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))(x[:, 0], x[:, 1]).tolist() == np.outer([1, 3, 5], [2, 4, 6]).tolist()
    w = rnp.asarray([1.0, 1.0])
    each = vmap(relay.grad(lambda w, row: ((w * row) ** 2).sum()), in_axes=(None, 0))(w, x)
    assert each.tolist() == (2 * np.asarray(x) ** 2).tolist()
    assert relay.grad(lambda w: vmap(lambda row: (w * row).sum() ** 2)(x).sum())(w).tolist() == [2 * (3 * 1 + 7 * 3 + 11 * 5), 2 * (3 * 2 + 7 * 4 + 11 * 6)]

    @relay.function
    def halvings(n):
        def one(n):
            count = 0
            while n > 1:
                n = n // 2
                count += 1
            return count

        return vmap(one)(n)

    assert halvings(rnp.asarray([1, 8, 9, 1000])).tolist() == [0, 3, 3, 9]
    with pytest.raises(ValueError, match="3 and 2 lanes"):
        vmap(lambda a, b: a)(x, w)
    with pytest.raises(ValueError, match="axis 0, which an array of float32"):
        vmap(lambda a, b: a)(x, rnp.asarray(1.0))
    with pytest.raises(ValueError, match="no argument an axis"):
        vmap(lambda a: a, in_axes=None)(x)


# Random numbers


def test_random_numbers_by_keys():
    key = relay.random.key(7)
    one, two = relay.random.split(key)
    assert relay.random.uniform(one, (4,)).tolist() == relay.random.uniform(one, (4,)).tolist() != relay.random.uniform(two, (4,)).tolist()
    assert len({tuple(row) for row in relay.random.split(key, 5).tolist()}) == 5

    @relay.function
    def draw(key):
        a, b, c, d = relay.random.split(key, 4)
        return (relay.random.normal(a, (20000,)), relay.random.uniform(b, (20000,), minval=2.0, maxval=4.0), relay.random.randint(c, (20000,), -2, 3),
                relay.random.bernoulli(d, 0.25, (20000,)))  # fmt: skip

    normal, uniform, integers, coins = map(np.asarray, draw(key))
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.03 and 2 <= uniform.min() < uniform.max() < 4 and abs(uniform.mean() - 3) < 0.02
    assert set(integers.tolist()) == {-2, -1, 0, 1, 2} and abs(coins.mean() - 0.25) < 0.02
    assert sorted(relay.random.permutation(one, 9).tolist()) == list(range(9)) and sorted(relay.random.choice(one, 5, (5,), replace=False).tolist()) == list(range(5))
    weighted = relay.random.choice(one, rnp.asarray([10, 20, 30]), (500,), p=rnp.asarray([0.0, 0.9, 0.1])).tolist()
    assert set(weighted) == {20, 30} and weighted.count(20) > 400
    drawn = relay.random.categorical(one, rnp.asarray([[0.0, 50.0], [50.0, 0.0]]))
    assert drawn.tolist() == [1, 0] and relay.random.fold_in(key, 1).tolist() != relay.random.fold_in(key, 2).tolist()
    with pytest.raises(TypeError, match="a key of relay.random.key"):
        relay.random.normal(rnp.ones((3,)), (2,))


def test_decorators_of_other_people_stay():
    def doubled(fn):
        @functools.wraps(fn)
        def call(*args, **kwargs):
            return 2 * fn(*args, **kwargs)

        return call

    @relay.function
    @doubled
    def scaled(x, *, up: bool = False):
        if up:
            x = x * 10
        return x + 1

    assert float(scaled(rnp.asarray(2.0))) == 6
    # A function of relay.numpy with branches and arguments by name alone.
    assert relay.function(rnp.linalg.cholesky)(rnp.asarray([[4.0]])).shape == (1, 1)


def test_gradients_that_use_references_by_several_arguments():
    def run(x, y):
        return relay.vmap(lambda a, b: relay.while_loop(lambda s: s < 100.0, lambda s: s * 1.5, a * b))(x, y).sum()

    at = relay.numpy.asarray([1.0, 2.0, 50.0])
    both = relay.grad(run, (0, 1))(at, at)
    for place in (0, 1):
        np.testing.assert_array_equal(both[place], relay.grad(run, place)(at, at))
    value, named = relay.value_and_grad(lambda p: run(p["a"], p["b"]))({"a": at, "b": at})
    np.testing.assert_array_equal(value, run(at, at))
    np.testing.assert_array_equal(named["b"], both[1])
    # In a branch, and in a loop, whose other rounds do not need them.
    chosen = relay.function(lambda c, x, y: relay.cond(c, lambda: relay.grad(run, (0, 1))(x, y), lambda: (x, y)))
    for condition, expected in ((True, both), (False, (at, at))):
        for got, want in zip(chosen(relay.numpy.asarray(condition), at, at), expected):
            np.testing.assert_array_equal(got, want)

    @relay.function
    def descent(x, y):
        def turn(i, state):
            slope = relay.grad(run, (0, 1))(*state)
            return state[0] - 0.001 * slope[0], state[1] - 0.001 * slope[1]

        return relay.fori_loop(0, 3, turn, (x, y))

    x = y = at
    for _ in range(3):
        slope = relay.grad(run, (0, 1))(x, y)
        x, y = x - 0.001 * slope[0], y - 0.001 * slope[1]
    for got, want in zip(descent(at, at), (x, y)):
        np.testing.assert_allclose(got, want, rtol=1e-6)
