"""A network converted to another dtype as the tutorial "Bring Your Own Datatypes" does it."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.frontend.change_datatype import ChangeDatatype
from tvm.relay.testing import mobilenet

np.random.seed(0)


def convert_ndarray(dst_dtype, array):
    """Converts NDArray(s) into the specified datatype."""
    x = relay.var("x", shape=array.shape, dtype=str(array.dtype))
    cast = relay.Function([x], x.astype(dst_dtype))
    with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
        return relay.create_executor("graph").evaluate(cast)(array)


module, params = mobilenet.get_workload(batch_size=1, image_shape=(3, 32, 32), num_classes=10)
module = relay.transform.SimplifyInference()(relay.transform.InferType()(module))
image = np.random.rand(1, 3, 32, 32).astype("float32")

ex = relay.create_executor("graph", mod=module, params=params)
expected = ex.evaluate()(image).numpy()

src, dst = "float32", "float64"
module = relay.transform.InferType()(module)
cdtype = ChangeDatatype(src, dst)
converted = cdtype(module)
converted = relay.transform.InferType()(converted)
assert all(p.type_annotation.dtype == dst for p in converted["main"].params)
wide = {k: convert_ndarray(dst, v) for k, v in params.items()}
input_ = convert_ndarray(dst, tvm.nd.array(image))
result = relay.create_executor("graph", mod=converted).evaluate()(input_, **wide)
assert result.dtype == dst
back = convert_ndarray(src, result).numpy()
np.testing.assert_allclose(back, expected, rtol=1e-4, atol=1e-6)

# Functions with a written result, casts and dtypes in attributes follow, too.
x = relay.var("x", relay.TensorType((3,), src))
body = relay.cast(relay.arange(relay.const(0, "int32"), relay.const(3, "int32"), dtype="int32"), src) + x * relay.const(2.0, src) + relay.zeros((3,), src)
f = relay.Function([x], body, relay.TensorType((3,), src))
made = relay.transform.InferType()(ChangeDatatype(src, "float16")(tvm.IRModule.from_expr(f)))
assert made["main"].ret_type == relay.TensorType((3,), "float16")
got = relay.create_executor("debug", mod=made).evaluate()(np.ones(3, "float16"))
assert got.dtype == "float16" and (got.numpy() == [2, 3, 4]).all()
