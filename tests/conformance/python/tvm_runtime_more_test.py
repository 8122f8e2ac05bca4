"""Threads, arrays that packages share, reports, and what operators say of mixed precision."""

import json

import numpy as np
import pytest
import relay as native
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.contrib.debugger import debug_executor
from tvm.runtime.profiling import Report, profile


def dense():
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    return tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.softmax(relay.nn.dense(x, w))))


def test_threads_of_programs_that_are_built_later(monkeypatch):
    config = tvm.get_global_func("runtime.config_threadpool")
    assert tvm.get_global_func("runtime.NumThreads")() == tvm.runtime.num_threads() >= 1
    try:
        config(1, 1)
        assert tvm.runtime.num_threads() == 1
        module = graph_executor.GraphModule(relay.build(dense(), "llvm")["default"](tvm.cpu()))
        module.run(x=np.ones((2, 4), "float32"), w=np.ones((3, 4), "float32"))
        np.testing.assert_allclose(module.get_output(0).numpy(), np.full((2, 3), 1 / 3), rtol=1e-5)
        with pytest.raises(ValueError, match="a number of threads, not -1"):
            config(1, -1)
    finally:
        config(1, 0)
    monkeypatch.delenv("TVM_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    every = tvm.runtime.num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "1,2")
    assert tvm.runtime.num_threads() == 1
    monkeypatch.setenv("TVM_NUM_THREADS", "9" * 5000)
    assert tvm.runtime.num_threads() == every
    for word in ("²", "１", "-1", "0", "two", ""):
        monkeypatch.setenv("TVM_NUM_THREADS", word)
        assert tvm.runtime.num_threads() == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert tvm.runtime.num_threads() == every
    monkeypatch.setenv("TVM_NUM_THREADS", "1")
    assert tvm.runtime.num_threads() == 1


def test_functions_that_scripts_reach_by_name(tmp_path):
    for name in ("relay._transform.FoldConstant", "runtime.SaveParams", "tvm.graph_executor.create"):
        assert callable(tvm.get_global_func(name))
    others = [f"relay._transform.{word}" for word in ("Nothing", "__name__", "Any", "tvm", "PassContext", "gradient", "create", "")]
    for name in (*others, "runtime.Nothing", "nothing"):
        assert tvm.get_global_func(name, allow_missing=True) is None
        with pytest.raises(ValueError, match="cannot find a global function"):
            tvm.get_global_func(name)
    lib = relay.build(dense(), "llvm")
    module = tvm.get_global_func("tvm.graph_executor.create")(lib.get_graph_json(), lib.get_lib(), 1, 0)
    module["set_input"]("x", np.ones((2, 4), "float32"))
    module["run"]()
    assert module["get_output"](0).shape == (2, 3)
    lib.export_library(str(tmp_path / "lib.so"))
    assert tvm.get_global_func("runtime.ModuleLoadFromFile")(str(tmp_path / "lib.so"))["default"] is not None
    assert tvm.get_global_func("relay._transform.InferType")()(dense())["main"].ret_type == relay.TensorType((2, 3))


def test_names_of_builds_that_are_taken():
    for name in ("get_graph_json", "get_graph_params", "debug_create", "cuda_graph_create"):
        with pytest.raises(ValueError, match=f"mod_name is '{name}', by which a library gives something else"):
            relay.build(dense(), "llvm", mod_name=name)
    for name in ("", 3):
        with pytest.raises(ValueError, match="a text that is not empty"):
            relay.build(dense(), "llvm", mod_name=name)


def test_machines_measure_what_main_reaches():
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    mod, inner = tvm.IRModule(), relay.GlobalVar("inner")
    mod[inner] = relay.Function([x], relay.exp(x))
    mod["main"] = relay.Function([y], inner(y) + inner(y))
    executable = relay.vm.compile(mod, "llvm")
    machine = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())
    assert executable.globals == ["main", "inner"]
    for name in ("main", "inner"):
        assert machine.module.time_evaluator(name, tvm.cpu(), number=1)(np.ones(3, "float32")).mean > 0
    with pytest.raises(KeyError, match="no function other"):
        machine.module.time_evaluator("other", tvm.cpu())(np.ones(3, "float32"))


def test_calls_of_a_machine_do_not_visit_the_program(monkeypatch):
    x = relay.var("x", shape=(3,))
    machine = tvm.runtime.vm.VirtualMachine(relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm"), tvm.cpu())
    machine.invoke("main", np.ones(3, "float32"))
    visits = []
    monkeypatch.setattr(native.analysis, "post_order_visit", lambda *args: visits.append(args))
    machine.invoke("main", np.ones(3, "float32"))
    machine.invoke("main")
    assert not visits


def test_arrays_of_one_memory():
    array = tvm.nd.array(np.arange(4, dtype="float32"))
    shared = tvm.nd.from_dlpack(array.to_dlpack())
    shared[:] = np.zeros(4, "float32")
    assert array.numpy().sum() == 0
    foreign = np.arange(3.0)
    tvm.nd.from_dlpack(foreign)[:] = np.full(3, 7.0)
    assert foreign.tolist() == [7, 7, 7]

    class Other:
        """An array of another package."""

        def __init__(self, memory):
            self.memory = memory

        def __dlpack__(self, **options):
            return self.memory.__dlpack__()

        def __dlpack_device__(self):
            return self.memory.__dlpack_device__()

    tvm.nd.from_dlpack(Other(foreign)).copyfrom(np.zeros(3))
    assert foreign.tolist() == [0, 0, 0]
    constant = relay.const(np.ones(2)).data
    fixed = np.arange(2.0)
    fixed.flags.writeable = False
    tvm.nd.from_dlpack(constant.to_dlpack())[:] = np.zeros(2)  # a copy: capsules of this version have no word for read-only
    assert constant.numpy().tolist() == [1, 1]
    for given in (constant, fixed):
        with pytest.raises(ValueError, match="cannot be written"):
            tvm.nd.from_dlpack(given)[:] = np.zeros(2)


def test_reports_have_shapes_and_words():
    lib = relay.build(dense(), "llvm")
    module = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu())
    report = module.profile(x=np.ones((2, 4), "float32"), w=np.ones((3, 4), "float32"))
    shapes = ", ".join(call["Argument Shapes"] for call in report.calls)
    assert "float32[2, 4]" in shapes and "float32[3, 4]" in shapes and "float32[2, 3]" in shapes
    document = json.loads(report.json())
    assert "softmax" in "".join(call["Name"]["string"] for call in document["calls"]) and document["calls"][0]["Device"] == {"string": "cpu0"}
    again = Report.from_json(report.json())
    assert again.calls == report.calls and again.configuration == report.configuration and again.json() == report.json()


def test_reports_have_the_tensors_of_all_kernels():
    x, s, open_ = relay.var("x", shape=(5, 3)), relay.var("s", shape=()), relay.var("open", shape=(relay.Any(), 3))
    outputs = [relay.sort(x), relay.sort(relay.reshape(x * s, (3, 5))), relay.sum(open_, axis=1)]
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x, s, open_], relay.Tuple(outputs))), "llvm")
    report = profile(lambda: lib.program.profile(np.ones((5, 3), "float32"), np.float32(2), np.ones((4, 3), "float32")))
    shapes = sorted(call["Argument Shapes"] for call in report.calls)
    assert shapes == ["float32[5, 3], float32[5, 3]; float32[3, 5], float32[3, 5]", "float32[5, 3], float32[], float32[5, 3]", "float32[?, 3], float32[?]"]


def test_what_operators_say_of_mixed_precision():
    mod = relay.transform.InferType()(dense())
    softmax = mod["main"].body
    rule = {op: relay.op.get(op).get_attr("FTVMMixedPrecisionConversionType") for op in ("nn.dense", "nn.softmax", "nn.relu")}
    assert rule["nn.dense"](softmax.args[0], "float16") == [0, "float32", "float16"]
    assert rule["nn.softmax"](softmax, "float16") == [2, "float32", "float32"]
    assert rule["nn.relu"](relay.nn.relu(mod["main"].params[0]), "bfloat16") == [1, "bfloat16", "bfloat16"]
    with pytest.raises(TypeError, match="a category is that of a call, not of Var"):
        rule["nn.relu"](mod["main"].params[0], "float16")
    with pytest.raises(tvm.TVMError, match="the category of nn.relu needs inputs of known rank and dtype"):
        rule["nn.relu"](relay.nn.relu(relay.Var("open")), "float16")

    def half(mod):
        return relay.transform.InferType()(relay.transform.ToMixedPrecision("float16")(mod))["main"].body

    relay.op.op.register_mixed_precision_conversion("nn.dense", lambda call, dtype: [2, "float32", "float32"], level=11)
    assert "float16" not in str(half(mod))
    relay.op.get("nn.dense").reset_attr("FTVMMixedPrecisionConversionType")
    tvm.ir.register_op_attr("nn.dense", "FTVMMixedPrecisionConversionType", rule["nn.dense"])
    assert "float16" in str(half(mod))
    relay.op.get("nn.dense").reset_attr("FTVMMixedPrecisionConversionType")


def test_natural_numbers_by_their_old_name():
    prelude = relay.prelude.Prelude(tvm.IRModule())
    relay.testing.add_nat_definitions(prelude)
    number = relay.create_executor("debug", mod=prelude.mod).evaluate(relay.testing.make_nat_expr(prelude, 3))
    assert relay.testing.count(prelude, number) == 3
