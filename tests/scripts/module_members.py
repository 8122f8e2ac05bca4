"""Modules: functions by name, attributes, copies, what a build knows."""
import numpy as np, tvm
from tvm import relay

m = tvm.IRModule()
if not m:
    raise AssertionError
a = relay.var('a', shape=(2,))
f = relay.Function([a], relay.exp(a))
gv = relay.GlobalVar('f')
m.update(tvm.IRModule({gv: f}))
m['main'] = relay.Function([a], gv(a))
assert 'f' in m
for g, fn in m.functions.items():
    assert isinstance(g, relay.GlobalVar) and isinstance(fn, relay.Function)
m = relay.transform.InferType()(m)
assert str(m['f'].checked_type).startswith('fn')
new = m['f'].with_attr('A', 1).with_attr({'B': 'x'})
assert new.attrs['B'] == 'x' and new.attrs.A == 1 and ('A' in new.attrs) and (new.attrs.get('C', 3) == 3)
m2 = tvm.IRModule(m.functions)
m2.update_func(m2.get_global_var('f'), new)
assert m2['f'].attrs['A'] == 1
mm = tvm.ir.IRModule.from_expr(f)
mm.import_from_std('prelude.rly')
assert mm.get_type('List')
assert tvm.ir.structural_equal(tvm.IRModule.from_expr(f), tvm.IRModule.from_expr(f))
lib = relay.build(m, 'llvm')
print(lib.ir_mod, lib.libmod_name)
for part in lib:
    print(type(part))
