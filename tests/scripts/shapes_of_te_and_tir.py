"""Extents by te and tir in types."""
import tvm, numpy as np
from tvm import te, relay, tir, topi

n, m = (te.var('n'), te.size_var('m'))
x = relay.var('x', shape=(n, m, 3))
y = relay.nn.relu(x)
f = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.reshape(y, (0, -1)))))['main']
assert len(f.ret_type.shape) == 2 and tvm.ir.structural_equal(f.ret_type.shape[0], n)
dims = [int(d) if isinstance(d, (int, tir.IntImm)) else d for d in x.type_annotation.shape]
assert dims[2] == 3
s = relay.TensorType((1, 2), 'int8')
assert topi.utils.get_const_tuple(s.shape) == (1, 2) and list(s.shape) == [1, 2]
assert isinstance(relay.TensorType((relay.Any(),)).shape[0], tir.Any)
assert tvm.runtime.DataType('int8').bits == 8 and str(tvm.runtime.DataType('float32x4')) == 'float32x4'
assert tvm.tir.IntImm('int32', 4) == 4 and tvm.runtime.const(2, 'int32') is not None and tvm.tir.const(1.5).dtype.startswith('float')
