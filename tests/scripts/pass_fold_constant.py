"""FoldConstant on sums, lets, tuples, batch norms and types."""
import numpy as np

import tvm
import tvm.testing
from tvm import relay
from tvm.relay import transform
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.testing import create_workload, run_infer_type, run_opt_pass


def test_a_chain_of_constants():
    c = np.array([2.0, 4.0], "float32")
    x = relay.var("x", shape=(2,))
    before = relay.Function([x], relay.add(x, relay.multiply(relay.add(relay.const(c), relay.const(c)), relay.const(0.5))))
    expected = relay.Function([x], relay.add(x, relay.const(c)))
    with tvm.target.Target("cuda"):
        after = run_opt_pass(before, transform.FoldConstant())
    tvm.ir.assert_structural_equal(after, run_infer_type(expected))


def test_lets():
    x = relay.var("x", "float32")
    sb = relay.ScopeBuilder()
    one = sb.let("one", relay.const(1.0))
    two = sb.let("two", one + one)
    sb.ret(sb.let("sum", two + x))
    after = run_opt_pass(relay.Function([x], sb.get()), transform.FoldConstant())
    assert "2f" in after.astext() and "%two" not in after.astext()


def test_tuples_and_concatenation():
    c = relay.const(np.ones(2, "float32"))
    after = run_opt_pass(relay.Function([], relay.concatenate([c, c], axis=0)), transform.FoldConstant())
    tvm.ir.assert_structural_equal(after, run_infer_type(relay.Function([], relay.const(np.ones(4, "float32")))))
    pair = relay.Tuple([relay.var("y", "float32"), relay.const(3.0)])
    after = run_opt_pass(relay.Function([pair.fields[0]], pair[1]), transform.FoldConstant())
    assert isinstance(after.body, relay.Constant)


def test_an_inference_network_has_no_batch_norm():
    data = relay.var("data", shape=(1, 3, 8, 8))
    conv = relay.nn.conv2d(data, relay.var("weight"), kernel_size=(3, 3), channels=4, padding=(1, 1))
    bn = relay.nn.batch_norm(conv, relay.var("gamma"), relay.var("beta"), relay.var("mean"), relay.var("var"))
    mod, params = create_workload(bn[0])
    mod["main"] = bind_params_by_name(mod["main"], params)
    seq = tvm.transform.Sequential([transform.InferType(), transform.SimplifyInference(), transform.FoldConstant(), transform.FoldScaleAxis(), transform.FoldConstant()])
    with tvm.transform.PassContext(opt_level=3):
        small = seq(mod)
    ops = relay.testing.count_ops(small["main"])
    assert "nn.batch_norm" not in ops and ops["nn.conv2d"] == 1 and ops.get("multiply", 0) == 0
    x = np.random.rand(1, 3, 8, 8).astype("float32")
    results = [relay.create_executor("debug", mod=m).evaluate()(x).numpy() for m in (mod, small)]
    tvm.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)


def test_run_time_input_stays():
    x = relay.var("x", shape=(3,))
    f = relay.Function([x], relay.exp(x))
    after = run_opt_pass(f, transform.FoldConstant())
    tvm.ir.assert_structural_equal(after, run_infer_type(f))


if __name__ == "__main__":
    tvm.testing.main()
