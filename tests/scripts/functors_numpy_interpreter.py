"""A numpy interpreter by ExprFunctor; TypeFunctor/TypeVisitor/TypeMutator; a JSON emitter as BYOC codegens in Python have"""
import json
import numpy as np
import tvm
from tvm import relay
from tvm.relay.expr_functor import ExprFunctor
from tvm.relay.type_functor import TypeFunctor, TypeVisitor, TypeMutator
from tvm.relay.adt import Constructor, TypeData, PatternVar, PatternWildcard, PatternConstructor, PatternTuple, Clause, Match

OPS = {
    "add": lambda a, b, at: a + b,
    "multiply": lambda a, b, at: a * b,
    "nn.relu": lambda a, at: np.maximum(a, 0),
    "nn.dense": lambda a, b, at: a @ b.T,
    "exp": lambda a, at: np.exp(a),
    "sum": lambda a, at: a.sum(axis=tuple(int(i) for i in at.axis) if at.axis is not None else None, keepdims=bool(at.keepdims)),
    "reshape": lambda a, at: a.reshape([int(v) for v in at.newshape]),
    "concatenate": lambda a, at: np.concatenate(a, axis=at.axis),
    "strided_slice": lambda a, at: a[tuple(slice(int(b), int(e)) for b, e in zip(at.begin, at.end))],
    "less": lambda a, b, at: a < b,
    "transpose": lambda a, at: a.transpose([int(v) for v in at.axes] if at.axes else None),
    "clip": lambda a, at: np.clip(a, at.a_min, at.a_max),
    "split": lambda a, at: np.split(a, int(at.indices_or_sections) if isinstance(at.indices_or_sections, (int, tvm.tir.IntImm)) else [int(v) for v in at.indices_or_sections], axis=at.axis),
}


class Interp(ExprFunctor):
    def __init__(self, mod):
        super().__init__()
        self.mod = mod
        self.env = {}

    def visit(self, e):  # no memoisation: environments change
        if isinstance(e, relay.Call):
            return self.visit_call(e)
        return super().visit(e)

    def visit_constant(self, c):
        return c.data.numpy()

    def visit_var(self, v):
        return self.env[v]

    def visit_global_var(self, gv):
        return self.visit_function(self.mod[gv])

    def visit_tuple(self, t):
        return tuple(self.visit(f) for f in t.fields)

    def visit_tuple_getitem(self, t):
        return self.visit(t.tuple_value)[t.index]

    def visit_let(self, let):
        self.env[let.var] = self.visit(let.value)
        return self.visit(let.body)

    def visit_if(self, i):
        return self.visit(i.true_branch if self.visit(i.cond) else i.false_branch)

    def visit_op(self, op):
        return OPS[op.name]

    def visit_function(self, fn):
        def call(*args):
            sub = Interp(self.mod)
            sub.env = dict(self.env)
            sub.env.update(zip(fn.params, args))
            return sub.visit(fn.body)
        return call

    def visit_call(self, c):
        f = self.visit(c.op)
        args = [self.visit(a) for a in c.args]
        return f(*args, c.attrs) if isinstance(c.op, tvm.ir.Op) else f(*args)


x, w = relay.var("x", shape=(3, 4)), relay.var("w", shape=(5, 4))
h = relay.nn.relu(relay.nn.dense(x, w))
s = relay.split(h, (2, 3), axis=1)
lt = relay.var("lt")
f = relay.Function([x, w], relay.Let(lt, relay.sum(h, axis=1, keepdims=True), relay.If(
    relay.less(relay.sum(lt), relay.const(0.0)), relay.exp(h), relay.concatenate([lt, s[1], s[2], relay.strided_slice(s[0], [0, 0], [3, 1])], axis=1))))
mod = relay.transform.InferType()(tvm.IRModule.from_expr(f))
xv, wv = np.random.randn(3, 4).astype("float32"), np.random.randn(5, 4).astype("float32")
mine = Interp(mod).visit(mod["main"])(xv, wv)
for kind in ("debug", "vm"):
    theirs = relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(xv, wv)
    np.testing.assert_allclose(theirs.numpy(), mine, rtol=1e-4, atol=1e-5)


class Shapes(TypeVisitor):
    def __init__(self):
        self.seen = []

    def visit_tensor_type(self, tt):
        self.seen.append(tuple(int(i) for i in tt.shape))


sv = Shapes()
sv.visit(mod["main"].checked_type)
assert sv.seen[:2] == [(3, 4), (5, 4)]


class ToF16(TypeMutator):
    def visit_tensor_type(self, tt):
        return relay.TensorType(tt.shape, "float16")


ty = relay.FuncType([relay.TupleType([relay.TensorType((2,)), relay.TensorType((1,), "int8")])], relay.RefType(relay.TensorType((3,))))
new = ToF16().visit(ty)
assert new.arg_types[0].fields[1].dtype == "float16" and new.ret_type.value.dtype == "float16"
assert ty.arg_types[0].fields[1].dtype == "int8"


class Name(TypeFunctor):
    def visit_tensor_type(self, t):
        return "T"

    def visit_tuple_type(self, t):
        return "(" + ",".join(self.visit(f) for f in t.fields) + ")"

    def visit_func_type(self, t):
        return ",".join(self.visit(a) for a in t.arg_types) + "->" + self.visit(t.ret_type)

    def visit_ref_type(self, t):
        return "ref " + self.visit(t.value)

    def visit_type_var(self, t):
        return t.name


assert Name().visit(ty) == "(T,T)->ref T"


class JSONEmitter(relay.ExprVisitor):
    def __init__(self):
        super().__init__()
        self.nodes, self.ids = [], {}

    def emit(self, e, **kw):
        self.ids[e] = len(self.nodes)
        self.nodes.append(kw)

    def visit_var(self, v):
        self.emit(v, op="input", name=v.name_hint, shape=[int(i) for i in v.checked_type.shape])

    def visit_constant(self, c):
        self.emit(c, op="const", dtype=c.data.dtype)

    def visit_call(self, c):
        super().visit_call(c)
        at = {k: str(c.attrs[k]) for k in c.attrs.keys()} if c.attrs is not None else {}
        self.emit(c, op="kernel", name=c.op.name, inputs=[self.ids[a] for a in c.args], attrs=at, dtype=c.checked_type.dtype)


fn = relay.Function([x, w], relay.nn.softmax(relay.nn.dense(x, w), axis=-1) + relay.const(1.0))
fm = relay.transform.InferType()(tvm.IRModule.from_expr(fn))
je = JSONEmitter()
je.visit(fm["main"].body)
js = json.loads(json.dumps(je.nodes))
assert [n.get("name") for n in js if n["op"] == "kernel"] == ["nn.dense", "nn.softmax", "add"]
assert [n for n in js if n.get("name") == "nn.softmax"][0]["attrs"]["axis"] == "-1"

# ADT pattern nodes
m = tvm.IRModule()
gt = relay.GlobalTypeVar("Pair")
tva = relay.TypeVar("A")
ctor = Constructor("MkPair", [tva, tva], gt)
m[gt] = TypeData(gt, [tva], [ctor])
u = relay.Var("u")
mt = Match(ctor(relay.const(3.0), relay.const(4.0)), [Clause(PatternConstructor(ctor, [PatternWildcard(), PatternVar(u)]), u)])
m["main"] = relay.Function([], mt)
assert relay.create_executor("debug", mod=m, device=tvm.cpu(), target="llvm").evaluate()().numpy() == 4.0
m["main"] = relay.Function([], Match(relay.Tuple([relay.const(1), relay.const(2)]), [Clause(PatternTuple([PatternVar(u), PatternWildcard()]), u)]))
assert mt.complete and len(mt.clauses) == 1 and mt.clauses[0].lhs.constructor.name_hint == "MkPair"
print("ok")
