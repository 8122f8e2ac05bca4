"""Answers that scripts ask for in passing: facts about contexts, devices, targets, packages, containers and registered attributes."""

import copy
import gc
import pickle

import pytest

import tvm
from tvm import relay
from tvm.contrib import graph_executor, utils


def test_contexts_keep_the_names_that_were_given():
    context = tvm.transform.PassContext(required_pass=["MemoryPlan", "FoldConstant"], disabled_pass=["tir.Simplify", "FuseOps"])
    assert context.required_pass == ["MemoryPlan", "FoldConstant"]
    assert context.disabled_pass == ["tir.Simplify", "FuseOps"]
    with context:
        assert tvm.transform.PassContext.current() is context
    # Outside of any, and in one of relay, it is always the same object, which stays as what knows it does.
    default = tvm.transform.PassContext.current()
    gc.collect()
    assert tvm.transform.PassContext.current() is default and default != context
    with relay.transform._passes.PassContext(opt_level=1):
        of_relay = tvm.transform.PassContext.current()
        gc.collect()
        assert tvm.transform.PassContext.current() is of_relay is not default and of_relay.opt_level == 1
    assert tvm.transform.PassContext.current() is default
    with default, default:
        assert tvm.transform.PassContext.current() is default
    with pytest.raises(TypeError, match="required_pass is a list"):
        tvm.transform.PassContext(required_pass="FoldConstant")
    with pytest.raises(TypeError, match="disabled_pass is a list of texts; one is 3"):
        tvm.transform.PassContext(disabled_pass=[3])


def test_contexts_that_passes_get_are_of_the_package():
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    seen = []

    @tvm.transform.module_pass(opt_level=0)
    def whole(mod, ctx):
        seen.append(ctx)
        return mod

    @relay.transform.function_pass(opt_level=0)
    class Each:
        def transform_function(self, func, mod, ctx):
            seen.append(ctx)
            return func

    assert isinstance(whole, tvm.transform.ModulePass) and not isinstance(whole, relay.transform.FunctionPass)
    assert isinstance(tvm.transform.PassContext.current(), tvm.transform.PassContext)
    for run in (whole, Each()):
        run(mod)
        with tvm.transform.PassContext(opt_level=3, disabled_pass=["tir.Simplify"]) as own:
            run(mod)
        assert seen[-1] is own
        with relay.transform._passes.PassContext(opt_level=1):
            run(mod)
        assert seen[-1].opt_level == 1
    assert len(seen) == 6 and all(isinstance(each, tvm.transform.PassContext) for each in seen)


def test_virtual_devices_equal_what_programs_name():
    x = relay.var("x", shape=(2,))
    device = tvm.target.VirtualDevice(tvm.device("cuda", 1))
    named = relay.annotation.on_device(x, tvm.device("cuda", 1)).attrs.virtual_device
    assert named == device and device == named and named == "cuda(1)" and named != "cuda(0)"
    assert not named != device and named != tvm.target.VirtualDevice(tvm.cpu())
    assert hash(named) == hash(device) == hash("cuda(1)") and {named: 1}[device] == 1
    assert device != tvm.target.VirtualDevice(tvm.device("cuda", 1), memory_scope="local")
    assert named != tvm.target.VirtualDevice(tvm.device("cuda", 1), "cuda")


def test_a_device_has_one_name_and_one_hash():
    function = relay.Function([], relay.const(1)).with_attr("virtual_device", "gpu(1)")
    named, device = function.attrs.virtual_device, tvm.target.VirtualDevice(tvm.device("cuda", 1))
    assert named == "cuda(1)" and named == device and str(named) == "cuda(1)" and named != "gpu(1)"
    assert len({named, device, "cuda(1)"}) == 1 and pickle.loads(pickle.dumps(named)) == named


def test_a_device_that_says_nothing():
    x = relay.var("x", shape=(2,))
    assert relay.annotation.on_device(x, tvm.target.VirtualDevice()) is x
    for expr in (x, relay.exp(x), relay.Function([x], x)):
        assert expr.virtual_device_ == tvm.target.VirtualDevice() and expr.virtual_device_.device_type_int == -1


def test_options_of_targets_are_numbers():
    target = tvm.target.Target("llvm -mcpu=core-avx2 -num-cores=4 -fast-math -opt-level=2")
    assert target.attrs["num-cores"] == 4 and target.attrs["fast-math"] == 1 and target.attrs["opt-level"] == 2
    assert target == tvm.target.Target({"kind": "llvm", "mcpu": "core-avx2", "num-cores": 4, "fast-math": 1, "opt-level": 2})
    assert tvm.target.Target("llvm -fast-math=false").attrs["fast-math"] == 0
    assert tvm.target.Target("llvm -num-cores=0x10").attrs["num-cores"] == 16 and tvm.target.Target("llvm -num-cores=04").attrs["num-cores"] == 4
    with pytest.raises(ValueError, match="the option num-cores of a target is a number, not 'many'"):
        tvm.target.Target("llvm -num-cores=many")


def test_attributes_of_one_level_are_attached_once():
    key = "small.answer"
    tvm.ir.register_op_attr("exp", key, 1)
    try:
        with pytest.raises(tvm.TVMError, match="operator exp has small.answer of level 10 already: a higher level replaces it"):
            tvm.ir.register_op_attr("exp", key, 2)
        tvm.ir.register_op_attr("exp", key, 3, 9)
        assert relay.op.get("exp").get_attr(key) == 1
        tvm.ir.register_op_attr("exp", key, 4, 11)
        assert relay.op.get("exp").get_attr(key) == 4
    finally:
        relay.op.get("exp").reset_attr(key)
    tvm.ir.register_op_attr("exp", key, 5)
    relay.op.get("exp").reset_attr(key)


def test_pickled_containers_keep_the_values_of_numbers():
    given = tvm.runtime.convert([1, {"a": 2}, [3]])
    back = pickle.loads(pickle.dumps(given))
    assert type(back) is tvm.ir.Array and back == given
    assert back[0].value == 1 and back[1]["a"].value == 2 and back[2][0].value == 3
    assert tvm.ir.load_json(tvm.ir.save_json(given))[0].value == 1
    table = pickle.loads(pickle.dumps(tvm.runtime.convert({"a": 1})))
    assert type(table) is tvm.ir.Map and table["a"].value == 1


class Rows(tvm.ir.Array):
    """A list of a script."""


class Names(tvm.ir.Map):
    """A dictionary of a script."""


def test_copies_of_containers_of_scripts_are_of_their_class():
    rows, names = Rows([1, 2]), Names({"a": 1})
    rows.title = "table"
    for again in (copy.copy(rows), copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))):
        assert type(again) is Rows and again == [1, 2] and again.title == "table"
    for again in (copy.copy(names), pickle.loads(pickle.dumps(names))):
        assert type(again) is Names and again == {"a": 1}


def test_nodes_of_numbers():
    assert tvm.ir.make_node("IntImm", dtype="int64", value=10, span=None).value == 10
    assert isinstance(tvm.ir.make_node("IntImm", dtype="int32", value=1), tvm.tir.IntImm)
    assert tvm.ir.make_node("FloatImm", dtype="float32", value=0.5).value == 0.5
    assert tvm.ir.make_node("tir.StringImm", value="a").value == "a"


def test_no_tensors_to_join():
    for operator in (relay.concatenate, relay.stack, relay.op.concatenate, relay.op.stack):
        for none in ([], ()):
            with pytest.raises(ValueError, match="takes one tensor at least"):
                operator(none, axis=0)
    with pytest.raises(ValueError, match="relay.meshgrid takes one tensor at least"):
        relay.meshgrid([])
    x = relay.var("x", shape=(2,))
    assert relay.concatenate(data=[x, x], axis=0).op.name == "concatenate" and relay.stack((x, x), 0).op.name == "stack"


def test_names_of_extents():
    n = tvm.te.var("n")
    assert tvm.te.const(3, "int32") == 3 and n.name == "n" and n.dtype == "int32" and tvm.te.size_var("m").name == "m"
    for unnamed in (relay.Any(), n + 1):
        with pytest.raises(AttributeError, match="the extent .* has no name"):
            unnamed.name


def test_texts_are_modules_where_they_define():
    assert isinstance(relay.fromtext("fn (%x: int32) { /* def f */ %x }"), relay.Function)
    assert isinstance(relay.fromtext('#[version = "0.0.5"]\ndef\n@main(%x: int32) { %x }'), tvm.IRModule)


def test_functions_by_name():
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule({"b": relay.Function([x], x), "a": relay.Function([x], x)})
    assert [var.name_hint for var, _ in mod.functions_items()] == ["a", "b"]
    assert mod.functions_items()[0][1] is mod["a"]


def test_names_before_0_8():
    from tvm.contrib import graph_runtime
    from tvm.contrib.debugger import debug_executor, debug_runtime
    from tvm.contrib.graph_runtime import create

    assert graph_runtime.GraphModule is graph_executor.GraphModule and create is graph_executor.create
    assert debug_runtime.create is debug_executor.create and debug_runtime.GraphModuleDebug is debug_executor.GraphModuleDebug


def test_executors_and_programs_in_words():
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    with pytest.raises(RuntimeError, match="unknown execution strategy: fast; there are debug, graph, vm and aot"):
        relay.create_executor("fast", mod=mod)
    lines = relay.vm.compile(mod, "llvm").stats.splitlines()
    assert lines[0] == "Statistics of a compiled program:" and lines[2] == "  Globals (#1): [main]"
    assert lines[3].startswith("  Primitive ops (#1): [")


def test_what_is_built_is_of_the_class_of_its_executor():
    from tvm.relay.backend.executor_factory import AOTExecutorFactoryModule, ExecutorFactoryModule, GraphExecutorFactoryModule

    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    graph, aot = relay.build(mod, "llvm"), relay.build(mod, "llvm", executor=relay.backend.Executor("aot"))
    assert isinstance(graph, GraphExecutorFactoryModule) and not isinstance(graph, AOTExecutorFactoryModule)
    assert isinstance(aot, AOTExecutorFactoryModule) and not isinstance(aot, GraphExecutorFactoryModule)
    assert all(isinstance(each, ExecutorFactoryModule) for each in (graph, aot)) and not isinstance(3, AOTExecutorFactoryModule)


def test_defects_are_errors_of_tvm():
    assert issubclass(tvm.error.InternalError, tvm.TVMError) and issubclass(tvm.error.DiagnosticError, tvm.TVMError)
    assert issubclass(tvm.error.OpError, tvm.TVMError) and not issubclass(tvm.error.InternalError, tvm.error.DiagnosticError)
    import relay as own

    x = relay.var("x", shape=(2,))

    @own.transform.function_pass(opt_level=0)
    def breaks(func, mod, ctx):
        return own.Function(func.params, own.add(func.params[0], own.const([1.0, 2.0, 3.0])))

    with own.transform.PassContext(instruments=[own.instrument.VerifyInstrument()]), pytest.raises(tvm.TVMError, match="made an ill-typed module") as caught:
        breaks(own.IRModule.from_expr(own.Function([x], x)))
    assert isinstance(caught.value, tvm.error.InternalError) and caught.value.diagnostics
    with pytest.raises(tvm.TVMError, match="as a script raises it"):
        raise tvm.TVMError("as a script raises it")
    assert pickle.loads(pickle.dumps(tvm.TVMError("a"))).args == ("a",)


def test_folders_that_stay(tmp_path):
    with utils.TempDirectory.set_keep_for_debug():
        kept = utils.tempdir(str(tmp_path / "kept"))
    gone = utils.tempdir(str(tmp_path / "gone"))
    kept.remove()
    gone.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_locks_of_files(tmp_path):
    import fcntl

    path = tmp_path / "lock"
    with utils.filelock(path), open(path) as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lock = utils.FileLock(str(path))
    lock.release()
    with open(path) as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_packages_of_tvmc(tmp_path):
    from tvm.driver import tvmc

    x = relay.var("x", shape=(2,))
    model = tvmc.TVMCModel(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), {})
    package = tvmc.compile(model, target="llvm", package_path=str(tmp_path / "m.tar"))
    assert package.lib_path == package.package_path and package.lib_name == "m.tar"
    with pytest.raises(tvmc.TVMCException, match="the target 'nosuch' cannot be read: no target kind is called 'nosuch'"):
        tvmc.compile(model, target="nosuch")
    assert issubclass(tvmc.TVMCException, ValueError)
