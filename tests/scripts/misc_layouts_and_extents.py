import numpy as np
import tvm
from tvm import te, topi, tir, relay
import tvm.topi.testing
from tvm.topi.utils import get_const_tuple, get_const_int, prod, traverse_inline
from tvm.topi.nn.utils import get_pad_tuple


class Conv2DSpec:
    def __init__(self, n, ci, h, w, co, k, stride, pad, groups=1, dilation=1):
        self.n, self.ci, self.h, self.w, self.co, self.k = n, ci, h, w, co, k
        self.stride, self.pad, self.groups, self.dilation = stride, pad, groups, dilation

    def relay(self, dtype="float32"):
        x = relay.var("x", shape=(self.n, self.ci, self.h, self.w), dtype=dtype)
        w = relay.var("w", shape=(self.co, self.ci // self.groups, self.k, self.k), dtype=dtype)
        y = relay.nn.conv2d(x, w, strides=(self.stride,) * 2, padding=(self.pad,) * 2, groups=self.groups,
                            dilation=(self.dilation,) * 2, channels=self.co, kernel_size=(self.k, self.k))
        return relay.Function([x, w], y)

    def out_shape(self):
        ke = self.dilation * (self.k - 1) + 1
        return (self.n, self.co, (self.h + 2 * self.pad - ke) // self.stride + 1, (self.w + 2 * self.pad - ke) // self.stride + 1)


specs = [Conv2DSpec(1, 4, 8, 8, 8, 3, 1, 1), Conv2DSpec(2, 4, 9, 7, 8, 3, 2, 1), Conv2DSpec(1, 4, 8, 8, 8, 1, 1, 0, 2), Conv2DSpec(1, 2, 10, 10, 2, 3, 1, 2, 1, 2)]
for s in specs:
    f = relay.transform.InferType()(tvm.IRModule.from_expr(s.relay()))["main"]
    assert get_const_tuple(f.ret_type.shape) == s.out_shape()
    xs = np.random.uniform(size=(s.n, s.ci, s.h, s.w)).astype("float32")
    ws = np.random.uniform(size=(s.co, s.ci // s.groups, s.k, s.k)).astype("float32")
    dw = topi.testing.dilate_python(ws, (1, 1, s.dilation, s.dilation))
    ref = topi.testing.conv2d_nchw_python(xs, dw, s.stride, s.pad, groups=s.groups)
    got = relay.create_executor("graph", mod=tvm.IRModule.from_expr(f)).evaluate()(xs, ws).numpy()
    tvm.testing.assert_allclose(got, ref, rtol=1e-4)
    pt, pl, pb, pr = get_pad_tuple(f.body.attrs.padding, (s.k, s.k))
    assert (pt, pb) == (s.pad, s.pad)
    macs = relay.analysis.get_total_mac_number(f)
    assert macs == np.prod(s.out_shape()) * s.k * s.k * s.ci // s.groups

n = te.var("n")
m = te.size_var("m")
assert isinstance(n, tir.Var) and n.dtype == "int32"
e = tvm.arith.Analyzer().simplify(n + 0)
assert str(e) == "n"
assert tvm.arith.Analyzer().simplify(tir.const(3, "int32") * 4).value == 12
x = relay.var("x", shape=(n, 4))
t = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))["main"].ret_type
assert isinstance(t.shape[0], (tir.Var, tir.PrimExpr)) and int(t.shape[1]) == 4
assert get_const_int(tir.IntImm("int32", 7)) == 7
lay = tir.layout("NCHW16c")
assert lay.index_of("C") == 1 and lay.factor_of("C") == 16 and len(lay) == 5 and "W" in lay
assert lay[4] == "c"
bij = tir.bijective_layout("NCHW", "NCHW16c")
assert get_const_tuple(bij.forward_shape((1, 32, 7, 7))) == (1, 2, 7, 7, 16)
assert get_const_tuple(bij.backward_shape([1, 2, 7, 7, 16])) == (1, 32, 7, 7)
assert get_const_tuple(bij.forward_index([0, 18, 6, 6])) == (0, 1, 6, 6, 2)
assert get_const_tuple(bij.backward_index([0, 1, 6, 6, 2])) == (0, 18, 6, 6)
r = topi.testing.softmax_python(np.random.rand(3, 5).astype("float32"))
assert np.allclose(r.sum(-1), 1)
assert prod([2, 3, 4]) == 24 or prod([tir.IntImm("int32", 2), 3]).value == 6
