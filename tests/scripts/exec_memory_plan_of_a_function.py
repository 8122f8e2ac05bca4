"""The plan of memory of a fused function: storage identifiers, kinds of devices, sizes."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import transform


def storage(expr):
    mod = tvm.IRModule.from_expr(expr)
    mod = transform.InferType()(mod)
    mod = transform.FuseOps(0)(mod)
    mod = transform.InferType()(mod)
    plan = relay.backend._backend.GraphPlanMemory(mod["main"])
    ids, devices, sizes = set(), set(), {}
    for _, info in plan.expr_to_storage_info.items():
        for x in info.storage_ids:
            ids.add(int(x))
        for x in info.device_types:
            devices.add(int(x))
        for sid, size in zip(info.storage_ids, info.storage_sizes_in_bytes):
            sizes.setdefault(int(sid), set()).add(int(size))
    return ids, devices, sizes


x = relay.var("x", shape=(10,))
y = relay.var("y", shape=(1,))
z = relay.add(y, relay.exp(x))
for _ in range(4):
    z = relay.exp(z)
func = relay.Function([x, y], z)
ids, devices, sizes = storage(func)
assert len(ids) == 4, ids
assert len(devices) == 1
