"""A data type of one's own: expressions of a little language, evaluated and simplified in Relay."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.adt import Clause, Constructor, Match, PatternConstructor, PatternVar, PatternWildcard, TypeData

mod = tvm.IRModule()
expr_t = relay.GlobalTypeVar("Expr")
num = Constructor("Num", [relay.scalar_type("float32")], expr_t)
add = Constructor("Add", [expr_t(), expr_t()], expr_t)
mul = Constructor("Mul", [expr_t(), expr_t()], expr_t)
mod[expr_t] = TypeData(expr_t, [], [num, add, mul])

evaluate = relay.GlobalVar("evaluate")
e, n, a, b = relay.Var("e", expr_t()), relay.Var("n"), relay.Var("a"), relay.Var("b")
c, d = relay.Var("c"), relay.Var("d")
mod[evaluate] = relay.Function(
    [e],
    Match(e, [
        Clause(PatternConstructor(num, [PatternVar(n)]), n),
        Clause(PatternConstructor(add, [PatternVar(a), PatternVar(b)]), evaluate(a) + evaluate(b)),
        Clause(PatternConstructor(mul, [PatternVar(c), PatternVar(d)]), evaluate(c) * evaluate(d)),
    ]),
    relay.scalar_type("float32"),
)


def test_types():
    typed = relay.transform.InferType()(mod)
    assert typed[evaluate].checked_type == relay.FuncType([expr_t()], relay.scalar_type("float32"))
    assert [ctor.name_hint for ctor in typed.get_type("Expr")[1:]] == ["Num", "Add", "Mul"]
    assert add.belong_to == expr_t and len(add.inputs) == 2


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_values(kind):
    x = relay.var("x", "float32")
    tree = add(num(x), mul(num(relay.const(2.0)), add(num(x), num(relay.const(1.0)))))
    here = tvm.IRModule(dict(mod.functions.items()), mod.type_definitions)
    here["main"] = relay.Function([x], evaluate(tree))
    out = relay.create_executor(kind, mod=here).evaluate()(np.float32(3))
    assert float(out.numpy()) == 11


def test_text():
    text = mod.astext()
    assert "type Expr {" in text and "match (%e)" in text
    tvm.ir.assert_structural_equal(tvm.relay.fromtext(text), relay.transform.InferType()(mod))


def test_incomplete_match():
    v = relay.Var("v")
    partial = Match(v, [Clause(PatternConstructor(num, [PatternWildcard()]), relay.const(1))], complete=False)
    assert len(relay.analysis.unmatched_cases(partial, mod)) == 2


if __name__ == "__main__":
    pytest.main([__file__])
