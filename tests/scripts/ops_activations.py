"""Activations and losses."""
import numpy as np

import tvm
import tvm.testing
import tvm.topi.testing
from tvm import relay
from tvm.relay.testing import run_infer_type

rng = np.random.default_rng(9)


def check(expr, feeds, wanted, rtol=1e-4, atol=1e-5):
    params = relay.analysis.free_vars(expr)
    for target, dev in tvm.testing.enabled_targets():
        out = relay.create_executor("graph", device=dev, target=target).evaluate(relay.Function(params, expr))(*(feeds[p.name_hint] for p in params))
        tvm.testing.assert_allclose(out.numpy(), wanted, rtol=rtol, atol=atol)


data = rng.normal(size=(2, 3, 4)).astype("float32")
x = relay.var("x", shape=data.shape)


def test_relus():
    check(relay.nn.relu(x), {"x": data}, np.maximum(data, 0))
    check(relay.nn.leaky_relu(x, alpha=0.2), {"x": data}, np.where(data > 0, data, 0.2 * data))
    alpha = rng.random(3).astype("float32")
    a = relay.var("alpha", shape=(3,))
    check(relay.nn.prelu(x, a, axis=1), {"x": data, "alpha": alpha}, np.where(data > 0, data, alpha[:, None] * data))


def test_softmaxes():
    for axis in (0, 1, -1):
        check(relay.nn.softmax(x, axis=axis), {"x": data}, tvm.topi.testing.softmax_python(data, axis))
        check(relay.nn.log_softmax(x, axis=axis), {"x": data}, tvm.topi.testing.log_softmax_python(data, axis))
        check(relay.nn.fast_softmax(x, axis=axis), {"x": data}, tvm.topi.testing.softmax_python(data, axis), rtol=1e-3)
    assert "axis=1" in relay.nn.softmax(x, axis=1).astext()


def test_losses():
    predictions, targets = rng.random((5, 3)).astype("float32"), rng.integers(0, 3, 5).astype("int32")
    weights = rng.random(3).astype("float32")
    p, t, w = relay.var("p", shape=(5, 3)), relay.var("t", shape=(5,), dtype="int32"), relay.var("w", shape=(3,))
    feeds = {"p": predictions, "t": targets, "w": weights}
    for reduction in ("mean", "sum", "none"):
        check(relay.nn.nll_loss(p, t, w, reduction, -100), feeds, tvm.topi.testing.nll_loss(predictions, targets, weights, reduction, -100))
    soft = np.exp(predictions) / np.exp(predictions).sum(1, keepdims=True)
    hot = np.eye(3, dtype="float32")[targets]
    h = relay.var("h", shape=(5, 3))
    check(relay.nn.cross_entropy(p, h), {"p": soft, "h": hot}, -(hot * np.log(soft)).sum() / 5)
    check(relay.nn.cross_entropy_with_logits(p, h), {"p": predictions, "h": hot}, -(hot * predictions).sum() / 5)


def test_dropout_is_the_identity():
    check(relay.nn.dropout(x, rate=0.5), {"x": data}, data)
    yy = run_infer_type(relay.nn.dropout(x))
    assert yy.checked_type == relay.TensorType(data.shape, "float32")


def test_bias_and_batch_flatten():
    b = relay.var("b", shape=(3,))
    bias = rng.random(3).astype("float32")
    check(relay.nn.bias_add(x, b), {"x": data, "b": bias}, data + bias[:, None])
    check(relay.nn.batch_flatten(x), {"x": data}, data.reshape(2, 12))


if __name__ == "__main__":
    tvm.testing.main()
