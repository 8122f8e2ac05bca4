"""Span filling, sequential names, printing with annotations; source maps of an importer."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.frontend.common import set_span
from tvm.ir import Span, SourceName
from tvm.relay import Call


def import_layers(names):
    x = relay.var("x", shape=(2, 8))
    y = x
    for i, n in enumerate(names):
        y = set_span(relay.nn.relu(y * relay.const(float(i + 1))), n)
    return relay.Function([x], y)


f = import_layers(["layer_a", "layer_b", "layer_c"])
mod = transform.InferType()(tvm.IRModule.from_expr(f))
seen = {}


def visit(e):
    if isinstance(e, Call):
        seen.setdefault(e.span.source_name.name if e.span and e.span.source_name else None, []).append(e.op.name)


relay.analysis.post_order_visit(mod["main"], visit)
assert seen == {"layer_a": ["multiply", "nn.relu"], "layer_b": ["multiply", "nn.relu"], "layer_c": ["multiply", "nn.relu"]}, seen
with tvm.transform.PassContext(opt_level=3):
    mod2 = tvm.transform.Sequential([transform.SimplifyExpr(), transform.FoldConstant(), transform.InferType()])(mod)
kept = set()
relay.analysis.post_order_visit(mod2["main"], lambda e: kept.add(e.span.source_name.name) if isinstance(e, Call) and e.span.source_name else None)
assert {"layer_a", "layer_b", "layer_c"} <= kept, kept
txt = mod["main"].astext(show_meta_data=False, annotate=lambda e: "  from " + e.span.source_name.name if isinstance(e, Call) and e.span.source_name else "")
assert txt.count("from layer_b") == 2, txt
sp = Span(SourceName("file.py"), 10, 12, 1, 5)
c = relay.Call(relay.op.get("exp"), [relay.var("q", shape=(1,))], None, None, sp)
assert c.span.line == 10 and c.span.end_line == 12
v = relay.Var("r", relay.TensorType((1,)), sp)
assert v.span.source_name.name == "file.py"
mod3 = tvm.relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {\n  exp(%x)\n}', "named.rly")
assert mod3["main"].body.span.line == 3
an = transform.AnnotateSpans()(mod)
assert an["main"].body.span.line > 0
print(an["main"].body.span)
