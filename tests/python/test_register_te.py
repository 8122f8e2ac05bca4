"""The expression builder: every construct against NumPy, in both executors, and what is said of wrong uses."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import relay
from relay import te


def run(compute, *arrays, result=None, attrs=None, **given):
    """The operator of a compute function on arrays, in both executors, which agree."""
    names = [f"x{i}" for i in range(len(arrays))]

    def relation(call, *types):
        return result(*types) if callable(result) else result if result is not None else types[0]

    with relay.op.registered("test.op", inputs=names, attrs=attrs, relation=relation, compute=compute) as op:
        params = [relay.var(name, shape=array.shape, dtype=str(array.dtype)) for name, array in zip(names, arrays)]
        mod = relay.IRModule.from_expr(relay.Function(params, op(*params, **given)))
        expected = relay.evaluate(mod, *arrays)
        found = relay.compile(mod, cache=False)(*arrays)
        for one, other in zip(expected, found) if isinstance(expected, tuple) else [(expected, found)]:
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        return found


def tensor(shape, dtype="float32"):
    return relay.TensorType(shape, dtype)


X = np.arange(12, dtype="float32").reshape(3, 4) - 5
I = np.arange(12, dtype="int32").reshape(3, 4) - 5


@pytest.mark.parametrize(
    "body, expected",
    [
        (lambda x: x + 1, X + 1),
        (lambda x: 1 - x, 1 - X),
        (lambda x: x * x / 2, X * X / 2),
        (lambda x: 2 / (x * x + 1), 2 / (X * X + 1)),
        (lambda x: x // 2, X // 2),
        (lambda x: x % 3, X % 3),
        (lambda x: abs(x) ** 1.5, abs(X) ** 1.5),
        (lambda x: -x, -X),
        (lambda x: te.select(x > 0, x, 0.5 * x), np.where(X > 0, X, 0.5 * X)),
        (lambda x: te.select((x > 0) & ~(x == 2) | (x < -3), 1.0, x), np.where((X > 0) & ~(X == 2) | (X < -3), 1.0, X)),
        (lambda x: te.max(x, 0), np.maximum(X, 0)),
        (lambda x: te.min(1, x), np.minimum(1, X)),
        (lambda x: te.cast(te.cast(x, "int32") // 2, "float32"), X.astype("int32") // 2),
        (lambda x: x + np.float32(0.25), X + 0.25),
        (lambda x: np.float64(2) * x, X * 2),
        (lambda x: te.exp(te.sin(x)) + te.sqrt(te.abs(x)), np.exp(np.sin(X)) + np.sqrt(abs(X))),
        (lambda x: te.power(te.abs(x), 2) + te.atan2(x, 1), X**2 + np.arctan2(X, 1)),
        (lambda x: te.fmod(x, 3), np.fmod(X, 3)),
        (lambda x: x.astype("float64").astype("float32"), X),
        (lambda x: te.bitcast(te.bitcast(x, "int32"), "float32"), X),
        (lambda x: te.select(te.isnan(x), te.max_value("float32"), x), X),
        (lambda x: x + te.const(2, "float32"), X + 2),
    ],
)
def test_arithmetic(body, expected):
    np.testing.assert_allclose(run(lambda b, x: b.map(x.shape, lambda *i: body(x[i])), X), expected, rtol=1e-5)


def test_integers():
    found = run(lambda b, x: b.map(x.shape, lambda i, j: (x[i, j] << 1) ^ te.truncdiv(x[i, j], 2)), I)
    np.testing.assert_array_equal(found, (I << 1) ^ np.trunc(I / 2).astype("int32"))


@pytest.mark.parametrize(
    "bounds, expected", [({"bounds": "clamp"}, [1, 2, 2]), ({"bounds": "wrap"}, [1, 2, 0]), ({"fill": -1}, [1, 2, -1]), ({"fill": 0.5}, [1, 2, 0.5])]
)
def test_bounds(bounds, expected):
    x = np.arange(3, dtype="float32")
    np.testing.assert_allclose(run(lambda b, x: b.map(x.shape, lambda i: x.load(i + 1, **bounds)), x), expected)


@pytest.mark.parametrize("read", [lambda x, i: x[i + 1], lambda x, i: x.load(i + 1)])
def test_an_index_outside_fails_in_both_executors(read):
    with relay.op.registered("test.op", relation="Identity", compute=lambda b, x: b.map(x.shape, lambda i: read(x, i))) as op:
        mod = relay.IRModule.from_expr(op(relay.var("x", shape=(3,))))
        for execute in (lambda: relay.evaluate(mod, X[0, :3]), lambda: relay.compile(mod)(X[0, :3])):
            with pytest.raises(relay.ExecutionError, match="test.op.*index"):
                execute()


def test_indices_that_are_inside_are_seen():
    """An index that is proven needs no check: the text of the computation says `fail` nowhere."""
    seen = []

    def compute(b, x):
        n, m = x.shape
        for index in ((0, 0), (-1 + n, m - 1)):
            x[index]
        return b.map((n, m), lambda i, j: seen.append(str(x[n - 1 - i, (j + 3) % m] + x[i // 2, j])) or x[n - 1 - i, j])

    np.testing.assert_array_equal(run(compute, X), X[::-1])
    assert seen and not any("fail" in text for text in seen)


def test_broadcast():
    y = np.arange(4, dtype="float32")
    np.testing.assert_allclose(run(lambda b, x, y: b.map(x.shape, lambda i, j: x[i, j] + y.broadcast(i, j)), X, y), X + y)


@pytest.mark.parametrize("x", [(2,), ("?",)])
def test_broadcasting_that_does_not_fit_fails_in_both_executors(x):
    """A relation that lets such a call pass does not make the program read outside of the tensor."""
    compute = lambda b, x, y: b.map(y.shape, lambda *i: x.broadcast(*i) + y[i])  # noqa: E731
    with relay.op.registered("test.op", relation=lambda call, x, y: y, compute=compute, inputs=["x", "y"]) as op:
        given = [relay.var("x", shape=tuple(relay.Any() if n == "?" else n for n in x)), relay.var("y", shape=(4,))]
        mod = relay.IRModule.from_expr(relay.Function(given, op(*given)))
        for execute in (lambda *arrays: relay.evaluate(mod, *arrays), relay.compile(mod)):
            with pytest.raises(relay.ExecutionError, match="test.op.*index"):
                execute(X[0, :2], X[0])
            if x == ("?",):
                for other in (X[0, :1], X[1]):
                    np.testing.assert_array_equal(execute(other, X[0]), other + X[0])


def test_reductions():
    def compute(b, x):
        rows, columns = x.shape
        return b.map(
            (rows,),
            lambda i: (
                b.sum((columns,), lambda k: x[i, k]),
                b.prod(columns, lambda k: x[i, k]),
                b.max((columns,), lambda k: x[i, k]),
                b.min((columns,), lambda k: x[i, k], needs_element=True),
                b.all((columns,), lambda k: x[i, k] > 0),
                b.any((columns,), lambda k: x[i, k] > 0),
            ),
        )

    fields = [tensor((3,))] * 4 + [tensor((3,), "bool")] * 2
    found = run(compute, X, result=relay.TupleType(fields))
    for one, expected in zip(found, (X.sum(1), X.prod(1), X.max(1), X.min(1), (X > 0).all(1), (X > 0).any(1))):
        np.testing.assert_allclose(one, expected)


def test_fold_of_several_values():
    def compute(b, x):
        def better(p, q):
            first = (p[0] > q[0]) | ((p[0] == q[0]) & (p[1] < q[1]))
            return te.select(first, p[0], q[0]), te.select(first, p[1], q[1])

        def row(i):
            return b.fold(x.shape[1:], lambda k: (x[i, k], k), better, (te.min_value("float32"), 1000), commutes=True)[1]

        return b.map(x.shape[:1], row)

    np.testing.assert_array_equal(run(compute, X[:, [2, 0, 3, 3]].copy(), result=tensor((3,), "int64")), [2, 2, 2])


def test_fold_of_one_value():
    found = run(lambda b, x: b.map((), lambda: b.fold(x.shape, lambda i, j: x[i, j], lambda p, q: p + q, 0)), X, result=tensor(()))
    np.testing.assert_allclose(found, X.sum())


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_scan(reverse, exclusive):
    def compute(b, x):
        return b.scan(x.shape, -1, lambda *i: te.const(0, "float32"), lambda c, *i: c + x[i], reverse=reverse, exclusive=exclusive)

    ordered = X[:, ::-1] if reverse else X
    expected = ordered.cumsum(1) - (ordered if exclusive else 0)
    np.testing.assert_allclose(run(compute, X), expected[:, ::-1] if reverse else expected)


def test_scan_of_two_carries():
    """Fibonacci: both carries are numbers."""

    def compute(b, x):
        one = lambda i: (te.const(0, "float32"), te.const(1, "float32"))  # noqa: E731
        return b.scan(x.shape, 0, one, lambda c, i: (c[1], c[0] + c[1] * x[i]))[0]

    np.testing.assert_allclose(run(compute, np.ones(6, "float32")), [1, 1, 2, 3, 5, 8])


@pytest.mark.parametrize("op, expected", [("assign", [0, 5, 4]), ("sum", [0, 6, 9]), ("max", [0, 5, 5]), ("min", [0, 0, 0]), ("prod", [0, 0, 0])])
def test_update(op, expected):
    base, at, value = np.zeros(3, "float32"), np.array([2, 1, 1, 2]), np.array([5, 1, 5, 4], "float32")

    def compute(b, base, at, value):
        return b.update(base, at.shape, lambda i: at[i], lambda i: value[i], op=op)

    np.testing.assert_allclose(run(compute, base, at, value), expected)


def test_update_skips_what_is_outside():
    base, at = np.zeros(3, "float32"), np.array([7, 1])
    found = run(lambda b, base, at: b.update(base, at.shape, lambda i: (at[i],), lambda i: 1, bounds="skip"), base, at)
    np.testing.assert_allclose(found, [0, 1, 0])


def test_reshape_and_stages():
    def compute(b, x):
        doubled = b.map(x.shape, lambda i, j: x[i, j] * 2)
        flat = b.reshape(doubled, (12,))
        return b.map((12,), lambda i: flat[i] + b.sum(x.shape, lambda p, q: x[p, q]))

    np.testing.assert_allclose(run(compute, X, result=tensor((12,))), X.reshape(-1) * 2 + X.sum())


def test_failures_say_the_message():
    compute = lambda b, x: b.map(x.shape, lambda i: te.fail_unless(x[i] >= 0, te.sqrt(x[i]), "no root of a negative number"))  # noqa: E731
    with relay.op.registered("test.root", relation="Identity", compute=compute, inputs=["x"]) as op:
        mod = relay.IRModule.from_expr(op(relay.var("x", shape=(2,))))
        np.testing.assert_allclose(relay.compile(mod)(np.float32([4, 9])), [2, 3])
        for execute in (relay.evaluate, lambda mod, x: relay.compile(mod)(x)):
            with pytest.raises(relay.ExecutionError, match="test.root: no root of a negative number"):
                execute(mod, np.float32([4, -9]))


def test_tuples_of_inputs():
    def compute(b, parts):
        return b.map(parts[0].shape, lambda *i: parts[0][i] - parts[1][i])

    with relay.op.registered(
        "test.op", inputs=[relay.op.Input("parts", tuple=True)], relation=lambda call, parts: parts.fields[0], compute=compute
    ) as op:
        x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(3, 4))
        mod = relay.IRModule.from_expr(relay.Function([x, y], op((x, y))))
        for execute in (relay.evaluate, lambda mod, *a: relay.compile(mod)(*a)):
            np.testing.assert_allclose(execute(mod, X, X * 3), X * -2)


kept = []
WRONG = [
    (lambda b, x: b.map(x.shape, lambda i, j: x[i]), IndexError, "a tensor of rank 2 is read at 2 indices, not 1"),
    (lambda b, x: b.map(x.shape, lambda i, j: x[i, 0.5]), TypeError, "index 1: an index is an integer, not float32"),
    (lambda b, x: b.map(x.shape, lambda i, j: x[i, "a"]), TypeError, "index 1: an index is an integer scalar, not str"),
    (lambda b, x: b.map(x.shape, lambda i, j: x[i, x[i, j]]), TypeError, "an index is an integer, not float32"),
    (lambda b, x: b.map(x.shape, lambda i, j: x[i, j] + i), TypeError, "add of float32 and int64: te.cast one"),
    (lambda b, x: b.map(x.shape, lambda i, j: i + 0.5), TypeError, "add: 0.5 does not fit int64; use te.cast"),
    (lambda b, x: b.map(x.shape, lambda i, j: i / 2), TypeError, "/ divides floats, not int64: use //"),
    (lambda b, x: b.map(x.shape, lambda i, j: x[i, j] + True), TypeError, "add: True does not fit float32"),
    (lambda b, x: b.map(x.shape, lambda i, j: x[i, j] + x), TypeError, "a tensor is not a scalar; read an element of it"),
    (lambda b, x: b.map(x.shape, lambda i, j: x[i, j] + "a"), TypeError, "add: a scalar, a number or a dimension is wanted, not str"),
    (lambda b, x: b.map(x.shape, lambda i, j: te.cast(i, "uint8") + 300), ValueError, "add: 300 is beyond uint8"),
    (lambda b, x: b.map(x.shape, lambda i, j: x[i, j] if x[i, j] > 0 else 0), TypeError, "use te.select for `if`"),
    (lambda b, x: b.map(x.shape, lambda i, j: te.select(x[i, j], 1.0, 2.0)), TypeError, "te.select: the condition is float32, not bool"),
    (lambda b, x: b.map(x.shape, lambda i, j: te.select(x[i, j] > 0, x[i, j], i)), TypeError, "te.select between float32 and int64"),
    (lambda b, x: b.map(x.shape, lambda i, j: te.fail_unless(i, x[i, j], "")), TypeError, "te.fail_unless: the condition is int64"),
    (lambda b, x: b.map(x.shape, lambda i, j: te.exp(i)), TypeError, "exp is not defined on int64"),
    (lambda b, x: b.map(x.shape, lambda i, j: x[i, j] & x[i, j]), TypeError, "and is not defined on float32"),
    (lambda b, x: b.map(x.shape, lambda i, j: te.bitcast(x[i, j], "int64")), TypeError, "te.bitcast of float32 to int64"),
    (lambda b, x: b.map(x.shape, lambda i, j: te.const(i)), TypeError, "te.const takes a number, not a scalar"),
    (lambda b, x: b.map(x.shape, lambda i, j: x.load(i, j, bounds="none")), ValueError, 'bounds is "none"; known are "proven"'),
    (lambda b, x: b.map(x.shape, lambda i, j: x.load(i, j, fill=x[i, j])), TypeError, "fill is a constant of the tensor's dtype"),
    (lambda b, x: b.map(x.shape, lambda i, j: x.broadcast(i)), IndexError, "at least an index for each dimension"),
    (lambda b, x: b.map(x.shape, lambda i: x[i, 0]), TypeError, "argument"),
    (lambda b, x: b.map(x.shape, lambda i, j: None), TypeError, "the function of map gave None"),
    (lambda b, x: b.map(x.shape, lambda i, j: ()), ValueError, "the function of map gave no values"),
    (lambda b, x: b.map((3, "n"), lambda i, j: 0), TypeError, "map: an extent is an integer or a Dim, not str"),
    (lambda b, x: b.map((3, -4), lambda i, j: 0), ValueError, "map: an extent cannot be -4"),
    (lambda b, x: b.map(x.shape, lambda i, j: b.sum((4,), lambda k: k > 0)), TypeError, "sum is of numbers, not of bool"),
    (lambda b, x: b.map(x.shape, lambda i, j: b.all((4,), lambda k: k)), TypeError, "all is of bool values, not of int64"),
    (lambda b, x: b.map(x.shape, lambda i, j: b.sum((4,), lambda k: (k, k))), TypeError, "the function of sum gave several values"),
    (lambda b, x: b.map(x.shape, lambda i, j: b.sum((4,), lambda k: kept.append(k) or k) + kept[-1]), ValueError, "an index or accumulator is used outside"),
    (lambda b, x: b.map(x.shape, lambda i, j: b.map((2,), lambda k: i + k)[0]), ValueError, "map: the value depends on an index"),
    (lambda b, x: b.map(x.shape, lambda i, j: b.fold((4,), lambda k: k, lambda p, q: p + i, 0)), ValueError, "combine: the value depends on an index"),
    (lambda b, x: b.map((3,), lambda i: b.fold((4,), lambda k: x[i, k], lambda p, q: p + x[0, 0], 0)), ValueError, "combine joins accumulators alone"),
    (lambda b, x: b.map(x.shape, lambda i, j: b.fold((4,), lambda k: k, lambda p, q: (p, q), 0)), ValueError, "combine gave 2 values for 1 accumulators"),
    (lambda b, x: b.map(x.shape, lambda i, j: b.fold((4,), lambda k: k, lambda p, q: None, 0)), TypeError, "combine gave None"),
    (lambda b, x: b.map(x.shape, lambda i, j: b.fold((4,), lambda k: k, lambda p, q: p, i)), ValueError, "identity: the value depends"),
    (lambda b, x: b.map(x.shape, lambda i, j: b.fold((4,), lambda k: k, lambda p, q: p > q, 0)), TypeError, "combine gave bool for an accumulator of int64"),
    (lambda b, x: b.scan(x.shape, 2, lambda *i: 0.0, lambda c, *i: c), ValueError, "scan: along is 2, of 2 dimensions"),
    (lambda b, x: b.scan(x.shape, 1, lambda i, j: j, lambda c, *i: c), ValueError, "init of scan: the value depends on an index"),
    (lambda b, x: b.scan(x.shape, 1, lambda *i: 0.0, lambda c, *i: i[0]), TypeError, "step of scan gave int64 for an accumulator of float32"),
    (lambda b, x: b.update(x, (3,), lambda i: i, lambda i: 0.0), ValueError, "at of update gave 1 indices for a tensor of rank 2"),
    (lambda b, x: b.update(x, (3,), lambda i: (i, i), lambda i: i), TypeError, "value of update is int64, the tensor float32"),
    (lambda b, x: b.update(x, (3,), lambda i: (i, i), lambda i: 0.0, op="add"), ValueError, 'op is "add"; known are "assign"'),
    (lambda b, x: b.update(x, (3,), lambda i: (i, i), lambda i: 0.0, bounds="wrap"), ValueError, 'bounds is "wrap"; known are "fail"'),
    (lambda b, x: b.reshape(x, (5,)), ValueError, "reshape: the shapes have different numbers of elements"),
    (lambda b, x: [row for row in x], TypeError, "a tensor of a computation cannot be iterated over"),
    (lambda b, x: b.map(x.shape, lambda i, j: {i: 0}[i]), TypeError, "unhashable"),
]


@pytest.mark.parametrize("compute, kind, message", WRONG, ids=range(len(WRONG)))
def test_wrong_uses(compute, kind, message):
    """The exception is of the line that is wrong, and the cause of the error of the program."""
    with relay.op.registered("test.op", inputs=["x"], relation="Identity", compute=compute) as op:
        mod = relay.IRModule.from_expr(op(relay.var("x", shape=(3, 4))))
        for execute in (lambda: relay.evaluate(mod, X), lambda: relay.compile(mod)):
            with pytest.raises(relay.RelayError, match="test.op: ") as caught:
                execute()
            cause = caught.value.__cause__
            assert type(cause) is kind and message in str(cause), repr(cause)
            assert any(frame.filename == __file__ for frame in traceback.extract_tb(cause.__traceback__))
            assert f"raised by its compute at {__file__}:" in str(caught.value)


def test_what_is_kept_is_of_no_use():
    held = []

    def compute(b, x):
        return held.append((b, x)) or b.map(x.shape, lambda i: held.append(x[i]) or x[i])

    run(compute, X[0])
    b, x = held[0]
    scalar = held[1]
    with pytest.raises(ValueError, match="this builder belongs to a compute function that has returned"):
        b.map((2,), lambda i: i)
    with pytest.raises(ValueError, match="this builder belongs"):
        b.inputs  # noqa: B018
    with pytest.raises(ValueError, match="this tensor belongs to a compute function that has returned"):
        x[0]
    with pytest.raises(ValueError, match="this scalar belongs to a compute function that has returned"):
        scalar + 1
    assert "Scalar" in repr(scalar) and "tensor (4)" in repr(x)


def test_two_computations_do_not_mix():
    outer = []

    def inner(b, x):
        return b.map(x.shape, lambda i: outer[0][i])

    def compute(b, x):
        outer.append(x)
        with relay.op.registered("test.inner", inputs=["x"], relation="Identity", compute=inner) as op:
            relay.evaluate(relay.IRModule.from_expr(op(relay.var("x", shape=(4,)))), X[0])
        return b.map(x.shape, lambda i: x[i])

    with pytest.raises(relay.RelayError, match="two computations cannot be used together"):
        run(compute, X[0])


@pytest.mark.parametrize(
    "compute, message",
    [
        (lambda b, x: None, "its compute gives NoneType, not a tensor of its builder"),
        (lambda b, x: 3, "its compute gives int, not a tensor of its builder"),
        (lambda b, x: b.map((5,), lambda i: x[0, 0]), r"its compute gives Tensor\[\(5\), float32\], its relation Tensor\[\(3, 4\), float32\]"),
        (lambda b, x: b.map(x.shape, lambda *i: i[0]), r"its compute gives Tensor\[\(3, 4\), int64\], its relation Tensor\[\(3, 4\), float32\]"),
        (lambda b, x: (x, x), "its compute gives 2 tensors, its relation 1"),
    ],
)
def test_results_are_checked(compute, message):
    with pytest.raises(relay.RelayError, match="test.op: " + message):
        run(compute, X)
