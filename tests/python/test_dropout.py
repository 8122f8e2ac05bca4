"""relay.nn.dropout by a key: drops in training, and is the identity without a key."""

import numpy as np
import pytest
import relay
import relay.numpy as rnp


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_elements_are_dropped_and_scaled(dtype):
    x = rnp.ones((100, 50), dtype=dtype)
    drop = relay.function(lambda x, key: relay.nn.dropout(x, 0.2, key))
    found = drop(x, relay.random.key(1))
    assert found.dtype == dtype
    np.testing.assert_allclose(np.unique(np.asarray(found)), [0, 1.25], rtol=1e-3)
    assert abs(float((np.asarray(found) == 0).mean()) - 0.2) < 0.03
    assert (np.asarray(relay.nn.dropout(x, 0.2, key=relay.random.key(1))) == np.asarray(found)).all()
    assert (np.asarray(drop(x, relay.random.key(2))) != np.asarray(found)).any()


def test_gradients_go_to_what_stays():
    x, key = rnp.linspace(1, 2, 1000), relay.random.key(3)
    value, slope = relay.value_and_grad(lambda x: (relay.nn.dropout(x, 0.5, key) * x).sum())(x)
    kept = np.asarray(relay.nn.dropout(x, 0.5, key)) != 0
    np.testing.assert_allclose(slope, np.where(kept, 4 * np.asarray(x), 0), rtol=1e-6)
    forward = relay.jvp(lambda x: relay.nn.dropout(x, 0.5, key), (x,), (x,))[1]
    np.testing.assert_allclose(forward, np.where(kept, 2 * np.asarray(x), 0), rtol=1e-6)
    assert 0.4 < kept.mean() < 0.6 and float(value) > 0


def test_rates_at_the_ends_and_no_key():
    x, key = rnp.asarray([1.0, 2.0]), relay.random.key(0)
    assert relay.nn.dropout(x, 0, key).tolist() == [1, 2] and relay.nn.dropout(x, 1.0, key).tolist() == [0, 0]
    assert relay.nn.dropout(x, 0.9).tolist() == [1, 2]


def test_in_lanes_each_key_drops_its_own():
    keys, x = relay.random.split(relay.random.key(5), 4), rnp.ones((4, 30))
    found = relay.vmap(lambda x, key: relay.nn.dropout(x, 0.5, key))(x, keys)
    for i in range(4):
        assert found[i].tolist() == relay.nn.dropout(x[i], 0.5, keys[i]).tolist()
    assert found[0].tolist() != found[1].tolist()


def test_in_programs():
    x, key = relay.var("x", shape=(64,)), relay.var("key", shape=(10,), dtype="uint64")
    run = relay.compile(relay.Function([x, key], relay.nn.dropout(relay.tanh(x), 0.5, key)))
    found = run(np.full(64, 0.5, "float32"), relay.random.threefry_key(7).data)
    np.testing.assert_allclose(np.unique(found), [0, 2 * np.tanh(0.5)], rtol=1e-6)


@pytest.mark.parametrize("make, kind, message", [
    (lambda x, key: relay.nn.dropout(x, 1.5, key), ValueError, "dropout: rate is a number from 0 to 1, not 1.5"),
    (lambda x, key: relay.nn.dropout(x, "half", key), ValueError, "dropout: rate is a number from 0 to 1, not 'half'"),
    (lambda x, key: relay.nn.dropout(x.astype("int32"), 0.5, key), ValueError, "dropout by a key is of a tensor of floats of known extents, not of .*int32"),
    (lambda x, key: relay.nn.dropout(x, 0.5, 3), relay.RelayError, "random.uniform"),
])  # fmt: skip
def test_what_is_refused(make, kind, message):
    with pytest.raises(kind, match=message):
        make(rnp.ones((3,)), relay.random.key(0))


def test_rates_of_numpy_and_beyond_a_dtype():
    key, x = relay.random.key(1), np.ones(100, "float16")
    np.testing.assert_array_equal(relay.nn.dropout(x, np.float32(0.5), key), relay.nn.dropout(x, 0.5, key))
    with pytest.raises(ValueError, match="dropout: at a rate of 0.99999 elements are multiplied by 100000, which float16 cannot hold"):
        relay.nn.dropout(x, 0.99999, key)
    with pytest.raises(ValueError, match="dropout: rate is a number from 0 to 1"):
        relay.nn.dropout(x, np.float32(1.5), key)
