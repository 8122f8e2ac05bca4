"""An expression language as an ADT: parse from Python, evaluate and differentiate it in Relay, run by VM"""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.adt import Clause, Constructor, Match, PatternConstructor, PatternVar, PatternWildcard, TypeData
from tvm.relay import GlobalVar, GlobalTypeVar, Function, Var, TensorType

mod = tvm.IRModule()
E = GlobalTypeVar("Exp")
T = TensorType((), "float32")
lit, var_, add, mul = Constructor("Lit", [T], E), Constructor("X", [], E), Constructor("Add", [E(), E()], E), Constructor("Mul", [E(), E()], E)
mod[E] = TypeData(E, [], [lit, var_, add, mul])
assert [c.tag for c in mod[E].constructors] == [lit.tag, var_.tag, add.tag, mul.tag]
assert len({c.tag for c in (lit, var_, add, mul)}) == 4
ev, df = GlobalVar("ev"), GlobalVar("df")


def cases(scrut, l, x, a, m):
    v = Var("v")
    p, q, r, s = Var("p"), Var("q"), Var("r"), Var("s")
    return Match(
        scrut,
        [
            Clause(PatternConstructor(lit, [PatternVar(v)]), l(v)),
            Clause(PatternConstructor(var_), x),
            Clause(PatternConstructor(add, [PatternVar(p), PatternVar(q)]), a(p, q)),
            Clause(PatternConstructor(mul, [PatternVar(r), PatternVar(s)]), m(r, s)),
        ],
    )


e, at = Var("e", E()), Var("at", T)
mod[ev] = Function([e, at], cases(e, lambda v: v, at, lambda p, q: ev(p, at) + ev(q, at), lambda p, q: ev(p, at) * ev(q, at)), T)
d = Var("d", E())
mod[df] = Function(
    [d],
    cases(d, lambda v: lit(relay.const(0.0)), lit(relay.const(1.0)), lambda p, q: add(df(p), df(q)), lambda p, q: add(mul(df(p), q), mul(p, df(q)))),
    E(),
)
mod = relay.transform.InferType()(mod)
assert mod[df].checked_type == relay.FuncType([E()], E())


def build(t):
    if t == "x":
        return var_()
    if isinstance(t, (int, float)):
        return lit(relay.const(float(t)))
    k, a, b = t
    return (add if k == "+" else mul)(build(a), build(b))


tree = ("+", ("*", ("*", "x", "x"), 3.0), ("+", ("*", 2.0, "x"), 5.0))
x = Var("x", T)
expr = build(tree)
mod["main"] = Function([x], relay.Tuple([ev(expr, x), ev(df(expr), x), ev(df(df(expr)), x), df(var_())]))
mod = relay.transform.InferType()(mod)
run = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()
for v in (0.0, 2.0, -1.5):
    r = run(np.float32(v))
    np.testing.assert_allclose([r[i].numpy() for i in range(3)], [3 * v * v + 2 * v + 5, 6 * v + 2, 6.0], rtol=1e-6)
    assert r[3].tag == lit.tag and r[3][0].numpy() == 1.0

dbg = relay.create_executor("debug", mod=mod, device=tvm.cpu(), target="llvm")
val = dbg.evaluate(build(("*", "x", 4)))
assert isinstance(val, tvm.relay.backend.interpreter.ConstructorValue)
assert val.tag == mul.tag and len(val.fields) == 2 and val.constructor.name_hint == "Mul"
txt = mod.astext()
again = tvm.relay.parse(txt)
assert tvm.ir.structural_equal(again["main"], mod["main"], True)
assert {c.name_hint for c in again[again.get_global_type_var("Exp")].constructors} == {"Lit", "X", "Add", "Mul"}


class CountMatches(relay.ExprVisitor):
    def __init__(self):
        super().__init__()
        self.n = 0

    def visit_match(self, m):
        self.n += len(m.clauses)
        super().visit_match(m)


c = CountMatches()
for gv in mod.get_global_vars():
    c.visit(mod[gv])
assert c.n == 8
print("ok")
