# in the style of 0.7/0.8
import numpy as np
import tvm
from tvm import relay, te
from tvm.relay import testing
try:
    from tvm.contrib import graph_runtime
except ImportError:
    from tvm.contrib import graph_executor as graph_runtime
from tvm.contrib import utils
from tvm.relay.expr_functor import ExprMutator
from tvm.ir.transform import PassContext
import tvm.relay.transform as _transform
import tvm.driver
ctx = tvm.cpu(0) if not hasattr(tvm, "context") else tvm.context("llvm", 0)
mod, params = testing.mobilenet.get_workload(batch_size=1, image_shape=(3, 32, 32), dtype="float32", num_classes=10)
func = mod["main"]
func = relay.Function(func.params, relay.nn.softmax(func.body), None, func.type_params, func.attrs)
mod = tvm.IRModule.from_expr(func)
with tvm.transform.PassContext(opt_level=3):
    graph, lib, params = relay.build(mod, target="llvm", target_host="llvm", params=params)
m = graph_runtime.create(graph, lib, ctx)
data = np.random.uniform(size=(1, 3, 32, 32)).astype("float32")
m.set_input(key="data", value=tvm.nd.array(data)); m.set_input(**params); m.run()
o = m.get_output(0).asnumpy(); assert o.shape == (1, 10) and abs(o.sum() - 1) < 1e-4
tmp = utils.tempdir(); lib.export_library(tmp.relpath("net.so"))
with open(tmp.relpath("net.json"), "w") as fo: fo.write(graph)
with open(tmp.relpath("net.params"), "wb") as fo: fo.write(relay.save_param_dict(params))
loaded_json = open(tmp.relpath("net.json")).read(); loaded_lib = tvm.runtime.load_module(tmp.relpath("net.so")); loaded_params = bytearray(open(tmp.relpath("net.params"), "rb").read())
m2 = graph_runtime.create(loaded_json, loaded_lib, ctx); m2.load_params(loaded_params); m2.set_input("data", data); m2.run()
np.testing.assert_allclose(m2.get_output(0).asnumpy(), o, rtol=1e-5)
ftimer = m2.module.time_evaluator("run", ctx, number=1, repeat=3); r = np.array(ftimer().results) * 1000; print(np.mean(r), np.std(r)); print(ftimer().mean, ftimer().median, ftimer().std, ftimer().min)
ex = relay.create_executor("graph", mod=mod, ctx=ctx, target="llvm") if False else relay.create_executor("graph", mod=mod, device=ctx, target="llvm")
vm_ex = relay.vm.compile(mod, "llvm", params={p: v for p, v in params.items()})
op_names = [n for n in dir(relay.op) if not n.startswith("_")]; assert "nn" in op_names and "add" in op_names and len(op_names) > 150
