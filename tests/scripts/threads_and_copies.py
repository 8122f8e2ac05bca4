"""One library, several modules in threads; libraries of several targets; thread settings."""
import threading

import numpy as np

import tvm
from tvm import relay
from tvm.contrib import graph_executor

x = relay.var("x", shape=(16, 16))
y = x
for _ in range(4):
    y = relay.nn.relu(relay.nn.dense(y, relay.const(np.random.uniform(-0.5, 0.5, (16, 16)).astype("float32"))))
mod = tvm.IRModule.from_expr(relay.Function([x], y))
lib = relay.build(mod, target="llvm -mcpu=core-avx2", target_host="llvm")
wanted = {}
for i in range(4):
    data = np.full((16, 16), i + 1, "float32")
    wanted[i] = relay.create_executor("debug", mod=mod).evaluate()(data).numpy()

errors = []


def work(i):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    for _ in range(20):
        module.set_input("x", np.full((16, 16), i + 1, "float32"))
        module.run()
        if not np.allclose(module.get_output(0).numpy(), wanted[i], rtol=1e-4, atol=1e-4):
            errors.append(i)


threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors

configure = tvm.get_global_func("runtime.config_threadpool", allow_missing=True)
if configure is not None:
    configure(1, 2)
for level in range(4):
    with tvm.transform.PassContext(opt_level=level):
        built = relay.build(mod, {"cpu": "llvm"} if level == 0 else tvm.target.Target("llvm"))
    m = graph_executor.GraphModule(built["default"](tvm.cpu()))
    m.run(x=np.full((16, 16), 2, "float32"))
    np.testing.assert_allclose(m.get_output(0).numpy(), wanted[1], rtol=1e-4, atol=1e-4)
