"""Layout and legalisation hooks that a test attaches for a while (TempOpAttr), as in test_pass_alter_op_layout.py."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import analysis, transform
from tvm.relay.testing.temp_op_attr import TempOpAttr


def run_opt_pass(expr, passes):
    passes = passes if isinstance(passes, list) else [passes]
    mod = tvm.IRModule.from_expr(expr)
    seq = tvm.transform.Sequential(passes)
    with tvm.transform.PassContext(opt_level=3):
        mod = seq(mod)
    entry = mod["main"]
    return entry if isinstance(expr, relay.Function) else entry.body


def test_alter_op():
    def before():
        x = relay.var("x", shape=(1, 64, 56, 56))
        weight = relay.var("weight", shape=(64, 64, 3, 3))
        y = relay.nn.conv2d(x, weight, channels=64, kernel_size=(3, 3), padding=(1, 1))
        y = relay.nn.relu(y)
        return relay.Function([x, weight], y)

    def alter_conv2d(attrs, inputs, tinfos, out_type):
        data, weight = inputs
        weight = relay.multiply(weight, relay.const(2.0, "float32"))
        return relay.nn.conv2d(data, weight, **attrs)

    def expected():
        x = relay.var("x", shape=(1, 64, 56, 56))
        weight = relay.var("weight", shape=(64, 64, 3, 3))
        y = relay.nn.conv2d(x, relay.multiply(weight, relay.const(2.0, "float32")), channels=64, kernel_size=(3, 3), padding=(1, 1))
        return relay.Function([x, weight], relay.nn.relu(y))

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter_conv2d):
        a = run_opt_pass(before(), transform.AlterOpLayout())
        b = run_opt_pass(expected(), transform.InferType())
    assert tvm.ir.structural_equal(a, b), "Actual = \n" + str(a)


def test_alter_layout_with_types():
    seen = []

    def alter_conv2d(attrs, inputs, tinfos, out_type):
        seen.append(([tuple(t.shape) for t in tinfos], tinfos[0].dtype, tuple(out_type.shape)))
        data, weight = inputs
        new_attrs = dict(attrs)
        new_attrs["data_layout"] = "NCHW16c"
        new_attrs["kernel_layout"] = "OIHW16i"
        return relay.nn.conv2d(data, weight, **new_attrs)

    x = relay.var("x", shape=(1, 64, 56, 56))
    w1, bias = relay.var("weight", shape=(64, 64, 3, 3)), relay.var("bias", shape=(64,))
    y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w1, channels=64, kernel_size=(3, 3), padding=(1, 1)), bias))
    func = relay.Function(analysis.free_vars(y), y)
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter_conv2d):
        made = run_opt_pass(func, [transform.CanonicalizeOps(), transform.AlterOpLayout()])
    assert seen[0] == ([(1, 64, 56, 56), (64, 64, 3, 3)], "float32", (1, 64, 56, 56))
    text = str(made)
    assert text.count("layout_transform") >= 3 and "NCHW16c" in text
    data = [np.random.rand(*[int(d) for d in p.type_annotation.shape]).astype("float32") * 0.1 for p in func.params]
    want = relay.create_executor("vm", mod=tvm.IRModule.from_expr(func)).evaluate()(*data).numpy()
    order = {p.name_hint: v for p, v in zip(func.params, data)}
    got = relay.create_executor("vm", mod=tvm.IRModule.from_expr(made)).evaluate()(*[order[p.name_hint] for p in made.params]).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5)


def test_legalize():
    def legalize_conv2d(attrs, inputs, types):
        data, weight = inputs
        return relay.nn.conv2d(data, relay.multiply(weight, relay.const(2.0, "float32")), **attrs)

    x, weight = relay.var("x", shape=(1, 8, 8, 8)), relay.var("weight", shape=(8, 8, 3, 3))
    f = relay.Function([x, weight], relay.nn.conv2d(x, weight, channels=8, kernel_size=(3, 3)))
    with TempOpAttr("nn.conv2d", "FTVMLegalize", legalize_conv2d):
        made = run_opt_pass(f, transform.Legalize())
    assert "multiply" in str(made) and "multiply" not in str(run_opt_pass(f, transform.Legalize()))


if __name__ == "__main__":
    tvm.testing.main() if hasattr(tvm, "testing") else None
