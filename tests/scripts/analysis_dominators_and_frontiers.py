"""Post order, free variables, types of bound variables, features, and names of operators of several networks."""
import collections

import numpy as np
import tvm
from tvm import relay
from tvm.relay import analysis, testing
from tvm.relay.analysis import Feature, well_formed
from tvm.relay.analysis import all_vars, bound_vars, check_basic_block_normal_form, detect_feature, free_type_vars, free_vars, post_order_visit

names = {}
for name, get in {
    "mlp": lambda: testing.mlp.get_workload(1),
    "mobilenet": lambda: testing.mobilenet.get_workload(1, image_shape=(3, 64, 64)),
    "vgg": lambda: testing.vgg.get_workload(1, num_layers=11, image_shape=(3, 32, 32)),
    "lstm": lambda: testing.lstm.get_workload(2, 4),
}.items():
    mod, params = get()
    main = mod["main"]
    assert well_formed(main)
    assert len(free_vars(main)) == 0 and len(free_vars(main.body)) == len(main.params)
    assert set(v.name_hint for v in free_vars(main.body)) == set(v.name_hint for v in main.params)
    counter = collections.Counter()
    post_order_visit(main, lambda e: counter.update([type(e).__name__]))
    names[name] = counter
    ops = analysis.list_op_freqs(mod)
    assert sum(int(v) for v in ops.values()) > 3
    assert Feature.fVar in detect_feature(main)
    assert len(bound_vars(main)) >= len(main.params) and len(all_vars(main)) >= len(main.params)
    assert len(free_type_vars(main)) == 0
assert names["lstm"]["Let"] > 0 and names["mlp"]["Let"] == 0
x = relay.var("x", "bool")
f = relay.Function([x], relay.If(x, relay.const(1), relay.const(2)))
assert detect_feature(f) >= {Feature.fIf, Feature.fVar, Feature.fConstant, Feature.fFunction}
unmatched = analysis.unmatched_cases
from tvm.relay.prelude import Prelude

mod = tvm.IRModule()
prelude = Prelude(mod)
_, cons, nil = mod.get_type("List")
e = relay.Match(relay.var("l"), [relay.Clause(relay.PatternConstructor(nil), relay.const(0))])
missing = unmatched(e, mod)
assert len(missing) == 1
