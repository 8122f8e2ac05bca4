"""A converter of decision trees to tensor programs, as libraries on top of TVM write one: two matrix products and comparisons."""
import numpy as np

import tvm
from tvm import relay
from tvm.contrib import graph_executor


class Node:
    def __init__(self, feature=None, threshold=None, left=None, right=None, value=None):
        self.feature, self.threshold, self.left, self.right, self.value = feature, threshold, left, right, value

    def predict(self, row):
        if self.value is not None:
            return self.value
        return (self.left if row[self.feature] < self.threshold else self.right).predict(row)


tree = Node(0, 0.5, Node(2, 0.3, Node(value=[1.0, 0.0]), Node(value=[0.2, 0.8])), Node(1, 0.7, Node(value=[0.5, 0.5]), Node(value=[0.0, 1.0])))


def matrices(root, features):
    inner, leaves = [], []

    def walk(node, path):
        if node.value is not None:
            leaves.append((node, path))
            return
        index = len(inner)
        inner.append(node)
        walk(node.left, path + [(index, 1)])
        walk(node.right, path + [(index, -1)])

    walk(root, [])
    a = np.zeros((len(inner), features), "float32")
    b = np.array([node.threshold for node in inner], "float32")
    for i, node in enumerate(inner):
        a[i, node.feature] = 1
    c = np.zeros((len(leaves), len(inner)), "float32")
    d = np.zeros(len(leaves), "float32")
    for j, (_, path) in enumerate(leaves):
        for i, side in path:
            c[j, i] = side
        d[j] = sum(side == 1 for _, side in path)
    e = np.array([node.value for node, _ in leaves], "float32").T
    return a, b, c, d, e


def convert(root, features):
    a, b, c, d, e = matrices(root, features)
    x = relay.var("X", shape=(relay.Any(), features), dtype="float32")
    decisions = relay.cast(relay.less(relay.nn.dense(x, relay.const(a)), relay.const(b)), "float32")
    reached = relay.cast(relay.equal(relay.nn.dense(decisions, relay.const(c)), relay.const(d)), "float32")
    probabilities = relay.nn.dense(reached, relay.const(e))
    label = relay.argmax(probabilities, axis=1)
    return tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([label, probabilities])))


mod = convert(tree, 3)
data = np.random.rand(50, 3).astype("float32")
wanted = np.array([tree.predict(row) for row in data], "float32")

label, probabilities = relay.create_executor("vm", mod=mod, device=tvm.cpu(0), target="llvm").evaluate()(data)
np.testing.assert_allclose(probabilities.numpy(), wanted)
assert (label.numpy() == wanted.argmax(1)).all()

# for a batch that is known, through the graph executor
fixed = relay.var("X", shape=(50, 3), dtype="float32")
static = tvm.IRModule.from_expr(relay.Function([fixed], relay.bind(mod["main"].body, {mod["main"].params[0]: fixed})))
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(static, target="llvm")
module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
module.set_input(X=data)
module.run()
np.testing.assert_allclose(module.get_output(1).numpy(), wanted)
print("trees:", module.get_output(0).numpy()[:10])
