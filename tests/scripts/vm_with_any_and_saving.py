"""The virtual machine with open shapes: compiled, saved, loaded, timed."""
import os
import tempfile

import numpy as np

import tvm
from tvm import relay
from tvm.relay.loops import while_loop
from tvm.runtime import profiler_vm, vm as _vm

n = relay.Any()
x = relay.var("x", shape=(n, 4), dtype="float32")
w = relay.const(np.random.RandomState(0).rand(8, 4).astype("float32"))
y = relay.nn.dense(x, w)
shape = relay.shape_of(y)
out = relay.Tuple([relay.nn.relu(y), relay.prod(shape), relay.concatenate([x, x], axis=0)])
mod = tvm.IRModule.from_expr(relay.Function([x], out))
target, dev = tvm.target.Target("llvm", host="llvm"), tvm.cpu(0)

with tvm.transform.PassContext(opt_level=3, disabled_pass=["AlterOpLayout"]):
    exe = relay.vm.compile(mod, target=target, params=None)
code, lib = exe.save()
work = tempfile.mkdtemp()
path_lib = os.path.join(work, "lib.so")
lib.export_library(path_lib)
with open(os.path.join(work, "code.ro"), "wb") as fo:
    fo.write(code)
loaded = _vm.Executable.load_exec(bytearray(open(os.path.join(work, "code.ro"), "rb").read()), tvm.runtime.load_module(path_lib))

machine = _vm.VirtualMachine(loaded, dev)
for rows in (1, 3, 7):
    data = np.random.RandomState(rows).rand(rows, 4).astype("float32")
    a, count, twice = machine.invoke("main", tvm.nd.array(data))
    np.testing.assert_allclose(a.numpy(), np.maximum(data @ w.data.numpy().T, 0), rtol=1e-5)
    assert int(count.numpy()) == rows * 8 and twice.numpy().shape == (2 * rows, 4)
machine.set_input("main", x=data)
machine.run()
assert len(machine.get_outputs()) == 3

# a loop whose state grows
i = relay.var("i", shape=(), dtype="int32")
st = relay.var("st", shape=(relay.Any(), 1), dtype="int32")
loop = while_loop(lambda i, st: relay.less(i, relay.const(5)), [i, st],
                  lambda i, st: [i + relay.const(1), relay.concatenate([st, relay.reshape(i, newshape=(1, 1))], axis=0)])  # fmt: skip
start = relay.var("start", shape=(), dtype="int32")
body = loop(start, relay.reshape(relay.const(0), newshape=(1, 1)))
mod = tvm.IRModule.from_expr(relay.Function([start], relay.TupleGetItem(body, 1)))
got = relay.create_executor("vm", mod=mod, device=dev, target=target).evaluate()(np.array(0, "int32"))
np.testing.assert_array_equal(got.numpy().ravel(), [0, 0, 1, 2, 3, 4])
print(machine.benchmark(dev, tvm.nd.array(data), func_name="main", repeat=2, number=1))
