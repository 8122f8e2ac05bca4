"""Dense weights made sparse and run: random block matrices, thresholds, names of the new parameters."""
import numpy as np
import tvm
from tvm import relay
from tvm.ir import IRModule
from tvm.relay import data_dep_optimization as ddo
from tvm.relay.build_module import bind_params_by_name


def run_func(func, params, x):
    with tvm.transform.PassContext(opt_level=3):
        graph, lib, new_params = relay.build(func, "llvm", params=params)
    from tvm.contrib import graph_executor

    m = graph_executor.create(graph, lib, tvm.cpu(0))
    m.set_input("data", tvm.nd.array(x.astype("float32")))
    m.set_input(**new_params)
    m.run()
    return m.get_output(0).numpy()


rng = np.random.RandomState(0)
dense_w = np.zeros((64, 32), "float32")
for row, column in rng.permutation(list(np.ndindex(8, 32)))[:50]:
    dense_w[8 * row : 8 * row + 8, column] = rng.randn(8)
data, weight = relay.var("data", shape=(4, 32)), relay.var("weight", shape=(64, 32))
func = relay.Function([data, weight], relay.nn.relu(relay.nn.dense(data, weight)))
params = {"weight": tvm.nd.array(dense_w)}
x = np.random.randn(4, 32).astype("float32")
expected = run_func(func, params, x)
sparse_func, sparse_params = ddo.bsr_dense.convert(func, dict(params), (8, 1), sparsity_threshold=0.5)
assert set(sparse_params) == {"weight.data", "weight.indices", "weight.indptr"}
assert "nn.sparse_dense" in str(sparse_func)
got = run_func(sparse_func, sparse_params, x)
np.testing.assert_allclose(got, expected, atol=1e-5, rtol=1e-5)
same, kept = ddo.bsr_dense.convert(func, dict(params), (8, 1), sparsity_threshold=0.95)
assert "sparse" not in str(same) and set(kept) == {"weight"}
names = relay.analysis.sparse_dense._search_dense_op_weight(func)
assert [str(n) for n in names] == ["weight"]
