"""Custom operators in Python with attributes and te: a swish with beta, a box filter, argmax-like reduce; used in a net"""
import numpy as np
import tvm
from tvm import relay, te, topi
from tvm.relay.op.op import register, register_compute, register_injective_schedule, register_pattern, register_schedule, OpPattern, register_strategy, OpStrategy
from tvm.relay.op.strategy.generic import wrap_topi_schedule


def make(name, nin, rel, level=10):
    register(name, name + " of a user")
    op = relay.op.get(name)
    op.set_num_inputs(nin)
    for i in range(nin):
        op.add_argument("x%d" % i, "Tensor", "input")
    op.set_support_level(level)
    op.set_attrs_type_key("DictAttrs")
    op.add_type_rel(name.replace(".", "_") + "Rel", rel)
    return op


swish = make("my.swish", 1, lambda types, attrs: types[0])


@register_compute("my.swish")
def swish_compute(attrs, inputs, out_type):
    beta = float(attrs["beta"])
    x = inputs[0]
    return [te.compute(x.shape, lambda *i: x(*i) * te.sigmoid(x(*i) * tvm.tir.const(beta, x.dtype)), name="swish")]


register_injective_schedule("my.swish")
register_pattern("my.swish", OpPattern.ELEMWISE)

box = make("my.box", 1, lambda types, attrs: relay.TensorType([types[0].shape[0] - 2, types[0].shape[1] - 2], types[0].dtype))


@register_compute("my.box")
def box_compute(attrs, inputs, out_type):
    x = inputs[0]
    ry, rx = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")
    s = te.compute((x.shape[0] - 2, x.shape[1] - 2), lambda i, j: te.sum(x[i + ry, j + rx], axis=[ry, rx]), name="s")
    return [te.compute(s.shape, lambda i, j: s[i, j] / 9.0, name="box")]


rowmax = make("my.rowmax", 2, lambda types, attrs: relay.TensorType([types[0].shape[0]], types[0].dtype))


@tvm.target.override_native_generic_func("my_rowmax_strategy")
def rowmax_strategy(attrs, inputs, out_type, target):
    def comp(attrs, inputs, out_type):
        a, b = inputs
        k = te.reduce_axis((0, a.shape[1]), "k")
        return [te.compute((a.shape[0],), lambda i: te.max(a[i, k] + b[k], axis=k))]

    st = OpStrategy()
    st.add_implementation(comp, wrap_topi_schedule(topi.generic.schedule_reduce), name="my.rowmax.generic")
    return st


register_strategy("my.rowmax", rowmax_strategy)


def swish_(x, beta=1.0):
    return relay.Call(swish, [x], tvm.ir.make_node("DictAttrs", beta=beta), [])


x = relay.var("x", shape=(6, 7))
b = relay.var("b", shape=(5,))
y = relay.Call(rowmax, [relay.Call(box, [swish_(x * relay.const(2.0), 1.5)], None), b], None)
mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, b], relay.nn.relu(y))))
assert mod["main"].ret_type == relay.TensorType((4,))
assert "my.swish" in mod.astext() and "beta=1.5" in mod.astext()
xv, bv = np.random.randn(6, 7).astype("float32"), np.random.randn(5).astype("float32")
z = 2 * xv
z = z / (1 + np.exp(-1.5 * z))
f = sum(z[i : i + 4, j : j + 5] for i in range(3) for j in range(3)) / 9
ref = np.maximum((f + bv).max(1), 0)
for kind in ("graph", "vm", "debug"):
    got = relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(xv, bv).numpy()
    np.testing.assert_allclose(got, ref, rtol=1e-4, atol=1e-5)
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, "llvm", params={"b": bv})
g = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
g.run(x=xv)
np.testing.assert_allclose(g.get_output(0).numpy(), ref, rtol=1e-4, atol=1e-5)
print("ok")
