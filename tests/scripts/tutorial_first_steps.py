"""
Relay in five minutes
---------------------
Variables, functions, modules, types, passes, execution.
"""
import numpy as np

import tvm
from tvm import relay

######################################################################
# A function
# ^^^^^^^^^^
a = relay.var("a", shape=(3, 4), dtype="float32")
b = relay.var("b", shape=(4,), dtype="float32")
c = relay.add(a, b)
f = relay.Function([a, b], c)
print(f)

######################################################################
# A module has functions by name, and inference finds the types.
mod = tvm.IRModule({"main": f})
mod = relay.transform.InferType()(mod)
print(mod)
print(mod["main"].body.checked_type)
assert str(mod["main"].checked_type.ret_type) == "Tensor[(3, 4), float32]"

######################################################################
# Run it
# ^^^^^^
target = "llvm"
dev = tvm.device(target, 0)
fun = relay.create_executor("graph", mod, dev, target).evaluate()
x, y = np.random.randn(3, 4).astype("float32"), np.random.randn(4).astype("float32")
np.testing.assert_allclose(fun(x, y).numpy(), x + y, rtol=1e-6)

######################################################################
# Let it be optimised
# ^^^^^^^^^^^^^^^^^^^
mod["main"] = relay.Function([a, b], relay.nn.relu(c * relay.const(2.0) * relay.const(3.0)))
for level in range(4):
    with tvm.transform.PassContext(opt_level=level):
        optimized, _ = relay.optimize(mod, target=target, params={})
    print("level", level, relay.analysis.list_op_freqs(optimized))
with tvm.transform.PassContext(opt_level=3):
    executable = relay.vm.compile(mod, target=target)
result = tvm.runtime.vm.VirtualMachine(executable, dev).run(x, y)
np.testing.assert_allclose(result.numpy(), np.maximum((x + y) * 6, 0), rtol=1e-5)
