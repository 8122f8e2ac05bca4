"""Recurrent cells of relay.frontend.common, unrolled over sequences of several lengths."""
import numpy as np

import tvm.topi.testing
from tvm import relay
from tvm.relay.frontend.common import gru_cell, lstm_cell, rnn_cell, unbind

batch, features, hidden = 2, 3, 4
rng = np.random.RandomState(1)


def make(*shape):
    return rng.uniform(-0.5, 0.5, shape).astype("float32")


for steps in (1, 5):
    xs_np, h_np, c_np = make(steps, batch, features), make(batch, hidden), make(batch, hidden)
    weights = [make(4 * hidden, features), make(4 * hidden, hidden), make(4 * hidden), make(4 * hidden)]
    xs, h, c = (relay.var(n, shape=v.shape) for n, v in (("xs", xs_np), ("h", h_np), ("c", c_np)))
    outs, last_h, last_c = lstm_cell(list(unbind(xs, 0)), h, c, *[relay.const(w) for w in weights])
    func = relay.Function([xs, h, c], relay.Tuple([relay.stack(outs, 0), last_h, last_c]))
    found = [v.numpy() for v in relay.create_executor("graph").evaluate(func)(xs_np, h_np, c_np)]
    hs, cs = tvm.topi.testing.lstm_python(xs_np, *weights, h_np, c_np)
    np.testing.assert_allclose(found[0], hs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[2], cs[-1], rtol=1e-4, atol=1e-5)

    wi, wh, bi, bh = make(hidden, features), make(hidden, hidden), make(hidden), make(hidden)
    outs, last = rnn_cell(list(unbind(xs, 0)), h, *[relay.const(w) for w in (wi, wh, bi, bh)], act=relay.nn.relu)
    state = h_np
    for x in xs_np:
        state = np.maximum(x @ wi.T + bi + state @ wh.T + bh, 0)
    out = relay.create_executor("vm").evaluate(relay.Function([xs, h], last))(xs_np, h_np)
    np.testing.assert_allclose(out.numpy(), state, rtol=1e-4, atol=1e-5)

    outs, last = gru_cell(list(unbind(xs, 0)), h, relay.const(make(3 * hidden, features)), relay.const(make(3 * hidden, hidden)), backwards=True)
    out = relay.create_executor("graph").evaluate(relay.Function([xs, h], relay.stack(outs, 0)))(xs_np, h_np)
    assert out.shape == (steps, batch, hidden)
