"""Operators of Python on expressions, tuple wrappers, calls of variables and functions."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.expr import Call, TupleWrapper


def value(expr, **binds):
    free = {v.name_hint: v for v in relay.analysis.free_vars(expr)}
    f = relay.Function([free[n] for n in binds], expr)
    return relay.create_executor("debug").evaluate(f)(*[np.asarray(v, "float32") for v in binds.values()]).numpy().tolist()


x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
assert value(x + y, x=[1, 2], y=[3, 4]) == [4, 6]
assert value(x - y, x=[1, 2], y=[3, 4]) == [-2, -2]
assert value(x * y / x, x=[1, 2], y=[3, 4]) == [3, 4]
assert value(-x, x=[1, -2]) == [-1, 2]
assert value(x + 1.0, x=[1, 2]) == [2, 3]
assert value(x * np.float32(2), x=[1, 2]) == [2, 4]
assert value((x < y).astype("float32"), x=[1, 5], y=[3, 4]) == [1, 0]
assert value((x >= y).astype("float32"), x=[3, 3], y=[3, 4]) == [1, 0]
assert (x + y).op == relay.op.get("add") and isinstance(x + y, Call)

parts = relay.split(relay.var("z", shape=(4,)), 2)
assert isinstance(parts, TupleWrapper) and len(parts) == 2
first, second = parts
assert isinstance(first, relay.TupleGetItem) and first.index == 0 and second.tuple_value.same_as(parts.astuple())

f = relay.Function([x], x + x)
assert isinstance(f(y), relay.Call) and f(y).op.same_as(f)
g = relay.GlobalVar("g")
assert g(x, y).args[1].same_as(y)
h = relay.var("h")
assert isinstance(h(x), relay.Call)
pair = relay.Tuple([x, y])
assert pair[1].same_as(y) and len(pair) == 2 and [v.name_hint for v in pair] == ["x", "y"]

bound = relay.bind(x + y, {y: relay.const(np.ones(2, "float32"))})
assert [v.name_hint for v in relay.analysis.free_vars(bound)] == ["x"]
try:
    bool(x < y)
except ValueError as error:
    print("no truth of an expression:", error)
except TypeError as error:
    print("no truth of an expression:", error)
else:
    print("expressions are true")
print(relay.add(x, y), relay.Function([x, y], x * y))
