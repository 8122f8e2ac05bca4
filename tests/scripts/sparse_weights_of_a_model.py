"""A dense network made sparse as benchmarks of sparse models do it: random block weights, conversion, both results."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.testing import count_ops
from tvm.topi.sparse import utils
from tvm.topi.sparse.utils import convert_model_dense_to_sparse, random_sparse_conv2d_params, random_sparse_dense_params


def two_layers():
    x = relay.var("x", shape=(4, 64))
    hidden = relay.nn.relu(relay.nn.dense(x, relay.var("w1", shape=(32, 64))))
    out = relay.nn.dense(hidden, relay.transpose(relay.var("w2", shape=(32, 16)), axes=[1, 0]))
    func = relay.Function(relay.analysis.free_vars(out), out)
    rng = np.random.RandomState(3)
    params = {"w1": tvm.nd.array(rng.randn(32, 64).astype("float32")), "w2": tvm.nd.array(rng.randn(32, 16).astype("float32"))}
    return tvm.IRModule.from_expr(func), params


def run(mod, params, x):
    names = [p.name_hint for p in mod["main"].params]
    lib = relay.build(mod, target="llvm", params={k: v for k, v in params.items() if k in names})
    module = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("x", x)
    module.run()
    return module.get_output(0).numpy()


def test_random_weights_in_blocks():
    np.random.seed(0)
    mod, params = two_layers()
    sparse = random_sparse_dense_params(mod["main"], params, bs_r=4, bs_c=1, density=0.1)
    values = sparse["w1"].numpy()
    assert values.shape == (32, 64) and (values != 0).mean() < 0.15
    blocks = values.reshape(8, 4, 64)
    assert all(np.all(blocks[i, :, j] != 0) or np.all(blocks[i, :, j] == 0) for i in range(8) for j in range(64))
    np.testing.assert_array_equal(sparse["w2"].numpy(), params["w2"].numpy())


def test_converted_model_computes_the_same():
    np.random.seed(1)
    mod, params = two_layers()
    made, sparse = convert_model_dense_to_sparse(mod, params, random_params=True, bs_r=4, sparsity=0.9)
    assert count_ops(made["main"])["nn.sparse_dense"] == 2
    assert {"w1.data", "w1.indices", "w1.indptr"} <= set(sparse)
    x = np.random.uniform(size=(4, 64)).astype("float32")
    dense = {name: np.zeros(shape, "float32") for name, shape in (("w1", (32, 64)), ("w2.T", (16, 32)))}
    for name, whole in dense.items():
        data, columns, begins = (sparse[f"{name}.{part}"].numpy() for part in ("data", "indices", "indptr"))
        for row in range(len(begins) - 1):
            for place in range(begins[row], begins[row + 1]):
                whole[4 * row : 4 * row + 4, columns[place]] = data[place][:, 0]
    wanted = np.maximum(x @ dense["w1"].T, 0) @ dense["w2.T"].T
    np.testing.assert_allclose(run(made, sparse, x), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout, shape", [("NHWC", (1, 1, 8, 16)), ("NCHW", (16, 8, 1, 1))])
def test_convolutions(layout, shape):
    data = relay.var("data", shape=(1, 6, 6, 8) if layout == "NHWC" else (1, 8, 6, 6))
    kernel = {"NHWC": "HWIO", "NCHW": "OIHW"}[layout]
    y = relay.nn.conv2d(data, relay.var("w", shape=shape), kernel_size=(1, 1), channels=16, data_layout=layout, kernel_layout=kernel)
    func = relay.Function(relay.analysis.free_vars(y), y)
    weights = random_sparse_conv2d_params(func, {"w": tvm.nd.array(np.ones(shape, "float32"))}, bs_r=2, bs_c=1, density=0.1, layout=layout)
    assert weights["w"].shape == shape and (weights["w"].numpy() == 0).mean() > 0.8
    made, sparse = convert_model_dense_to_sparse(tvm.IRModule.from_expr(func), weights, bs_r=2, layout=layout)
    assert count_ops(made["main"]) == {"nn.sparse_conv2d": 1} and sparse["w.data"].shape[1:] == (2, 1)


def test_blocks_have_to_divide():
    with pytest.raises(ValueError, match="do not divide"):
        random_sparse_dense_params(two_layers()[0]["main"], two_layers()[1], 5, 1, 0.1)
    assert "random_bsr_matrix" in dir(utils)


if __name__ == "__main__":
    pytest.main([__file__])
