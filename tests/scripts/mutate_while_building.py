"""Weights are renamed, pruned and folded before a build: bind, bind_params_by_name, FunctionWithFields, CallWithFields."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.expr import CallWithFields, VarWithFields
from tvm.relay.function import FunctionWithFields

net, params = relay.testing.mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
main = net["main"]
print([p.name_hint for p in main.params])

renamed = {p: relay.var("net." + p.name_hint, type_annotation=p.type_annotation) for p in main.params if p.name_hint != "data"}
new_main = relay.Function([renamed.get(p, p) for p in main.params], relay.bind(main.body, renamed), main.ret_type, main.type_params, main.attrs)
mod = tvm.IRModule.from_expr(new_main)
new_params = {"net." + k: v for k, v in params.items()}

pruned = {}
for name, value in new_params.items():
    array = value.numpy()
    pruned[name] = tvm.nd.array(np.where(np.abs(array) < 0.02, 0, array).astype(array.dtype))

data = np.random.rand(1, 1, 4, 4).astype("float32")
one = relay.create_executor("graph", net, tvm.cpu(), "llvm", params).evaluate()(data).numpy()
two = relay.create_executor("graph", mod, tvm.cpu(), "llvm", new_params).evaluate()(data).numpy()
np.testing.assert_allclose(one, two, rtol=1e-6)

folded = tvm.IRModule()
folded["main"] = bind_params_by_name(mod["main"], pruned)
folded = relay.transform.FoldConstant()(relay.transform.InferType()(folded))
assert [p.name_hint for p in folded["main"].params] == ["data"]
relay.create_executor("vm", mod=folded).evaluate()(data)

call = relay.nn.relu(relay.var("x", shape=(2,)))
assert CallWithFields(call).same_as(call) and CallWithFields(call, op=relay.op.get("exp")).op.name == "exp"
v = relay.var("v", shape=(2,))
assert VarWithFields(v, type_annotation=relay.TensorType((3,))).type_annotation == relay.TensorType((3,))
f = FunctionWithFields(relay.Function([v], v), body=relay.exp(v))
assert f.body.op.name == "exp" and f.params[0].same_as(v)
