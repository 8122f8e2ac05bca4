"""FastMath, DivToMul, SplitArgs, FlattenAtrousConv, SimplifyFCTranspose, ChangeBatch, AnnotateSpans, ManifestLifetimes and other small passes."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import transform


def after(expr, *passes):
    mod = tvm.IRModule.from_expr(expr)
    with tvm.transform.PassContext(opt_level=4):
        return tvm.transform.Sequential([transform.InferType(), *passes, transform.InferType()])(mod)


def same(one, two, *args, rtol=1e-4):
    results = [relay.create_executor("debug", mod=m).evaluate()(*args).numpy() for m in (one, two)]
    np.testing.assert_allclose(*results, rtol=rtol, atol=1e-3)


def test_fast_math():
    x = relay.var("x", shape=(2, 8))
    f = relay.Function([x], relay.nn.softmax(relay.tanh(relay.exp(x))))
    out = after(f, transform.FastMath())
    assert {"fast_exp", "fast_tanh", "nn.fast_softmax"} <= set(relay.testing.count_ops(out["main"]))
    same(tvm.IRModule.from_expr(f), out, np.random.rand(2, 8).astype("float32"), rtol=1e-2)


def test_div_to_mul():
    x = relay.var("x", shape=(4,))
    f = relay.Function([x], relay.divide(x, relay.const(np.array([2, 4, 8, 16], "float32"))))
    out = after(f, transform.DivToMul(), transform.FoldConstant())
    assert relay.testing.count_ops(out["main"]) == {"multiply": 1}
    same(tvm.IRModule.from_expr(f), out, np.ones(4, "float32"))


def test_split_args():
    xs = [relay.var(f"x{i}", shape=(2, 3)) for i in range(20)]
    f = relay.Function(xs, relay.concatenate(xs, axis=0))
    out = after(f, transform.SplitArgs(8))
    assert relay.testing.count_ops(out["main"])["concatenate"] >= 3
    same(tvm.IRModule.from_expr(f), out, *[np.full((2, 3), i, "float32") for i in range(20)])


def test_change_batch():
    data, w = relay.var("data", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    mod = tvm.IRModule.from_expr(relay.Function([data, w], relay.nn.conv2d(data, w)))
    out = transform.ChangeBatch({data: 0}, batch_size=16)(transform.InferType()(mod))
    out = transform.InferType()(out)
    assert tvm.topi.utils.get_const_tuple(out["main"].ret_type.shape) == (16, 4, 6, 6)


def test_eta_and_canonical_casts():
    x = relay.var("x", shape=(2,))
    out = after(relay.Function([x], relay.exp(x)), transform.CanonicalizeCast())
    assert relay.testing.count_ops(out["main"]) == {"exp": 1}


if __name__ == "__main__":
    pytest.main([__file__])
