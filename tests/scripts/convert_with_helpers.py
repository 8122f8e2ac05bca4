"""The helpers of front ends: renamers, attributes, shapes and values."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.frontend.common import (AttrCvt, Renamer, StrAttrsDict, ExprTable, get_relay_op, infer_type, infer_shape, infer_channels, infer_value, infer_value_simulated, new_var, fold_constant, set_span, shape_of, autopad, try_infer_value, ensure_scalar_shape)
from tvm.relay import expr as _expr, function as _function, analysis

etab = ExprTable()
x = new_var("x", shape=(1, 3, 8, 8), dtype="float32")
etab.set_expr("x", x)
w = _expr.const(np.random.rand(4, 3, 3, 3).astype("float32"))
conv = AttrCvt(op_name="conv2d", transforms={"kernel_shape": "kernel_size", "dilations": ("dilation", 1), "group": ("groups", 1)}, ignores=["auto_pad"])([x, w], {"kernel_shape": (3, 3), "auto_pad": "NOTSET", "strides": (1, 1)})
assert infer_shape(conv) == (1, 4, 6, 6)
y = Renamer("tanh")([conv], {})
assert y.op.name == "tanh"
assert get_relay_op("dense").__name__ == "dense"
attrs = StrAttrsDict({"kernel": "(3, 3)", "flag": "True", "n": "4", "eps": "1e-5"})
assert attrs.get_int_tuple("kernel") == (3, 3) and attrs.get_bool("flag") is True and attrs.get_int("n") == 4 and attrs.get_float("eps") == 1e-5
assert attrs.get_str("none", "d") == "d" and attrs.has_attr("flag")
c = fold_constant(_expr.const(2.0) * _expr.const(3.0))
assert isinstance(c, _expr.Constant) and float(c.data.numpy()) == 6.0
val, ok = try_infer_value(_expr.const(5) + _expr.const(1))
assert ok and int(val) == 6
v = infer_value(_expr.const(np.array([1, 2], "int32")) * _expr.const(2, "int32"), {})
assert list(v.numpy()) == [2, 4]
assert infer_type(y).checked_type.dtype == "float32"
assert infer_channels(w) in (4, 3)
y = set_span(y, "layer/one")
print(y.span)
p = autopad(x, (2, 2), (3, 3), (1, 1), mode="SAME_UPPER")
assert infer_shape(p)[2] >= 8
assert shape_of(x) is not None
func = _function.Function(analysis.free_vars(y), y)
mod = tvm.IRModule.from_expr(func)
print(mod)
