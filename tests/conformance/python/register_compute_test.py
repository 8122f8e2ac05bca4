"""Operators that a script defines by tensor expressions of TVM: `register`, `add_type_rel`, then `register_compute`."""

import itertools

import numpy as np
import pytest

import tvm
from tvm import relay, te, tir

NUMBERS = itertools.count()
DECLARED = []


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    import relay as own

    while DECLARED:
        own.op.unregister(DECLARED.pop())


def declare(compute, relation="Identity", inputs=1, attrs=None):
    """A new operator whose calls are computed by a function of attributes, tensors and the type of the result."""
    name = f"computed.op{next(NUMBERS)}"
    relay.op.op.register(name, "An operator of a test.")
    DECLARED.append(name)
    op = relay.op.get(name)
    op.set_num_inputs(inputs)
    for i in range(inputs):
        op.add_argument(f"x{i}", "Tensor", "Data.")
    if attrs is not None:
        op.set_attrs_type_key(attrs)
    op.add_type_rel(*([relation] if isinstance(relation, str) else ["ComputedRel", relation]))
    if compute is not None:
        relay.op.register_compute(name, compute)
    return op


def run(op, *arrays, attrs=None):
    """The result of a call, in both executors, which agree."""
    params = [relay.var(f"x{i}", shape=array.shape, dtype=str(array.dtype)) for i, array in enumerate(arrays)]
    mod = tvm.IRModule.from_expr(relay.Function(params, relay.Call(op, params, attrs)))
    found = [relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*arrays) for kind in ("debug", "vm")]
    found = [[one.numpy() for one in each] if not isinstance(each, tvm.nd.NDArray) else each.numpy() for each in found]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    return found[1]


X = np.arange(12, dtype="float32").reshape(3, 4) - 5
I = np.arange(12, dtype="int32").reshape(3, 4) - 5


@pytest.mark.parametrize(
    "body, expected",
    [
        (lambda x: x + 1, X + 1),
        (lambda x: 1 - x, 1 - X),
        (lambda x: -x * x / 2.0, -X * X / 2),
        (lambda x: tir.if_then_else(x > 0, x, x * 0.5), np.where(X > 0, X, X * 0.5)),
        (lambda x: tir.Select(tir.all(x > -2, x < 2), 1.0, x), np.where((X > -2) & (X < 2), 1, X)),
        (lambda x: tir.if_then_else(tir.any(x < -2, x.equal(3), x != x), 1.0, x), np.where((X < -2) | (X == 3), 1, X)),
        (lambda x: tir.if_then_else((x == 3) | (x == 1), 1.0, 0.0), ((X == 3) | (X == 1)) * 1.0),
        (lambda x: te.max(x, 0.0) + te.min(x, 1.0) + tir.max(x, tir.const(2.0, "float32")), np.maximum(X, 0) + np.minimum(X, 1) + np.maximum(X, 2)),
        (lambda x: te.exp(te.tanh(x)) + tir.sqrt(te.abs(x)) + abs(x), np.exp(np.tanh(X)) + np.sqrt(abs(X)) + abs(X)),
        (lambda x: te.power(te.abs(x), 2.0) + tir.pow(te.abs(x), 0.5), X**2 + abs(X) ** 0.5),
        (lambda x: x.astype("int32").astype("float32") + tir.Cast("float32", x > 0), X + (X > 0)),
        (lambda x: te.max(te.min_value("float32"), x), X),
        (lambda x: te.floor(x / 2.0) + te.div(x, 4.0) + te.round(x), np.floor(X / 2) + X / 4 + X),
    ],
)
def test_elements(body, expected):
    op = declare(lambda attrs, inputs, out_type: [te.compute(inputs[0].shape, lambda *i: body(inputs[0](*i)))])
    np.testing.assert_allclose(run(op, X), expected, rtol=1e-5)


def test_integers():
    def compute(attrs, inputs, out_type):
        assert attrs is None and out_type == relay.TensorType((3, 4), "int32") and inputs[0].dtype == "int32" and inputs[0].ndim == 2
        x = inputs[0]
        return te.compute(
            x.shape, lambda i, j: (tir.floordiv(x[i, j], 2) + tir.floormod(x[i][j], 3) + te.truncdiv(x[i, j], 2) + te.div(x[i, j], 3) * te.truncmod(x[i, j], 3)) ^ (x[i, j] << 1)
        )

    towards = np.trunc(I / 3).astype("int32")
    expected = (I // 2 + I % 3 + np.trunc(I / 2).astype("int32") + towards * (I - 3 * towards)) ^ (I << 1)
    np.testing.assert_array_equal(run(declare(compute), I), expected)


def test_reductions():
    def relation(types, attrs):
        return relay.TensorType((types[0].shape[0], types[1].shape[0]), types[0].dtype)

    def compute(attrs, inputs, out_type):
        a, b = inputs
        k = te.reduce_axis((0, a.shape[1]), name="k")
        product = te.compute((a.shape[0], b.shape[0]), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="product")
        r = te.reduce_axis((1, a.shape[1]))
        rest = te.compute((a.shape[0],), lambda i: te.max(a[i, r], axis=[r]) - te.min(a[i, r], axis=r))
        return [te.compute(product.shape, lambda i, j: product[i, j] * 2.0 + rest[i], name="scaled")]

    b = np.random.rand(5, 4).astype("float32")
    expected = 2 * X @ b.T + (X[:, 1:].max(1) - X[:, 1:].min(1))[:, None]
    np.testing.assert_allclose(run(declare(compute, relation, inputs=2), X, b), expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_chosen_elements(kind):
    def relation(types, attrs):
        return relay.TensorType(types[0].shape[:1], types[0].dtype)

    def compute(attrs, inputs, out_type):
        x = inputs[0]
        k = te.reduce_axis((0, x.shape[1]))
        return [te.compute((x.shape[0],), lambda i: getattr(te, kind)(x[i, k], axis=k, where=x[i, k] > 0))]

    most, least = np.finfo("float32").max, np.finfo("float32").min
    chosen = {"sum": np.where(X > 0, X, 0).sum(1), "max": np.where(X > 0, X, -np.inf).max(1), "min": np.where(X > 0, X, np.inf).min(1)}[kind]
    np.testing.assert_allclose(np.clip(run(declare(compute, relation), X), least, most), np.clip(chosen, least, most), rtol=1e-5)


def test_reducers_of_a_script():
    def relation(types, attrs):
        rows = types[0].shape[:1]
        return relay.TupleType([relay.TensorType(rows, "int32"), relay.TensorType(rows, types[0].dtype), relay.TensorType(rows, types[0].dtype)])

    def compute(attrs, inputs, out_type):
        x = inputs[0]
        # Reducers may also be made where no call is computed; axes belong to one.
        k = te.reduce_axis((0, x.shape[1]), "k")
        greatest = te.comm_reducer(
            lambda a, b: (tir.Select(a[1] >= b[1], a[0], b[0]), tir.Select(a[1] >= b[1], a[1], b[1])),
            lambda t0, t1: (tir.const(-1, t0), te.min_value(t1)), name="argmax",
        )  # fmt: skip
        place, value = te.compute((x.shape[0],), lambda i: greatest((k.astype("int32"), x[i, k]), axis=k), name="argmax")
        product = te.comm_reducer(lambda a, b: a * b, lambda t: tir.const(1, t), name="prod")
        return [place, value, te.compute((x.shape[0],), lambda i: product(x[i, k], axis=[k]))]

    place, value, product = run(declare(compute, relation), X)
    assert place.tolist() == X.argmax(1).tolist() and value.tolist() == X.max(1).tolist()
    np.testing.assert_allclose(product, X.prod(1))


def test_arithmetic_of_tensors():
    def compute(attrs, inputs, out_type):
        x, y = inputs
        assert (x + y).shape == (3, 4)
        return [2.0 / ((x + y) * x - y + 30.0) + -x + (1.0 - x)]

    y = np.arange(4, dtype="float32")
    np.testing.assert_allclose(run(declare(compute, "Broadcast", inputs=2), X, y), 2 / ((X + y) * X - y + 30) - X + (1 - X), rtol=1e-5)


def test_tensors_of_open_extents():
    """What is not known until the program runs is checked there."""
    op = declare(lambda attrs, inputs, out_type: [inputs[0] + inputs[1]], lambda types, attrs: types[0], inputs=2)
    params = [relay.var("x", shape=(relay.Any(),)), relay.var("y", shape=(relay.Any(),))]
    mod = tvm.IRModule.from_expr(relay.Function(params, relay.Call(op, params)))
    run_open = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()
    for other in (X[0], X[0, :1]):
        np.testing.assert_array_equal(run_open(X[0], other).numpy(), X[0] + other)
    with pytest.raises(tvm.TVMError):
        run_open(X[0], X[0, :2])


def test_numbers_of_several_dtypes():
    """The narrower operand takes the dtype of the wider, and positions are int32."""

    def check(body, expected, dtype, *arrays):
        relation = lambda types, attrs: relay.TensorType(types[0].shape, dtype)  # noqa: E731
        found = run(declare(lambda attrs, inputs, out_type: [te.compute(inputs[0].shape, lambda *at: body(at, *inputs))], relation, inputs=len(arrays)), *arrays)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert found.dtype == dtype

    row = np.arange(3)[:, None]
    k = te.reduce_axis((0, 4), "k")
    check(lambda at, x: te.sum(x[at[0], k], k) * 2 + at[0], (X.sum(1)[:, None] * 2 + row) + 0 * X, "float32", X)
    check(lambda at, x: (at[0] + 1) * 0.5 + x(*at), (row + 1) * 0.5 + X, "float32", X)
    check(lambda at, x: at[0] * 2 + x(*at), row * 2 + I, "int32", I)
    check(lambda at, x: x(*at) - at[0], I.astype("int8") - row, "int32", I.astype("int8"))
    check(lambda at, x: x(*at) + at[0], I + row, "int64", I.astype("int64"))
    check(lambda at, x, y: x(*at) + y(*at), X + X, "float64", X, X.astype("float64"))
    check(lambda at, x, y: x(*at) * y(*at), X * X, "float32", X, X.astype("float16"))
    check(lambda at, x, y: x(*at) + y(*at), 2 * abs(I), "int32", abs(I).astype("int8"), abs(I).astype("uint32"))
    check(lambda at, x: te.max(x(*at), at[1]), np.maximum(X, np.arange(4)), "float32", X)
    check(lambda at, x: tir.if_then_else(x(*at) > at[1], x(*at), at[1]), np.maximum(X, np.arange(4)), "float32", X)
    check(lambda at, x: (x(*at) > 0) + 1, (X > 0) + 1, "int32", X)
    check(lambda at, x: te.sum(1.0, axis=k, where=x[at[0], k] > 0), (X > 0).sum(1)[:, None] + 0 * X, "float32", X)
    check(lambda at, x: te.sum(1, axis=k, where=x[at[0], k] > 0), (X > 0).sum(1)[:, None] + 0 * I, "int32", X)


# Descriptions belong to no call.
GREATEST = te.comm_reducer(lambda a, b: te.max(a, b), lambda dtype: te.min_value(dtype), name="greatest")
ALONG = te.reduce_axis((0, 4), "along")
HALF = te.exp(te.const(0.0)) * 0.5


def test_descriptions_of_a_module():
    op = declare(lambda attrs, inputs, out_type: [te.compute(inputs[0].shape, lambda i, j: GREATEST(inputs[0][i, ALONG], axis=ALONG) * HALF)])
    np.testing.assert_allclose(run(op, X), X.max(1)[:, None] * 0.5 + 0 * X)


def test_windows_and_sharing():
    def compute(attrs, inputs, out_type):
        x, n = inputs[0], inputs[0].shape[0]
        dy, dx = te.reduce_axis((-1, 2), "dy"), te.reduce_axis((-1, 2), "dx")

        def mean(i, j):
            inside = tir.all(i + dy >= 0, i + dy < n, j + dx >= 0, j + dx < x.shape[1])
            return te.sum(tir.if_then_else(inside, x[i + dy, j + dx], tir.const(0.0, "float32")), axis=[dy, dx]) / 9.0

        def doubled(i, j):
            value = x[i, j]
            for _ in range(40):  # 2^40 nodes, if it were no graph
                value = value + value
            return value * 2.0**-40

        blurred = te.compute(x.shape, mean, name="blurred")
        return [te.compute(x.shape, lambda i, j: blurred[i, j] + doubled(i, j))]

    padded = np.pad(X, 1)
    expected = X + sum(padded[a : a + 3, b : b + 4] for a in range(3) for b in range(3)) / 9
    np.testing.assert_allclose(run(declare(compute), X), expected, rtol=1e-5)


def test_attributes_and_several_results():
    def relation(types, attrs):
        return relay.TupleType([types[0], types[0]])

    def compute(attrs, inputs, out_type):
        assert isinstance(out_type, relay.TupleType)
        scale = attrs["scale"]
        return te.compute(inputs[0].shape, lambda *i: (inputs[0][i] * scale, inputs[0][i] + attrs.shift))

    op = declare(compute, relation, attrs="DictAttrs")
    doubled, moved = run(op, X, attrs=tvm.ir.make_node("DictAttrs", scale=2.0, shift=3.0))
    np.testing.assert_allclose(doubled, 2 * X)
    np.testing.assert_allclose(moved, X + 3)


def test_it_is_an_operator_like_others():
    op = declare(lambda attrs, inputs, out_type: [te.compute(inputs[0].shape, lambda *i: inputs[0][i] * inputs[0][i])])
    x = relay.var("x", shape=(relay.Any(), 4))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.Call(op, [x - relay.const(1.0)]))))
    fused = tvm.transform.Sequential([relay.transform.InferType(), relay.transform.FuseOps(2)])(mod)
    assert isinstance(fused["main"].body.op, relay.Function)
    np.testing.assert_allclose(relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(X).numpy(), (X - 1) ** 2)
    folded = relay.transform.FoldConstant()(tvm.IRModule.from_expr(relay.Function([], relay.Call(op, [relay.const(3.0)]))))
    assert folded["main"].body.data.numpy() == 9


def test_the_last_function_counts():
    op = declare(lambda attrs, inputs, out_type: [te.compute(inputs[0].shape, lambda *i: inputs[0][i])])

    @relay.op.register_compute(op.name, level=11)
    def twice(attrs, inputs, out_type):
        return [te.compute(inputs[0].shape, lambda *i: inputs[0][i] * 2.0)]

    np.testing.assert_allclose(run(op, X), 2 * X)
    assert op.get_attr("FTVMCompute") is twice


def twice_along(x, k):
    """A softmax without an axis of its own for its maximum."""
    return te.compute(x.shape, lambda r, c: te.sum(x[r, k] - te.max(x[r, k], axis=k), axis=k))


def along_both(x, k):
    return te.compute(x.shape, lambda r, c: te.sum(x[k, k], axis=[k, k]))


@pytest.mark.parametrize(
    "compute, message",
    [
        (lambda a, i, o: [3], "gives a list of tensors, not one with int"),
        (lambda a, i, o: [te.compute(i[0].shape, lambda *at: i[0][(*at, 0)])], "x0 has 2 dimensions, .* not 3"),
        (lambda a, i, o: [te.compute(i[0].shape, lambda r, c: i[0][r, te.reduce_axis((0, 4), "k")])], "the axis k is used outside of a reduction"),
        (lambda a, i, o: [te.compute(i[0].shape, lambda r, c: 1.0 if i[0][r, c] > 0 else 0.0)], "has no truth value yet"),
        (lambda a, i, o: [te.compute(i[0].shape, lambda r, c: te.sum(i[0][r, c]))], "te.sum reduces along axes"),
        (lambda a, i, o: [te.compute(i[0].shape, lambda r, c: te.sum(i[0][r, c], te.reduce_axis((0, 2)), init=1.0))], "begins with the value that changes nothing"),
        (lambda a, i, o: [te.compute(i[0].shape, lambda r, c: list(i[0])[0])], "the elements of x0 are not known"),
        (lambda a, i, o: [twice_along(i[0], te.reduce_axis((0, 4), "k"))], "the axis k is reduced along twice"),
        (lambda a, i, o: [along_both(i[0], te.reduce_axis((0, 3), "k"))], "the axis k is reduced along twice"),
        (lambda a, i, o: [i[0] + te.compute((2,), lambda r: 1.0)], r"tensors of shapes \(3, 4\) and \(2,\) do not broadcast"),
        (lambda a, i, o: [te.compute((3,), lambda r: 1.0) * te.compute((2,), lambda r: 1.0)], r"tensors of shapes \(3,\) and \(2,\) do not"),
    ],
)
def test_wrong_functions(compute, message):
    op = declare(compute)
    x = relay.var("x", shape=(3, 4))
    with pytest.raises(tvm.TVMError, match=message):
        relay.create_executor("vm", mod=tvm.IRModule.from_expr(relay.Function([x], relay.Call(op, [x]))), device=tvm.cpu(), target="llvm").evaluate()(X)


def test_outside_of_a_definition():
    assert te.compute((3,), lambda i: i).dtype == "int32"
    assert tir.max(2, 3) == 3 and tir.floordiv(7, 2) == 3
    x = relay.var("x", shape=(3,))
    before = relay.create_executor("vm", mod=tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), device=tvm.cpu(), target="llvm").evaluate()
    relay.op.register_compute("exp", lambda attrs, inputs, out_type: 1 / 0, level=11)
    np.testing.assert_allclose(before(X[0, :3]).numpy(), np.exp(X[0, :3]), rtol=1e-5)
    relay.op.get("exp").reset_attr("FTVMCompute")


def test_strategy():
    asked = []

    def times(factor):
        return lambda attrs, inputs, out_type: [te.compute(inputs[0].shape, lambda *i: inputs[0][i] * factor)]

    op = declare(None)

    @tvm.target.override_native_generic_func("computed_strategy")
    def strategy(attrs, inputs, out_type, target):
        asked.append(str(target.kind.name))
        made = relay.op.OpStrategy()
        made.add_implementation(times(2.0), None, name="computed.plain")
        made.add_implementation(times(3.0), None, name="computed.better", plevel=11)
        with te.SpecializedCondition(inputs[0].shape[0] > 3):
            made.add_implementation(times(4.0), None, name="computed.many", plevel=15)
        assert [[one.name for one in each.implementations] for each in made.specializations] == [["computed.plain", "computed.better"], ["computed.many"]]
        assert made.specializations[0].condition is None and te.SpecializedCondition.current() is None
        return made

    relay.op.op.register_strategy(op.name, strategy)
    np.testing.assert_allclose(run(op, X), 3 * X)
    np.testing.assert_allclose(run(op, X.T.copy()), 4 * X.T)
    assert set(asked) == {"llvm"} and op.get_attr("FTVMStrategy") is strategy


@pytest.mark.parametrize(
    "strategy, message",
    [
        (lambda a, i, o, t: 3, "gives an OpStrategy, not int"),
        (lambda a, i, o, t: relay.op.OpStrategy(), "has no implementation for these tensors"),
        (lambda a, i, o, t: relay.op.OpStrategy().add_implementation(3, None), "the compute of implementation default is a function"),
    ],
)
def test_wrong_strategies(strategy, message):
    op = declare(None)
    relay.op.op.register_strategy(op.name, strategy)
    x = relay.var("x", shape=(3, 4))
    with pytest.raises(tvm.TVMError, match=message):
        relay.create_executor("vm", mod=tvm.IRModule.from_expr(relay.Function([x], relay.Call(op, [x]))), device=tvm.cpu(), target="llvm").evaluate()(X)
