"""Sparse weights: DenseToSparse, Conv2dToSparse, Conv2dToSparse2 and what converts weights with them."""

import numpy as np
import pytest

import tvm
from relay.sparse import DenseToSparse2, bsr_matrix
from tvm import relay
from tvm.relay import transform
from tvm.relay.data_dep_optimization import bsr_conv2d, bsr_dense, simplify_fc_transpose
from tvm.relay.testing import count_ops, run_opt_pass


def sparse_array(shape, share, seed=0, block=(1, 1)):
    rng = np.random.RandomState(seed)
    blocks = rng.uniform(size=(shape[0] // block[0], int(np.prod(shape[1:])) // block[1])) >= share
    matrix = rng.normal(size=(shape[0], int(np.prod(shape[1:])))) * np.kron(blocks, np.ones(block))
    return matrix.reshape(shape).astype("float32")


def run(func, params, *args):
    return relay.create_executor("vm", mod=tvm.IRModule.from_expr(func), params=params).evaluate()(*args).numpy()


@pytest.mark.parametrize("block", [(1, 1), (4, 1), (2, 8)])
def test_bsr_dense(block):
    x, w, v = relay.var("x", shape=(3, 32)), relay.var("w", shape=(16, 32)), relay.var("v", shape=(8, 16))
    func = relay.Function([x, w, v], relay.nn.dense(relay.nn.relu(relay.nn.dense(x, w)), v))
    params = {"w": tvm.nd.array(sparse_array((16, 32), 0.8, block=block)), "v": tvm.nd.array(np.random.RandomState(1).normal(size=(8, 16)).astype("float32"))}
    data = np.random.RandomState(2).normal(size=(3, 32)).astype("float32")
    wanted = run(func, params, data)
    made, new_params = bsr_dense.convert(func, dict(params), block, 0.5)
    assert set(new_params) == {"w.data", "w.indices", "w.indptr", "v"}
    assert count_ops(made) == {"nn.sparse_dense": 1, "nn.dense": 1, "nn.relu": 1}
    np.testing.assert_allclose(run(made, new_params, data), wanted, rtol=1e-4, atol=1e-4)


def test_process_params_of_dense():
    x, w = relay.var("x", shape=(3, 8)), relay.var("w", shape=(4, 8))
    params = {"w": tvm.nd.array(np.eye(4, 8, dtype="float32"))}
    info = relay.analysis.sparse_dense.process_params(relay.Function([x, w], relay.nn.dense(x, w)), params, (1, 1), 0.5)
    assert list(info.weight_name) == ["w"] and [list(shape) for shape in info.weight_shape] == [[4, 1, 1, 4, 5]]
    np.testing.assert_array_equal(params["w.indptr"].numpy(), [0, 1, 2, 3, 4])


def test_dense_weights_stay():
    x, w = relay.var("x", shape=(3, 8)), relay.var("w", shape=(4, 8))
    func, params = relay.Function([x, w], relay.nn.dense(x, w)), {"w": tvm.nd.array(np.ones((4, 8), "float32"))}
    made, new_params = bsr_dense.convert(func, params, (1, 1), 0.5)
    assert count_ops(made) == {"nn.dense": 1} and set(new_params) == {"w"}


def test_dense_to_sparse_pass():
    x, w = relay.var("x", shape=(3, 8)), relay.var("w", shape=(4, 8))
    with tvm.transform.PassContext(opt_level=4):
        made = run_opt_pass(relay.Function([x, w], relay.nn.dense(x, w)), transform.DenseToSparse(["w"], [[6, 2, 2, 6, 3]]))
    assert [tuple(param.type_annotation.concrete_shape) for param in made.params] == [(3, 8), (6, 2, 2), (6,), (3,)]


def test_blocks_that_do_not_divide():
    x, w = relay.var("x", shape=(3, 8)), relay.var("w", shape=(4, 8))
    with pytest.raises(ValueError, match="do not divide"):
        bsr_dense.convert(relay.Function([x, w], relay.nn.dense(x, w)), {"w": tvm.nd.array(np.eye(4, 8, dtype="float32"))}, (3, 1), 0.5)


@pytest.mark.parametrize("matrix, block, words", [
    (np.zeros(4, "float32"), (1, 1), "blocks of two extents"),
    (np.zeros((4, 4), "float32"), (0, 1), "blocks of two extents"),
    (np.broadcast_to(np.float32(0), (2**16, 2**16)), (1, 1), "at most 2\\^31 - 1 blocks"),
])  # fmt: skip
def test_what_has_no_blocks(matrix, block, words):
    with pytest.raises(ValueError, match=words):
        bsr_matrix(matrix, block)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "bool"])
def test_blocks_of_any_dtype(dtype):
    matrix = (sparse_array((6, 8), 0.6, block=(2, 4)) * 10).astype(dtype)
    elements, columns, beginnings = bsr_matrix(matrix, (2, 4))
    whole = np.zeros_like(matrix)
    for row in range(3):
        for block in range(beginnings[row], beginnings[row + 1]):
            whole[2 * row : 2 * row + 2, 4 * columns[block] : 4 * columns[block] + 4] = elements[block]
    assert elements.dtype == matrix.dtype and len(elements) == beginnings[-1]
    np.testing.assert_array_equal(whole, matrix)


def convolution(layout, size, weight=None):
    x = relay.var("x", shape=(1, 6, 6, 8) if layout == "NHWC" else (1, 8, 6, 6))
    shape = (size, size, 8, 16) if layout == "NHWC" else (16, 8, size, size)
    w = relay.var("w", shape=shape) if weight is None else relay.const(weight)
    kernel = "HWIO" if layout == "NHWC" else "OIHW"
    y = relay.nn.conv2d(x, w, kernel_size=(size, size), channels=16, padding=(size // 2,) * 2, data_layout=layout, kernel_layout=kernel)
    return relay.Function(relay.analysis.free_vars(y), y), shape


@pytest.mark.parametrize("layout, size", [("NHWC", 1), ("NHWC", 3), ("NCHW", 1), ("NCHW", 3)])
def test_bsr_conv2d(layout, size):
    func, shape = convolution(layout, size)
    matrix = sparse_array((16, size * size * 8), 0.8, block=(4, 2)).reshape(16, size, size, 8)
    weight = matrix.transpose(1, 2, 3, 0) if layout == "NHWC" else matrix.transpose(0, 3, 1, 2)
    params = {"w": tvm.nd.array(np.ascontiguousarray(weight))}
    data = np.random.RandomState(2).normal(size=func.params[0].type_annotation.concrete_shape).astype("float32")
    wanted = run(func, params, data)
    for convert in (bsr_conv2d.convert, bsr_conv2d.convert2):
        made, new_params = convert(func, dict(params), (4, 2), 0.5, layout, size)
        assert count_ops(made) == {"nn.sparse_conv2d": 1}
        given = {name: value for name, value in new_params.items() if name in [param.name_hint for param in made.params]}
        np.testing.assert_allclose(run(made, given, data), wanted, rtol=1e-4, atol=1e-4)


def test_convolutions_with_steps_stay():
    x, w = relay.var("x", shape=(1, 6, 6, 8)), relay.const(np.zeros((1, 1, 8, 16), "float32"))
    y = relay.nn.conv2d(x, w, kernel_size=(1, 1), channels=16, strides=(2, 2), data_layout="NHWC", kernel_layout="HWIO")
    with tvm.transform.PassContext(opt_level=5):
        made = run_opt_pass(relay.Function([x], y), transform.Conv2dToSparse2("NHWC", 1, (1, 1), 0.5))
    assert count_ops(made) == {"nn.conv2d": 1}


def test_simplify_fc_transpose():
    x, w = relay.var("x", shape=(3, 8)), relay.var("w", shape=(8, 4))
    func = relay.Function([x, w], relay.nn.dense(x, relay.transpose(w, [1, 0])))
    params = {"w": tvm.nd.array(np.random.RandomState(0).normal(size=(8, 4)).astype("float32"))}
    data = np.ones((3, 8), "float32")
    wanted = run(func, params, data)
    made, new_params = simplify_fc_transpose.convert(func, dict(params))
    assert count_ops(made) == {"nn.dense": 1} and list(new_params) == ["w.T"]
    np.testing.assert_allclose(run(made, new_params, data), wanted, rtol=1e-5)


def test_arrays_are_no_extents():
    for given in ([np.array([16]), 1], [True, 1]):
        with pytest.raises(TypeError, match="an entry of option blocksize of DenseToSparse2 is a text, a number or a list, not"):
            DenseToSparse2(given, 0.8)
    with pytest.raises(tvm.TVMError, match="option blocksize takes lists of extents, not 2.0 1"):
        DenseToSparse2([2.0, 1], 0.8)
    with pytest.raises(TypeError, match="sparsity_threshold of DenseToSparse2 is .*, not array"):
        DenseToSparse2([1, 1], np.array([0.5]))
    assert DenseToSparse2(np.array([16, 1]), np.float32(0.5)).info.name == "DenseToSparse2"
