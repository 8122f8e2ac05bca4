"""Trees by traversal: gather and where in a loop that is unrolled, and the same as a while loop."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.loops import while_loop

left = np.array([1, 3, 5, 3, 4, 5, 6], "int64")
right = np.array([2, 4, 6, 3, 4, 5, 6], "int64")
features = np.array([0, 1, 1, 0, 0, 0, 0], "int64")
thresholds = np.array([0.5, 0.2, 0.8, 0, 0, 0, 0], "float32")
values = np.array([0, 0, 0, 10, 20, 30, 40], "float32")
depth, rows = 2, 16
data = np.random.default_rng(2).random((rows, 2)).astype("float32")


def step(x, nodes):
    feature = relay.take(relay.const(features), nodes)
    threshold = relay.take(relay.const(thresholds), nodes)
    value = relay.squeeze(relay.gather(x, 1, relay.expand_dims(feature, 1)), axis=[1])
    return relay.where(relay.less(value, threshold), relay.take(relay.const(left), nodes), relay.take(relay.const(right), nodes))


x = relay.var("x", shape=(rows, 2))
nodes = relay.const(np.zeros(rows, "int64"))
for _ in range(depth):
    nodes = step(x, nodes)
unrolled = relay.Function([x], relay.take(relay.const(values), nodes))

x2 = relay.var("x", shape=(rows, 2))
loop = while_loop(
    lambda i, n: relay.less(i, relay.const(depth)),
    [relay.var("i", shape=(), dtype="int32"), relay.var("n", shape=(rows,), dtype="int32")],
    lambda i, n: [i + relay.const(1), step(x2, n)],
)
looped = relay.Function([x2], relay.take(relay.const(values), relay.TupleGetItem(loop(relay.const(0), relay.const(np.zeros(rows, "int64"))), 1)))


def predict(row):
    node = 0
    for _ in range(depth):
        node = left[node] if row[features[node]] < thresholds[node] else right[node]
    return values[node]


wanted = [predict(row) for row in data]
assert relay.create_executor("graph").evaluate(unrolled)(data).numpy().tolist() == wanted
assert relay.create_executor("vm").evaluate(looped)(data).numpy().tolist() == wanted
assert relay.create_executor("debug").evaluate(looped)(data).numpy().tolist() == wanted
