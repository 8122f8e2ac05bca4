"""Random numbers with keys."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.testing import run_infer_type


def evaluate(expr):
    return relay.create_executor("vm", device=tvm.cpu(), target="llvm").evaluate(relay.Function([], expr))()


def test_repeatable():
    key = tvm.relay.random.threefry_key(7)
    out = [evaluate(tvm.relay.random.threefry_generate(key, (8,))) for _ in range(2)]
    np.testing.assert_array_equal(out[0][1].numpy(), out[1][1].numpy())
    assert not np.array_equal(out[0][0].numpy(), evaluate(key).numpy())


def test_split():
    left, right = tvm.relay.expr.TupleWrapper(tvm.relay.random.threefry_split(tvm.relay.random.threefry_key(1)), 2)
    a = evaluate(tvm.relay.random.threefry_generate(left, (16,)))[1].numpy()
    b = evaluate(tvm.relay.random.threefry_generate(right, (16,)))[1].numpy()
    assert (a != b).any()


def test_uniform_and_normal():
    key = tvm.relay.random.threefry_key(11)
    u = evaluate(tvm.relay.random.uniform(key, (2000,), dtype="float32", low=-1.0, high=3.0))[1].numpy()
    assert u.min() >= -1 and u.max() < 3 and abs(u.mean() - 1) < 0.15
    n = evaluate(tvm.relay.random.normal(key, (2000,), dtype="float64", mean=2.0, scale=0.5))[1].numpy()
    assert abs(n.mean() - 2) < 0.1 and abs(n.std() - 0.5) < 0.05


def test_types():
    oshape = (12, 3)
    out = run_infer_type(tvm.relay.random.threefry_generate(tvm.relay.random.threefry_key(0), oshape))
    assert out.checked_type == relay.TupleType([relay.TensorType([10], dtype="uint64"), relay.TensorType(oshape, dtype="uint64")])


if __name__ == "__main__":
    test_repeatable()
    test_split()
    test_uniform_and_normal()
    test_types()
