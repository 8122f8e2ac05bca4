"""Text with comments of nodes, and constants beside it."""
import tvm
from tvm import relay

x = relay.var('x', shape=(2, 3))
f = relay.Function([x], relay.nn.relu(relay.nn.softmax(x)))
mod = relay.transform.InferType()(tvm.IRModule.from_expr(f))
t = mod.astext(show_meta_data=False, annotate=lambda n: '// hi' if isinstance(n, relay.Call) else None)
tvm.relay.parse(t)
print(relay.astext(f))
relay.pretty_print(f)
print(tvm.relay.transform.InferType())
print(mod['main'].checked_type, f.params[0], repr(f.body.op), relay.TensorType((1,)), relay.TupleType([]), f.body.attrs)
assert str(relay.TensorType((1, 2), 'float32')) == 'Tensor[(1, 2), float32]'
table = {'relay.Constant': [relay.const([1.0, 2.0, 3.0])]}
m = tvm.relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) { %x * meta[relay.Constant][0] }', init_meta_table=table)
assert m['main'].body.args[1].data.shape == (3,)
