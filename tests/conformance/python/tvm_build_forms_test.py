"""Forms of builds: names of programs, what files keep, deprecated spellings, functions of a virtual machine, sequences that instruments see."""

import json
import warnings

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.ir.instrument import PassTimingInstrument, _nested, pass_instrument
from tvm.relay.backend import Executor, Runtime
from tvm.relay.backend.executor_factory import AOTExecutorFactoryModule, ExecutorFactoryModule, GraphExecutorFactoryModule

X, W = np.arange(6, dtype="float32").reshape(2, 3), np.eye(3, dtype="float32")[:2] * 2


def network():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(2, 3))
    return relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))


def output(module):
    module.run(x=X)
    return module.get_output(0).numpy()


def test_a_program_has_the_name_that_it_was_built_with(tmp_path):
    lib = relay.build(tvm.IRModule.from_expr(network()), "llvm", params={"w": W}, mod_name="net")
    lib.export_library(str(tmp_path / "net.so"))
    lib.get_lib().export_library(str(tmp_path / "lib.so"))
    for made in (lib, lib.get_lib(), tvm.runtime.load_module(str(tmp_path / "net.so")), tvm.runtime.load_module(str(tmp_path / "lib.so"))):
        assert made.name == "net"
        for name in ("net", "default"):
            np.testing.assert_allclose(output(graph_executor.GraphModule(made[name](tvm.cpu()))), np.maximum(X @ W.T, 0))
        with pytest.raises(AttributeError, match="the module has no function other; it has main"):
            made["other"]
    assert [node["name"] for node in json.loads(lib.get_graph_json())["nodes"] if node["op"] == "tvm_op"] == ["tvmgen_net_fused_nn_dense_nn_relu"]
    loaded = tvm.runtime.load_module(str(tmp_path / "net.so"))
    assert json.loads(loaded["get_graph_json"]()) == json.loads(lib.get_graph_json()) and loaded["get_graph_params"]() == {}
    assert lib.type_key == loaded.type_key == "GraphExecutorFactory" and lib.get_lib().type_key == "llvm"
    assert tvm.runtime.load_module(str(tmp_path / "lib.so")).type_key == "library" and loaded["net"](tvm.cpu()).type_key == "GraphExecutor"
    loaded.export_library(str(tmp_path / "again.so"))
    assert tvm.runtime.load_module(str(tmp_path / "again.so"))["get_graph_json"]() == lib.get_graph_json()
    with pytest.raises(AttributeError):
        tvm.runtime.load_module(str(tmp_path / "lib.so"))["get_graph_json"]


def test_params_of_a_build_are_those_that_it_got(tmp_path):
    lib = relay.build(tvm.IRModule.from_expr(network()), "llvm", params={"w": W, "unused": X}, mod_name="net")
    assert list(lib.get_params()) == ["w"]
    np.testing.assert_array_equal(lib.get_params()["w"].numpy(), W)
    saved = relay.save_param_dict(lib.get_params())
    lib.export_library(str(tmp_path / "net.so"))
    lib.get_lib().export_library(str(tmp_path / "lib.so"))
    for name in ("net.so", "lib.so"):
        module = graph_executor.GraphModule(tvm.runtime.load_module(str(tmp_path / name))["net"](tvm.cpu()))
        module.load_params(saved)
        module.set_input(**lib.get_params())
        np.testing.assert_allclose(output(module), np.maximum(X @ W.T, 0))
        alike, other = (graph_executor.GraphModule(tvm.runtime.load_module(str(tmp_path / name))["net"](tvm.cpu())) for _ in range(2))
        alike.share_params(module, saved)
        graph_executor.GraphModule(lib["net"](tvm.cpu())).share_params(module, saved)
        np.testing.assert_allclose(output(alike), np.maximum(X @ W.T, 0))
        open_weights = graph_executor.GraphModule(lib["remove_params"]()["net"](tvm.cpu()))
        with pytest.raises(ValueError, match="'w' is a constant of the other program's file, and not the same here"):
            open_weights.share_params(other, saved)
        for other in (W + 1, W.astype("float64"), W.reshape(3, 2)):
            with pytest.raises(ValueError, match="the value of 'w' is not the one that the program of this file has as a constant"):
                module.set_input("w", other)


def test_constants_of_the_graph_count_among_its_inputs(tmp_path):
    lib = relay.build(tvm.IRModule.from_expr(network()), "llvm", params={"w": W}, mod_name="net")
    graph = json.loads(lib.get_graph_json())
    names = [graph["nodes"][at]["name"] for at in graph["arg_nodes"]]
    assert names == ["x", "p0"]
    lib.export_library(str(tmp_path / "net.so"))
    for made in (lib, tvm.runtime.load_module(str(tmp_path / "net.so"))):
        module = graph_executor.GraphModule(made["net"](tvm.cpu()))
        assert module.get_num_inputs() == len(names) and [module.get_input_index(name) for name in (*names, "p1")] == [0, 1, -1]
        with pytest.raises(ValueError, match="'p0' is a constant of the graph, which the build computed: set what it was given as params"):
            module.set_input("p0", W + 1)
        if made is lib:
            for key in ("p0", 1):
                np.testing.assert_array_equal(module.get_input(key).numpy(), W)
            module.set_input("p0", W)
        else:
            with pytest.raises(ValueError, match="'p0' is a constant of the graph, and the file of the program does not keep its value apart"):
                module.get_input("p0")
        np.testing.assert_allclose(output(module), np.maximum(X @ W.T, 0))
    assert graph_executor.GraphModule(lib["remove_params"]()["net"](tvm.cpu())).get_num_inputs() == 2
    broken = lib.program.with_notes({"name": "net", "graph": "[3"})
    assert graph_executor.GraphModule(tvm.runtime.Module(broken)).get_num_inputs() == 1


def test_a_build_without_its_params_takes_them_in_each_process(tmp_path):
    lib = relay.build(tvm.IRModule.from_expr(network()), "llvm", params={"w": W}, mod_name="net")
    stripped = lib["remove_params"]()
    assert stripped.get_params() == {}
    stripped.export_library(str(tmp_path / "net.so"))
    module = graph_executor.GraphModule(tvm.runtime.load_module(str(tmp_path / "net.so"))["net"](tvm.cpu()))
    module.load_params(relay.save_param_dict(lib.get_params()))
    np.testing.assert_allclose(output(module), np.maximum(X @ W.T, 0))
    module.set_input("w", W + 1)
    np.testing.assert_allclose(output(module), np.maximum(X @ (W + 1).T, 0))


def test_a_damaged_note_of_weights_is_an_error():
    lib = relay.build(tvm.IRModule.from_expr(network()), "llvm", params={"w": W})
    for note in ("{", "[" * 100_000, "[]", '{"w": 1}'):
        damaged = tvm.runtime.Module(lib.program.with_notes({"weights": note}))
        with pytest.raises(tvm.TVMError, match="the program's note of its weights is damaged"):
            graph_executor.GraphModule(damaged["default"](tvm.cpu()))


def test_classes_by_executor_and_names_of_inputs(tmp_path):
    mod = tvm.IRModule.from_expr(network())
    graph, aot = relay.build(mod, "llvm"), relay.build(mod, "llvm", executor=Executor("aot"))
    assert type(graph) is GraphExecutorFactoryModule and type(aot) is AOTExecutorFactoryModule
    assert isinstance(graph, ExecutorFactoryModule) and isinstance(aot, ExecutorFactoryModule)
    runner = tvm.runtime.executor.AotModule(aot["default"](tvm.cpu()))
    assert [runner.get_input_name(i) for i in range(2)] == ["x", "w"]
    with pytest.raises(IndexError):
        runner.get_input_name(2)
    aot.export_library(str(tmp_path / "aot.so"))
    with pytest.raises(AttributeError):
        tvm.runtime.load_module(str(tmp_path / "aot.so"))["get_graph_json"]


def test_executors_and_runtimes_are_compared_and_checked():
    assert tvm.ir.structural_equal(Executor("graph"), Executor("graph")) and not tvm.ir.structural_equal(Executor("graph"), Executor("aot"))
    assert not tvm.ir.structural_equal(Runtime("cpp"), Runtime("crt"))
    for make in (lambda: Executor("none"), lambda: Runtime("none"), lambda: Executor("graph", {"x": 1}), lambda: Runtime("cpp", {"x": 1})):
        for error in (tvm.TVMError, ValueError):
            with pytest.raises(error, match="no .* is called 'none'|has no option 'x'"):
                make()


def test_deprecated_forms_warn():
    function = network()
    with pytest.warns(DeprecationWarning, match="build of a function is deprecated"):
        lib = relay.build(function, "llvm", params={"w": W})
    with pytest.warns(DeprecationWarning, match="unpacks as graph, library and parameters is deprecated"):
        graph, library, params = lib
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder = relay.build_module.BuildModule()
        assert builder.build(tvm.IRModule.from_expr(function), "llvm", params={"w": W})[0] == graph
    assert builder.get_json() == graph and builder.get_irmodule() is not None and builder.get_devices() == [] and "__tvm_main__" in builder.get_function_metadata()


def test_inputs_that_are_not_set_are_zeros():
    module = graph_executor.GraphModule(relay.build(tvm.IRModule.from_expr(network()), "llvm")["default"](tvm.cpu()))
    module.run()
    assert module.get_output(0).numpy().tolist() == [[0, 0], [0, 0]]
    x = relay.var("x", shape=(relay.Any(), 2))
    module = graph_executor.GraphModule(relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")["default"](tvm.cpu()))
    with pytest.raises(ValueError, match="the input 'x' was not set, and its type .* has no one shape"):
        module.run()


def test_code_generators_that_nobody_has():
    x = relay.var("x", shape=(2,))
    for compiler in ("nobody", "tensorrt"):
        mod = tvm.IRModule({"f": relay.Function([x], relay.exp(x)).with_attr({"Compiler": compiler, "Primitive": 1, "global_symbol": "f"})})
        y = relay.var("y", shape=(2,))
        mod["main"] = relay.Function([y], mod.get_global_var("f")(y))
        if compiler == "nobody":
            with pytest.raises(tvm.TVMError, match="Failed to find the codegen tool for relay.ext.nobody: @f has a function of it"):
                relay.build(mod, "llvm")
        else:
            with pytest.warns(UserWarning, match="relay compiles its functions"):
                relay.build(mod, "llvm")


def test_functions_of_a_virtual_machine():
    mod = tvm.IRModule()
    total, left, so_far = relay.GlobalVar("total"), relay.var("left", shape=(), dtype="int32"), relay.var("so_far", shape=(), dtype="int32")
    again = total(relay.subtract(left, relay.const(1)), relay.add(so_far, left))
    mod[total] = relay.Function([left, so_far], relay.If(relay.equal(left, relay.const(0)), so_far, again), relay.scalar_type("int32"))
    n = relay.var("n", shape=(), dtype="int32")
    mod["unused"] = relay.Function([], relay.const(1))
    mod["main"] = relay.Function([n], total(n, relay.const(0)))
    program = relay.vm.compile(mod, "llvm")
    assert program.globals == ["main", "total"] and "total" in program.bytecode and "(#2): [main, total]" in program.stats
    assert program.get_function_params("total") == ["left", "so_far"]
    machine = tvm.runtime.vm.VirtualMachine(program, tvm.cpu())
    assert machine.invoke("main", np.int32(4)).numpy() == 10 and machine.invoke("total", np.int32(4), np.int32(5)).numpy() == 15
    assert machine.invoke("total", so_far=np.int32(1), left=np.int32(1)).numpy() == 2
    assert machine.benchmark(tvm.cpu(), np.int32(1), np.int32(1), func_name="total", repeat=1, number=1).mean > 0
    out = tvm.nd.empty((), "int32")
    machine.set_outputs("total", out)
    machine.invoke_stateful("total", np.int32(2), np.int32(0))
    assert out.numpy() == 3
    for wrong in ("unused", "none"):
        with pytest.raises(tvm.TVMError, match=f"the program has no function {wrong}; it has main, total"):
            machine.invoke(wrong)
    saved = tvm.runtime.vm.Executable.load_exec(*program.save())
    assert saved.globals == ["main"]


def test_instruments_see_sequences():
    seen = []

    @pass_instrument
    class Watch:
        def should_run(self, mod, info):
            return info.name != "left_out"

        def run_before_pass(self, mod, info):
            seen.append(f"> {info.name}")

        def run_after_pass(self, mod, info):
            seen.append(f"< {info.name}")

    one, left_out = tvm.transform.Sequential([relay.transform.FoldConstant()], name="one"), tvm.transform.Sequential([relay.transform.FuseOps()], name="left_out")
    sequence = tvm.transform.Sequential([relay.transform.InferType(), one, left_out])
    timing = PassTimingInstrument()
    with tvm.transform.PassContext(opt_level=3, instruments=[Watch(), timing]):
        sequence(tvm.IRModule.from_expr(network()))
        lines = timing.render().splitlines()
    assert seen == ["> sequential", "> InferType", "< InferType", "> one", "> FoldConstant", "< FoldConstant", "< one", "< sequential"]
    assert [line.split(":")[0] for line in lines] == ["sequential", "\tInferType", "\tone", "\t\tFoldConstant"]
    assert all(line.endswith("%)") and "us [" in line for line in lines) and timing.render() == ""


def test_sequences_in_a_pass_of_the_library():
    seen = []

    @pass_instrument
    class Watch:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    with tvm.transform.PassContext(opt_level=3, instruments=[Watch()]):
        relay.transform.FoldScaleAxis()(relay.transform.InferType()(tvm.IRModule.from_expr(network())))
    assert seen[:2] == ["InferType", "FoldScaleAxis"] and {"BackwardFoldScaleAxis", "ForwardFoldScaleAxis"} <= set(seen)


def test_results_of_measurements_in_words():
    found = tvm.runtime.module.BenchmarkResult([0.001, 0.003])
    assert str(found).splitlines()[0] == "Execution time summary:" and str(found).splitlines()[1].split() == ["mean", "(ms)", "median", "(ms)", "max", "(ms)", "min", "(ms)", "std", "(ms)"]
    assert [float(word) for word in str(found).splitlines()[2].split()] == [2, 2, 3, 1, 1]
    assert repr(found) == "BenchmarkResult(min=0.001, mean=0.002, median=0.002, max=0.003, std=0.001, results=[0.001, 0.003])"


def test_passes_that_took_no_time_are_inside_of_those_that_ran_them():
    entries = [("outer", 0.0, 0.0, False), ("inner", 0.0, 0.0, False), ("innermost", 0.0, 0.0, False), ("next", 0.0, 1.0, False)]
    outer, last = _nested(entries, [0, 1, 2, 0])
    assert (outer.name, [each.name for each in outer.inside], [each.name for each in outer.inside[0].inside], last.name) == ("outer", ["inner"], ["innermost"], "next")
    timing = PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing]):
        tvm.transform.Sequential([relay.transform.InferType()])(tvm.IRModule.from_expr(relay.const(1.0)))
        lines = timing.render().splitlines()
    assert lines[0].startswith("sequential") and any(line.startswith("\tInferType") for line in lines)


def test_targets_in_words_and_options_by_kind():
    Target = tvm.target.Target
    assert str(Target("llvm")) == "llvm -keys=cpu" and str(Target("llvm -mcpu=haswell -mattr=+a,+b")) == "llvm -keys=cpu -mcpu=haswell -mattr=+a,+b"
    for text in ("llvm -device=arm_cpu -mcpu=x", "cuda", "opencl -device=mali", "nvptx", "rocm", "metal", "vulkan -max_num_threads=7", "nvidia/nvidia-a100"):
        target = Target(text)
        assert Target(str(target)) == target and hash(Target(str(target))) == hash(target)
    assert Target("cuda -thread_warp_size=16") != Target("cuda") == Target("cuda -thread_warp_size=32")
    assert Target("llvm -mattr=+a,+b").attrs["mattr"] == ["+a", "+b"] and Target({"kind": "llvm", "libs": ["mkl"]}).attrs["libs"] == ["mkl"]
    cuda = Target("cuda", host="llvm")
    assert (cuda.max_num_threads, cuda.thread_warp_size, cuda.attrs["max_threads_per_block"], cuda.keys) == (1024, 32, 1024, ["cuda", "gpu"])
    assert Target("cuda -thread_warp_size=16").thread_warp_size == 16 and Target("nvptx").keys == ["cuda", "gpu"] and Target("hexagon").keys == ["hexagon", "cpu"]
    assert [each.kind.name for each in Target.canon_multi_target(["llvm", "cuda"])] == ["llvm", "cuda"]
    assert [each.kind.name for each in Target.canon_multi_target({"cpu": "llvm"})] == ["llvm"] and Target.canon_multi_target(None) is None
    assert Target.canon_multi_target_and_host("cuda", "llvm")[0].host == Target("llvm")
    mapped, host = Target.canon_target_map_and_host({"cpu": "llvm"}, "c")
    assert mapped["cpu"].host == host == Target("c")


def test_programs_are_well_formed_with_free_variables():
    x, y, z = relay.Var("x"), relay.Var("y"), relay.Var("z")
    assert relay.analysis.well_formed(relay.Function([x], relay.Let(y, x + z, y * y)))
    assert not relay.analysis.well_formed(relay.Let(y, relay.const(1.0), relay.Let(y, y, y)))
    assert not relay.analysis.well_formed(relay.Tuple([y, relay.Let(y, relay.const(1.0), y)]))


def test_schedules_and_shape_functions_are_taken():
    relay.op.op.register("forms.same", "")
    op = relay.op.get("forms.same")
    relay.op.op.register_injective_schedule("forms.same")
    relay.op.register_schedule("forms.same", lambda attrs, outs, target: None)
    relay.op.op.register_shape_func("forms.same", False, lambda attrs, inputs, ndims: inputs)
    assert op.get_attr("TShapeDataDependent") is False and callable(op.get_attr("FShapeFunc")) and callable(op.get_attr("FTVMSchedule"))
    with pytest.raises(AttributeError):
        relay.op.op.register_broadcast_schedule("forms.none")


def test_options_have_kinds_and_first_values():
    assert Executor("graph")["link-params"] is False and Executor("aot")["link-params"] is True and "interface-api" not in Executor("aot")
    assert Executor("graph", {"link-params": True})["link-params"] is True and str(Executor("graph", {"link-params": True})) == "graph -link-params=True"
    assert Executor.list_registered_options(Executor("aot"))["interface-api"] == "runtime.String"
    assert Runtime.list_registered_options("cpp") == {"system-lib": "IntImm"}
    for make in (lambda: Executor("aot", {"interface-api": True}), lambda: Executor("graph", {"link-params": "yes"}), lambda: Runtime("cpp", {"system-lib": "1"})):
        for error in (tvm.TVMError, TypeError):
            with pytest.raises(error, match="is of kind (runtime.String, not True|IntImm, not 'yes'|IntImm, not '1')"):
                make()
    for ask in (Executor, Runtime):
        with pytest.raises(tvm.TVMError, match="is called 'none'; there are"):
            ask.list_registered_options("none")
