"""A text classifier: embedding, masked mean, dense; batch and length are free."""
import numpy as np

import tvm
from tvm import relay

vocab, dim, classes = 30, 8, 4
rng = np.random.default_rng(0)
table, w = rng.normal(size=(vocab, dim)).astype("float32"), rng.normal(size=(classes, dim)).astype("float32")

tokens = relay.var("tokens", shape=(relay.Any(), relay.Any()), dtype="int64")
emb = relay.take(relay.const(table), tokens, axis=0, mode="fast")
mask = relay.cast(relay.not_equal(tokens, relay.const(0, "int64")), "float32")
total = relay.sum(emb * relay.expand_dims(mask, axis=2), axis=1)
length = relay.maximum(relay.sum(mask, axis=1, keepdims=True), relay.const(1.0))
logits = relay.nn.dense(total / length, relay.const(w), units=classes)
best = relay.topk(logits, k=2, axis=1, ret_type="both", dtype="int64")
mod = tvm.IRModule.from_expr(relay.Function([tokens], relay.Tuple([logits, best[0], best[1]])))

vm_exec = relay.vm.compile(mod, target="llvm")
vm = tvm.runtime.vm.VirtualMachine(vm_exec, tvm.cpu())
for batch, steps in ((1, 3), (4, 7)):
    ids = rng.integers(0, vocab, (batch, steps)).astype("int64")
    out, values, index = (r.numpy() for r in vm.run(ids))
    m = (ids != 0).astype("float32")
    mean = (table[ids] * m[..., None]).sum(1) / np.maximum(m.sum(1, keepdims=True), 1)
    wanted = mean @ w.T
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)
    assert (index[:, 0] == wanted.argmax(1)).all() and np.allclose(values[:, 0], wanted.max(1), rtol=1e-4)
print(vm_exec.stats)
