"""Spans of a front end's nodes are followed to find a layer, and to cut the network there."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.frontend.common import set_span
from tvm.testing import disable_span_filling, enable_span_filling

y = relay.var("x", shape=(1, 8))
with enable_span_filling():
    for name in ("stem", "body", "head"):
        y = set_span(relay.nn.dense(y, relay.const(np.random.rand(8, 8).astype("float32"))), name)
        y = set_span(relay.nn.relu(y), name + ".act")
with disable_span_filling():
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(y), y)))

layers = {}


def look(e):
    if isinstance(e, relay.Call) and isinstance(e.op, tvm.ir.Op):
        layers[e.span.source_name.name] = e


relay.analysis.post_order_visit(mod["main"], look)
assert {k: v.op.name for k, v in layers.items()} == {"stem": "nn.dense", "stem.act": "nn.relu", "body": "nn.dense", "body.act": "nn.relu", "head": "nn.dense", "head.act": "nn.relu"}

cut = layers["body.act"]
part = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(cut), cut))
assert relay.testing.count_ops(part["main"])["nn.dense"] == 2
out = relay.create_executor("graph", mod=part).evaluate()(np.random.rand(1, 8).astype("float32"))
assert (out.numpy() >= 0).all() and out.shape == (1, 8)
