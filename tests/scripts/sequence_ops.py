"""Sequences: reverse_sequence, sequence_mask, fifo_buffer, stft, cumulative sums, embedding bags."""
import numpy as np

import tvm
import tvm.testing
from tvm import relay


def run(func, *args, kind="graph"):
    return relay.create_executor(kind, device=tvm.cpu(0), target="llvm").evaluate(func)(*args).numpy()


x_np = np.arange(16, dtype="float32").reshape(4, 4)
x, lengths = relay.var("x", shape=(4, 4)), relay.var("lengths", shape=(4,), dtype="int32")
n = np.array([1, 2, 3, 4], "int32")

out = run(relay.Function([x, lengths], relay.reverse_sequence(x, lengths, seq_axis=1, batch_axis=0)), x_np, n)
assert out[3].tolist() == [15, 14, 13, 12] and out[1].tolist() == [5, 4, 6, 7]

out = run(relay.Function([x, lengths], relay.sequence_mask(x, lengths, mask_value=-1.0, axis=1)), x_np, n)
assert (out[0] == [0, -1, -1, -1]).all() and (out[3] == x_np[3]).all()

buffer, new = relay.var("buffer", shape=(2, 4)), relay.var("new", shape=(2, 1))
out = run(relay.Function([new, buffer], relay.nn.fifo_buffer(new, buffer, axis=1)), np.full((2, 1), 9, "float32"), x_np[:2])
assert out.tolist() == [[1, 2, 3, 9], [5, 6, 7, 9]]

table, ids, where = relay.var("table", shape=(5, 2)), relay.var("ids", shape=(6,), dtype="int32"), relay.var("where", shape=(6,), dtype="int32")
rows = relay.take(table, ids, axis=0)
bags = relay.segment_sum(rows, where, num_segments=3)
t = np.random.rand(5, 2).astype("float32")
i, w = np.array([0, 1, 2, 2, 4, 0], "int32"), np.array([0, 0, 1, 1, 1, 2], "int32")
wanted = np.zeros((3, 2), "float32")
np.add.at(wanted, w, t[i])
np.testing.assert_allclose(run(relay.Function([table, ids, where], bags), t, i, w, kind="vm"), wanted, rtol=1e-6)

signal = relay.var("signal", shape=(1, 32))
s = np.sin(np.arange(32) * 2 * np.pi / 8).astype("float32")[None]
spectrum = run(relay.Function([signal], relay.stft(signal, n_fft=8, hop_length=4, win_length=8, window=relay.const(np.ones(8, "float32")), normalized=False, onesided=True)), s, kind="vm")
power = (spectrum[0] ** 2).sum(-1)
assert power.shape[0] == 5 and (power.argmax(0) == 1).all()
