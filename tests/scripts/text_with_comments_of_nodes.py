"""Program text with what a script found out about nodes as comments: shapes, costs, the operator's pattern."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.testing import mlp

mod, params = mlp.get_workload(batch_size=2)
mod = relay.transform.InferType()(mod)


def shape_of(node):
    try:
        kind = node.checked_type
    except ValueError:
        return ""
    if isinstance(node, relay.Call) and isinstance(kind, relay.TensorType):
        return "x".join(str(int(d)) for d in kind.shape)
    return ""


text = mod.astext(show_meta_data=False, annotate=shape_of)
assert "2x128" in text and "2x10" in text, text
assert text.count("/*") >= 6
assert "/*" not in mod.astext(show_meta_data=False).replace("/* ty=", "")

lines = relay.astext(mod["main"], annotate=lambda node: node.op.name.upper() if isinstance(node, relay.Call) else None).splitlines()
assert any("NN.SOFTMAX" in line for line in lines)

x = relay.var("x", shape=(3,))
y = relay.exp(x + relay.const(np.float32(1)))
text = y.astext(annotate=lambda node: "here" if isinstance(node, relay.Call) and node.op.name == "exp" else "")
assert text.count("here") == 1 and "free_var %x" in text and "fn" not in text, text
assert relay.astext(relay.TensorType((3,), "float32"), annotate=shape_of) == "Tensor[(3), float32]"
print(text)
