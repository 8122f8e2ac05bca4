"""Unary operators, each against a function of NumPy, over dtypes."""
import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay
from tvm.relay.testing import run_infer_type

CASES = {
    "exp": (relay.exp, np.exp, (-2, 2)),
    "log1p_like": (lambda x: relay.log(x + relay.const(1.0)), np.log1p, (0, 3)),
    "rsqrt": (relay.rsqrt, lambda a: 1.0 / np.sqrt(a), (0.1, 4)),
    "sigmoid": (relay.sigmoid, lambda a: 1.0 / (1.0 + np.exp(-a)), (-6, 6)),
    "ceil": (relay.ceil, np.ceil, (-3, 3)),
    "sign": (relay.sign, np.sign, (-1, 1)),
    "atanh": (relay.op.atanh, np.arctanh, (-0.9, 0.9)),
}


class TestUnary:
    shape = tvm.testing.parameter((4,), (2, 3, 5))
    op, ref, bounds = tvm.testing.parameters(*CASES.values(), ids=CASES.keys())

    @tvm.testing.fixture
    def data(self, shape, bounds):
        return np.random.uniform(*bounds, size=shape).astype("float32")

    def test_type_and_value(self, target, dev, op, ref, data):
        x = relay.var("x", relay.TensorType(data.shape, "float32"))
        y = run_infer_type(op(x))
        assert y.checked_type == relay.TensorType(data.shape, "float32")
        for kind in ("graph", "debug", "vm"):
            evaluate = relay.create_executor(kind, device=dev, target=target).evaluate(relay.Function([x], op(x)))
            tvm.testing.assert_allclose(evaluate(data).numpy(), ref(data), rtol=1e-4, atol=1e-5)


def test_half_precision(target, dev):
    if tvm.target.Target(target).kind.name == "cuda" and not tvm.contrib.nvcc.have_fp16(tvm.cuda(0).compute_version):
        pytest.xfail("no float16 on this GPU")
    x = relay.var("x", shape=(8,), dtype="float16")
    value = np.linspace(0, 1, 8).astype("float16")
    out = relay.create_executor("graph", device=dev, target=target).evaluate(relay.Function([x], relay.tanh(x)))(value)
    assert out.dtype == "float16"
    np.testing.assert_allclose(out.numpy(), np.tanh(value), rtol=0.01)


if __name__ == "__main__":
    tvm.testing.main()
