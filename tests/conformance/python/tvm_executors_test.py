"""Graph modules that share arrays, the debug executor's folder, and what scripts of tuners ask for."""

import json

import numpy as np
import pytest

import tvm
from tvm import auto_scheduler, relay
from tvm.contrib import graph_executor
from tvm.contrib.debugger import debug_executor
from tvm.relay.backend import te_compiler


@pytest.fixture(scope="module")
def lib():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    return relay.build(tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple([x + y, x * y]))), "llvm")


def filled(value, dtype="float32"):
    return tvm.nd.array(np.full((2, 3), value, dtype))


def test_inputs_and_outputs_without_copies(lib):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    x, total = filled(1), filled(0)
    module.set_input_zero_copy("x", x)
    module.set_input(y=filled(2))
    module.set_output_zero_copy(0, total)
    module.run()
    assert (total.numpy() == 3).all() and (module.get_output(1).numpy() == 2).all()
    x.copyfrom(np.full((2, 3), 5, "float32"))
    module.run()
    assert (total.numpy() == 7).all() and (module.get_output(1).numpy() == 10).all()
    module.module["set_input_zero_copy"]("y", filled(4))
    module.run()
    assert (total.numpy() == 9).all()


def test_arrays_that_cannot_be_shared(lib):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    with pytest.raises(TypeError, match="takes a tvm.nd.array, not ndarray"):
        module.set_input_zero_copy("x", np.zeros((2, 3), "float32"))
    with pytest.raises(TypeError, match="input 'x' is float32, the array float64: only set_input converts"):
        module.set_input_zero_copy("x", filled(0, "float64"))
    with pytest.raises(ValueError, match="no input 'z'"):
        module.set_input_zero_copy("z", filled(0))
    with pytest.raises(TypeError, match="takes a tvm.nd.array, not list"):
        module.set_output_zero_copy(0, [1.0])
    with pytest.raises(IndexError, match="output -1"):
        module.set_output_zero_copy(-1, filled(0))


def test_the_folder_of_the_debug_executor(lib, tmp_path):
    module = debug_executor.create(lib.get_graph_json(), lib, tvm.cpu(), dump_root=str(tmp_path))
    module.set_input(x=filled(1), y=filled(2))
    module.run()
    folder = tmp_path / "_tvmdbg_device_CPU_0"
    assert sorted(path.name for path in folder.iterdir()) == ["_tvmdbg_execution_trace.json", "_tvmdbg_graph_dump.json", "output_tensors.params"]
    events = json.loads((folder / "_tvmdbg_execution_trace.json").read_text())["traceEvents"]
    assert [(event["ph"], event["name"]) for event in events[:2]] == [("B", "x"), ("E", "x")] and len(events) == 8
    assert (folder / "_tvmdbg_graph_dump.json").read_text() == lib.get_graph_json()
    outputs = tvm.runtime.load_param_dict((folder / "output_tensors.params").read_bytes())
    assert [values.numpy().flat[0] for values in outputs.values()] == [1, 2, 3, 2] and list(outputs)[0] == "x____topo-index:0____output-num:0"
    module.exit()
    assert list(tmp_path.iterdir()) == []


def test_a_scheduler_without_tasks(tmp_path, lib):
    tasks, weights = auto_scheduler.extract_tasks(tvm.IRModule(), {}, "llvm")
    log = tmp_path / "log.json"
    options = auto_scheduler.TuningOptions(num_measure_trials=4, runner=auto_scheduler.LocalRunner(repeat=1), measure_callbacks=[auto_scheduler.RecordToFile(str(log))])
    auto_scheduler.TaskScheduler(tasks, weights).tune(options)
    assert log.read_text() == ""
    with pytest.raises(NotImplementedError, match="extract_tasks gives no tasks"):
        auto_scheduler.TaskScheduler(["a task"])


def test_the_cache_of_kernels_is_empty():
    te_compiler.get().clear()
    assert te_compiler.get() is te_compiler.get() and te_compiler.get().items() == []


def test_extents_are_asked_for_their_class():
    extents = relay.TensorType((relay.Any(), 2)).shape
    assert isinstance(extents[0], relay.Any) and not isinstance(extents[1], relay.Any) and isinstance(extents[0], relay.ty.Any)


def test_targets_by_device():
    assert tvm.target.Target.canon_target({tvm.cpu(): "llvm -mcpu=skylake-avx512"}).mcpu == "skylake-avx512"
    assert tvm.target.Target.canon_target(["llvm"]).kind.name == "llvm"


def test_names_that_are_no_parameters_are_left_out():
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    data = np.ones(2, "float32")
    for kind in ("debug", "vm", "graph"):
        run = relay.create_executor(kind, mod=mod).evaluate()
        np.testing.assert_array_equal(run(x=data, dropped=data).numpy(), data * 2)
        for error in (KeyError, TypeError):
            with pytest.raises(error, match="there is none for %x, and no parameter is called %y"):
                run(y=data)


def test_all_that_tvm_has_as_objects_is_one():
    target = tvm.target.Target("llvm")
    context = tvm.transform.PassContext.current()
    for thing in (target, target.kind, context, relay.transform.FoldConstant().info, relay.const(1).span, tvm.target.VirtualDevice(), tvm.runtime.convert([1]),
                  tvm.runtime.convert({"a": 1}), relay.dataflow_pattern.wildcard(), tvm.runtime.container.ADT(0, []), tvm.tir.const(1.5)):  # fmt: skip
        assert thing.same_as(thing) and not thing.same_as(object()) and isinstance(thing, tvm.Object), thing
    assert not isinstance(3, tvm.Object)


def test_functions_that_a_machine_has_not(lib):
    x = relay.var("x", shape=(2, 3))
    machine = tvm.runtime.vm.VirtualMachine(relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm"), tvm.cpu())
    for wrong in (tvm.TVMError, KeyError):
        with pytest.raises(wrong, match="the program has no function nope; it has main"):
            machine.invoke("nope", filled(1))
    with pytest.raises(tvm.TVMError, match="no function nope"):
        machine.benchmark(tvm.cpu(), filled(1), func_name="nope")


def test_a_machine_keeps_its_last_arguments():
    x = relay.var("x", shape=(2, 3))
    machine = tvm.runtime.vm.VirtualMachine(relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm"), tvm.cpu())
    with pytest.raises(TypeError, match="@main needs a value for x"):
        machine.invoke("main")
    machine.invoke_stateful("main", filled(2))
    assert machine.invoke("main").numpy().tolist() == [[4] * 3] * 2
    machine.benchmark(tvm.cpu(), filled(3), number=1, repeat=1)
    assert machine.run().numpy().tolist() == [[6] * 3] * 2
    assert machine.module.time_evaluator("invoke", tvm.cpu(), number=1)("main").mean >= 0
