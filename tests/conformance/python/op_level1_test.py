"""Operators of level 1: elementwise, dense, normalisations, as TVM's users test them."""

import math

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay, te
from tvm.relay import transform
from tvm.relay.testing import run_infer_type, run_opt_pass
from tvm.topi import testing as topi_testing

executor_kind = tvm.testing.parameter("graph", "vm")


def check(func, inputs, wanted, dev, target, kinds=("debug", "graph"), rtol=1e-5, atol=1e-6):
    for kind in kinds:
        result = relay.create_executor(kind, device=dev, target=target).evaluate(func)(*inputs)
        tvm.testing.assert_allclose(result.numpy(), wanted, rtol=rtol, atol=atol)


UNARY = {
    "log": np.log, "exp": np.exp, "erf": np.vectorize(math.erf, otypes=[float]), "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cos": np.cos, "sin": np.sin,
    "tan": np.tan, "atan": np.arctan, "log2": np.log2, "log10": np.log10, "cosh": np.cosh, "sinh": np.sinh, "asinh": np.arcsinh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atanh": np.arctanh,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(UNARY))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unary_op(name, dtype, target, dev):
    shape = (10, 4)
    x = relay.var("x", relay.TensorType(shape, dtype))
    y = getattr(relay, name)(x)
    assert run_infer_type(y).checked_type == relay.TensorType(shape, dtype)
    data = np.random.uniform(0.1, 0.9, shape).astype(dtype)
    check(relay.Function([x], y), [data], UNARY[name](data).astype(dtype), dev, target)


def test_acosh(target, dev):
    x = relay.var("x", shape=(7,))
    data = np.random.uniform(1.1, 5, 7).astype("float32")
    check(relay.Function([x], relay.acosh(x)), [data], np.arccosh(data), dev, target)


def test_unary_keeps_symbolic_shape():
    shape = (te.size_var("n"), te.size_var("t"), 100)
    x = relay.var("x", relay.TensorType(shape, "float16"))
    typed = run_infer_type(relay.exp(x))
    assert "exp(%x)" in typed.astext()
    assert typed.checked_type == relay.TensorType(shape, "float16")


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "floor_divide": np.floor_divide,
    "floor_mod": np.fmod, "power": np.power, "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary_op(name, target, dev):
    t1 = relay.TensorType((5, 10, 5))
    t2 = relay.TensorType((5, 10, 5))
    x, y = relay.var("x", t1), relay.var("y", t2)
    z = getattr(relay, name)(x, y)
    assert run_infer_type(z).checked_type == t1
    a, b = (np.random.uniform(1, 5, (5, 10, 5)).astype("float32") for _ in range(2))
    check(relay.Function([x, y], z), [a, b], BINARY[name](a, b), dev, target)


def test_binary_broadcast_type():
    n = te.size_var("n")
    x = relay.var("x", relay.TensorType((n, 1), "float32"))
    y = relay.var("y", relay.TensorType((1, 4), "float32"))
    assert run_infer_type(relay.add(x, y)).checked_type == relay.TensorType((n, 4), "float32")


def test_binary_of_two_dtypes_is_refused():
    x, y = relay.var("x", shape=(2,), dtype="float32"), relay.var("y", shape=(2,), dtype="int32")
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(relay.add(x, y))


@pytest.mark.parametrize("op, ref", [(relay.mod, np.fmod), (relay.floor_divide, np.floor_divide), (relay.floor_mod, np.mod)])
def test_integer_division(op, ref, target, dev):
    x, y = relay.var("x", shape=(6,), dtype="int32"), relay.var("y", shape=(6,), dtype="int32")
    a, b = np.array([7, -7, 7, -7, 6, 0], "int32"), np.array([3, 3, -3, -3, 3, 5], "int32")
    check(relay.Function([x, y], op(x, y)), [a, b], ref(a, b), dev, target)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_expand_dims(dtype, target, dev):
    x = relay.var("x", relay.TensorType((3, 10), dtype))
    y = relay.expand_dims(x, axis=1, num_newaxis=4)
    assert run_infer_type(y).checked_type == relay.TensorType((3, 1, 1, 1, 1, 10), dtype)
    data = np.random.uniform(size=(3, 10)).astype(dtype)
    check(relay.Function([x], y), [data], data.reshape(3, 1, 1, 1, 1, 10), dev, target)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_bias_add(axis, target, dev):
    shape = (10, 2, 3)
    x = relay.var("x", shape=shape)
    bias = relay.var("bias")
    z = relay.nn.bias_add(x, bias, axis=axis)
    typed = run_infer_type(relay.Function([x, bias], z))
    assert typed.body.checked_type == relay.TensorType(shape, "float32")
    assert typed.params[1].checked_type == relay.TensorType((shape[axis],), "float32")
    a, b = np.random.rand(*shape).astype("float32"), np.random.rand(shape[axis]).astype("float32")
    wanted = np.moveaxis(np.moveaxis(a, axis, -1) + b, -1, axis)
    check(typed, [a, b], wanted, dev, target)


def test_bias_add_wrong_axis():
    with pytest.raises(tvm.error.DiagnosticError, match="axis"):
        run_infer_type(relay.nn.bias_add(relay.var("x", shape=(2, 3)), relay.var("b", shape=(3,)), axis=5))


def test_concatenate_infer_type():
    n, t = te.size_var("n"), te.size_var("t")
    x, y = relay.var("x", shape=(n, t, 100)), relay.var("y", shape=(n, t, 100))
    assert run_infer_type(relay.concatenate((x, y), axis=-1)).checked_type == relay.TensorType((n, t, 200))
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(relay.concatenate((x, relay.var("z", shape=(n, t))), axis=0))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_concatenate(dtype, target, dev):
    x, y, t = relay.var("x", shape=(10, 5), dtype=dtype), relay.var("y", shape=(10, 5), dtype=dtype), relay.var("z", shape=(), dtype=dtype)
    func = relay.Function([x, y, t], relay.add(relay.concatenate((x, y), axis=1), t))
    a, b, c = (10 * np.random.rand(10, 5)).astype(dtype), (10 * np.random.rand(10, 5)).astype(dtype), np.array(3, dtype)
    check(func, [a, b, c], np.concatenate((a, b), axis=1) + c, dev, target, rtol=1e-2 if dtype == "float16" else 1e-6)


def test_dropout():
    x = relay.var("x", relay.ty.TensorType((te.size_var("n"), 3), "float32"))
    typed = run_infer_type(relay.nn.dropout(x, rate=0.75))
    assert typed.checked_type == x.type_annotation
    in_np = np.random.random([4, 5]).astype("float32")
    call = relay.nn.dropout(relay.const(in_np), rate=0.5)
    folded = run_opt_pass(relay.Function([], call), transform.SimplifyInference())
    assert isinstance(folded.body, relay.Constant)


def test_layer_norm(target, dev):
    shape = (3, 4, 5)
    x, g, b = relay.var("x", shape=shape), relay.var("g", shape=(5,)), relay.var("b", shape=(5,))
    data, gamma, beta = np.random.rand(*shape).astype("float32"), np.random.rand(5).astype("float32"), np.random.rand(5).astype("float32")
    mean, var = data.mean(-1, keepdims=True), data.var(-1, keepdims=True)
    wanted = (data - mean) / np.sqrt(var + 1e-5) * gamma + beta
    check(relay.Function([x, g, b], relay.nn.layer_norm(x, g, b)), [data, gamma, beta], wanted, dev, target, rtol=1e-4, atol=1e-5)


def test_instance_and_group_norm(target, dev):
    shape = (2, 4, 3, 3)
    x, g, b = relay.var("x", shape=shape), relay.var("g", shape=(4,)), relay.var("b", shape=(4,))
    data, gamma, beta = np.random.rand(*shape).astype("float32"), np.random.rand(4).astype("float32"), np.random.rand(4).astype("float32")
    scale = lambda v: v * gamma.reshape(1, 4, 1, 1) + beta.reshape(1, 4, 1, 1)  # noqa: E731
    normal = lambda v, axes: (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + 1e-5)  # noqa: E731
    check(relay.Function([x, g, b], relay.nn.instance_norm(x, g, b)), [data, gamma, beta], scale(normal(data, (2, 3))), dev, target, rtol=1e-4, atol=1e-5)
    groups = normal(data.reshape(2, 2, 2, 3, 3), (2, 3, 4)).reshape(shape)
    check(relay.Function([x, g, b], relay.nn.group_norm(x, g, b, num_groups=2)), [data, gamma, beta], scale(groups), dev, target, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("center, scale", [(True, True), (False, False)])
def test_batch_norm(center, scale):
    data = relay.var("data", relay.TensorType((3, 2, 1)))
    vectors = [relay.var(name, relay.TensorType((2,))) for name in ("beta", "gamma", "moving_mean", "moving_var")]
    beta, gamma, mean, var = vectors
    y = relay.nn.batch_norm(data, gamma, beta, mean, var, center=center, scale=scale)
    typed = run_infer_type(y.astuple())
    assert "center=" in typed.astext() or center
    wanted = relay.ty.TupleType([relay.TensorType((3, 2, 1), "float32"), relay.TensorType((2,), "float32"), relay.TensorType((2,), "float32")])
    assert typed.checked_type == wanted


def test_batch_norm_inference(target, dev):
    shape = (2, 3, 4, 4)
    names = ["x", "gamma", "beta", "mean", "var"]
    args = [relay.var("x", shape=shape)] + [relay.var(n, shape=(3,)) for n in names[1:]]
    values = [np.random.rand(*shape).astype("float32")] + [np.random.rand(3).astype("float32") for _ in names[1:]]
    func = run_opt_pass(relay.Function(args, relay.nn.batch_norm(*args)[0]), transform.SimplifyInference())
    assert "batch_norm" not in func.astext()
    x, gamma, beta, mean, var = [values[0]] + [v.reshape(1, 3, 1, 1) for v in values[1:]]
    check(func, values, (x - mean) / np.sqrt(var + 1e-5) * gamma + beta, dev, target, rtol=1e-4, atol=1e-5)


def test_dense_infer_type():
    n, c, h, w = (te.size_var(name) for name in "nchw")
    x, weight = relay.var("x", relay.TensorType((n, c, h, w), "float32")), relay.var("w", relay.TensorType((2, w), "float32"))
    typed = run_infer_type(relay.nn.dense(x, weight, units=2))
    assert "units=2" in typed.astext()
    assert typed.checked_type == relay.TensorType((n, c, h, 2), "float32")
    y, free = relay.var("y", shape=(4, 8)), relay.var("w", relay.IncompleteType())
    typed = run_infer_type(relay.Function([y, free], relay.nn.dense(y, free, units=3)))
    assert typed.params[1].checked_type == relay.TensorType((3, 8), "float32")


def test_dense_wrong_inner_extent():
    with pytest.raises(tvm.error.DiagnosticError, match="16"):
        run_infer_type(relay.nn.dense(relay.var("x", shape=(2, 16)), relay.var("w", shape=(4, 32))))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dense(dtype, executor_kind, target, dev):
    x, w = relay.var("x", shape=(10, 5), dtype=dtype), relay.var("w", shape=(2, 5), dtype=dtype)
    a, b = np.random.rand(10, 5).astype(dtype), np.random.rand(2, 5).astype(dtype)
    func = relay.Function([x, w], relay.nn.dense(x, w))
    result = relay.create_executor(executor_kind, device=dev, target=target).evaluate(func)(a, b)
    tvm.testing.assert_allclose(result.numpy(), a @ b.T, rtol=1e-5)


def test_dense_of_int8_gives_int32(target, dev):
    x, w = relay.var("x", shape=(3, 8), dtype="int8"), relay.var("w", shape=(4, 8), dtype="int8")
    y = relay.nn.dense(x, w, out_dtype="int32")
    assert run_infer_type(y).checked_type.dtype == "int32"
    a, b = np.random.randint(-100, 100, (3, 8)).astype("int8"), np.random.randint(-100, 100, (4, 8)).astype("int8")
    check(relay.Function([x, w], y), [a, b], a.astype("int32") @ b.T.astype("int32"), dev, target)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul(transpose_a, transpose_b, target, dev):
    sa, sb = ((5, 3) if transpose_a else (3, 5)), ((4, 5) if transpose_b else (5, 4))
    x, y = relay.var("x", shape=sa), relay.var("y", shape=sb)
    a, b = np.random.rand(*sa).astype("float32"), np.random.rand(*sb).astype("float32")
    wanted = (a.T if transpose_a else a) @ (b.T if transpose_b else b)
    check(relay.Function([x, y], relay.nn.matmul(x, y, transpose_a=transpose_a, transpose_b=transpose_b)), [a, b], wanted, dev, target)


def test_relu_type():
    x = relay.var("x", shape=(te.size_var("n"), 4))
    assert run_infer_type(relay.nn.relu(x)).checked_type == x.type_annotation


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_family(axis, target, dev):
    x = relay.var("x", shape=(3, 6))
    data = np.random.uniform(-3, 3, (3, 6)).astype("float32")
    check(relay.Function([x], relay.nn.softmax(x, axis)), [data], topi_testing.softmax_python(data, axis), dev, target)
    check(relay.Function([x], relay.nn.fast_softmax(x, axis)), [data], topi_testing.softmax_python(data, axis), dev, target, rtol=1e-2, atol=1e-3)
    check(relay.Function([x], relay.nn.log_softmax(x, axis)), [data], topi_testing.log_softmax_python(data, axis), dev, target)
