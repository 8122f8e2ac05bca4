"""IRModules as values: attributes, updates, copies, functions by name."""
import tvm
from tvm import relay
from tvm.ir import IRModule


def make():
    x = relay.var("x", shape=(4,))
    y = relay.var("y", shape=(4,))
    mod = IRModule.from_expr(relay.Function([x, y], relay.tanh(x) + y))
    z = relay.var("z", shape=(4,))
    mod["helper"] = relay.Function([z], relay.exp(z))
    return mod


mod = make()
mod = mod.with_attr("model_name", "toy")
mod = mod.with_attr("target", tvm.target.Target("llvm"))
assert mod.get_attr("model_name") == "toy" and mod.attrs["model_name"] == "toy"
mod = relay.transform.InferType()(mod)
assert mod.get_attr("model_name") == "toy"
mod = tvm.transform.Sequential([relay.transform.ToANormalForm(), relay.transform.DeadCodeElimination()])(mod)
assert mod.get_attr("model_name") == "toy" and mod.get_attr("nothing") is None
assert mod.without_attr("model_name").get_attr("model_name") is None

main = mod.get_global_var("main")
assert main.name_hint == "main" and mod[main] == mod["main"]
assert sorted(gv.name_hint for gv in mod.get_global_vars()) == ["helper", "main"]
for gv, func in mod.functions.items():
    assert isinstance(func, relay.Function)
    mod.update_func(gv, func.with_attr("visited", tvm.tir.IntImm("int32", 1)))
assert int(mod["helper"].attrs["visited"]) == 1

other = IRModule()
other["twice"] = relay.Function([relay.var("q", shape=(4,))], relay.const(2.0))
other.update(mod)
assert set(gv.name_hint for gv in other.functions) == {"twice", "helper", "main"}
assert "main" in other.astext() and tvm.ir.structural_equal(mod, mod)
assert tvm.ir.structural_hash(mod) == tvm.ir.structural_hash(mod)
again = tvm.ir.load_json(tvm.ir.save_json(mod))
assert tvm.ir.structural_equal(again, mod)
