"""Regions that are annotated by hand, merged and partitioned."""
import tvm
from tvm import relay
from tvm.relay.op.annotation import compiler_begin, compiler_end
from tvm.relay.testing import run_opt_pass
from tvm.relay import transform


def diamond():
    data = relay.var("data", shape=(10, 10))
    cb_1 = compiler_begin(data, "test")
    O_1 = relay.abs(cb_1)
    ce_1, ce_2 = compiler_end(O_1, "test"), compiler_end(O_1, "test")
    cb_2, cb_3 = compiler_begin(ce_1, "test"), compiler_begin(ce_2, "default")
    O_2, O_3 = relay.nn.relu(cb_2), relay.tanh(cb_3)
    ce_3, ce_4 = compiler_end(O_2, "test"), compiler_end(O_3, "default")
    cb_4, cb_5 = compiler_begin(ce_3, "test"), compiler_begin(ce_4, "test")
    O_4 = relay.add(cb_4, cb_5)
    return relay.Function([data], compiler_end(O_4, "test"))


mod = tvm.IRModule()
mod["main"] = diamond()
mod = transform.MergeCompilerRegions()(mod)
part = transform.PartitionGraph(mod_name="unit")(transform.InferType()(mod))
names = sorted(g.name_hint for g in part.get_global_vars())
assert names[0] == "main" and all(n.startswith("tvmgen_unit_test_main_") for n in names[1:]), names
