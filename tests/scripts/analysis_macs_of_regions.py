"""Multiply-accumulate counts of partitioned regions; regions without any are put back."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.op.annotation import compiler_begin, compiler_end


class Annotate(relay.ExprMutator):
    def __init__(self, names):
        super().__init__()
        self.names = names

    def visit_call(self, call):
        if call.op.name in self.names:
            args = [compiler_begin(self.visit(a), "acc") for a in call.args]
            return compiler_end(relay.Call(call.op, args, call.attrs, call.type_args), "acc")
        return super().visit_call(call)


x = relay.var("x", shape=(4, 16))
w = relay.var("w", shape=(8, 16))
y = relay.nn.dense(relay.tanh(x), w)
z = relay.nn.relu(relay.exp(y))
func = relay.Function([x, w], z)
mod = tvm.IRModule.from_expr(Annotate({"nn.dense", "nn.relu"}).visit(func))
mod = transform.InferType()(mod)
mod = transform.PartitionGraph()(mod)
mod = transform.InferType()(mod)
external = [gv for gv in mod.get_global_vars() if mod[gv].attrs and "Compiler" in mod[gv].attrs and mod[gv].attrs["Compiler"] == "acc"]
assert len(external) == 2
macs = {gv.name_hint: relay.analysis.get_total_mac_number(mod[gv]) for gv in external}
assert sorted(macs.values()) == [0, 4 * 8 * 16], macs


class Inline(relay.ExprMutator):
    def __init__(self, names, mod):
        super().__init__()
        self.names, self.mod = names, mod

    def visit_call(self, call):
        if isinstance(call.op, relay.GlobalVar) and call.op.name_hint in self.names:
            func = self.mod[call.op.name_hint]
            bound = {p: self.visit(a) for p, a in zip(func.params, call.args)}
            return relay.bind(func.body, bound)
        return super().visit_call(call)


empty = [name for name, count in macs.items() if count == 0]
body = Inline(empty, mod).visit(mod["main"])
new = tvm.IRModule()
for gv in mod.get_global_vars():
    if gv.name_hint not in empty:
        new[gv] = body if gv.name_hint == "main" else mod[gv]
new = transform.InferType()(new)
assert len(new.get_global_vars()) == 2
assert "nn.relu" in str(new["main"])
