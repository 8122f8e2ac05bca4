"""A graph convolution layer on random edges, as the tutorial on graph networks goes about it: sparse or dense adjacency."""
from collections import namedtuple

import numpy as np

import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.contrib.download import download_testdata

num_nodes, infeat_dim, num_hidden, num_classes = 12, 7, 8, 3
rng = np.random.default_rng(7)
adjacency = ((rng.random((num_nodes, num_nodes)) < 0.3) | np.eye(num_nodes, dtype=bool)).astype("float32")
degree = adjacency.sum(1)
adjacency = adjacency / np.sqrt(np.outer(degree, degree))


def to_csr(matrix):
    indptr, indices, data = [0], [], []
    for row in matrix:
        (columns,) = np.nonzero(row)
        indices.extend(columns)
        data.extend(row[columns])
        indptr.append(len(indices))
    return np.array(data, "float32"), np.array(indices, "int32"), np.array(indptr, "int32")


Adj = namedtuple("AdjMatrix", ["data", "indices", "indptr"])


def GraphConv(layer_name, input_dim, output_dim, adj, input, norm=None, bias=True, activation=None):
    if norm is not None:
        input = relay.multiply(input, norm)
    weight = relay.var(layer_name + ".weight", shape=(input_dim, output_dim))
    weight_t = relay.transpose(weight)
    dense = relay.nn.dense(weight_t, input)
    output = relay.nn.sparse_dense(dense, adj)
    output_t = relay.transpose(output)
    if norm is not None:
        output_t = relay.multiply(output_t, norm)
    if bias is True:
        _bias = relay.var(layer_name + ".bias", shape=(output_dim, 1))
        output_t = relay.nn.bias_add(output_t, relay.reshape(_bias, (output_dim,)), axis=-1)
    if activation is not None:
        output_t = activation(output_t)
    return output_t


data, indices, indptr = to_csr(adjacency)
params = {
    "infeats": rng.random((num_nodes, infeat_dim)).astype("float32"),
    "g_data": data, "indices": indices, "indptr": indptr,
    "layers.0.weight": rng.standard_normal((infeat_dim, num_hidden)).astype("float32"),
    "layers.0.bias": rng.standard_normal((num_hidden, 1)).astype("float32"),
    "layers.1.weight": rng.standard_normal((num_hidden, num_classes)).astype("float32"),
    "layers.1.bias": rng.standard_normal((num_classes, 1)).astype("float32"),
}  # fmt: skip
infeats = relay.var("infeats", shape=params["infeats"].shape)
adj = Adj(relay.Constant(tvm.nd.array(data)), relay.Constant(tvm.nd.array(indices)), relay.Constant(tvm.nd.array(indptr)))
hidden = GraphConv("layers.0", infeat_dim, num_hidden, adj, infeats, activation=relay.nn.relu)
output = GraphConv("layers.1", num_hidden, num_classes, adj, hidden)
func = relay.Function(relay.analysis.free_vars(output), output)

target = "llvm"
with relay.build_config(opt_level=0):
    lib = relay.build(tvm.IRModule.from_expr(func), target, params={k: v for k, v in params.items() if k not in ("g_data", "indices", "indptr")})
m = graph_executor.GraphModule(lib["default"](tvm.device(target, 0)))
m.run()
logits_tvm = m.get_output(0).numpy()

h = np.maximum(adjacency @ (params["infeats"] @ params["layers.0.weight"]) + params["layers.0.bias"].T, 0)
wanted = adjacency @ (h @ params["layers.1.weight"]) + params["layers.1.bias"].T
tvm.testing.assert_allclose(logits_tvm, wanted, atol=1e-3)
print("Print the first five outputs\n", logits_tvm[:5])
