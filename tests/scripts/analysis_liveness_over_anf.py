"""Own liveness/peak-memory analysis over ANF, a rematerialising scheduler, checks with dominators of lets"""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.expr import Let, Var, Call, TupleGetItem, Tuple, Constant
from tvm.relay.testing import mlp


def bytes_of(ty):
    if isinstance(ty, relay.TupleType):
        return sum(bytes_of(t) for t in ty.fields)
    return int(np.prod([int(d) for d in ty.shape])) * (tvm.DataType(ty.dtype).bits + 7) // 8


def bindings(body):
    out = []
    while isinstance(body, Let):
        out.append((body.var, body.value))
        body = body.body
    return out, body


def uses(value):
    if isinstance(value, Call):
        return [a for a in value.args if isinstance(a, Var)]
    if isinstance(value, TupleGetItem):
        return [value.tuple_value] if isinstance(value.tuple_value, Var) else []
    if isinstance(value, Tuple):
        return [f for f in value.fields if isinstance(f, Var)]
    return [value] if isinstance(value, Var) else []


def liveness(fn):
    bs, res = bindings(fn.body)
    last = {}
    for i, (v, val) in enumerate(bs):
        for u in uses(val):
            last[u] = i
    if isinstance(res, Var):
        last[res] = len(bs)
    live, peak, trace = 0, 0, []
    for i, (v, val) in enumerate(bs):
        if isinstance(val, (Call,)):
            live += bytes_of(v.checked_type if v.type_annotation is None else v.type_annotation)
        peak = max(peak, live)
        for u, l in last.items():
            if l == i and u not in fn.params and any(u == b for b, w in bs if isinstance(w, Call)):
                live -= bytes_of(u.checked_type)
        trace.append(live)
    return peak, trace


mod, params = mlp.get_workload(batch_size=4, num_classes=10, image_shape=(1, 8, 8))
seq = tvm.transform.Sequential([transform.InferType(), transform.ToANormalForm(), transform.InferType()])
anf = seq(mod)
fn = anf["main"]
bs, res = bindings(fn.body)
assert len(bs) >= 8 and isinstance(res, Var)
assert len({v for v, _ in bs}) == len(bs)
defined = set(fn.params)
for v, val in bs:
    assert all(u in defined for u in uses(val)), "use before definition"
    defined.add(v)
peak, trace = liveness(fn)
assert 0 < peak <= sum(bytes_of(v.checked_type) for v, _ in bs) and trace[-1] >= 0


def rebuild(bs, res):
    for v, val in reversed(bs):
        res = Let(v, val, res)
    return res


# a sound reordering: stable topological by height, result the same
def reorder(bs):
    height, out = {}, []
    for v, val in bs:
        height[v] = 1 + max([height.get(u, 0) for u in uses(val)] + [0])
    return sorted(bs, key=lambda p: height[p[0]])


re = relay.Function(fn.params, rebuild(reorder(bs), res), fn.ret_type)
rm = transform.InferType()(tvm.IRModule.from_expr(re))
x = np.random.rand(4, 1, 8, 8).astype("float32")
a = relay.create_executor("vm", mod=anf, device=tvm.cpu(), target="llvm").evaluate()(x, **params).numpy()
b = relay.create_executor("vm", mod=rm, device=tvm.cpu(), target="llvm").evaluate()(x, **params).numpy()
np.testing.assert_allclose(a, b, rtol=1e-5)
g = transform.ToGraphNormalForm()(rm)
assert not isinstance(g["main"].body, Let)
c = relay.create_executor("graph", mod=g, device=tvm.cpu(), target="llvm").evaluate()(x, **params).numpy()
np.testing.assert_allclose(a, c, rtol=1e-5)


@relay.transform.function_pass(opt_level=0, name="DupCheap", required=["InferType"])
class Remat:
    """computes relu again at every use"""

    def transform_function(self, func, mod, ctx):
        assert ctx.opt_level >= 0

        class M(relay.ExprMutator):
            def visit_call(self, call):
                args = [self.visit(a) for a in call.args]
                args = [Call(a.op, a.args, a.attrs) if isinstance(a, Call) and a.op == relay.op.get("nn.relu") else a for a in args]
                return Call(call.op, args, call.attrs)

        return M().visit(func)


z = relay.var("z", shape=(3,))
r = relay.nn.relu(z)
m = Remat()(transform.InferType()(tvm.IRModule.from_expr(relay.Function([z], relay.exp(r) + relay.log(r)))))
n = []
relay.analysis.post_order_visit(m["main"], lambda e: n.append(e.op.name) if isinstance(e, Call) else None)
assert n.count("nn.relu") == 2
cse = transform.EliminateCommonSubexpr()(m)["main"].body
assert cse.args[0].args[0].same_as(cse.args[1].args[0])
print("ok")
