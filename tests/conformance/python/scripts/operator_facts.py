"""Facts about operators, attributes that a script attaches, and a rewriting pass that goes by them."""

import numpy as np

import tvm
from tvm import relay
from tvm.relay.testing import temp_op_attr

conv2d = relay.op.get("nn.conv2d")
print(conv2d.name, conv2d.num_inputs, conv2d.support_level, conv2d.description.splitlines()[0])
assert [arg["name"] if isinstance(arg, dict) else getattr(arg, "name", arg) for arg in conv2d.arguments]


@tvm.ir.register_op_attr("nn.relu", "script.FCheaper")
def cheaper_relu(attrs, args):
    return relay.maximum(args[0], relay.const(0.0))


@tvm.ir.register_op_attr("nn.bias_add", "script.FCheaper")
def cheaper_bias_add(attrs, args):
    bias = args[1]
    data = args[0]
    rank = len(data.checked_type.shape)
    axis = int(attrs.axis) % rank
    return data + relay.expand_dims(bias, axis=1, num_newaxis=rank - axis - 1)


@relay.transform.function_pass(opt_level=1, name="Cheaper")
def cheaper(func, mod, ctx):
    def rewrite(expr):
        if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op):
            found = expr.op.get_attr("script.FCheaper")
            if found is not None:
                return found(expr.attrs, expr.args)
        return None

    return relay.Function(func.params, relay.rewrite(func.body, rewrite), func.ret_type, func.type_params, func.attrs)


x, w, b = relay.var("x", shape=(1, 2, 4, 4)), relay.var("w", shape=(3, 2, 1, 1)), relay.var("b", shape=(3,))
func = relay.Function([x, w, b], relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w), b)))
mod = relay.transform.InferType()(tvm.IRModule.from_expr(func))
new = relay.transform.InferType()(cheaper(mod))
assert relay.analysis.list_op_freqs(new) == {"nn.conv2d": 1, "expand_dims": 1, "add": 1, "maximum": 1}

args = [np.random.randn(*p.checked_type.concrete_shape).astype("float32") for p in mod["main"].params]
results = [relay.create_executor("graph", mod=m).evaluate()(*args).numpy() for m in (mod, new)]
np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)

with temp_op_attr.TempOpAttr("nn.relu", "script.FCheaper", None):
    unchanged = cheaper(mod)
    assert "nn.relu" in relay.analysis.list_op_freqs(unchanged)
assert "nn.relu" not in relay.analysis.list_op_freqs(cheaper(mod))
relay.op.get("nn.relu").reset_attr("script.FCheaper")
assert relay.op.get("nn.relu").get_attr("script.FCheaper") is None
