"""Names of several versions, targets, arrays and registered functions."""
import numpy as np
import tvm
from tvm import relay, te, tir
from tvm.relay.build_module import create_executor
from tvm.relay.backend import compile_engine, te_compiler
from tvm.relay.op import op as _op

shape = (te.size_var("n"), 4)
x = relay.var("x", shape=shape, dtype="float32")
f = relay.Function([x], x * relay.const(2.0))
mod = relay.transform.InferType()(tvm.IRModule.from_expr(f))
r = create_executor("vm", mod=mod, device=tvm.cpu(0), target="llvm")
assert r.evaluate()(np.ones((3, 4), "float32")).numpy().sum() == 24
eng = te_compiler.get()
eng.clear()
op = relay.op.get("nn.conv2d")
assert op.name == "nn.conv2d" and op.num_inputs == 2
assert relay.op.get("add").get_attr("TOpPattern") in (0, 1)
tvm.ir.register_op_attr("nn.relu", "my.attr", "hello", level=12)
assert relay.op.get("nn.relu").get_attr("my.attr") == "hello"
a = tvm.nd.array(np.zeros((2, 2), "float32"), tvm.cpu(0))
assert a.dtype == "float32" and a.shape == (2, 2) and a.device.device_type == 1
b = a.copyto(tvm.nd.empty((2, 2), "float32", tvm.cpu(0)))
np.testing.assert_array_equal(b.numpy(), a.asnumpy())
assert tvm.get_global_func("no.such.function", allow_missing=True) is None


@tvm.register_func("my.twice", override=True)
def twice(v):
    return v * 2


assert tvm.get_global_func("my.twice")(4) == 8
print(tvm.__version__, tvm.support.libinfo().get("LLVM_VERSION"))
t = tvm.target.Target("llvm -mcpu=skylake-avx512 -num-cores=2")
assert t.kind.name == "llvm" and t.mcpu == "skylake-avx512" and "cpu" in t.keys
with t:
    assert tvm.target.Target.current().mcpu == "skylake-avx512"
assert isinstance(tir.IntImm("int32", 4).value, int) and tvm.tir.const(1, "int64").dtype == "int64"
