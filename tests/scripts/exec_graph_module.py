"""relay.build, the library's functions, GraphModule, export and load."""
import os

import numpy as np

import tvm
import tvm.testing
from tvm import relay
from tvm.contrib import graph_executor, utils
from tvm.contrib.debugger import debug_executor

mod, params = relay.testing.mlp.get_workload(batch_size=2, num_classes=5, image_shape=(1, 6, 6))
target = tvm.target.Target("llvm", host="llvm")
dev = tvm.device(str(target), 0)

with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target=target, params=params)

data = np.random.uniform(-1, 1, size=(2, 1, 6, 6)).astype("float32")

# the wrapper
m = graph_executor.GraphModule(lib["default"](dev))
m.set_input("data", tvm.nd.array(data))
m.run()
out = m.get_output(0, tvm.nd.empty((2, 5))).numpy()
assert m.get_num_outputs() == 1 and m.get_num_inputs() >= 1
tvm.testing.assert_allclose(out.sum(axis=1), np.ones(2), rtol=1e-5)

# functions by name
raw = lib["default"](dev)
raw["set_input"]("data", tvm.nd.array(data))
raw["run"]()
tvm.testing.assert_allclose(raw["get_output"](0).numpy(), out)

# the three parts of older releases
graph_json, built, bound = relay.build(mod, target="llvm", params=params)
old = graph_executor.create(graph_json, built, dev)
old.set_input(**bound)
old.run(data=data)
tvm.testing.assert_allclose(old.get_output(0).asnumpy(), out, atol=1e-6)

# files
folder = utils.tempdir()
for name in ("net.so", "net.tar"):
    path = folder.relpath(name)
    lib.export_library(path)
    again = graph_executor.GraphModule(tvm.runtime.load_module(path)["default"](tvm.cpu(0)))
    again.set_input(0, data)
    again.run()
    tvm.testing.assert_allclose(again.get_output(0).numpy(), out, atol=1e-6)
with open(folder.relpath("net.params"), "wb") as stream:
    stream.write(tvm.runtime.save_param_dict(lib.get_params()))
assert sorted(os.listdir(folder.path)) == ["net.params", "net.so", "net.tar"]

# times
seconds = np.array(m.module.time_evaluator("run", dev, number=2, repeat=3)().results)
assert seconds.shape == (3,) and (seconds > 0).all()
print(m.benchmark(dev, repeat=2, number=1))

# what each kernel takes
debug = debug_executor.create(lib.get_graph_json(), lib, dev, dump_root=str(folder.path))
debug.set_input("data", data)
debug.run()
tvm.testing.assert_allclose(debug.get_output(0).numpy(), out, atol=1e-6)
report = debug.profile(data=data)
assert len(report.calls) >= 3 and "Duration" in report.csv()
print(report.table())
