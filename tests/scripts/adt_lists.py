"""Lists of the prelude: built in Python, run by the interpreter, read back."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.backend.interpreter import ConstructorValue
from tvm.relay.prelude import Prelude
from tvm.relay.testing import count, make_nat_expr, make_nat_value

mod = tvm.IRModule()
p = Prelude(mod)
mod.import_from_std("nat.rly")
list_type, cons, nil = mod.get_type("List")
nat, zero, succ = mod.get_type("nat")


def relay_list(values):
    out = nil()
    for value in reversed(values):
        out = cons(value, out)
    return out


def evaluate(expr):
    return relay.create_executor("debug", mod=mod, device=tvm.cpu(), target="llvm").evaluate(expr)


def python_list(value):
    out = []
    while value.tag == cons.tag:
        head, value = value.fields
        out.append(head)
    assert isinstance(value, ConstructorValue) and value.tag == nil.tag
    return out


def ints(values):
    return relay_list([relay.const(v) for v in values])


def numbers(value):
    return [int(v.numpy()) for v in python_list(value)]


def test_head_tail_length():
    assert int(evaluate(p.hd(ints([5, 6]))).numpy()) == 5
    assert numbers(evaluate(p.tl(ints([5, 6, 7])))) == [6, 7]
    assert int(evaluate(p.length(ints([1] * 9))).numpy()) == 9
    a = relay.TypeVar("a")
    assert mod[p.length].checked_type == relay.FuncType([list_type(a)], relay.scalar_type("int32"), [a])


def test_map_filter_fold():
    x, y = relay.var("x"), relay.var("y")
    assert numbers(evaluate(p.map(relay.Function([x], x * relay.const(2)), ints([1, 2, 3])))) == [2, 4, 6]
    assert numbers(evaluate(p.filter(relay.Function([x], relay.less(x, relay.const(3))), ints([4, 1, 2, 9])))) == [1, 2]
    assert int(evaluate(p.foldl(relay.Function([x, y], x - y), relay.const(10), ints([1, 2]))).numpy()) == 7
    assert int(evaluate(p.foldr(relay.Function([x, y], x - y), relay.const(0), ints([5, 3]))).numpy()) == 2
    assert int(evaluate(p.sum(ints(range(5)))).numpy()) == 10


def test_zip_concat_reverse():
    pairs = python_list(evaluate(p.zip(ints([1, 2]), ints([3, 4, 5]))))
    assert [(int(a.numpy()), int(b.numpy())) for a, b in pairs] == [(1, 3), (2, 4)]
    assert numbers(evaluate(p.concat(ints([1]), ints([2, 3])))) == [1, 2, 3]
    assert numbers(evaluate(p.rev(ints([1, 2, 3])))) == [3, 2, 1]
    assert numbers(evaluate(p.update(ints([0, 0, 0]), relay.const(1), relay.const(8)))) == [0, 8, 0]


def test_naturals():
    assert count(p, make_nat_value(p, 6)) == 6
    double, add = mod.get_global_var("nat_double"), mod.get_global_var("nat_add")
    assert count(p, evaluate(double(make_nat_expr(p, 4)))) == 8
    assert count(p, evaluate(add(succ(zero()), make_nat_expr(p, 2)))) == 3
    assert mod[double].checked_type == relay.FuncType([nat()], nat())


def test_iterate():
    x = relay.var("x", "int32")
    power = p.iterate(relay.Function([x], x * relay.const(3)), relay.const(4))
    assert int(evaluate(relay.Call(power, [relay.const(1)])).numpy()) == 81


def test_matching_by_hand():
    x, rest = relay.var("x"), relay.var("rest")
    two = relay.Match(
        ints([7, 8, 9]),
        [
            relay.Clause(relay.PatternConstructor(cons, [relay.PatternVar(x), relay.PatternConstructor(cons, [relay.PatternWildcard(), relay.PatternVar(rest)])]), p.length(rest)),
            relay.Clause(relay.PatternWildcard(), relay.const(-1)),
        ],
    )
    assert int(evaluate(two).numpy()) == 1
    assert not relay.analysis.unmatched_cases(two, mod)


if __name__ == "__main__":
    pytest.main([__file__])
