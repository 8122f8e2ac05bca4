"""tvm.nd, tvm.runtime, tvm.target, tvm.error, executors, relay.build, relay.vm, tvm.contrib."""

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import nd, relay
from tvm.contrib import graph_executor, utils
from tvm.relay import testing
from tvm.runtime import container
from tvm.runtime.vm import VirtualMachine

executor_kind = tvm.testing.parameter("debug", "graph", "vm", "aot")


def dense_relu():
    x, w, b = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4)), relay.var("b", shape=(3,))
    func = relay.Function([x, w, b], relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), b)))
    params = {"w": np.random.randn(3, 4).astype("float32"), "b": np.random.randn(3).astype("float32")}
    return tvm.IRModule.from_expr(func), params


def wanted_of(params, data):
    return np.maximum(data @ params["w"].T + params["b"], 0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"])
def test_nd_array(dtype):
    source = np.random.randint(0, 2, (2, 3)).astype(dtype)
    array = nd.array(source)
    assert array.dtype == dtype and array.shape == (2, 3) and str(array.device) == "cpu(0)"
    tvm.testing.assert_allclose(array.numpy(), source)
    other = nd.empty((2, 3), dtype)
    array.copyto(other)
    assert (other.numpy() == source).all() and array.asnumpy()[0].shape == (3,)
    copied = array.numpy()
    copied[:] = 0
    tvm.testing.assert_allclose(array.numpy(), source)


def test_nd_copyfrom_and_assignment():
    array = nd.empty((3,), "float32")
    array[:] = np.arange(3, dtype="float32")
    array.copyfrom([5.0, 6.0, 7.0])
    assert array.numpy().tolist() == [5, 6, 7]
    with pytest.raises(ValueError, match="does not fit"):
        array.copyfrom(np.zeros(4, "float32"))
    with pytest.raises(ValueError, match="cannot be written"):
        relay.const(1.0).data[()] = 2.0


def test_dlpack():
    array = nd.array(np.arange(4, dtype="float32"))
    assert np.from_dlpack(array).tolist() == [0, 1, 2, 3]
    assert nd.from_dlpack(np.arange(3.0)).numpy().tolist() == [0, 1, 2]


def test_devices():
    assert tvm.cpu(0) == tvm.device("cpu", 0) == tvm.device("llvm") and tvm.cpu(0).exist
    assert tvm.cpu(0).device_type == 1 and not tvm.cuda(0).exist
    assert tvm.cpu(0) != tvm.cpu(1) and hash(tvm.cpu(0)) == hash(tvm.device("cpu"))
    assert tvm.runtime.enabled("llvm") and not tvm.runtime.enabled("cuda")


def test_containers():
    adt = container.ADT(3, [nd.array([1.0]), container.tuple_object([nd.array([2.0])])])
    assert adt.tag == 3 and len(adt) == 2 and adt[1].tag == 0 and adt[1][0].numpy() == 2
    assert container.ShapeTuple([1, 2]) == (1, 2) and container.String("a") == "a"
    converted = tvm.runtime.convert([1, 2])
    assert [int(v) for v in converted] == [1, 2]


def test_registry():
    @tvm.register_func("mine.add_one", override=True)
    def add_one(x):
        return x + 1

    assert tvm.get_global_func("mine.add_one")(2) == 3
    assert isinstance(tvm.get_global_func("mine.add_one"), tvm.runtime.PackedFunc) and isinstance(tvm.runtime.convert(len), tvm.runtime.PackedFunc)
    assert not isinstance(int, tvm.runtime.PackedFunc) and not isinstance("f", tvm.runtime.PackedFunc)
    with pytest.raises(TypeError, match="PackedFunc makes no functions"):
        tvm.runtime.PackedFunc()
    assert tvm.ir.EnvFunc.get("mine.add_one")(4) == 5
    with pytest.raises(ValueError, match="mine.other"):
        tvm.get_global_func("mine.other")
    assert tvm.get_global_func("mine.other", allow_missing=True) is None


def test_executor_kinds(executor_kind, target, dev):
    mod, params = dense_relu()
    data = np.random.randn(2, 4).astype("float32")
    run = relay.create_executor(executor_kind, mod=mod, device=dev, target=target, params=params).evaluate()
    tvm.testing.assert_allclose(run(data).numpy(), wanted_of(params, data), rtol=1e-5, atol=1e-6)
    tvm.testing.assert_allclose(run(x=nd.array(data)).numpy(), wanted_of(params, data), rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="none for %x"):
        run()
    with pytest.raises(TypeError, match="1 arguments, 2 were given"):
        run(data, data)


def test_unknown_executor():
    with pytest.raises(ValueError, match="there are debug, graph, vm and aot"):
        relay.create_executor("interpreter")


def test_evaluate_with_binds():
    x = relay.var("x", shape=())
    assert relay.create_executor().evaluate(x + relay.const(1.0), {x: 2.0}).numpy() == 3
    with pytest.raises(ValueError, match="%x"):
        relay.create_executor().evaluate(x + relay.const(1.0))


def test_a_tuple_comes_back_as_adt(executor_kind):
    x = relay.var("x", shape=(2,))
    result = relay.create_executor(executor_kind).evaluate(relay.Function([x], relay.Tuple([x, relay.Tuple([x + x])])))(np.ones(2, "float32"))
    assert isinstance(result, container.ADT) and result[1][0].numpy().tolist() == [2, 2]


def test_a_tuple_goes_in(executor_kind):
    pair = relay.var("pair", relay.TupleType([relay.TensorType((2,)), relay.TensorType((), "int32")]))
    run = relay.create_executor(executor_kind).evaluate(relay.Function([pair], relay.TupleGetItem(pair, 0)))
    data = np.array([3, 4], "float32")
    for given in ((data, np.int32(1)), container.tuple_object([nd.array(data), nd.array(np.int32(1))])):
        assert run(given).numpy().tolist() == [3, 4]


@pytest.mark.parametrize("opt_level", [0, 1, 2, 3])
def test_build(opt_level, target, dev):
    mod, params = dense_relu()
    with tvm.transform.PassContext(opt_level=opt_level):
        lib = relay.build(mod, target=target, params=params)
    module = graph_executor.GraphModule(lib["default"](dev))
    data = np.random.randn(2, 4).astype("float32")
    module.set_input("x", data)
    module.run()
    tvm.testing.assert_allclose(module.get_output(0).numpy(), wanted_of(params, data), rtol=1e-5, atol=1e-6)
    assert module.get_num_inputs() == 1 + len(params) and module.get_input(0).shape == (2, 4)


def test_build_unpacks_as_in_older_scripts():
    mod, params = dense_relu()
    graph, lib, left = relay.build(mod, "llvm", params=params)
    module = graph_executor.create(graph, lib, tvm.cpu())
    module.set_input(**left)
    data = np.ones((2, 4), "float32")
    module.run(x=data)
    tvm.testing.assert_allclose(module.get_output(0, nd.empty((2, 3))).numpy(), wanted_of(params, data), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("executor", ["graph", "aot"])
def test_executor_options(executor):
    mod, params = dense_relu()
    lib = relay.build(mod, "llvm", executor=relay.backend.Executor(executor), runtime=relay.backend.Runtime("cpp"), params=params)
    assert lib is not None and str(relay.backend.Executor(executor).name) == executor


def test_export_and_load(target, dev):
    mod, params = dense_relu()
    folder = utils.tempdir()
    path = folder.relpath("lib.so")
    relay.build(mod, target, params=params).export_library(path)
    loaded = tvm.runtime.load_module(path)
    module = graph_executor.GraphModule(loaded["default"](dev))
    data = np.random.randn(2, 4).astype("float32")
    module.run(x=data)
    tvm.testing.assert_allclose(module.get_output(0).numpy(), wanted_of(params, data), rtol=1e-5, atol=1e-6)


def test_param_files(tmp_path):
    _, params = dense_relu()
    blob = tvm.runtime.save_param_dict(params)
    (tmp_path / "a.params").write_bytes(blob)
    loaded = tvm.runtime.load_param_dict((tmp_path / "a.params").read_bytes())
    assert set(loaded) == {"w", "b"} and (loaded["w"].numpy() == params["w"]).all()
    with pytest.raises(tvm.TVMError):
        tvm.runtime.load_param_dict(b"\x00" * 32)


def test_time_evaluator_and_benchmark():
    mod, params = dense_relu()
    module = graph_executor.GraphModule(relay.build(mod, "llvm", params=params)["default"](tvm.cpu()))
    module.set_input("x", np.ones((2, 4), "float32"))
    timing = module.module.time_evaluator("run", tvm.cpu(), number=2, repeat=3)()
    assert len(timing.results) == 3 and timing.mean > 0
    assert module.benchmark(tvm.cpu(), number=1, repeat=2).mean > 0


def test_vm_compile_and_optimize():
    mod, params = dense_relu()
    exe = relay.vm.compile(mod, target="llvm", params=params)
    assert isinstance(exe, tvm.runtime.vm.Executable) and exe.get_function_params("main") == ["x"]
    data = np.random.randn(2, 4).astype("float32")
    tvm.testing.assert_allclose(VirtualMachine(exe, tvm.cpu()).run(data).numpy(), wanted_of(params, data), rtol=1e-5, atol=1e-6)
    code, lib = exe.save()
    again = VirtualMachine(tvm.runtime.vm.Executable.load_exec(code, lib), tvm.cpu())
    tvm.testing.assert_allclose(again.invoke("main", data).numpy(), wanted_of(params, data), rtol=1e-5, atol=1e-6)
    optimized, left = relay.optimize(mod, target="llvm", params=params)
    assert isinstance(optimized, tvm.IRModule) and set(left) == set(params)


def test_vm_with_control_flow():
    mod = tvm.IRModule()
    n, acc = relay.var("n", shape=(), dtype="int32"), relay.var("acc", shape=(), dtype="int32")
    loop = relay.GlobalVar("loop")
    mod[loop] = relay.Function([n, acc], relay.If(relay.equal(n, relay.const(0)), acc, loop(n - relay.const(1), acc + n)), relay.scalar_type("int32"))
    m = relay.var("m", shape=(), dtype="int32")
    mod["main"] = relay.Function([m], loop(m, relay.const(0)))
    vm = VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu())
    assert vm.invoke("main", np.int32(100000)).numpy() == sum(range(100001)) % 2**32 - (2**32 if sum(range(100001)) % 2**32 >= 2**31 else 0)


def test_vm_shapes_are_known_at_run_time():
    x, y = relay.var("x", shape=(relay.Any(), 2)), relay.var("y", shape=(relay.Any(), 2))
    vm = VirtualMachine(relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x, y], relay.concatenate([x, y], axis=0))), "llvm"), tvm.cpu())
    for rows in (1, 4):
        assert vm.run(np.ones((rows, 2), "float32"), np.ones((3, 2), "float32")).shape == (rows + 3, 2)


def test_target():
    target = tvm.target.Target("llvm -mcpu=core-avx2 -mattr=+fma")
    assert target.kind.name == "llvm" and target.mcpu == "core-avx2" and "cpu" in target.keys
    assert tvm.target.Target({"kind": "llvm", "mcpu": "core-avx2"}).mcpu == "core-avx2"
    assert str(tvm.target.Target("llvm")).startswith("llvm")
    with tvm.target.Target("llvm") as current:
        assert tvm.target.Target.current() is current
    with pytest.raises(ValueError, match="nothing"):
        tvm.target.Target("nothing")


def test_targets_that_there_are_not():
    mod, params = dense_relu()
    for target in ("cuda", "opencl"):
        with pytest.raises(NotImplementedError, match="CPUs"):
            relay.build(mod, target=target, params=params)


def test_errors():
    assert issubclass(tvm.error.OpNotImplemented, tvm.error.OpError) and issubclass(tvm.error.OpError, tvm.TVMError)
    with pytest.raises(tvm.error.DiagnosticError) as caught:
        relay.parse("def @main(%x: Tensor[(2), float32]) { %x + %y }", "file.txt")
    assert "file.txt:1" in str(caught.value)
    with pytest.raises(tvm.TVMError, match="expected Tensor"):
        relay.create_executor("graph").evaluate(relay.Function([x := relay.var("x", shape=(2,))], x))(np.ones(3, "float32"))


def test_a_program_that_fails_while_it_runs(executor_kind):
    x, y = relay.var("x", shape=(), dtype="int32"), relay.var("y", shape=(), dtype="int32")
    run = relay.create_executor(executor_kind).evaluate(relay.Function([x, y], relay.floor_divide(x, y)))
    with pytest.raises(tvm.error.ExecutionError, match="zero"):
        run(np.int32(1), np.int32(0))


def test_workload_of_the_zoo_runs_in_every_executor(executor_kind):
    mod, params = testing.mlp.get_workload(1, image_shape=(1, 4, 4))
    data = np.random.rand(1, 1, 4, 4).astype("float32")
    result = relay.create_executor(executor_kind, mod=mod, params=params).evaluate()(data).numpy()
    assert result.shape == (1, 10) and abs(result.sum() - 1) < 1e-5


def test_operators_of_data_in_place(executor_kind):
    x = relay.var("x", shape=(2,))
    data = np.ones(2, "float32")
    relay.create_executor(executor_kind).evaluate(relay.Function([x], x + x))(data)
    assert data.tolist() == [1, 1]  # arguments stay as they are


def test_members_that_scripts_ask_for():
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    assert np.array_equal(np.from_dlpack(tvm.nd.array(np.ones(3))), np.ones(3))
    assert tvm.nd.from_dlpack(tvm.nd.array(np.ones(3)).to_dlpack()).shape == (3,)
    assert relay.build(mod, {"cpu": "llvm"}).program is not None
    program = relay.vm.compile(mod, "llvm")
    assert "@main" in program.bytecode and program.primitive_ops
    prelude = tvm.relay.Prelude()
    cons = prelude.mod.get_constructor("Cons")
    assert prelude.mod.get_constructor(cons.tag).same_as(cons)
    with pytest.raises(KeyError, match="no constructor has tag 12345"):
        prelude.mod.get_constructor(12345)


def test_inputs_have_the_shape_of_the_program():
    from tvm import te
    from tvm.contrib import graph_executor

    x, y = relay.var("images", shape=(2, 3)), relay.var("rows", shape=(te.size_var("n"), 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple([x + x, y + y])))
    module = graph_executor.GraphModule(relay.build(mod, "llvm")["default"](tvm.cpu(0)))
    for key, wrong in (("images", (2, 2)), ("images", (2, 3, 1)), (0, ())):
        with pytest.raises(ValueError, match=r"the input 'images' takes the shape \(2, 3\), and was given an array of shape \("):
            module.set_input(key, np.ones(wrong, "float32"))
    with pytest.raises(ValueError, match=r"the input 'rows' takes the shape \(n, 3\), and was given an array of shape \(5, 4\)"):
        module.set_input("rows", np.ones((5, 4), "float32"))
    module.set_input(images=np.ones((2, 3), "float32"), rows=np.ones((5, 3), "float32"))
    module.run()
    assert module.get_output(0).shape == (2, 3) and module.get_output(1).shape == (5, 3)
