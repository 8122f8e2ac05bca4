"""Node tests of ONNX, with NumPy for what they should give."""
import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

rng = np.random.default_rng(0)
x = rng.normal(size=(2, 3, 4)).astype("float32")


def run_node(op, arrays, n_out=1, constants=(), opset=13, **attrs):
    names, outs = [f"x{i}" for i in range(len(arrays))], [f"y{i}" for i in range(n_out)]
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for i, (n, a) in enumerate(zip(names, arrays)) if i not in constants]
    init = [numpy_helper.from_array(arrays[i], names[i]) for i in constants]
    graph = helper.make_graph([helper.make_node(op, names, outs, **attrs)], "g", inputs, [helper.make_tensor_value_info(o, TensorProto.UNDEFINED, None) for o in outs], init)
    mod, params = relay.frontend.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), freeze_params=True)
    given = [a for i, a in enumerate(arrays) if i not in constants]
    out = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*given)
    results = [o.numpy() for o in out] if isinstance(out, tvm.runtime.container.ADT) else [out.numpy()]
    return results if n_out > 1 else results[0]


@pytest.mark.parametrize("op, ref", [("Exp", np.exp), ("Abs", np.abs), ("Floor", np.floor), ("Tanh", np.tanh), ("Relu", lambda a: np.maximum(a, 0))])
def test_unary(op, ref):
    tvm.testing.assert_allclose(run_node(op, [x]), ref(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op, ref", [("Add", np.add), ("Mul", np.multiply), ("Max", np.maximum), ("Pow", np.power)])
def test_binary(op, ref):
    a, b = np.abs(x) + 0.5, rng.random((3, 1)).astype("float32")
    tvm.testing.assert_allclose(run_node(op, [a, b]), ref(a, b), rtol=1e-4)


def test_moves():
    tvm.testing.assert_allclose(run_node("Transpose", [x], perm=[2, 0, 1]), x.transpose(2, 0, 1))
    tvm.testing.assert_allclose(run_node("Gather", [x, np.array([0, 2, 1], "int64")], axis=1), x[:, [0, 2, 1]])
    tvm.testing.assert_allclose(run_node("Slice", [x, np.array([1], "int64"), np.array([3], "int64"), np.array([2], "int64")], constants=(1, 2, 3)), x[:, :, 1:3])
    a, b = run_node("Split", [x, np.array([1, 3], "int64")], n_out=2, constants=(1,), axis=2)
    tvm.testing.assert_allclose(np.concatenate([a, b], 2), x)


def test_reductions_and_orders():
    tvm.testing.assert_allclose(run_node("ReduceMean", [x], axes=[1], keepdims=0), x.mean(1), rtol=1e-5, atol=1e-6)
    values, indices = run_node("TopK", [x, np.array([2], "int64")], n_out=2, constants=(1,))
    tvm.testing.assert_allclose(values, -np.sort(-x, -1)[..., :2])
    tvm.testing.assert_allclose(np.take_along_axis(x, indices, -1), values)


def test_networks():
    a, w, b = rng.normal(size=(1, 2, 6, 6)).astype("float32"), rng.normal(size=(3, 2, 3, 3)).astype("float32"), rng.normal(size=3).astype("float32")
    wanted = tvm.topi.testing.conv2d_nchw_python(a, w, 1, 1) + b[:, None, None]
    tvm.testing.assert_allclose(run_node("Conv", [a, w, b], pads=[1, 1, 1, 1]), wanted, rtol=1e-3, atol=1e-4)
    pool = tvm.topi.testing.poolnd_python(a, [2, 2], [2, 2], [1, 1], [0, 0], [0, 0], "max")
    tvm.testing.assert_allclose(run_node("MaxPool", [a], kernel_shape=[2, 2], strides=[2, 2]), pool)


if __name__ == "__main__":
    pytest.main([__file__])
