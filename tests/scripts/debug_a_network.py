"""Looking into a network: debug operator, texts before and after passes, dumps, intermediate results."""
import os

import numpy as np

import tvm
from tvm import relay
from tvm.contrib import utils
from tvm.ir.instrument import PrintAfterAll, PrintBeforeAll

x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
dense = relay.nn.dense(x, w)
y = relay.nn.relu(dense)
mod = tvm.IRModule.from_expr(relay.Function([x, w], y))

# everything that passes make of it
with tvm.transform.PassContext(opt_level=3, instruments=[PrintBeforeAll(), PrintAfterAll()]):
    relay.transform.FuseOps()(relay.transform.InferType()(mod))

# values in the middle of a run
seen = []


@tvm.register_func("scripts.look")
def look(value):
    seen.append(value)


middle = relay.op.debug(dense, lambda arr: seen.append(arr.numpy()))
func = relay.Function([x, w], relay.nn.relu(middle))
a, b = np.random.rand(2, 4).astype("float32"), np.random.rand(3, 4).astype("float32")
out = relay.create_executor("debug").evaluate(func)(a, b).numpy()
np.testing.assert_allclose(out, np.maximum(a @ b.T, 0), rtol=1e-5)

# a part of the program as one of its own
part = relay.analysis.extract_intermdeiate_expr(relay.transform.InferType()(mod), 0)
assert relay.testing.count_ops(part["main"]) == {"nn.dense": 1}

# texts in files
folder = utils.tempdir()
with open(folder.relpath("net.rly"), "w") as stream:
    stream.write(mod.astext())
again = tvm.parser.fromtext(open(folder.relpath("net.rly")).read())
tvm.ir.assert_structural_equal(again, mod)
assert os.listdir(folder.path) == ["net.rly"]
mod.show()
print(relay.analysis.list_op_freqs(mod))
