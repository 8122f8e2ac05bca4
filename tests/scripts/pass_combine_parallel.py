"""CombineParallelConv2D, CombineParallelDense, CombineParallelBatchMatmul."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay import transform


def run_combine_pass(expr, combine):
    mod = tvm.IRModule.from_expr(expr)
    return transform.InferType()(combine(transform.InferType()(mod)))


def same_results(before, after, *args):
    outs = [relay.create_executor("graph", mod=m, device=tvm.cpu(), target="llvm").evaluate()(*args) for m in (tvm.IRModule.from_expr(before), after)]
    for a, b in zip(*outs):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_conv2d():
    x = relay.var("x", shape=(1, 4, 8, 8))
    weights = [relay.var(f"w{i}", shape=(c, 4, 1, 1)) for i, c in enumerate((2, 3, 4))]
    biases = [relay.var(f"b{i}", shape=(c, 1, 1)) for i, c in enumerate((2, 3, 4))]
    ys = [relay.nn.relu(relay.nn.conv2d(x, w) + b) for w, b in zip(weights, biases)]
    f = relay.Function([x, *weights, *biases], relay.Tuple(ys))
    after = run_combine_pass(f, transform.CombineParallelConv2D(min_num_branches=2))
    assert relay.testing.count_ops(after["main"])["nn.conv2d"] == 1
    args = [np.random.rand(*p.type_annotation.concrete_shape).astype("float32") for p in f.params]
    same_results(f, after, *args)
    untouched = run_combine_pass(f, transform.CombineParallelConv2D(min_num_branches=4))
    assert relay.testing.count_ops(untouched["main"])["nn.conv2d"] == 3


def test_dense():
    x = relay.var("x", shape=(4, 6))
    weights = [relay.var(f"w{i}", shape=(5, 6)) for i in range(3)]
    f = relay.Function([x, *weights], relay.Tuple([relay.nn.dense(x, w) for w in weights]))
    args = [np.random.rand(*p.type_annotation.concrete_shape).astype("float32") for p in f.params]
    for to_batch, op in ((True, "nn.batch_matmul"), (False, "nn.dense")):
        after = run_combine_pass(f, transform.CombineParallelDense(min_num_branches=2, to_batch=to_batch))
        assert relay.testing.count_ops(after["main"])[op] == 1
        same_results(f, after, *args)


def test_batch_matmul():
    x = relay.var("x", shape=(2, 3, 4))
    ws = [relay.var(f"w{i}", shape=(2, n, 4)) for i, n in enumerate((5, 6))]
    f = relay.Function([x, *ws], relay.Tuple([relay.nn.batch_matmul(x, w) for w in ws]))
    after = run_combine_pass(f, transform.CombineParallelBatchMatmul(min_num_branches=2))
    assert relay.testing.count_ops(after["main"])["nn.batch_matmul"] == 1
    same_results(f, after, *[np.random.rand(*p.type_annotation.concrete_shape).astype("float32") for p in f.params])


if __name__ == "__main__":
    test_conv2d()
    test_dense()
    test_batch_matmul()
