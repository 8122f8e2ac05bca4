"""FuseOps: groups, levels, the greatest depth."""
import tvm
import tvm.testing
from tvm import relay
from tvm.relay import transform
from tvm.relay.testing import run_infer_type, run_opt_pass


def primitives(expr):
    found = []

    def look(e):
        if isinstance(e, relay.Function) and e.attrs is not None and "Primitive" in e.attrs.keys():
            found.append(e)

    relay.analysis.post_order_visit(expr, look)
    return found


def primitive(params, body):
    return relay.Function(params, body).with_attr("Primitive", tvm.tir.IntImm("int32", 1))


def test_elementwise_chain():
    x, p = relay.var("x", shape=(4, 5)), relay.var("p", shape=(4, 5))
    before = relay.Function([x], relay.exp(relay.nn.relu(x + relay.const(1.0))))
    expected = relay.Function([x], relay.Call(primitive([p], relay.exp(relay.nn.relu(p + relay.const(1.0)))), [x]))
    after = run_opt_pass(before, transform.FuseOps(fuse_opt_level=2))
    tvm.ir.assert_structural_equal(after, run_infer_type(expected))


def test_two_convolutions():
    x = relay.var("x", shape=(1, 8, 12, 12))
    y = relay.nn.conv2d(x, relay.var("w1"), kernel_size=(3, 3), padding=(1, 1), channels=8)
    y = relay.nn.relu(relay.nn.bias_add(y, relay.var("b1")))
    y = relay.nn.conv2d(y, relay.var("w2"), kernel_size=(1, 1), channels=4)
    y = relay.tanh(y)
    func = relay.Function(relay.analysis.free_vars(y), y)
    assert len(primitives(run_opt_pass(func, transform.FuseOps(fuse_opt_level=2)))) == 2
    assert len(primitives(run_opt_pass(func, transform.FuseOps(fuse_opt_level=0)))) == 5


def test_depth():
    x = relay.var("x", shape=(3,))
    y = x
    for _ in range(10):
        y = relay.sqrt(y)
    func = relay.Function([x], y)
    with tvm.transform.PassContext(config={"relay.FuseOps.max_depth": 5}):
        assert len(primitives(run_opt_pass(func, transform.FuseOps()))) == 2
    assert len(primitives(run_opt_pass(func, transform.FuseOps()))) == 1


def test_defuse():
    x = relay.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.log(x))))
    mod = transform.InferType()(mod)
    back = transform.DefuseOps()(transform.FuseOps()(mod))
    tvm.ir.assert_structural_equal(back, mod)


if __name__ == "__main__":
    tvm.testing.main()
