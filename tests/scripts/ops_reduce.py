"""Reductions with every mixture of axis, keepdims and exclude."""
import itertools

import numpy as np

import tvm
from tvm import relay, te
from tvm.relay.testing import run_infer_type
from tvm.testing import assert_allclose, enabled_targets

REDUCTIONS = [(relay.sum, np.sum), (relay.mean, np.mean), (relay.max, np.max), (relay.min, np.min), (relay.prod, np.prod), (relay.variance, np.var), (relay.std, np.std)]


def check(relay_op, numpy_op, shape, axis, keepdims, exclude):
    x = relay.var("x", shape=shape, dtype="float32")
    z = relay_op(x, axis=axis, keepdims=keepdims, exclude=exclude)
    data = np.random.uniform(0.5, 1.5, size=shape).astype("float32")
    axes = tuple(range(len(shape))) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    axes = tuple(a % len(shape) for a in axes)
    if exclude:
        axes = tuple(i for i in range(len(shape)) if i not in axes)
    wanted = numpy_op(data, axis=axes, keepdims=keepdims)
    assert tuple(int(d) for d in run_infer_type(z).checked_type.shape) == wanted.shape
    for target, dev in enabled_targets():
        got = relay.create_executor("graph", device=dev, target=target).evaluate(relay.Function([x], z))(data)
        assert_allclose(got.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_all_of_them():
    for (op, ref), axis, keepdims in itertools.product(REDUCTIONS, (None, 0, -1, (0, 2)), (False, True)):
        check(op, ref, (3, 4, 5), axis, keepdims, False)
    for op, ref in REDUCTIONS[:3]:
        check(op, ref, (3, 4, 5), (1,), True, True)


def test_symbolic():
    a, b, c = te.var("a"), te.var("b"), te.var("c")
    x = relay.var("x", relay.TensorType((a, b, c), "float32"))
    assert run_infer_type(relay.argmax(x, axis=1)).checked_type == relay.TensorType((a, c), "int32")
    assert run_infer_type(relay.sum(x, axis=[0, 1], keepdims=True)).checked_type == relay.TensorType((1, 1, c), "float32")
    assert "keepdims=True" in relay.sum(x, axis=[0, 1], keepdims=True).astext()


def test_bools_and_logsumexp():
    x = relay.var("x", shape=(2, 3), dtype="bool")
    data = np.array([[True, True, False], [True, True, True]])
    run = lambda e, d: relay.create_executor("debug").evaluate(relay.Function([x], e))(d).numpy()  # noqa: E731
    assert run(relay.all(x, axis=1), data).tolist() == [False, True] and run(relay.any(x, axis=0), data).tolist() == [True] * 3
    y = relay.var("y", shape=(2, 3))
    values = np.random.rand(2, 3).astype("float32")
    out = relay.create_executor("debug").evaluate(relay.Function([y], relay.logsumexp(y, axis=[1])))(values)
    assert_allclose(out.numpy(), np.log(np.exp(values).sum(1)), rtol=1e-5)


if __name__ == "__main__":
    test_all_of_them()
    test_symbolic()
    test_bools_and_logsumexp()
