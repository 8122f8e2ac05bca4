"""Partition activation chains into lookup tables, with nested pattern classes."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import dataflow_pattern as dfp
from tvm.relay.dataflow_pattern import (CallPattern, WildcardPattern, AltPattern, ConstantPattern, ExprPattern, TuplePattern, TupleGetItemPattern, VarPattern, TypePattern, ShapePattern,
                                        DataTypePattern, AttrPattern, DominatorPattern, FunctionPattern, IfPattern, LetPattern, DFPattern, DFPatternCallback, is_op, wildcard, rewrite)

UNARY = ["tanh", "sigmoid", "exp", "sqrt", "nn.relu"]


def any_unary(x):
    p = None
    for n in UNARY:
        q = is_op(n)(x)
        p = q if p is None else p | q
    return p


inp = wildcard()
q = any_unary(is_op("qnn.dequantize")(inp, ConstantPattern(), ConstantPattern()))
pat = is_op("qnn.quantize")(q, ConstantPattern(), ConstantPattern())
assert isinstance(pat, CallPattern) and isinstance(inp, WildcardPattern) and isinstance(q, AltPattern) and isinstance(pat, DFPattern)


def act(x, fn, s1, s2):
    return relay.qnn.op.quantize(fn(relay.qnn.op.dequantize(x, relay.const(s1), relay.const(0))), relay.const(s2), relay.const(0), out_dtype="int8")


x = relay.var("x", shape=(1, 32), dtype="int8")
y = act(act(x, relay.tanh, 0.03, 1 / 127), relay.sigmoid, 1 / 127, 1 / 127)
z = relay.nn.max_pool2d(relay.reshape(y, (1, 1, 4, 8)), (2, 2), strides=(2, 2))
f = relay.Function([x], z)
part = pat.partition(f, {"Composite": "lut.act"})
fns = []
relay.analysis.post_order_visit(part, lambda e: fns.append(e) if isinstance(e, relay.Function) and e.attrs and e.attrs.get("Composite") == "lut.act" else None)
assert len(fns) == 2


class ToLUT(DFPatternCallback):
    def __init__(self):
        super(ToLUT, self).__init__(rewrite_once=False)
        self.x = wildcard()
        self.pattern = is_op("qnn.quantize")(any_unary(is_op("qnn.dequantize")(self.x, wildcard(), wildcard())), wildcard(), wildcard())

    def callback(self, pre, post, node_map):
        x = node_map[self.x][0]
        v = relay.var("v", shape=(256,), dtype="int8")
        fn = post.args[0].op
        table = relay.qnn.op.quantize(relay.Call(fn, [relay.qnn.op.dequantize(v, *post.args[0].args[0].args[1:])]), *post.args[1:], out_dtype="int8")
        vals = relay.create_executor("debug").evaluate(relay.Function([v], table))(np.arange(-128, 128).astype("int8")).numpy()
        idx = relay.cast(x, "int32") + relay.const(128, "int32")
        return relay.take(relay.const(vals), idx)


out = rewrite(ToLUT(), f)
freq = relay.analysis.list_op_freqs(tvm.IRModule.from_expr(out))
assert freq["take"] == 2 and "qnn.quantize" not in freq
d = np.random.randint(-128, 127, (1, 32)).astype("int8")
a = relay.create_executor("graph", mod=tvm.IRModule.from_expr(f)).evaluate()(d).numpy()
b = relay.create_executor("graph", mod=tvm.IRModule.from_expr(out)).evaluate()(d).numpy()
assert np.abs(a.astype(int) - b.astype(int)).max() <= 1
# recursive-ish dominator and attrs
d0 = is_op("nn.conv2d")(wildcard(), wildcard()).has_attr({"groups": 1, "padding": [1, 1, 1, 1]})
img, w = relay.var("i", shape=(1, 2, 4, 4)), relay.var("w", shape=(2, 2, 3, 3))
assert d0.match(relay.nn.conv2d(img, w, padding=1)) and not d0.match(relay.nn.conv2d(img, w))
assert (wildcard().has_shape((1, 2, 4, 4))).match(img) and wildcard().has_dtype("float32").match(img) and wildcard().has_type(relay.TensorType((1, 2, 4, 4))).match(img)
op = is_op("add") | is_op("subtract")
assert op(wildcard(), wildcard()).match(img - img) and op(wildcard(), wildcard()).match(img + img)
assert is_op("add")(is_op("exp")(wildcard()), wildcard()).match(img + relay.exp(img))     # commutes
assert not is_op("subtract")(is_op("exp")(wildcard()), wildcard()).match(img - relay.exp(img))
two = (wildcard() + wildcard()) * wildcard() - wildcard() / wildcard()
assert two.match((img + img) * img - img / img)
assert dfp.is_tuple([wildcard(), wildcard()]).match(relay.Tuple([img, w])) and dfp.is_tuple_get_item(wildcard(), 1).match(relay.TupleGetItem(relay.Tuple([img, w]), 1))
assert not dfp.is_tuple_get_item(wildcard(), 0).match(relay.TupleGetItem(relay.Tuple([img, w]), 1))
print(pat)
