"""Write C from a relay function (no compiling) -- visitors with state, type inspection, op attrs."""
import numpy as np
import tvm
from tvm import relay
from tvm.ir import Op, TensorType, TupleType
from tvm.relay.expr_functor import ExprVisitor
from tvm.relay.function import Function
from tvm.relay.expr import Call, Constant, Tuple, GlobalVar, Var, TupleGetItem


def dtype_to_c(d):
    return {"float32": "float", "int32": "int32_t", "int8": "int8_t", "uint8": "uint8_t", "int64": "int64_t", "bool": "uint8_t"}[str(d)]


def nelem(t):
    r = 1
    for d in t.shape:
        r *= int(d)
    return r


class CWriter(ExprVisitor):
    def __init__(self, symbol):
        super().__init__()
        self.symbol = symbol
        self.decl, self.body, self.names, self.const = [], [], {}, []

    def name(self, e):
        return self.names[e]

    def visit_var(self, v):
        assert isinstance(v.checked_type, TensorType), v
        self.names[v] = v.name_hint

    def visit_constant(self, c):
        n = "const_%d" % len(self.const)
        arr = c.data.numpy()
        self.const.append("static const %s %s[%d] = {%s};" % (dtype_to_c(arr.dtype), n, arr.size, ", ".join(repr(v) for v in arr.ravel().tolist())))
        self.names[c] = n

    def visit_call(self, call):
        super().visit_call(call)
        t = call.checked_type
        out = "buf_%d" % len(self.decl)
        self.decl.append("%s %s[%d];" % (dtype_to_c(t.dtype), out, nelem(t)))
        args = [self.name(a) for a in call.args]
        extra = []
        if call.attrs is not None:
            for k in call.attrs.keys():
                v = call.attrs[k]
                if isinstance(v, (int, tvm.tir.IntImm)):
                    extra.append(str(int(v)))
                elif isinstance(v, (list, tuple, tvm.ir.container.Array)):
                    extra += [str(int(i)) for i in v if isinstance(i, (int, tvm.tir.IntImm))]
        self.body.append("%s(%s);" % (call.op.name.replace(".", "_"), ", ".join(args + [out] + extra)))
        self.names[call] = out

    def emit(self, func):
        self.visit(func.body)
        ps = ", ".join("%s* %s" % (dtype_to_c(p.checked_type.dtype), p.name_hint) for p in func.params)
        return "\n".join(self.const + ["void %s(%s, %s* out) {" % (self.symbol, ps, dtype_to_c(func.body.checked_type.dtype))] + ["  " + l for l in self.decl + self.body] +
                         ["  memcpy(out, %s, sizeof(%s));" % (self.name(func.body), self.name(func.body)), "}"])


x = relay.var("x", shape=(1, 3, 8, 8), dtype="int8")
w = relay.const(np.random.randint(-5, 5, (4, 3, 3, 3)).astype("int8"))
y = relay.nn.conv2d(x, w, padding=(1, 1), channels=4, kernel_size=(3, 3), out_dtype="int32")
y = relay.qnn.op.requantize(y, relay.const(0.01), relay.const(0), relay.const(0.1), relay.const(0), out_dtype="int8")
y = relay.nn.max_pool2d(relay.clip(y, 0, 127), pool_size=(2, 2), strides=(2, 2))
mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], y)))
src = CWriter("run_net").emit(mod["main"])
print(src[-600:])
assert "nn_conv2d(x, const_0, buf_0" in src and src.count("buf_") >= 8
assert "int32_t buf_0[256];" in src and "int8_t buf_1[256];" in src
mod["main"] = mod["main"].with_attr("global_symbol", "run_net")
ctypes_sig = [str(p.checked_type) for p in mod["main"].params]
assert ctypes_sig == ["Tensor[(1, 3, 8, 8), int8]"], ctypes_sig
assert str(mod["main"].checked_type) == "fn (Tensor[(1, 3, 8, 8), int8]) -> Tensor[(1, 4, 4, 4), int8]", str(mod["main"].checked_type)
