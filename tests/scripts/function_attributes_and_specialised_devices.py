"""Attributes of functions, virtual devices, on_device, planning of devices, targets of several kinds on one machine."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.op.annotation import on_device

x = relay.var("x", shape=(4,))
f = relay.Function([x], relay.exp(x)).with_attr("Inline", tvm.tir.IntImm("int32", 1)).with_attr("owner", "someone")
assert f.attrs["owner"] == "someone" and int(f.attrs["Inline"]) == 1
assert "owner" not in f.without_attr("owner").attrs.keys()
mod = tvm.IRModule()
callee = relay.GlobalVar("callee")
mod[callee] = f
y = relay.var("y", shape=(4,))
mod["main"] = relay.Function([y], callee(y) + callee(y))
mod = transform.InferType()(mod)
inlined = transform.RemoveUnusedFunctions()(transform.Inline()(mod))
assert [v.name_hint for v in inlined.get_global_vars()] == ["main"]
z = on_device(relay.tanh(y), tvm.cpu(0)) + y
dmod = transform.InferType()(tvm.IRModule.from_expr(relay.Function([y], z)))
config = tvm.target.make_compilation_config(tvm.transform.PassContext.current(), tvm.target.Target("llvm"))
planned = transform.PlanDevices(config)(dmod)
assert "tanh" in str(planned)
value = np.array([0, 1, 2, 3], "float32")
np.testing.assert_allclose(relay.create_executor("vm", mod=dmod).evaluate()(value).numpy(), np.tanh(value) + value, rtol=1e-5)
assert tvm.device("cpu", 0) == tvm.cpu(0) and str(tvm.target.Target("llvm").kind) == "llvm"
