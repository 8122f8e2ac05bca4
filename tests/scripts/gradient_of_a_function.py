"""relay.transform.gradient, first and higher order, against NumPy."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import create_executor, transform
from tvm.relay.testing import check_grad, rand, run_infer_type
from tvm.relay.transform import gradient


@pytest.mark.parametrize("mode", ["higher_order", "first_order"])
def test_square(mode):
    t = relay.TensorType((10, 10), "float32")
    x = relay.var("x", t)
    func = run_infer_type(relay.Function([x], x * x))
    back = run_infer_type(gradient(func, mode=mode))
    assert back.checked_type == relay.FuncType([t], relay.TupleType([t, relay.TupleType([t])]))
    data = rand("float32", 10, 10)
    forward, (grad,) = create_executor("debug", device=tvm.cpu(), target="llvm").evaluate(back)(data)
    np.testing.assert_allclose(forward.numpy(), data.numpy() ** 2, rtol=1e-6)
    np.testing.assert_allclose(grad.numpy(), 2 * data.numpy(), rtol=1e-6)


def test_check_grad():
    x = relay.var("x", shape=(3, 4))
    check_grad(relay.Function([x], relay.tanh(x)))


if __name__ == "__main__":
    pytest.main([__file__])
