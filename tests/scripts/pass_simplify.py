"""SimplifyExpr, SimplifyInference, FoldScaleAxis, CanonicalizeOps, FoldExplicitPadding."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.testing import run_infer_type, run_opt_pass


def ops_after(expr, *passes):
    mod = tvm.IRModule.from_expr(expr)
    with tvm.transform.PassContext(opt_level=3):
        mod = tvm.transform.Sequential([transform.InferType(), *passes])(mod)
    return relay.testing.count_ops(mod["main"]), mod


def test_reshapes_and_transposes():
    x = relay.var("x", shape=(1, 16, 16, 16))
    y = relay.reshape(relay.reshape(x, (1, 256, 16)), (16, 256))
    ops, _ = ops_after(relay.Function([x], y), transform.SimplifyExpr())
    assert ops == {"reshape": 1}
    y = relay.transpose(relay.transpose(x, (0, 2, 3, 1)), (0, 3, 1, 2))
    ops, _ = ops_after(relay.Function([x], relay.nn.relu(y)), transform.SimplifyExpr())
    assert ops == {"nn.relu": 1}


def test_arithmetic():
    x = relay.var("x", shape=(4,))
    one, zero = relay.const(1.0), relay.const(0.0)
    ops, _ = ops_after(relay.Function([x], relay.nn.relu((x * one + zero) / one)), transform.SimplifyExpr())
    assert ops == {"nn.relu": 1}
    ops, _ = ops_after(relay.Function([x], relay.cast(relay.cast(x, "float32"), "float32")), transform.SimplifyExpr())
    assert ops == {}
    y = relay.const(1.0) / relay.sqrt(x)
    ops, _ = ops_after(relay.Function([x], y), transform.SimplifyExpr())
    assert ops == {"rsqrt": 1}


def test_inference_forms():
    x = relay.var("x", shape=(1, 4, 6, 6))
    params = [relay.var(n, shape=(4,)) for n in ("gamma", "beta", "mean", "var")]
    f = relay.Function([x, *params], relay.nn.dropout(relay.nn.batch_norm(x, *params)[0], rate=0.3))
    ops, mod = ops_after(f, transform.SimplifyInference())
    assert "nn.batch_norm" not in ops and "nn.dropout" not in ops
    args = [np.random.rand(*p.checked_type.concrete_shape).astype("float32") for p in mod["main"].params]
    out = [relay.create_executor("debug", mod=m).evaluate()(*args).numpy() for m in (tvm.IRModule.from_expr(f), mod)]
    np.testing.assert_allclose(*out, rtol=1e-4, atol=1e-5)


def test_scale_axis():
    x, w = relay.var("x", shape=(1, 4, 6, 6)), relay.const(np.random.rand(8, 4, 3, 3).astype("float32"))
    scale = relay.const(np.random.rand(8, 1, 1).astype("float32"))
    f = relay.Function([x], relay.nn.conv2d(x, w) * scale)
    ops, mod = ops_after(f, transform.BackwardFoldScaleAxis(), transform.FoldConstant())
    assert ops == {"nn.conv2d": 1}
    data = np.random.rand(1, 4, 6, 6).astype("float32")
    out = [relay.create_executor("debug", mod=m).evaluate()(data).numpy() for m in (tvm.IRModule.from_expr(f), mod)]
    np.testing.assert_allclose(*out, rtol=1e-4, atol=1e-4)


def test_explicit_padding():
    x, w = relay.var("x", shape=(1, 3, 6, 6)), relay.var("w", shape=(4, 3, 3, 3))
    f = relay.Function([x, w], relay.nn.conv2d(relay.nn.pad(x, [[0, 0], [0, 0], [1, 1], [1, 1]]), w))
    after = run_opt_pass(f, transform.FoldExplicitPadding())
    tvm.ir.assert_structural_equal(after, run_infer_type(relay.Function([x, w], relay.nn.conv2d(x, w, padding=(1, 1, 1, 1)))))


def test_canonical_bias():
    x, b = relay.var("x", shape=(1, 4, 6, 6)), relay.var("b", shape=(4,))
    ops, _ = ops_after(relay.Function([x, b], relay.nn.bias_add(x, b)), transform.CanonicalizeOps())
    assert "nn.bias_add" not in ops and ops["add"] == 1


if __name__ == "__main__":
    pytest.main([__file__])
