"""Members and arguments that tests and deployment scripts of TVM use here and there."""

import copy
import pickle

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay.op import op as op_module
from tvm.runtime.vm import VirtualMachine


def relu_of_sum():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(2, 3))
    return tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(x + w))), {"w": np.full((2, 3), -1, "float32")}


DATA = np.arange(6, dtype="float32").reshape(2, 3)
WANTED = np.maximum(DATA - 1, 0)


def test_an_executable_is_exported_as_a_module(tmp_path):
    mod, params = relu_of_sum()
    exe = relay.vm.compile(mod, "llvm", params=params)
    exe.mod.export_library(str(tmp_path / "lib.so"))
    machine = VirtualMachine(tvm.runtime.load_module(str(tmp_path / "lib.so")), tvm.cpu())
    np.testing.assert_array_equal(machine.invoke("main", DATA).numpy(), WANTED)


def test_a_machine_by_the_names_of_its_functions():
    mod, params = relu_of_sum()
    machine = VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tvm.cpu())
    functions = machine.module
    np.testing.assert_array_equal(functions["invoke"]("main", DATA).numpy(), WANTED)
    functions["set_input"]("main", DATA * 2)
    functions["invoke_stateful"]("main")
    assert functions["get_num_outputs"]() == 1 and functions["get_output"](0).numpy()[1, 2] == 9
    assert functions["get_input_index"]("x") == 0 and functions.type_key == "VirtualMachine"
    assert len(functions.time_evaluator("invoke", tvm.cpu(), number=1, repeat=2)("main").results) == 2
    with pytest.raises(AttributeError, match="the module has no function prof"):
        functions["prof"]


def test_functions_of_a_module():
    mod, params = relu_of_sum()
    lib = relay.build(mod, "llvm", params=params).get_lib()
    assert lib.implements_function("main") and not lib.implements_function("other", query_imports=True)
    np.testing.assert_array_equal(lib.get_function("main", True)(DATA), WANTED)
    np.testing.assert_array_equal(lib(DATA), WANTED)
    assert lib.entry_name == "main" and lib.is_dso_exportable and lib.is_binary_serializable


def test_what_a_build_knows_of_itself():
    mod, params = relu_of_sum()
    lib = relay.build(mod, "llvm", params=params, executor=relay.backend.Executor("aot"))
    assert lib.executor.name == "aot" and lib.runtime.name == "cpp" and lib.get_devices() == []
    info = lib.function_metadata["__tvm_main__"]
    target = tvm.target.Target("llvm")
    assert info.io_sizes[target] == 48 and info.constant_sizes[target] == 24
    assert info.relay_primfuncs[target].same_as(mod["main"]) and info.tir_primfuncs == {}
    halves = relay.var("h", shape=(3,), dtype="float16")
    dynamic = relay.var("d", shape=(relay.Any(),), dtype="bool")
    built = relay.build(tvm.IRModule.from_expr(relay.Function([halves, dynamic], relay.Tuple([halves, dynamic]))), "llvm")
    assert built.function_metadata["__tvm_main__"].io_sizes[target] == 12


def test_what_a_build_knows_of_data_types_and_of_weights_that_are_no_parameters():
    target = tvm.target.Target("llvm")
    mod = tvm.relay.parse("""#[version = "0.0.5"]
    type L[A] { C(A, L[A]), N }
    def @main(%x: Tensor[(2), float32], %w: Tensor[(2), int8]) { (C(%x, N), %w) }""")
    given = {"w": np.zeros(2, "int8"), "of another network": np.zeros(1000, "float32")}
    info = relay.build(mod, "llvm", params=given).function_metadata["__tvm_main__"]
    assert info.io_sizes[target] == 8 + 2 and info.constant_sizes[target] == 2
    assert info.workspace_sizes == {target: 0}


def test_build_module_heeds_its_options():
    mod, _ = relu_of_sum()
    with pytest.raises(NotImplementedError, match="build with the runtime crt"):
        relay.build_module.BuildModule().build(mod, "llvm", runtime=relay.backend.Runtime("crt"))
    with pytest.raises(NotImplementedError, match="build with memory pools"):
        relay.build_module.BuildModule().build(mod, "llvm", workspace_memory_pools=[1])
    assert len(relay.build_module.BuildModule().build(mod, "llvm", executor=relay.backend.Executor("aot"))) == 3


def test_same_as():
    mod, _ = relu_of_sum()
    assert mod.same_as(mod) and not mod.same_as(mod.copy())
    attrs = relay.nn.softmax(relay.var("x")).attrs
    assert attrs.same_as(attrs)


def test_a_module_without_functions_is_true():
    assert tvm.IRModule() and len(tvm.IRModule().functions) == 0


def test_the_runtime_of_microcontrollers():
    crt = relay.backend.Runtime("crt", {"system-lib": True})
    with pytest.raises(NotImplementedError, match="build with the runtime crt"):
        relay.build(relu_of_sum()[0], "llvm", runtime=crt)
    with pytest.raises(ValueError, match="no runtime is called 'java'; there are cpp, crt"):
        relay.backend.Runtime("java")


def test_names_of_arguments():
    arguments = relay.op.get("nn.conv2d").arguments
    assert [argument.name for argument in arguments] == ["data", "weight"]
    assert arguments[1].type_info == "Tensor" and "kernel_layout" in arguments[1].description
    assert op_module.get("add").arguments[0].name == "lhs"


TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) { add(%x, meta[relay.Constant][1]) }
"""


def test_constants_beside_the_text():
    table = {"relay.Constant": [relay.const(1.0), relay.const(DATA)]}
    mod = tvm.relay.parse(TEXT, "from_string", None, table)
    np.testing.assert_array_equal(mod["main"].body.args[1].data.numpy(), DATA)
    assert tvm.parser.parse(TEXT, init_meta_table=table)["main"].body.args[1].data.numpy().tobytes() == DATA.tobytes()
    with pytest.raises(ValueError, match="the text has metadata of its own, and init_meta_table gives more"):
        tvm.relay.parse(mod.astext(), init_meta_table=table)
    with pytest.raises(TypeError, match="init_meta_table holds constants by relay.Constant and devices by VirtualDevice, and 'relay.Constant' has a str"):
        tvm.relay.parse(TEXT, init_meta_table={"relay.Constant": ["one"]})
    with pytest.raises(TypeError, match="'relay.Constant' has a VirtualDevice"):
        tvm.relay.parse(TEXT, init_meta_table={"relay.Constant": [tvm.target.VirtualDevice(tvm.cpu())]})
    with pytest.raises(TypeError, match="init_meta_table has a list by each key, and 'relay.Constant' has a Constant"):
        tvm.relay.parse(TEXT, init_meta_table={"relay.Constant": relay.const(1.0)})
    with pytest.raises(TypeError, match="init_meta_table is a dictionary of lists, not a list"):
        tvm.relay.parse(TEXT, init_meta_table=[relay.const(1.0)])
    with pytest.raises(tvm.error.DiagnosticError):
        tvm.relay.parse(TEXT, init_meta_table={"relay.Constant": [relay.const(1.0)]})


def test_devices_beside_the_text():
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(2), float32]) {
      on_device(negative(%x), virtual_device=meta[VirtualDevice][1], constrain_result=True)
    }"""
    devices = [tvm.target.VirtualDevice(tvm.cpu(0)), tvm.target.VirtualDevice(tvm.cuda(2))]
    body = tvm.relay.parse(text, init_meta_table={"VirtualDevice": devices})["main"].body
    wanted = relay.annotation.on_device(body.args[0], tvm.cuda(2), constrain_result=True)
    tvm.ir.assert_structural_equal(body, wanted)


def requantised():
    x = relay.var("x", shape=(4,), dtype="int32")
    scales = relay.const(1.0, "float32"), relay.const(2.0, "float32")
    return tvm.IRModule.from_expr(relay.Function([x], relay.qnn.op.requantize(x, scales[0], relay.const(0), scales[1], relay.const(0), out_dtype="int8")))


HALVES = np.array([-3, -1, 1, 3], "int32")


@pytest.mark.parametrize("rounding, wanted", [("UPWARD", [-1, 0, 1, 2]), ("TONEAREST", [-2, -1, 1, 2])])
def test_rounding_by_a_context(rounding, wanted):
    with relay.qnn.op.requantize_config(rounding=rounding):
        assert relay.qnn.op.current_requantize_config().rounding == rounding
        compiled = relay.vm.compile(requantised(), "llvm")
        canonical = relay.qnn.transform.CanonicalizeOps()(requantised())
    assert relay.qnn.op.current_requantize_config().rounding == "UPWARD"
    assert VirtualMachine(compiled, tvm.cpu()).invoke("main", HALVES).numpy().tolist() == wanted
    assert "qnn." not in canonical.astext()
    assert relay.create_executor("debug", mod=canonical).evaluate()(HALVES).numpy().tolist() == wanted


def test_rounding_that_a_call_names_stays():
    mod = tvm.relay.parse(requantised().astext().replace('out_dtype', 'rounding="UPWARD", out_dtype'))
    with relay.qnn.op.requantize_config(rounding="TONEAREST"):
        lib = relay.vm.compile(mod, "llvm")
    assert VirtualMachine(lib, tvm.cpu()).invoke("main", HALVES).numpy().tolist() == [-1, 0, 1, 2]


def test_what_a_context_leaves_out_is_the_default():
    with relay.qnn.op.requantize_config(rounding="TONEAREST"), relay.qnn.op.requantize_config(compute_dtype="float64") as inner:
        assert inner.rounding == "UPWARD" and relay.qnn.op.current_requantize_config().compute_dtype == "float64"


def test_rounding_stays_where_a_weight_is_set_later():
    x, w = relay.var("x", shape=(4,), dtype="int32"), relay.var("w", shape=(4,), dtype="int32")
    scales = relay.const(1.0, "float32"), relay.const(2.0, "float32")
    body = relay.qnn.op.requantize(x + w, scales[0], relay.const(0), scales[1], relay.const(0), out_dtype="int8")
    with relay.qnn.op.requantize_config(rounding="TONEAREST"):
        lib = relay.build(tvm.IRModule.from_expr(relay.Function([x, w], body)), "llvm", params={"w": np.zeros(4, "int32")})
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("w", np.ones(4, "int32"))
    module.run(x=HALVES - 1)
    assert module.get_output(0).numpy().tolist() == [-2, -1, 1, 2]


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_rounding_of_executors(kind):
    with relay.qnn.op.requantize_config(rounding="TONEAREST"):
        run = relay.create_executor(kind, mod=requantised()).evaluate()
    assert run(HALVES).numpy().tolist() == [-2, -1, 1, 2]


@pytest.mark.parametrize("level", [0, 3])
def test_rounding_where_a_pass_runs(level):
    made_outside = tvm.transform.Sequential([relay.qnn.transform.CanonicalizeOps()], opt_level=0)
    with relay.qnn.op.requantize_config(rounding="TONEAREST"):
        made_inside = relay.qnn.transform.CanonicalizeOps()
        with tvm.transform.PassContext(opt_level=3):
            after = made_outside(requantised())
        with tvm.transform.PassContext(opt_level=level):
            direct = made_inside(requantised())
    assert "qnn." not in after.astext() and "qnn." not in direct.astext()
    assert relay.create_executor("debug", mod=after).evaluate()(HALVES).numpy().tolist() == [-2, -1, 1, 2]
    assert relay.create_executor("debug", mod=made_inside(requantised())).evaluate()(HALVES).numpy().tolist() == [-1, 0, 1, 2]


def test_requantize_config_refuses():
    with pytest.raises(ValueError, match="rounding of requantize_config is one of UPWARD, TONEAREST, not 'DOWN'"):
        relay.qnn.op.requantize_config(rounding="DOWN")
    with pytest.raises(ValueError, match="requantize_config has no 'round': it has rounding and compute_dtype"):
        relay.qnn.op.requantize_config(round="UPWARD")


def test_targets_as_json_and_by_tags():
    target = tvm.target.Target('{"kind": "llvm", "mcpu": "skylake-avx512", "keys": ["cpu"], "num-cores": 4}')
    assert target.mcpu == "skylake-avx512" and target.keys == ["cpu"]
    assert target == tvm.target.Target({"kind": "llvm", "num-cores": "4", "mcpu": "skylake-avx512"})
    assert tvm.ir.load_json(tvm.ir.save_json(target)) == target
    with_host = tvm.target.Target("cuda -arch=sm_80", host="llvm -mcpu=haswell")
    again = tvm.ir.load_json(tvm.ir.save_json(with_host))
    assert again == with_host and again.host.mcpu == "haswell"
    with pytest.raises(ValueError, match="is no JSON"):
        tvm.target.Target('{"kind": llvm}')
    product = tvm.target.Target("nvidia/geforce-rtx-3070")
    assert product.kind.name == "cuda" and product.arch == "sm_86" and int(product.attrs["max_threads_per_block"]) == 1024
    assert tvm.target.list_tags()["nvidia/nvidia-a100"].attrs["arch"] == "sm_80" and tvm.target.Target("nvidia/quadro-p620").attrs.get("arch") is None
    assert tvm.target.Target({"tag": "raspberry-pi/4b-aarch64"}).tag == "raspberry-pi/4b-aarch64"
    for name in ("nvidia/nope", "nvidia/", "raspberry-pi/big"):
        with pytest.raises(ValueError, match=f"no target is called '{name}'"):
            tvm.target.Target(name)
    with pytest.raises(ValueError, match="no target is called 'own/board'"):
        tvm.target.Target({"tag": "own/board"})
    tvm.target.register_tag("own/board", {"kind": "llvm", "mcpu": "haswell"}, override=True)
    assert tvm.target.Target("own/board").mcpu == "haswell" and "own/board" in tvm.target.list_tags()
    with pytest.raises(ValueError, match="a target is called 'own/board' already"):
        tvm.target.register_tag("own/board", {"kind": "llvm"})


def test_targets_in_containers_and_pickles():
    targets = [tvm.target.Target({"kind": "cuda", "num-sms": 8}, host="llvm -mcpu=haswell"), tvm.target.Target("llvm -device=arm_cpu")]
    for again in (tvm.ir.load_json(tvm.ir.save_json(targets)), pickle.loads(pickle.dumps(targets)), copy.deepcopy(targets)):
        assert again == targets and again[0].host.mcpu == "haswell" and [str(target) for target in again] == [str(target) for target in targets]
    of_numpy = tvm.target.Target({"kind": "cuda", "num-sms": np.int64(8)})
    assert tvm.ir.load_json(tvm.ir.save_json(of_numpy)).attrs["num-sms"] == 8


def test_the_name_of_a_saved_target_need_not_be_registered(monkeypatch):
    monkeypatch.setattr(tvm.target.tag, "_registered", {})
    named = tvm.target.register_tag("saved/board", {"kind": "llvm", "mcpu": "haswell", "host": "llvm"})
    text, pickled = tvm.ir.save_json(named), pickle.dumps(named)
    tvm.target.tag._registered.clear()
    for again in (tvm.ir.load_json(text), pickle.loads(pickled)):
        assert again == named and again.tag == "saved/board" and again.attrs == {"mcpu": "haswell"} and again.host is not None


def test_names_of_names(monkeypatch):
    monkeypatch.setattr(tvm.target.tag, "_registered", {})
    assert tvm.target.register_tag("own/pi", {"tag": "raspberry-pi/4b-aarch64", "num-cores": 4}).tag == "own/pi"
    assert tvm.target.register_tag("own/pi", {"tag": "own/pi", "num-cores": 2}, override=True).attrs["num-cores"] == 2
    with pytest.raises(ValueError, match="no target is called 'own/none'"):
        tvm.target.register_tag("own/x", {"tag": "own/none"})
    assert list(tvm.target.list_tags())[-1] == "own/pi" and tvm.target.Target("own/pi").keys == ["arm_cpu", "cpu"]
    with pytest.raises(ValueError, match="no target is called 'own/none': register_tag"):
        tvm.target.Target("own/none")
    with pytest.raises(ValueError, match="no target is called 'own/none': register_tag"):
        relay.build(relu_of_sum()[0], {"tag": "own/none"})
    config = tvm.target.make_compilation_config(tvm.transform.PassContext.current(), {"tag": "own/haswell", "kind": "llvm"})
    assert config["target"].kind.name == "llvm"


def test_general_words_and_options():
    assert tvm.target.Target("llvm -device=arm_cpu").keys == ["arm_cpu", "cpu"]
    assert tvm.target.Target("llvm -keys=x86 -device=arm_cpu").keys == ["x86", "arm_cpu", "cpu"]
    assert tvm.target.Target('{"kind": "llvm", "libs": ["dnnl", "mkl"]}').libs == ["dnnl", "mkl"]
    assert tvm.target.Target({"kind": "llvm", "keys": ["cpu"], "mattr": ["+avx2"]}).attrs == {"mattr": ["+avx2"]}


@pytest.mark.parametrize("text, message", [
    ('{"kind": "llvm", "keys": 5}', "keys of a target is text or a list of texts, not 5"),
    ('{"kind": "llvm", "mattr": {"a": 1}}', "mattr of a target is text or a list of texts"),
    ('{"kind": "llvm", "libs": [1]}', "libs of a target is text or a list of texts"),
    ('{"kind": "llvm", "host": ' * 700 + '"llvm"' + "}" * 700, "hosts of hosts, too many to follow|nested too deeply"),
    ('{"a":' * 100_000, "nested too deeply"),
])  # fmt: skip
def test_targets_as_json_from_strangers(text, message):
    with pytest.raises(ValueError, match=message):
        tvm.target.Target(text)
    with pytest.raises(tvm.TVMError, match=message):
        tvm.ir.load_json('{"format": "relay-json 1", "target": ' + text + "}")


def test_options_of_code_generators_in_a_context():
    with tvm.transform.PassContext(opt_level=3, config={"relay.ext.mine.options": {"level": 1}}) as context:
        assert context.config["relay.ext.mine.options"] == {"level": 1}


def test_a_code_generator_gives_a_module():
    def generate(func):
        inner = relay.Function(func.params, func.body)
        return relay.build(tvm.IRModule.from_expr(inner), "llvm")

    tvm.register_func("relay.ext.through_build", generate, override=True)
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = tvm.IRModule({"part": relay.Function([x], x + x).with_attr({"Compiler": "through_build", "global_symbol": "part"})})
    mod["main"] = relay.Function([y], mod.get_global_var("part")(y))
    try:
        result = relay.create_executor("graph", mod=mod, target="llvm").evaluate()(np.ones(2, "float32"))
    finally:
        tvm.runtime.registry.remove_global_func("relay.ext.through_build")
    assert result.numpy().tolist() == [2, 2]


def test_an_expression_becomes_a_function_of_a_module():
    mod = tvm.IRModule()
    x = relay.var("x", shape=(2,))
    mod["main"] = relay.exp(x)
    assert mod["main"].params[0].name_hint == "x"


def test_a_name_in_a_module_stands_for_its_function():
    mod, params = relu_of_sum()
    mod["other"] = mod.get_global_var("main")
    mod._add("third", mod.get_global_var("other"))
    mod = relay.transform.InferType()(mod)
    for name in ("other", "third"):
        assert mod[name].checked_type == mod["main"].checked_type
    np.testing.assert_array_equal(relay.create_executor("vm", mod=mod).evaluate(mod.get_global_var("other"))(DATA, params["w"]).numpy(), WANTED)
    with pytest.raises(KeyError, match="the module has no function @none"):
        mod["fourth"] = relay.GlobalVar("none")


def test_extents_as_floats():
    x = relay.var("x", shape=(3, 4))
    folded = relay.transform.FoldConstant()(tvm.IRModule.from_expr(relay.Function([x], relay.shape_of(x, "float32"))))
    assert folded["main"].body.data.numpy().tolist() == [3.0, 4.0]
    assert relay.create_executor("debug").evaluate(relay.Function([x], relay.op.ndarray_size(x, "float64")))(np.ones((3, 4), "float32")).numpy() == 12.0


def test_names_before_others():
    from tvm.relay.backend import compile_engine, te_compiler
    from tvm.relay.testing import ctx_list
    from tvm.relay.testing.config import ctx_list as same

    assert compile_engine.get() is te_compiler.get() and compile_engine.get().items() == []
    assert ctx_list() == tvm.testing.enabled_targets() and same is ctx_list
    prelude = relay.prelude.Prelude(tvm.IRModule())
    assert prelude.get_var("tensor_nil", "float32").name_hint == "tensor_nil_float32"
    assert prelude.get_var("tensor_array", "int32").name_hint == "tensor_array_int32"


def test_the_target_in_force():
    with tvm.target.Target("llvm -mcpu=haswell"):
        assert tvm.target.Target.target_or_current(None).mcpu == "haswell"
        assert tvm.target.Target.target_or_current("llvm").mcpu == ""
    with pytest.raises(ValueError, match="there is no target in force"):
        tvm.target.Target.target_or_current(None)


def test_versions_of_pytorch(monkeypatch):
    import sys
    import types

    from tvm.relay.frontend.pytorch_utils import is_version_greater_than

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="2.10.1+cpu"))
    assert is_version_greater_than("2.9.0") and is_version_greater_than("1.13") and not is_version_greater_than("2.10.1")
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="2.10.0"))
    assert not is_version_greater_than("2.10") and is_version_greater_than("2.9.9") and not is_version_greater_than("2.10.0.0")


def test_devices_planned_for_several_targets():
    targets = [tvm.target.Target("llvm"), tvm.target.Target("cuda")]
    config = tvm.target.make_compilation_config(tvm.transform.PassContext.current(), targets)
    assert config["target"] == targets
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(2), float32]) {
      %0 = on_device(negative(%x), virtual_device=meta[VirtualDevice][0]);
      on_device(exp(%0), virtual_device=meta[VirtualDevice][1], constrain_result=True)
    }"""
    devices = [tvm.target.VirtualDevice(tvm.cpu(0)), tvm.target.VirtualDevice(tvm.cuda(0))]
    planned = relay.transform.PlanDevices(config)(tvm.relay.parse(text, init_meta_table={"VirtualDevice": devices}))
    assert "device_copy" in planned.astext()
    by_device = tvm.target.make_compilation_config(tvm.transform.PassContext.current(), {tvm.cpu(): "llvm", tvm.cuda(): "cuda"})
    assert [target.kind.name for target in by_device["target"]] == ["llvm", "cuda"]


def test_the_gradient_of_a_name():
    x = relay.var("x", shape=(2,))
    mod = relay.transform.InferType()(tvm.IRModule({"square": relay.Function([x], x * x)}))
    mod["grad"] = relay.transform.gradient(mod.get_global_var("square"), mod)
    mod = relay.transform.InferType()(mod)
    value, (slope,) = relay.create_executor(mod=mod).evaluate(mod.get_global_var("grad"))(np.array([1, 3], "float32"))
    assert value.numpy().tolist() == [1, 9] and slope.numpy().tolist() == [2, 6]


@tvm.testing.parametrize_targets("llvm", pytest.param("vulkan", marks=pytest.mark.skip(reason="a mark of its own")), "llvm -mcpu=haswell")
def test_targets_with_marks(target, dev):
    assert target.startswith("llvm") and dev.device_type == 1


def test_targets_keep_names_of_their_own():
    @tvm.testing.parametrize_targets(pytest.param("llvm", id="mine"), "llvm")
    def marked(target):
        pass

    assert [row.id for row in marked.pytestmark[0].args[1]] == ["mine", "llvm"]


def test_codes_of_simulated_dtypes():
    from tvm.topi.nn.qnn import SQNN_CODE_TO_DTYPE, SQNN_DTYPE_TO_CODE

    assert SQNN_CODE_TO_DTYPE[SQNN_DTYPE_TO_CODE["int8"]] == "int8" and tvm.topi.nn.SQNN_DTYPE_TO_CODE is SQNN_DTYPE_TO_CODE


def test_other_attributes_keep_the_type():
    x = relay.var("x", shape=(2,))
    raw = relay.Function([x], relay.exp(x))
    with pytest.raises(ValueError, match="has no type yet"):
        raw.with_attr("a", 1).checked_type
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(raw))["main"]
    for made in (typed.with_attr("a", 1), typed.with_attr({"a": 1, "b": "two"}), typed.with_attr("a", 1).without_attr("a")):
        assert made.checked_type == typed.checked_type and made.ret_type == relay.TensorType((2,))
