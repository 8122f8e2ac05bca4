"""Shapes that are known at run time only: the virtual machine, relay.Any(), a loop that makes its result longer."""

import numpy as np

import tvm
from tvm import relay
from tvm.runtime import vm as vm_rt


def run(mod, *args):
    exe = relay.vm.compile(mod, target="llvm")
    machine = vm_rt.VirtualMachine(exe, tvm.cpu())
    result = machine.invoke("main", *args)
    check = relay.create_executor("debug", mod=mod).evaluate()(*args)
    np.testing.assert_allclose(result.numpy(), check.numpy(), rtol=1e-5)
    return result.numpy()


# Batches of any size, one program.
data = relay.var("data", shape=(relay.Any(), 4))
weight = relay.const(np.arange(12, dtype="float32").reshape(3, 4))
mod = tvm.IRModule.from_expr(relay.Function([data], relay.nn.softmax(relay.nn.dense(data, weight))))
for batch in (1, 3, 8):
    assert run(mod, np.random.rand(batch, 4).astype("float32")).shape == (batch, 3)

# A size that depends on values: arange, non-zero places, the largest k.
n = relay.var("n", shape=(), dtype="int32")
mod = tvm.IRModule.from_expr(relay.Function([n], relay.arange(relay.const(0), n, relay.const(2), dtype="int32")))
assert run(mod, np.int32(7)).tolist() == [0, 2, 4, 6]

x = relay.var("x", shape=(relay.Any(),))
mod = tvm.IRModule.from_expr(relay.Function([x], relay.argwhere(relay.greater(x, relay.const(0.0)))))
assert run(mod, np.array([1, -1, 2], "float32")).tolist() == [[0], [2]]

# A loop that appends.
i = relay.var("i", shape=(), dtype="int32")
st = relay.var("st", shape=(relay.Any(), 1), dtype="int32")


def body(i, st):
    row = relay.reshape(i, (1, 1))
    return [i + relay.const(1), relay.concatenate([st, row], axis=0)]


loop = relay.loops.while_loop(lambda i, st: relay.less(i, relay.const(5)), [i, st], body)
start = relay.var("start", shape=(), dtype="int32")
result = loop(start, relay.reshape(relay.const(0), (1, 1)))
mod = tvm.IRModule.from_expr(relay.Function([start], relay.TupleGetItem(result, 1)))
assert run(mod, np.int32(2)).ravel().tolist() == [0, 2, 3, 4]

# A shape that does not fit is refused when it is met.
y = relay.var("y", shape=(relay.Any(),))
mod = tvm.IRModule.from_expr(relay.Function([x, y], x + y))
try:
    run(mod, np.ones(2, "float32"), np.ones(3, "float32"))
    raise AssertionError("extents 2 and 3 were added")
except tvm.error.TVMError as error:
    print("refused:", str(error).splitlines()[0])
