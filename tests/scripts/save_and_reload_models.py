"""Everything that is written to disk and read back: text, JSON, parameters, libraries, virtual machines."""
import os

import numpy as np

import tvm
from tvm import relay
from tvm.contrib import graph_executor, utils

mod, params = relay.testing.synthetic.get_workload(input_shape=(1, 3, 12, 12))
folder = utils.tempdir()
data = np.random.rand(1, 3, 12, 12).astype("float32")
reference = relay.create_executor("graph", mod, tvm.cpu(0), "llvm", params).evaluate()(data).numpy()


def check(module, parameters=params):
    out = relay.create_executor("graph", module, tvm.cpu(0), "llvm", parameters).evaluate()(data).numpy()
    np.testing.assert_allclose(out, reference, rtol=1e-5, atol=1e-6)


with open(folder.relpath("model.rly"), "w") as fo:
    fo.write(mod.astext(show_meta_data=True))
check(tvm.parser.parse(open(folder.relpath("model.rly")).read()))

with open(folder.relpath("model.json"), "w") as fo:
    fo.write(tvm.ir.save_json(mod))
check(tvm.ir.load_json(open(folder.relpath("model.json")).read()))

with open(folder.relpath("model.params"), "wb") as fo:
    fo.write(relay.save_param_dict(params))
check(mod, relay.load_param_dict(bytearray(open(folder.relpath("model.params"), "rb").read())))

with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, "llvm", params=params)
lib.export_library(folder.relpath("model.so"))
loaded = tvm.runtime.load_module(folder.relpath("model.so"))
gmod = graph_executor.GraphModule(loaded["default"](tvm.cpu(0)))
names = [p.name_hint for p in mod["main"].params if p.name_hint not in params]
gmod.set_input(names[0], data)
gmod.run()
np.testing.assert_allclose(gmod.get_output(0).numpy(), reference, rtol=1e-5, atol=1e-6)
shapes, dtypes = gmod.get_input_info()
assert tuple(shapes[names[0]]) == data.shape and dtypes[names[0]] == "float32"

with tvm.transform.PassContext(opt_level=3):
    exe = relay.vm.compile(mod, target="llvm", params=params)
code, vm_lib = exe.save()
vm_lib.export_library(folder.relpath("vm.so"))
open(folder.relpath("vm.ro"), "wb").write(code)
again = tvm.runtime.vm.Executable.load_exec(bytearray(open(folder.relpath("vm.ro"), "rb").read()), tvm.runtime.load_module(folder.relpath("vm.so")))
vm = tvm.runtime.vm.VirtualMachine(again, tvm.cpu())
np.testing.assert_allclose(vm.run(data).numpy(), reference, rtol=1e-5, atol=1e-6)
print(sorted(os.listdir(folder.temp_dir)))
