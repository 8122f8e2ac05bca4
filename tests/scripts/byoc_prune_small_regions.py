"""Regions that do not pay are put back, as the TensorRT and CUTLASS integrations do it: visitors and mutators over a partitioned module."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import Call, GlobalVar
from tvm.relay.expr_functor import ExprMutator, ExprVisitor

for op in ("nn.conv2d", "nn.relu", "add", "reshape"):
    tvm.ir.register_op_attr(op, "target.trtlike", lambda expr: True)


class IsComputeIntensiveGraph(ExprVisitor):
    """Visits the Graph recursively and checks if it contains compute heavy ops like convolutions and dense."""

    def __init__(self):
        ExprVisitor.__init__(self)
        self.is_compute_intensive = False

    def visit_call(self, call):
        compute_intensive_ops = {"nn.conv1d", "nn.conv2d", "nn.dense", "nn.batch_matmul"}
        if isinstance(call.op, tvm.ir.op.Op):
            if str(call.op.name) in compute_intensive_ops:
                self.is_compute_intensive = True
        return super().visit_call(call)

    def is_graph_compute_intensive(self, subgraph) -> bool:
        self.visit(subgraph)
        return self.is_compute_intensive


class SubgraphRemover(ExprMutator):
    """Reverts subgraphs in subgraphs_to_remove back to TVM instead of using an external codegen."""

    def __init__(self, subgraphs_to_remove, mod, new_mod):
        ExprMutator.__init__(self)
        self.subgraphs_to_remove = subgraphs_to_remove
        self.mod = mod
        self.new_mod = new_mod

    def visit_call(self, call):
        if isinstance(call.op, GlobalVar):
            name = call.op.name_hint
            if name in self.subgraphs_to_remove:
                func = self.mod[name]
                var_map = {}
                for arg, param in zip(call.args, func.params):
                    var_map[param] = super().visit(arg)
                return relay.bind(func.body, var_map)
            if name != "main":
                args = []
                for arg in call.args:
                    args.append(super().visit(arg))
                return call.op(*args)
        return super().visit_call(call)


def prune(mod):
    subgraphs_to_remove = []
    for subgraph in mod.get_global_vars():
        name = subgraph.name_hint
        if not mod[name].attrs or mod[name].attrs["Compiler"] != "trtlike":
            continue
        if not IsComputeIntensiveGraph().is_graph_compute_intensive(mod[name].body):
            subgraphs_to_remove.append(name)
    new_mod = tvm.IRModule(mod.functions, mod.type_definitions)
    new_mod["main"] = SubgraphRemover(subgraphs_to_remove, mod, new_mod).visit(mod["main"])
    new_mod = relay.transform.RemoveUnusedFunctions()(new_mod)
    return relay.transform.InferType()(new_mod), subgraphs_to_remove


x = relay.var("x", shape=(1, 4, 6, 6))
w = relay.var("w", shape=(4, 4, 3, 3))
a = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1)))
b = relay.tanh(a)
c = relay.nn.relu(relay.add(b, b))
mod = tvm.IRModule.from_expr(relay.Function([x, w], c))
seq = tvm.transform.Sequential(
    [relay.transform.InferType(), relay.transform.AnnotateTarget("trtlike"), relay.transform.MergeCompilerRegions(), relay.transform.PartitionGraph(), relay.transform.InferType()]
)
parted = seq(mod)
assert sum(v.name_hint.startswith("tvmgen_default_trtlike") for v in parted.get_global_vars()) == 2
pruned, removed = prune(parted)
assert len(removed) == 1
left = [v.name_hint for v in pruned.get_global_vars()]
assert len(left) == 2 and removed[0] not in left
data, weight = np.random.rand(1, 4, 6, 6).astype("float32"), np.random.rand(4, 4, 3, 3).astype("float32")
want = relay.create_executor("debug", mod=mod).evaluate()(data, weight).numpy()
inlined = relay.transform.InlineCompilerFunctionsBoundTo([v for v in pruned.get_global_vars() if v.name_hint != "main"])(pruned)
got = relay.create_executor("debug", mod=inlined).evaluate()(data, weight).numpy()
np.testing.assert_allclose(got, want, rtol=1e-5)
print(pruned.astext(show_meta_data=False))
