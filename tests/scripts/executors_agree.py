"""Random elementwise programs: all executors and levels give the same, and texts are read back."""
import random

import numpy as np

import tvm
from tvm import relay

UNARY = [relay.exp, relay.tanh, relay.nn.relu, relay.negative, relay.abs, relay.sigmoid]
BINARY = [relay.add, relay.subtract, relay.multiply, relay.maximum, relay.minimum]


def program(seed, size=12):
    rnd = random.Random(seed)
    x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(4,))
    pool = [x, y + x]
    for _ in range(size):
        kind = rnd.random()
        if kind < 0.45:
            pool.append(rnd.choice(UNARY)(rnd.choice(pool)))
        elif kind < 0.9:
            pool.append(rnd.choice(BINARY)(rnd.choice(pool), rnd.choice(pool)))
        else:
            pool.append(relay.nn.softmax(rnd.choice(pool)))
        pool[-1] = relay.clip(pool[-1], -20.0, 20.0)
    return relay.Function([x, y], relay.Tuple(pool[-2:]))


for seed in range(5):
    mod = tvm.IRModule.from_expr(program(seed))
    state = np.random.RandomState(seed)
    a, b = state.uniform(-1, 1, (3, 4)).astype("float32"), state.uniform(-1, 1, 4).astype("float32")
    reference = [v.numpy() for v in relay.create_executor("debug", mod=mod).evaluate()(a, b)]
    for kind, level in (("graph", 0), ("graph", 3), ("vm", 2)):
        with tvm.transform.PassContext(opt_level=level):
            found = relay.create_executor(kind, mod=mod, device=tvm.cpu(0), target="llvm").evaluate()(a, b)
        for one, other in zip(reference, found):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-3, atol=1e-4, err_msg=f"{seed} {kind} {level}\n{mod}")
    tvm.ir.assert_structural_equal(tvm.relay.fromtext(mod.astext()), relay.transform.InferType()(mod))
    assert tvm.ir.structural_hash(mod) == tvm.ir.structural_hash(tvm.IRModule.from_expr(program(seed)))
