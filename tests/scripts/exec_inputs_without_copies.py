"""Inputs, outputs and timers of a graph module."""
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor

x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple([x + y, x * y])))
lib = relay.build(mod, "llvm")
gm = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
a, b = tvm.nd.array(np.ones((2, 3), "float32")), tvm.nd.array(np.full((2, 3), 2, "float32"))
gm.set_input_zero_copy("x", a)
gm.set_input(y=b)
gm.run()
out0 = tvm.nd.empty((2, 3))
gm.get_output(0, out0)
assert out0.numpy().sum() == 18 and gm.get_output(1).numpy().sum() == 12
shape_dict, dtype_dict = gm.get_input_info()
assert tuple(shape_dict["x"]) == (2, 3) and dtype_dict["y"] == "float32"
assert gm.get_num_outputs() == 2
ftimer = gm.module.time_evaluator("run", tvm.cpu(0), number=3, repeat=2)
prof = np.array(ftimer().results) * 1000
print("%.3f ms (%.3f ms)" % (np.mean(prof), np.std(prof)))
run, set_input, get_output = gm.module["run"], gm.module["set_input"], gm.module["get_output"]
set_input("x", b)
run()
assert get_output(0).numpy().sum() == 24
