"""te.var, tir.IntImm, tir.const, runtime.convert and friends as extents and attribute values."""
import numpy as np

import tvm
from tvm import relay, te, tir

n, m = te.var("n"), te.size_var("m")
x = relay.var("x", shape=(n, m, 4))
y = relay.var("y", shape=(m, n))
typed = relay.testing.run_infer_type(relay.transpose(x, (1, 0, 2)))
assert typed.checked_type == relay.TensorType((m, n, 4), "float32")
assert (n + m) == (m + n) and n * 2 == n + n and (n + 3) - 3 == n
assert (tir.IntImm("int32", 7) // 2, tir.IntImm("int64", 7) % 4) == (3, 3)
assert tir.const(3, "int32") + 4 == 7 and tir.const(2.5, "float32") == 2.5
assert isinstance(tir.IntImm("int32", 1), tvm.tir.IntImm) and tvm.tir.IntImm("int32", 5).value == 5
assert tvm.tir.max(3, 4) == 4 and tvm.tir.floordiv(9, 4) == 2 and tvm.tir.floormod(9, 4) == 1

d = relay.var("d", shape=(tir.IntImm("int32", 1), 3, 8, 8))
w = relay.var("w", shape=(4, 3, 3, 3))
conv = relay.nn.conv2d(d, w, strides=(tir.IntImm("int32", 2), 2), padding=[tir.const(1, "int32")] * 2, channels=tir.IntImm("int32", 4), kernel_size=(3, 3))
assert tvm.topi.utils.get_const_tuple(relay.testing.run_infer_type(conv).checked_type.shape) == (1, 4, 4, 4)
assert [int(s) for s in conv.attrs.strides] == [2, 2] and isinstance(conv.attrs.channels, (int, tir.IntImm))

pooled = relay.nn.max_pool2d(relay.var("p", shape=(1, 1, n, n)), pool_size=(2, 2), strides=(2, 2))
shape = relay.testing.run_infer_type(pooled).checked_type.shape
assert shape[2] == n // 2 or "n" in str(shape[2])
assert not isinstance(shape[2], tvm.tir.IntImm) and isinstance(shape[0], tvm.tir.IntImm)

any_dim = tir.Any()
t = relay.TensorType((any_dim, 2), "int8")
assert isinstance(t.shape[0], tir.Any) and str(t) == "Tensor[(?, 2), int8]"
assert relay.ty.is_dynamic(t) and not relay.ty.is_dynamic(relay.TensorType((1, 2)))

f = relay.Function([d, w], conv).with_attr("level", tir.IntImm("int32", 2)).with_attr("names", tvm.runtime.convert(["a", "b"]))
assert int(f.attrs["level"]) == 2 and list(f.attrs["names"]) == ["a", "b"]
assert np.prod(tvm.topi.utils.get_const_tuple((tir.IntImm("int32", 2), 3))) == 6
