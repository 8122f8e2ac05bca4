"""ToMixedPrecision."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.testing import lstm, mlp
from tvm.relay.transform import InferType, ToMixedPrecision


def run_module(mod, params):
    dev = tvm.device("llvm", 0)
    result = relay.create_executor("debug", mod, device=dev, target="llvm").evaluate()(**params)
    return [result.numpy()] if isinstance(result, tvm.runtime.NDArray) else [r.numpy() for r in result]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_dense_becomes_half(dtype):
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    mod = InferType()(tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.softmax(relay.nn.dense(x, w)))))
    half = ToMixedPrecision(dtype)(mod)
    dtypes = {}
    relay.analysis.post_order_visit(InferType()(half)["main"], lambda e: dtypes.setdefault(e.op.name, e.args[0].checked_type.dtype) if isinstance(e, relay.Call) and isinstance(e.op, tvm.ir.Op) else None)
    assert dtypes["nn.dense"] == dtype


def test_results_are_near():
    x, w, b = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3)), relay.var("b", shape=(4,))
    y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w, kernel_size=(3, 3)), b))
    mod = InferType()(tvm.IRModule.from_expr(relay.Function([x, w, b], y)))
    rng = np.random.RandomState(0)
    params = {"x": rng.rand(1, 3, 8, 8).astype("float32"), "w": rng.rand(4, 3, 3, 3).astype("float32"), "b": rng.rand(4).astype("float32")}
    with tvm.transform.PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}):
        half = ToMixedPrecision("float16")(mod)
    assert InferType()(half)["main"].ret_type.dtype == "float32"
    for a, b in zip(run_module(mod, params), run_module(half, params)):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-2)


if __name__ == "__main__":
    pytest.main([__file__])
