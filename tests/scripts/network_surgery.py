"""Extra outputs, removed heads, a new input layer: what people do to imported networks."""
import numpy as np

import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay.expr_functor import ExprMutator

net, params = relay.testing.mlp.get_workload(batch_size=1, image_shape=(1, 5, 5), num_classes=4)
main = net["main"]
body = main.body
data = np.random.rand(1, 1, 5, 5).astype("float32")


def outputs(mod, values, **feeds):
    lib = relay.build(mod, "llvm", params=values)
    m = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    m.run(**feeds)
    return [m.get_output(i).numpy() for i in range(m.get_num_outputs())]


(plain,) = outputs(net, params, data=data)
assert body.op.name == "nn.softmax"
(logits,) = outputs(tvm.IRModule.from_expr(relay.Function(main.params, body.args[0])), params, data=data)
np.testing.assert_allclose(np.exp(logits) / np.exp(logits).sum(), plain, rtol=1e-5)

hidden = []
relay.analysis.post_order_visit(main, lambda e: hidden.append(e) if isinstance(e, relay.Call) and e.op == relay.op.get("nn.relu") else None)
many = outputs(tvm.IRModule.from_expr(relay.Function(main.params, relay.Tuple([body, *hidden]))), params, data=data)
assert len(many) == 1 + len(hidden) and np.allclose(many[0], plain) and all((h >= 0).all() for h in many[1:])


class NewInput(ExprMutator):
    def __init__(self, old, new):
        super().__init__()
        self.old, self.new = old, new

    def visit_var(self, var):
        return self.new if var.same_as(self.old) else var


image = relay.var("image", shape=(1, 5, 5, 1), dtype="uint8")
prepared = relay.transpose(relay.cast(image, "float32") / relay.const(255.0), (0, 3, 1, 2))
served = tvm.IRModule.from_expr(relay.Function([image, *main.params[1:]], NewInput(main.params[0], prepared).visit(body)))
pixels = np.random.randint(0, 256, (1, 5, 5, 1)).astype("uint8")
(a,) = outputs(served, params, image=pixels)
(b,) = outputs(net, params, data=(pixels.astype("float32") / 255).transpose(0, 3, 1, 2))
np.testing.assert_allclose(a, b, rtol=1e-5)

q = relay.var("p", shape=(1, 4))
joined = tvm.IRModule.from_expr(relay.Function(main.params, relay.bind(relay.argmax(q, axis=1), {q: body})))
(label,) = outputs(joined, params, data=data)
assert int(label[0]) == int(plain.argmax())
