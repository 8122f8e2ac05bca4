"""space_to_batch_nd, batch_to_space_nd, space_to_depth, dilate, matrix_set_diag, sliding_window, unravel_index."""
import numpy as np

import tvm
import tvm.testing
import tvm.topi.testing as ref
from tvm import relay


def check(build, wanted, *arrays):
    params = [relay.var(f"p{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    for target, dev in tvm.testing.enabled_targets():
        out = relay.create_executor("graph", device=dev, target=target).evaluate(relay.Function(params, build(*params)))(*arrays)
        tvm.testing.assert_allclose(out.numpy(), wanted)


def test_space_and_batch():
    data = np.random.rand(2, 4, 6, 3).astype("float32")
    check(lambda x: relay.nn.space_to_batch_nd(x, block_shape=[2, 3], paddings=[[0, 2], [1, 2]]), ref.space_to_batch_nd_python(data, [2, 3], [0, 1], [2, 2]), data)
    data = np.random.rand(8, 3, 3, 1).astype("float32")
    check(lambda x: relay.nn.batch_to_space_nd(x, block_shape=[2, 2], crops=[[0, 1], [1, 0]]), ref.batch_to_space_nd_python(data, [2, 2], [0, 1], [1, 0]), data)


def test_depth():
    data = np.random.rand(1, 4, 6, 6).astype("float32")
    check(lambda x: relay.nn.space_to_depth(x, 3, "NCHW"), ref.space_to_depth_python(data, 3), data)


def test_dilate_and_diagonals():
    data = np.random.rand(3, 4).astype("float32")
    check(lambda x: relay.nn.dilate(x, strides=(2, 3), dilation_value=9.0), ref.dilate_python(data, (2, 3), 9.0), data)
    matrix, diagonal = np.random.rand(3, 4).astype("float32"), np.arange(3, dtype="float32")
    check(lambda m, d: relay.matrix_set_diag(m, d), ref.matrix_set_diag(matrix, diagonal), matrix, diagonal)


def test_windows_and_places():
    data = np.arange(10, dtype="float32").reshape(1, 10)
    check(lambda x: relay.sliding_window(x, axis=1, window_shape=[3], strides=[2]), np.stack([data[0, i : i + 3] for i in (0, 2, 4, 6)])[None], data)
    places = np.array([0, 5, 11], "int64")
    check(lambda p: relay.unravel_index(p, relay.const([3, 4], "int64")), np.array(np.unravel_index(places, (3, 4))), places)


if __name__ == "__main__":
    tvm.testing.main()
