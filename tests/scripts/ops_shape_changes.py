"""reshape with its special numbers, transpose, squeeze, split, stack, repeat, tile, pad, reverse."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.testing import run_infer_type


def evaluate(expr, **feeds):
    params = relay.analysis.free_vars(expr)
    f = relay.Function(params, expr)
    return relay.create_executor("graph", device=tvm.cpu(), target="llvm").evaluate(f)(*(feeds[p.name_hint] for p in params))


@pytest.mark.parametrize("shape, newshape, oshape", [
    ((2, 3, 4), (8, 3), (8, 3)), ((4, 7), (2, 7, 2), (2, 7, 2)), ((2, 3, 4), (4, 0, 2), (4, 3, 2)), ((2, 3, 4), (2, 0, 0), (2, 3, 4)),
    ((2, 3, 4), (0, -1), (2, 12)), ((2, 3, 4), (-1, 0), (8, 3)), ((2, 3, 4), (2, -2), (2, 3, 4)), ((2, 3, 4), (-2, 1, 1), (2, 3, 4, 1, 1)),
    ((2, 3, 4), (-3, 4), (6, 4)), ((2, 3, 4, 5), (-3, -3), (6, 20)), ((2, 3, 4), (0, -3), (2, 12)), ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4)),
    ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4)), ((1,), (), ()),
])
def test_reshape(shape, newshape, oshape):
    x = relay.var("x", relay.TensorType(shape, "float32"))
    z = relay.reshape(x, newshape=newshape)
    assert "newshape=" in z.astext()
    assert run_infer_type(z).checked_type == relay.ty.TensorType(oshape, "float32")
    data = np.random.rand(*shape).astype("float32")
    np.testing.assert_array_equal(evaluate(z, x=data).numpy(), data.reshape(oshape))


def test_reshape_mistakes():
    x = relay.var("x", shape=(2, 3))
    with pytest.raises(tvm.TVMError):
        run_infer_type(relay.reshape(x, (4, 2)))
    with pytest.raises(tvm.TVMError):
        run_infer_type(relay.reshape(x, (-1, -1)))


def test_transpose_squeeze_expand():
    data = np.random.rand(2, 1, 3, 1).astype("float32")
    x = relay.var("x", shape=data.shape)
    np.testing.assert_array_equal(evaluate(relay.transpose(x, axes=(2, 0, -1, 1)), x=data).numpy(), data.transpose(2, 0, 3, 1))
    assert evaluate(relay.transpose(x), x=data).shape == (1, 3, 1, 2)
    assert evaluate(relay.squeeze(x), x=data).shape == (2, 3) and evaluate(relay.squeeze(x, axis=[1]), x=data).shape == (2, 3, 1)
    assert evaluate(relay.expand_dims(x, axis=-1, num_newaxis=2), x=data).shape == (2, 1, 3, 1, 1, 1)


def test_split_and_join():
    data = np.random.rand(6, 4).astype("float32")
    x = relay.var("x", shape=data.shape)
    parts = relay.split(x, indices_or_sections=(1, 3), axis=0)
    assert len(parts) == 3 and evaluate(parts[1], x=data).shape == (2, 4)
    whole = relay.concatenate([parts[2], parts[0], parts[1]], axis=0)
    np.testing.assert_array_equal(evaluate(whole, x=data).numpy(), np.concatenate([data[3:], data[:1], data[1:3]]))
    assert evaluate(relay.stack([x, x], axis=-1), x=data).shape == (6, 4, 2)
    assert [int(f.shape[0]) for f in run_infer_type(relay.split(x, 2).astuple()).checked_type.fields] == [3, 3]


def test_repeat_tile_pad_reverse():
    data = np.random.rand(2, 3).astype("float32")
    x = relay.var("x", shape=data.shape)
    np.testing.assert_array_equal(evaluate(relay.repeat(x, repeats=3, axis=1), x=data).numpy(), data.repeat(3, 1))
    np.testing.assert_array_equal(evaluate(relay.tile(x, reps=(2, 1, 2)), x=data).numpy(), np.tile(data, (2, 1, 2)))
    np.testing.assert_array_equal(evaluate(relay.nn.pad(x, ((1, 0), (0, 2)), pad_value=7.0), x=data).numpy(), np.pad(data, ((1, 0), (0, 2)), constant_values=7))
    np.testing.assert_array_equal(evaluate(relay.nn.mirror_pad(x, ((1, 1), (1, 1)), "REFLECT"), x=data).numpy(), np.pad(data, 1, mode="reflect"))
    np.testing.assert_array_equal(evaluate(relay.reverse(x, axis=0), x=data).numpy(), data[::-1])
    np.testing.assert_array_equal(evaluate(relay.broadcast_to(x, (4, 2, 3)), x=data).numpy(), np.broadcast_to(data, (4, 2, 3)))


if __name__ == "__main__":
    pytest.main([__file__])
