"""Tools that take patterns apart: fields of each class, depth, printing; patterns made of expressions."""
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import *
from tvm.relay.dataflow_pattern import AltPattern, AttrPattern, CallPattern, ConstantPattern, DataTypePattern, DominatorPattern, ExprPattern, ShapePattern, TupleGetItemPattern, TuplePattern, TypePattern, VarPattern, WildcardPattern


def children(p):
    if isinstance(p, TuplePattern):
        return list(p.fields or [])
    if isinstance(p, TupleGetItemPattern):
        return [p.tuple]
    if isinstance(p, CallPattern):
        return [p.op] + list(p.args or [])
    if isinstance(p, AltPattern):
        return [p.left, p.right]
    if isinstance(p, (AttrPattern, TypePattern, DataTypePattern, ShapePattern)):
        return [p.pattern]
    if isinstance(p, DominatorPattern):
        return [p.parent, p.path, p.child]
    assert isinstance(p, (WildcardPattern, VarPattern, ConstantPattern, ExprPattern)), type(p)
    return []


def depth(p):
    return 1 + max([depth(c) for c in children(p)], default=0)


conv = is_op("nn.conv2d")(wildcard(), is_constant() | is_var("w"))
biased = conv.optional(lambda c: is_op("nn.bias_add")(c, wildcard()))
relu = is_op("nn.relu")(biased.has_attr({"axis": 1}) | biased)
assert depth(wildcard()) == 1 and depth(conv) == 3
assert depth(relu) > 4
assert depth(is_tuple([wildcard(), is_var()])) == 2
assert depth(is_tuple_get_item(wildcard(), 1)) == 2
assert depth(dominates(is_op("nn.conv2d")(wildcard(), wildcard()), is_op("nn.relu")(wildcard()), is_op("add")(wildcard(), wildcard()))) == 3
print(relu)
typed = has_type(relay.TensorType((2, 3), "float32"))
assert isinstance(typed, TypePattern)
x = relay.var("x", shape=(2, 3))
y = relay.nn.relu(x + relay.const(1.0))
assert is_op("nn.relu")(is_op("add")(wildcard(), is_constant())).match(y)
assert not is_op("nn.relu")(is_op("subtract")(wildcard(), wildcard())).match(y)
assert is_expr(x).match(x)
assert (wildcard() + wildcard()).match(x + x) and (wildcard() * wildcard()).match(x * x) and (wildcard() / wildcard()).match(x / x) and (wildcard() - wildcard()).match(x - x)
assert wildcard().has_shape((2, 3)).match(tvm.relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], y)))["main"].body)
assert wildcard().has_dtype("float32").match(x)
