"""Dense layers made sparse as in "Deploy a Hugging Face Pruned Model on CPU"."""
import itertools

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay import data_dep_optimization as ddo

bs_r = 1
sparsity = 0.85


def random_bsr_matrix(M, N, BS_R, BS_C, density, dtype="float32"):
    Y = np.zeros((M, N), dtype=dtype)
    assert M % BS_R == 0 and N % BS_C == 0
    nnz = int(density * M * N)
    num_blocks = int(nnz / (BS_R * BS_C)) + 1
    candidate_blocks = np.asarray(list(itertools.product(range(0, M, BS_R), range(0, N, BS_C))))
    chosen_blocks = candidate_blocks[np.random.choice(candidate_blocks.shape[0], size=num_blocks, replace=False)]
    for i in range(len(chosen_blocks)):
        r, c = chosen_blocks[i]
        Y[r : r + BS_R, c : c + BS_C] = np.random.uniform(-0.1, 0.1, (BS_R, BS_C))
    assert np.count_nonzero(Y) >= nnz
    return Y


def random_sparse_bert_params(func, params, density, BS_R, BS_C):
    def deepcopy(param_dic):
        return {k: tvm.nd.array(v.numpy()) for k, v in param_dic.items()}

    new_params = deepcopy(params)
    dense_weight_names = relay.analysis.sparse_dense._search_dense_op_weight(func)
    for item in dense_weight_names:
        name = str(item)
        shape = new_params[name].shape
        if shape[0] % BS_R == 0 and shape[1] % BS_C == 0:
            new_params[name] = tvm.nd.array(random_bsr_matrix(shape[0], shape[1], BS_R, BS_C, density))
    return new_params


def run_relay_graph(mod, params, shape_dict, target, dev):
    with relay.build_config(opt_level=3):
        lib = relay.build(mod, target=target, params=params)
    m = graph_executor.GraphModule(lib["default"](dev))
    rng = np.random.RandomState(1)
    for key, shape in shape_dict.items():
        m.set_input(key, tvm.nd.array(rng.uniform(size=shape).astype("float32")))
    m.run()
    return m.get_output(0).numpy()


np.random.seed(0)
x = relay.var("x", shape=(8, 64))
h = relay.nn.relu(relay.nn.dense(x, relay.var("w1", shape=(128, 64))))
y = relay.nn.dense(h, relay.var("w2", shape=(32, 128)))
mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(y), y))
params = {"w1": tvm.nd.array(np.zeros((128, 64), "float32")), "w2": tvm.nd.array(np.zeros((32, 128), "float32"))}
params = random_sparse_bert_params(mod["main"], params, BS_R=bs_r, BS_C=1, density=1 - sparsity)
want = run_relay_graph(mod, params, {"x": (8, 64)}, "llvm", tvm.cpu())
func, sparse_params = ddo.bsr_dense.convert(mod["main"], dict(params), (bs_r, 1), sparsity_threshold=0.8)
sparse_mod = tvm.IRModule.from_expr(func)
assert "nn.sparse_dense" in sparse_mod.astext(show_meta_data=False)
got = run_relay_graph(sparse_mod, sparse_params, {"x": (8, 64)}, "llvm", tvm.cpu())
np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
transposed = ddo.simplify_fc_transpose.convert(mod["main"], dict(params))
assert len(transposed) == 2
