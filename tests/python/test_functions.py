"""`relay.function`: tracing, signatures, trees, named extents, errors."""

import collections
import copy
import dataclasses
import pickle
import threading
import traceback

import numpy as np
import pytest

import relay
import relay.numpy as rnp

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    w: object
    b: object


def values(tree):
    return relay.functions.map_tree(lambda one: np.asarray(one).tolist(), tree)


def lines_of(error):
    return [frame.line for frame in traceback.extract_tb(error.value.__traceback__) if frame.filename == __file__]


# Signatures


def test_a_function_is_traced_once_for_a_signature():
    calls = []

    @relay.function
    def f(x, y):
        calls.append(x.shape)
        return x + y

    x = rnp.ones((3,))
    assert f(x, 1.0).tolist() == f(np.ones(3, "float32"), 1.0).tolist() == [2, 2, 2] and f(x, 5.0).tolist() == [6, 6, 6]
    assert calls == [(3,)] and f.programs == 1
    f(rnp.ones((4,)), 1.0)
    f(x.astype("float64"), 1.0)
    f(x, x)
    assert calls == [(3,), (4,), (3,), (3,)] and f.programs == 4
    f.clear()
    assert f.programs == 0 and f(x, 1.0).tolist() == [2, 2, 2]


def test_the_number_of_programs_is_bounded():
    f = relay.function(lambda x: x + 1, max_programs=3)
    for n in range(1, 8):
        for _ in range(2):
            assert f(rnp.zeros((n,))).shape == (n,)
    assert f.programs == 3 and f(rnp.zeros((1,))).tolist() == [1]


def test_numbers_are_weak_and_traced():
    f = relay.function(lambda x, r: x * r)
    for dtype in ("float16", "float32", "float64"):
        assert f(rnp.ones((2,), dtype=dtype), 0.1).dtype == dtype
    assert f(rnp.ones((), dtype="float64"), 0.1).item() == 0.1
    assert f(2, 3).item() == 6 and f(2, 3).dtype == "int32" and f(2, 1.5).dtype == "float32" and f(True, 2).item() == 2


def test_trees_go_in_and_out():
    @relay.function
    def f(layer, points, named, nothing):
        return {"layer": Layer(layer.w * 2, layer.b), "points": [one + 1 for one in points], "named": Point(named.y, named.x), "nothing": nothing, "n": 3}

    out = f(Layer(rnp.ones((2,)), 1.0), [rnp.zeros(()), np.float32(2)], Point(1, 2.5), None)
    assert isinstance(out["layer"], Layer) and isinstance(out["named"], Point) and out["nothing"] is None and out["n"].item() == 3
    assert values(out["points"]) == [1, 3] and values(out["named"]) == Point(2.5, 1) and out["layer"].w.tolist() == [2, 2]
    f(Layer(rnp.ones((2,)), 1.0), [rnp.zeros(())], Point(1, 2.5), None)
    assert f.programs == 2


def test_a_class_of_ones_own_is_a_tree():
    class Box:
        def __init__(self, held, label):
            self.held, self.label = held, label

    relay.functions.register(Box, lambda box: ((box.held,), box.label), lambda label, held: Box(held[0], label))
    out = relay.function(lambda box: Box(box.held + 1, box.label + "!"))(Box(rnp.zeros((2,)), "a"))
    assert out.label == "a!" and out.held.tolist() == [1, 1]


def test_defaults_and_keywords():
    @relay.function
    def f(x, scale=2.0, *, shift=0):
        return x * scale + shift

    x = rnp.ones((2,))
    assert f(x).tolist() == [2, 2] and f(x, shift=1).tolist() == [3, 3] and f(x, scale=3.0).tolist() == f(scale=3.0, x=x).tolist() == [3, 3]


def test_static_arguments():
    @relay.function(static_argnames=["n", "mode"])
    def f(x, n, mode="sum"):
        return x.reshape(n, -1).sum() if mode == "sum" else x.reshape(n, -1).max()

    x = rnp.arange(6)
    assert f(x, 2).item() == 15 and f(x, 3, mode="max").item() == 5 and f(x, n=3, mode="max").item() == 5
    g = relay.function(lambda n, x: rnp.zeros((n,)) + x, static_argnums=0)
    assert g(3, 1.0).shape == (3,) and g(4, 1.0).shape == (4,) and g.programs == 2
    with pytest.raises(TypeError, match="hashable"):
        g([3], 1.0)
    with pytest.raises(ValueError, match="no parameter m"):
        relay.function(lambda n: n, static_argnames="m")
    with pytest.raises(ValueError, match="no parameter at 3"):
        relay.function(lambda n: n, static_argnums=3)


def test_texts_and_functions_are_static_by_themselves():
    f = relay.function(lambda x, name, fn: fn(getattr(rnp, name)(x)))
    assert f(rnp.asarray([1.0, -2.0]), "abs", rnp.sum).item() == 3
    with pytest.raises(TypeError, match="static_argnames") as error:
        f(object(), "abs", rnp.sum)
    assert str(error.value).startswith("x of <lambda> is a object")


def test_arrays_from_outside_are_constants():
    w = rnp.asarray([1.0, 2.0])
    f = relay.function(lambda x: x * w + np.asarray([1.0, 1.0], "float32"))
    assert f(rnp.ones((2,))).tolist() == [2, 3]
    told = f.explain(rnp.ones((2,)))
    assert len(told.constants) == 2 and "2 constants from outside of the arguments, 16 bytes" in str(told)


def test_side_effects_happen_while_it_is_traced(capsys):
    @relay.function
    def f(x):
        print("tracing", x.dtype, x.shape)
        return x

    f(rnp.ones((2,)))
    f(rnp.ones((2,)))
    assert capsys.readouterr().out == "tracing float32 (2,)\n"


def test_results_that_are_arguments_do_not_change_with_them():
    own = np.ones(3, "float32")
    kept = relay.function(lambda x: x)(own)
    own[0] = 5
    assert kept.tolist() == [1, 1, 1]


def test_methods():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @relay.function
        def run(self, x):
            return x * self.scale

    one, two = Model(2.0), Model(3.0)
    assert one.run(rnp.ones(())).item() == 2 and two.run(rnp.ones(())).item() == 3 and one.run(rnp.ones(())).item() == 2

    @dataclasses.dataclass
    class Net:
        w: object

        @relay.function
        def run(self, x):
            return x * self.w

    assert Net(rnp.asarray(4.0)).run(1.0).item() == 4 and Net(rnp.asarray(5.0)).run(1.0).item() == 5


def test_functions_call_each_other():
    inner = relay.function(lambda x: x * 2)
    outer = relay.function(lambda x: inner(x) + inner(x + 1))
    assert outer(1.0).item() == 6 and inner.programs == 0


def test_donated_arrays_give_their_memory():
    step = relay.function(lambda w, x: w + x, donate_argnums=0)
    w = step(rnp.zeros((1000,)), rnp.ones((1000,)))
    place = w._data.ctypes.data
    w = step(w, rnp.ones((1000,)))
    assert w._data.ctypes.data == place and w.tolist() == [2] * 1000


def test_lower_and_explain():
    f = relay.function(lambda x, n: rnp.sin(x) * n, static_argnames="n")
    assert f.lower(relay.f32[2, 3], 2.0).text.strip().endswith("def @main(%x: Tensor[(2, 3), float32]) {\n  %0 = sin(%x);\n  multiply(%0, 2f)\n}")
    assert f.programs == 0 and f.lower(rnp.ones((2, 3)), 2.0).compile()(np.zeros((2, 3), "float32")).shape == (2, 3)
    told = f.explain(rnp.ones((2, 3)), 2.0)
    assert [kernel["calls"] for kernel in told.kernels] == [1] and told.compile_seconds > 0 and "@main" in told.text
    assert "f(" not in str(told) and str(told).startswith("<lambda>(x: Tensor[(2, 3), float32])\ntraced in") and "<table>" in told._repr_html_()
    assert "sin" in f.lower(rnp.ones((2, 3)), 2.0)._repr_html_() and not f.explain(relay.f32[2, 3], 2.0).measured


# Sizes that are named


def test_one_program_for_all_extents():
    @relay.function
    def f(x: relay.f32["n", 4], y: relay.f32["n"]):
        n = x.shape[0]
        centred = x - x.mean(axis=0)
        return centred.T @ centred / (n - 1), x.reshape(n * 2, 2), rnp.zeros((n,)) + y, rnp.concatenate([x, x[1:]]), x.at[0].set(1.0), x * y[:, None], rnp.arange(n)

    for n in (2, 3, 7):
        x, y = np.random.default_rng(n).normal(size=(n, 4)).astype("float32"), np.ones(n, "float32")
        found = f(x, y)
        np.testing.assert_allclose(np.asarray(found[0]), np.cov(x.T), rtol=1e-4, atol=1e-6)
        assert [one.shape for one in found] == [(4, 4), (2 * n, 2), (n,), (2 * n - 1, 4), (n, 4), (n, 4), (n,)] and found[6].tolist() == list(range(n))
    assert f.programs == 1
    with pytest.raises(TypeError, match=r"y is annotated as float32\['n'\], and given as float32\[3\], where n is 2"):
        f(rnp.ones((2, 4)), rnp.ones((3,)))
    with pytest.raises(TypeError, match=r"x is annotated as float32\['n', 4\], and given as float64\[2, 4\]"):
        f(np.ones((2, 4)), rnp.ones((2,)))
    assert "Tensor[(n, 4), float32]" in f.lower(relay.f32["n", 4], relay.f32["n"]).text


def test_an_extent_is_no_number_of_python():
    @relay.function
    def f(x: relay.f32["n"]):
        return rnp.zeros((3,))[: int(x.shape[0])]

    with pytest.raises(relay.TraceError, match="the extent n is not known"):
        f(rnp.ones((2,)))
    with pytest.raises(TypeError, match="a number or a name"):
        relay.f32[1.5]


def test_loops_and_gradients_over_named_extents():
    @relay.function
    def total(x: relay.f32["n", 2]):
        carry = rnp.zeros((2,))
        for row in x:
            carry = carry * 0.5 + row
        return carry

    for n in (1, 4):
        x = np.arange(2 * n, dtype="float32").reshape(n, 2)
        expected = np.zeros(2)
        for row in x:
            expected = expected * 0.5 + row
        np.testing.assert_allclose(np.asarray(total(x)), expected)
    assert total.programs == 1

    @relay.function
    def slope(x: relay.f32["n"]):
        return relay.grad(lambda v: (v**2).mean())(x)

    assert slope(rnp.asarray([1.0, 2.0])).tolist() == [1, 2] and slope(rnp.asarray([3.0])).tolist() == [6] and slope.programs == 1


# Errors


def trace_error(f, *args):
    with pytest.raises(relay.TraceError) as error:
        f(*args)
    return str(error.value)


def test_an_operator_that_does_not_fit_names_the_line():
    @relay.function
    def f(x):
        y = x + 1
        return y + rnp.zeros((4,))  # the wrong one

    with pytest.raises(relay.RelayError, match="do not broadcast") as error:
        f(rnp.ones((3,)))
    assert "# the wrong one" in str(error.value) and f'File "{__file__}"' in str(error.value)
    assert lines_of(error)[-1].endswith("# the wrong one")


def test_values_of_traced_arrays_are_asked_for_in_vain():
    x = rnp.ones((3,))
    plain = lambda fn: relay.function(fn, control_flow=False)  # noqa: E731
    text = trace_error(plain(lambda x: 1 if x.sum() > 0 else 2), x)
    assert text.startswith("the truth value of a traced array of bool[] is not known") and "relay.cond" in text and "x.sum() > 0" in text
    assert "relay.fori_loop" in trace_error(plain(lambda x, n: [x for _ in range(n)]), x, 3)
    assert "relay.numpy's functions" in trace_error(plain(lambda x: float(x[0])), x)
    assert "np.asarray" in trace_error(plain(lambda x: np.asarray(x)), x)
    assert "static_argnames" in trace_error(plain(lambda x, n: rnp.zeros((n,))), x, 3)
    assert "static_argnames" in trace_error(plain(lambda x, n: x.reshape(n)), x, 3)
    assert "dynamic_slice" in trace_error(plain(lambda x, n: x[:n]), x, 2)
    assert "Return the array" in trace_error(plain(lambda x: x.item()), x)


def test_loops_that_cannot_be_say_why():
    @relay.function
    def grows(x):
        while x.sum() < 10:
            x = rnp.concatenate([x, x])
        return x

    assert trace_error(grows, rnp.ones((3,))).startswith("x has the shape (3,) before a turn of a loop and (6,) after it")

    @relay.function
    def returns(x, n):
        for i in range(n):
            if i > 3:
                return x
            x = x + i
        return x

    assert "left by return" in trace_error(returns, rnp.ones((3,)), 9)

    @relay.function
    def differs(x):
        if x.sum() > 0:
            y = x
        else:
            y = rnp.ones((4,))
        return y

    assert trace_error(differs, rnp.ones((3,))).startswith("y is an array of float32[3] in one branch and of float32[4] in the other")

    @relay.function
    def one_side(x):
        if x.sum() > 0:
            y = x
        return y

    with pytest.raises(UnboundLocalError, match="'y'"):
        one_side(rnp.ones((3,)))


def test_mistakes_in_calls_are_explained():
    f = relay.function(lambda x: x)
    with pytest.raises(TypeError, match=r"x of <lambda> is the type float32\[3\], and no array"):
        f(relay.f32[3])
    with pytest.raises(OverflowError, match="is no int64"):
        f(2**70)
    with pytest.raises(TypeError, match="complex128"):
        f(np.zeros(2, complex))
    nested = [1]
    nested.append(nested)
    with pytest.raises(ValueError, match="holds itself"):
        f(nested)
    with pytest.raises(IndexError, match="a truth value is no index"):
        rnp.ones((3,))[True]
    with pytest.raises(TypeError, match="integer"):
        rnp.sum(rnp.ones((3,)), axis=1.5)
    with pytest.raises(TypeError, match="not of a int"):
        relay.function(3)
    with pytest.raises(TypeError, match="different trees"):
        relay.function(lambda x: relay.cond(x.sum() > 0, lambda: (x,), lambda: x))(rnp.ones((3,)))
    with pytest.raises(TypeError, match="gives a pair"):
        relay.scan(lambda c, x: c, 0, rnp.ones((3,)))


def test_failures_of_a_run_show_the_line():
    with pytest.raises(relay.ExecutionError, match=r"return x // y  # here\n"):

        @relay.function
        def f(x, y):
            return x // y  # here

        f(1, 0)


def test_threads_share_programs():
    f = relay.function(lambda x, y: (x * y).sum())
    wrong = []

    def work():
        try:
            for i in range(1, 8):
                assert f(rnp.ones((i,)), 2.0).item() == 2 * i
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and f.programs == 7


def test_arrays_pickle_copy_and_format():
    x = rnp.asarray([1.0, 2.0])
    assert pickle.loads(pickle.dumps(x)).tolist() == copy.deepcopy(x).tolist() == [1, 2] and f"{x[0]:.2f}" == "1.00" and str(x) == "[1. 2.]"


def test_leaked_arrays_say_where_they_come_from():
    kept = []

    @relay.function
    def f(x):
        kept.append(x * 2)  # kept here
        return x

    f(rnp.ones((3,)))
    text = trace_error(relay.function(lambda x: x + kept[0]), rnp.ones((3,)))
    assert "was kept after the function f was traced" in text and f'"{__file__}", line' in text
    assert "was kept after" in trace_error(lambda: kept[0] + 1) and "was kept after" in trace_error(f, kept[0])


def test_endless_recursion_is_explained():
    @relay.function(control_flow=False)
    def f(x):
        return f(x)

    with pytest.raises(RecursionError, match="relay.while_loop"):
        f(1.0)


def test_traced_arrays_show_their_type():
    seen = []
    relay.function(lambda x: seen.append(repr(x)) or x)(rnp.ones((2, 3)))
    assert seen == ["Traced<float32[2, 3]>"] and repr(rnp.asarray([1.0])) == "Array([1.], dtype=float32)"


def test_dynamic_slices():
    x = rnp.arange(10)
    f = relay.function(lambda x, i: (relay.functions.dynamic_slice(x, (i,), (3,)), relay.functions.dynamic_update_slice(x, rnp.asarray([7, 8]), (i,))))
    for i, first in ((2, 2), (9, 7), (-2, 7)):
        assert f(x, i)[0].tolist() == list(range(first, first + 3))
    assert f(x, 4)[1].tolist() == [0, 1, 2, 3, 7, 8, 6, 7, 8, 9]


def test_lanes():
    x = rnp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    w = rnp.asarray([10.0, 1.0])
    assert relay.vmap(lambda row: row.sum())(x).tolist() == [3, 7, 11]
    assert relay.vmap(lambda row, w: row @ w, in_axes=(0, None))(x, w).tolist() == [12, 34, 56]
    assert relay.vmap(lambda column: column * 2, in_axes=1, out_axes=1)(x).tolist() == (x * 2).tolist()
    each = relay.vmap(relay.grad(lambda w, row: (row @ w) ** 2), in_axes=(None, 0))
    assert np.asarray(each(w, x)).tolist() == [[24, 48], [204, 272], [560, 672]]
    found = relay.vmap(lambda p, k: {"s": p["a"] + k, "t": p["b"]}, in_axes=({"a": 0, "b": None}, None), out_axes={"s": 0, "t": None})(
        {"a": x, "b": w}, 1.0
    )
    assert found["s"].tolist() == (x + 1).tolist() and found["t"].tolist() == w.tolist()
    # A loop goes on while any lane does; a condition of lanes is a choice.
    halved = relay.vmap(lambda v: relay.while_loop(lambda s: s > 1, lambda s: s / 2, v))(rnp.asarray([8.0, 3.0, 0.5]))
    assert halved.tolist() == [1, 0.75, 0.5]
    assert relay.vmap(lambda v: relay.cond(v > 2, lambda: v, lambda: -v))(rnp.asarray([1.0, 3.0])).tolist() == [-1, 3]
    assert relay.function(lambda x: relay.vmap(relay.vmap(lambda v: v + 1))(x))(x).tolist() == (x + 1).tolist()
    assert relay.vmap(lambda: rnp.ones((2,)), axis_size=3)().tolist() == [[1, 1]] * 3

    @relay.function
    def sums(x: relay.f32["n", 2]):  # noqa: F821
        return relay.vmap(lambda row: row.sum())(x)

    assert sums(x).tolist() == [3, 7, 11] and sums(x[:1]).tolist() == [3]


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda x: relay.vmap(lambda v: v, in_axes=(0, 0))(x), ValueError, "in_axes has 2 entries for 1 arguments"),
        (lambda x: relay.vmap(lambda v: v, in_axes=None)(x), ValueError, "give axis_size"),
        (lambda x: relay.vmap(lambda v, w: v + w)(x, rnp.ones((3,))), ValueError, "arrays of 2 and 3 lanes go together"),
        (lambda x: relay.vmap(lambda v: v, in_axes=3)(x), ValueError, "axis 3, which an array of float32"),
        (lambda x: relay.vmap(lambda v: v, in_axes=("a",))(x), TypeError, "in_axes is made of integers, None and trees of them, not str"),
        (lambda x: relay.vmap(lambda v: v, in_axes=({"a": 0},))(x), ValueError, "in_axes has another form"),
        (lambda x: relay.vmap(lambda v: v, out_axes=(0, 0))(x), ValueError, "out_axes has another form"),
    ],
)
def test_lanes_that_are_none(act, error, text):
    with pytest.raises(error, match=text):
        act(rnp.asarray([1.0, 2.0]))


# Functions of operators, losses and first values, which build expressions, take arrays as well


def test_functions_of_operators_take_traced_arrays():
    x, w = rnp.arange(2 * 3 * 8 * 8, dtype="float32").reshape(2, 3, 8, 8) / 100, rnp.ones((4, 3, 3, 3)) / 27

    @relay.function
    def layer(x, w):
        return relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1))) + relay.const(1.0)

    a, b = relay.var("a", shape=x.shape), relay.var("b", shape=w.shape)
    program = relay.compile(relay.Function([a, b], relay.nn.relu(relay.nn.conv2d(a, b, padding=(1, 1))) + 1.0))
    expected = program(np.asarray(x), np.asarray(w))
    np.testing.assert_allclose(np.asarray(layer(x, w)), expected, rtol=1e-6)
    assert relay.grad(lambda w: layer(x, w).sum())(w).shape == (4, 3, 3, 3)
    # Several results, lists of arrays, weak numbers, constants on either side, and expressions without an array.
    f = relay.function(lambda x: relay.concatenate([part * 2 for part in relay.split(x, 2)], axis=0))
    assert f(rnp.ones((4,))).tolist() == [2, 2, 2, 2]
    g = relay.function(lambda x: relay.const(2.0) * relay.tanh(0.0) + x * relay.const(3.0) + relay.ones((2,), "float32"))
    assert g(rnp.ones((2,))).tolist() == [4, 4]
    key = relay.random.threefry_key(1)
    drawn = relay.function(lambda x: (relay.optim.initializers.he_normal(key, (2, 3))[1] + x, relay.zeros((2,), "float32")))(rnp.zeros((2, 3)))
    assert drawn[0].shape == (2, 3) and drawn[1].tolist() == [0, 0]


def test_functions_of_operators_compute_on_arrays_with_values():
    found = relay.nn.relu(rnp.asarray([-1.0, 2.0]))
    assert isinstance(found, relay.Array) and found.tolist() == [0, 2]
    losses = relay.optim.losses
    assert losses.mse_loss(rnp.asarray([1.0, 2.0]), rnp.asarray([0.0, 0.0])).item() == 2.5
    slope = relay.grad(losses.cross_entropy)(rnp.zeros((2, 2)), rnp.asarray([0, 1]))
    assert slope.tolist() == [[-0.25, 0.25], [0.25, -0.25]]
    # Beside an expression an array is a constant.
    assert isinstance(relay.nn.dense(relay.var("x", shape=(2, 2)), rnp.ones((3, 2))), relay.Expr)
    assert isinstance(relay.var("x", shape=(2,)) + rnp.ones((2,)), relay.Expr)


def test_errors_of_functions_of_operators_name_the_line():
    x = rnp.ones((4, 3))
    with pytest.raises(relay.RelayError, match=r"(?s)argument 2 of %cross_entropy: expected .*test_functions.py"):
        relay.function(lambda x: relay.optim.losses.cross_entropy(x, rnp.asarray([0, 1, 2])))(x)
    with pytest.raises(relay.RelayError, match=r"(?s)nn.dense: the inner extents .*test_functions.py"):
        relay.function(lambda x: relay.nn.dense(x, rnp.ones((2, 2))))(x)
    for wrong in (lambda x: relay.nn.dense(x, relay.var("w", shape=(2, 3))), lambda x: x + relay.var("w"), lambda x: relay.var("w") * x):
        with pytest.raises(relay.TraceError, match="an expression of the variable %w stands beside traced arrays"):
            relay.function(wrong)(x)


def test_names_are_found_by_completion():
    found = set(dir(relay))
    assert {"function", "jit", "scan", "cond", "while_loop", "tree", "numpy", "f32", "from_torch", "compile", "grad"} <= found and "annotations" not in found
    assert all(getattr(relay, name) is not None for name in ("jit", "tree", "f32"))
