"""The virtual machine: saved and loaded, inputs set, a loop, the compiler step by step."""
import numpy as np
import tvm
from tvm import relay, runtime
from tvm.relay import vm as rly_vm
from tvm.runtime import vm as vm_rt
from tvm.relay.testing import mlp
from tvm.relay.scope_builder import ScopeBuilder

mod, params = mlp.get_workload(batch_size=1, image_shape=(1, 8, 8))
target = "llvm"
dev = tvm.cpu(0)
with tvm.transform.PassContext(opt_level=3):
    exe = relay.vm.compile(mod, target=target, params=params)
code, lib = exe.save()
assert isinstance(code, bytearray)
des_exec = vm_rt.Executable.load_exec(code, lib)
vm = vm_rt.VirtualMachine(des_exec, dev)
x = np.random.uniform(size=(1, 1, 8, 8)).astype("float32")
res = vm.run(x)
vm.set_input("main", **{"data": x})
vm.invoke_stateful("main")
outs = vm.get_outputs()
np.testing.assert_allclose(outs[0].numpy(), res.numpy(), rtol=1e-6)
res2 = vm.invoke("main", tvm.nd.array(x))
np.testing.assert_allclose(res2.numpy(), res.numpy(), rtol=1e-6)
print(exe.bytecode[:80], exe.stats[:80])
assert "main" in [g[0] if isinstance(g, tuple) else g for g in exe.globals]
bench = vm.benchmark(dev, x, func_name="main", repeat=2, number=1)
assert bench.mean > 0

# a loop
sb = ScopeBuilder()
loop_mod = tvm.IRModule()
sum_up = relay.GlobalVar("sum_up")
i = relay.var("i", shape=[], dtype="int32")
acc = relay.var("acc", shape=[], dtype="int32")
with sb.if_scope(relay.equal(i, relay.const(0, dtype="int32"))):
    sb.ret(acc)
with sb.else_scope():
    one_less = relay.subtract(i, relay.const(1, dtype="int32"))
    sb.ret(relay.Call(sum_up, [one_less, relay.add(acc, i)]))
loop_mod[sum_up] = relay.Function([i, acc], sb.get(), relay.TensorType([], "int32"))
loop_mod = relay.transform.InferType()(loop_mod)
n = relay.var("n", shape=[], dtype="int32")
loop_mod["main"] = relay.Function([n], sum_up(n, relay.const(0, dtype="int32")))
ex = relay.create_executor("vm", mod=loop_mod, device=dev, target=target)
assert ex.evaluate()(np.array(10, dtype="int32")).numpy() == 55
compiler = relay.vm.VMCompiler()
compiler.set_params(params)
compiler.lower(mod, target)
compiler.codegen()
exe2 = compiler.get_exec()
np.testing.assert_allclose(vm_rt.VirtualMachine(exe2, dev).run(x).numpy(), res.numpy(), rtol=1e-5)
