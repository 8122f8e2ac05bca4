"""Star imports of TVM's modules, targets as text, extents, containers in JSON, executors of builds."""
import numpy as np
import pytest

import tvm
from tvm import relay, te, tir
from tvm.relay.op import *
from tvm.relay.transform import *
from tvm.relay.ty import *
from tvm.runtime.executor import AotModule


def test_names_of_star_imports():
    assert is_dynamic(TensorType((relay.Any(),))) and not is_dynamic(scalar_type("int8"))
    assert InferType().info.name == "InferType" and FoldConstant().info.opt_level >= 0
    print(Conv2dToSparse)


def test_targets():
    target = tvm.target.Target("llvm -mcpu=core-avx2 -num-cores 4 -link-params")
    assert target.attrs["num-cores"] == 4 and target.mcpu == "core-avx2" and target.attrs["link-params"] == ""
    with pytest.raises(ValueError, match="'5' in the target"):
        tvm.target.Target("llvm -num-cores 4 5")
    with pytest.raises(ValueError, match="no option"):
        tvm.target.Target("llvm -num-cores=4 5")


def test_larger_and_smaller_extents():
    n, m = te.var("n"), te.var("m")
    assert tir.max(3, 4) == 4 and tir.min(3, 4) == 3 and tir.max(n, n) == n
    assert str(tir.max(n, m)) in ("max(n, m)", "max(m, n)") and str(relay.TensorType((tir.min(4, n),))) == "Tensor[(min(4, n)), float32]"


def test_containers_in_json():
    mod = tvm.IRModule.from_expr(relay.Function([], relay.const(1)))
    again = tvm.ir.load_json(tvm.ir.save_json({"mod": mod, "list": tvm.runtime.convert([1, {"k": "s"}])}))
    assert list(again["list"])[0] == 1 and again["list"][1]["k"] == "s"
    tvm.ir.assert_structural_equal(again["mod"], mod)


def test_modules_have_no_attributes():
    mod = tvm.IRModule.from_expr(relay.const(1))
    assert not mod.attrs and mod.get_attr("x") is None


def test_a_module_is_no_expression():
    with pytest.raises(TypeError, match=r'not an IRModule; take a function of it, such as mod\["main"\]'):
        relay.analysis.free_vars(tvm.IRModule.from_expr(relay.const(1)))


def test_aot_modules():
    x = relay.var("x", shape=(2,))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm", executor=relay.backend.Executor("aot"), mod_name="twice")
    module = AotModule(lib["twice"](tvm.cpu()))
    module.set_input("x", np.ones(2, "float32"))
    module.run()
    assert module.get_num_outputs() == 1 and module.get_output(0).numpy().tolist() == [2, 2]
