"""A machine's executable saved as bytes and library and read back; outputs that are tuples; inputs by name."""
import os
import tempfile

import numpy as np
import tvm
from tvm import relay, runtime
from tvm.contrib import utils
from tvm.relay.testing import mlp
from tvm.runtime import profiler_vm
from tvm.runtime.vm import VirtualMachine

mod, params = mlp.get_workload(1)
with tvm.transform.PassContext(opt_level=3):
    exe = relay.vm.compile(mod, target="llvm", params=params)
code, lib = exe.save()
assert isinstance(code, bytearray)
tmp = utils.tempdir()
path = tmp.relpath("lib.so")
lib.export_library(path)
with open(tmp.relpath("code.ro"), "wb") as fo:
    fo.write(code)
loaded_lib = tvm.runtime.load_module(path)
loaded_code = bytearray(open(tmp.relpath("code.ro"), "rb").read())
des_exe = runtime.vm.Executable.load_exec(loaded_code, loaded_lib)
data = np.random.rand(1, 1, 28, 28).astype("float32")
results = []
for executable in (exe, des_exe):
    vm = VirtualMachine(executable, tvm.cpu())
    vm.set_input("main", **{"data": data})
    out = vm.run()
    results.append(out.numpy())
    results.append(vm.invoke("main", data).numpy())
for other in results[1:]:
    np.testing.assert_allclose(results[0], other, rtol=1e-6)
x = relay.var("x", shape=(relay.Any(), 2))
pair = tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([x + x, relay.shape_of(x)])))
exe = relay.vm.compile(pair, "llvm")
vm = VirtualMachine(exe, tvm.cpu())
outs = vm.run(np.ones((5, 2), "float32"))
outs = outs if isinstance(outs, runtime.container.ADT) else [outs]
assert len(outs) == 2 and outs[1].numpy().tolist() == [5, 2]
if profiler_vm.enabled():
    prof = profiler_vm.VirtualMachineProfiler(exe, tvm.cpu())
    report = prof.profile(np.ones((3, 2), "float32"), func_name="main")
    assert "Total" in str(report)
print(exe.stats)
