"""Recast of chosen operators, mixed precision with a user's lists, and what is left in float32."""
import numpy as np
import tvm
import tvm.testing
from tvm import relay
from tvm.relay import testing
from tvm.relay.op import register_mixed_precision_conversion
from tvm.relay.transform import ToMixedPrecision, recast

mod, params = testing.resnet.get_workload(num_layers=8, batch_size=1, image_shape=(3, 28, 28), num_classes=10)
mod = relay.transform.InferType()(mod)
data = np.random.RandomState(0).uniform(-1, 1, (1, 3, 28, 28)).astype("float32")
exact = relay.create_executor("vm", mod=mod, device=tvm.cpu(), params=params).evaluate()(data, **params).numpy()


def dtypes_of(mod, name):
    found = set()

    def look(e):
        if isinstance(e, relay.Call) and isinstance(e.op, tvm.ir.Op) and e.op.name == name:
            found.add(e.args[0].checked_type.dtype)

    relay.analysis.post_order_visit(relay.transform.InferType()(mod)["main"], look)
    return found


half = ToMixedPrecision("float16", missing_op_mode=1)(mod)
assert dtypes_of(half, "nn.conv2d") == {"float16"}
near = relay.create_executor("vm", mod=half, device=tvm.cpu(), params=params).evaluate()(data, **params).numpy()
tvm.testing.assert_allclose(exact.astype("float32"), near.astype("float32"), rtol=0.05, atol=0.05)

expr = recast(mod["main"], "int8", "int32", ops=["nn.conv2d"], skip_layers=[0])
recasted = relay.transform.InferType()(tvm.IRModule.from_expr(expr))
assert dtypes_of(recasted, "nn.conv2d") == {"int8", "float32"}


@register_mixed_precision_conversion("nn.dense", level=11)
def dense_stays(call_node, mixed_precision_type):
    return [2, "float32", "float32"]


try:
    third = ToMixedPrecision("float16")(mod)
    assert dtypes_of(third, "nn.dense") == {"float32"} and dtypes_of(third, "nn.conv2d") == {"float16"}
finally:
    tvm.ir.Op.get("nn.dense").reset_attr("FTVMMixedPrecisionConversionType")
with tvm.transform.PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}):
    kept = relay.transform.InferType()(ToMixedPrecision("float16")(mod))
assert kept["main"].checked_type.ret_type.dtype == "float32"
