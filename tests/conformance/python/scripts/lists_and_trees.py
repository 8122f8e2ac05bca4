"""Data types: the prelude's lists and trees, a type of one's own, values of scripts as arguments, natural numbers."""

import numpy as np

import tvm
from tvm import relay
from tvm.relay.backend.interpreter import ConstructorValue
from tvm.relay.prelude import Prelude
from tvm.relay.testing import count, make_nat_expr, make_nat_value

mod = tvm.IRModule()
p = Prelude(mod)
mod.import_from_std("nat.rly")
list_type, cons, nil = mod.get_type("List")
_, rose = mod.get_type("Tree")
_, some, none = mod.get_type("Option")


def to_list(values):
    result = nil()
    for value in reversed(values):
        result = cons(relay.const(value), result)
    return result


def from_list(value):
    found = []
    while value.constructor == cons or getattr(value.constructor, "name_hint", "") == "Cons":
        found.append(int(value.fields[0].numpy()))
        value = value.fields[1]
    return found


executor = relay.create_executor("debug", mod=mod)
x = relay.Var("x")
double = relay.Function([x], relay.multiply(x, relay.const(2)))
assert from_list(executor.evaluate(p.map(double, to_list([1, 2, 3])))) == [2, 4, 6]
assert from_list(executor.evaluate(p.concat(to_list([1]), p.rev(to_list([2, 3]))))) == [1, 3, 2]
assert executor.evaluate(p.length(to_list([5, 5]))).numpy() == 2
assert executor.evaluate(p.nth(to_list([7, 8, 9]), relay.const(1))).numpy() == 8

tree = rose(relay.const(1), cons(rose(relay.const(2), nil()), cons(rose(relay.const(3), nil()), nil())))
assert executor.evaluate(p.size(tree)).numpy() == 3

# Numbers as data, there and back.
assert count(p, executor.evaluate(make_nat_expr(p, 4))) == 4
nat_double = mod.get_global_var("nat_double")
assert count(p, executor.evaluate(nat_double)(make_nat_value(p, 21))) == 42

# A function of a list, called with lists that the script makes; in the compiled program as well.
items = relay.Var("items", list_type(relay.scalar_type("int32")))
mod["total"] = relay.Function([items], p.sum(items))
one = ConstructorValue(nil.tag, [], nil)
for value in (3, 2, 1):
    one = ConstructorValue(cons.tag, [tvm.nd.array(np.int32(value)), one], cons)
for kind in ("debug", "vm"):
    assert relay.create_executor(kind, mod=mod).evaluate(mod.get_global_var("total"))(one).numpy() == 6

# A value that may be missing.
option = relay.Var("option", relay.TypeCall(mod.get_global_type_var("Option"), [relay.scalar_type("float32")]))
y = relay.Var("y")
clauses = [relay.Clause(relay.PatternConstructor(some, [relay.PatternVar(y)]), y), relay.Clause(relay.PatternConstructor(none), relay.const(-1.0))]
get = executor.evaluate(relay.Function([option], relay.Match(option, clauses)))
assert get(ConstructorValue(some.tag, [tvm.nd.array(2.5)], some)).numpy() == 2.5
assert get(ConstructorValue(none.tag, [], none)).numpy() == -1
