"""Scripts in TVM's style: imports, fixtures and helpers as its users write them."""

import importlib

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay, te
from tvm.contrib import graph_executor, utils
from tvm.relay import testing, transform
from tvm.relay.testing import create_workload, rand, run_infer_type, run_opt_pass
from tvm.topi import testing as topi_testing

executor_kind = tvm.testing.parameter("debug", "graph", "vm", "aot")


def run(func, *args, kind="debug"):
    return relay.create_executor(kind, device=tvm.cpu(), target="llvm").evaluate(func)(*args)


def test_add(target, dev, executor_kind):
    x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(3, 4))
    a, b = np.random.rand(3, 4).astype("float32"), np.random.rand(3, 4).astype("float32")
    result = relay.create_executor(executor_kind, device=dev, target=target).evaluate(relay.Function([x, y], x + y))(a, b)
    tvm.testing.assert_allclose(result.numpy(), a + b, rtol=1e-6)


@pytest.mark.parametrize("name", ["tanh", "exp", "sigmoid", "abs", "sqrt", "floor", "negative", "sin", "cos"])
def test_unary(name, executor_kind):
    references = {"sigmoid": lambda v: 1 / (1 + np.exp(-v))}
    x = relay.var("x", relay.TensorType((2, 5), "float32"))
    data = np.random.rand(2, 5).astype("float32")
    result = run(relay.Function([x], getattr(relay, name)(x)), data, kind=executor_kind)
    tvm.testing.assert_allclose(result.numpy(), references.get(name, getattr(np, name, None))(data), rtol=1e-5)


@pytest.mark.parametrize("op, ref", [(relay.add, np.add), (relay.multiply, np.multiply), (relay.maximum, np.maximum)])
def test_broadcast(op, ref):
    x, y = relay.var("x", shape=(5, 1)), relay.var("y", shape=(1, 4))
    a, b = np.random.rand(5, 1).astype("float32"), np.random.rand(1, 4).astype("float32")
    tvm.testing.assert_allclose(run(relay.Function([x, y], op(x, y)), a, b).asnumpy(), ref(a, b), rtol=1e-6)


@tvm.testing.parametrize_targets
def test_conv2d(target, dev):
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(6, 2, 3, 3))
    func = relay.Function([x, w], relay.nn.conv2d(x, w, padding=(1, 1), strides=(2, 2), groups=2, kernel_size=(3, 3), channels=6))
    a, k = np.random.rand(1, 4, 8, 8).astype("float32"), np.random.rand(6, 2, 3, 3).astype("float32")
    result = relay.create_executor("graph", device=dev, target=target).evaluate(func)(a, k)
    tvm.testing.assert_allclose(result.numpy(), topi_testing.conv2d_nchw_python(a, k, (2, 2), (1, 1), 2), rtol=1e-4)


def test_conv2d_transpose():
    x, w = relay.var("x", shape=(1, 4, 5, 6)), relay.var("w", shape=(4, 3, 3, 3))
    func = relay.Function([x, w], relay.nn.conv2d_transpose(x, w, strides=(2, 2), padding=(1, 1), output_padding=(1, 1), channels=3, kernel_size=(3, 3)))
    a, k = np.random.rand(1, 4, 5, 6).astype("float32"), np.random.rand(4, 3, 3, 3).astype("float32")
    tvm.testing.assert_allclose(run(func, a, k).numpy(), topi_testing.conv2d_transpose_nchw_python(a, k, (2, 2), (1, 1), (1, 1)), rtol=1e-4)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nll_loss(reduction):
    p, t, w = relay.var("p", shape=(5, 3)), relay.var("t", shape=(5,), dtype="int32"), relay.var("w", shape=(3,))
    a, b, c = np.random.rand(5, 3).astype("float32"), np.array([0, 2, -100, 1, 1], "int32"), np.random.rand(3).astype("float32")
    result = run(relay.Function([p, t, w], relay.nn.nll_loss(p, t, w, reduction)), a, b, c)
    tvm.testing.assert_allclose(result.numpy(), topi_testing.nll_loss(a, b, c, reduction), rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_softmax(axis):
    x = relay.var("x", shape=(3, 4))
    data = np.random.randn(3, 4).astype("float32")
    for op, ref in ((relay.nn.softmax, topi_testing.softmax_python), (relay.nn.log_softmax, topi_testing.log_softmax_python)):
        tvm.testing.assert_allclose(run(relay.Function([x], op(x, axis=axis)), data).numpy(), ref(data, axis), rtol=1e-5, atol=1e-6)


def test_batch_matmul():
    x, y = relay.var("x", shape=(2, 3, 4)), relay.var("y", shape=(2, 5, 4))
    a, b = np.random.rand(2, 3, 4).astype("float32"), np.random.rand(2, 5, 4).astype("float32")
    tvm.testing.assert_allclose(run(relay.Function([x, y], relay.nn.batch_matmul(x, y)), a, b).numpy(), topi_testing.batch_matmul(a, b), rtol=1e-5)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(mode):
    x = relay.var("x", shape=(1, 8, 2, 3))
    data = np.random.rand(1, 8, 2, 3).astype("float32")
    result = run(relay.Function([x], relay.nn.depth_to_space(x, 2, "NCHW", mode)), data)
    tvm.testing.assert_allclose(result.numpy(), topi_testing.depth_to_space_python(data, 2, mode))


def test_space_to_batch():
    x = relay.var("x", shape=(1, 4, 4, 1))
    data = np.arange(16, dtype="float32").reshape(1, 4, 4, 1)
    result = run(relay.Function([x], relay.nn.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]])), data)
    wanted = topi_testing.space_to_batch_nd_python(data, [2, 2], [0, 0], [0, 0])
    tvm.testing.assert_allclose(result.numpy(), wanted)
    tvm.testing.assert_allclose(topi_testing.batch_to_space_nd_python(wanted, [2, 2], [0, 0], [0, 0]), data)


def test_infer_type():
    x = relay.var("x", shape=(te.size_var("n"), 3))
    assert run_infer_type(relay.nn.relu(relay.var("y", shape=(2, 3)))).checked_type == relay.TensorType((2, 3), "float32")
    assert x.type_annotation.dtype == "float32"


def test_opt_pass():
    x = relay.var("x", shape=(2,))
    folded = run_opt_pass(relay.Function([x], x + (relay.const(1.0) + relay.const(2.0))), transform.FoldConstant())
    tvm.ir.assert_structural_equal(folded, run_infer_type(relay.Function([x], x + relay.const(3.0))))
    with pytest.raises(ValueError):
        tvm.ir.assert_structural_equal(folded, run_infer_type(relay.Function([x], x)))


def test_sequential_in_context():
    mod = tvm.IRModule.from_expr(relay.var("x", shape=(2,)) + relay.const(1.0))
    seq = tvm.transform.Sequential([transform.InferType(), transform.SimplifyInference(), transform.FuseOps()])
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["FuseOps"], config={"tir.anything": 1}):
        assert "Primitive" not in str(seq(mod))
    with tvm.transform.PassContext(opt_level=3):
        assert "Primitive" in str(seq(mod))


def test_function_pass():
    @relay.transform.function_pass(opt_level=1)
    class Twice:
        def transform_function(self, func, mod, ctx):
            return relay.Function(func.params, func.body + func.body)

    x = relay.var("x", shape=(2,))
    mod = Twice()(tvm.IRModule.from_expr(relay.Function([x], x)))
    assert testing.count_ops(mod["main"]) == {"add": 1}


def test_build_and_graph_module():
    mod, params = testing.mlp.get_workload(2)
    lib = relay.build(mod, target="llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    data = np.random.rand(2, 1, 28, 28).astype("float32")
    module.set_input("data", data)
    module.run()
    wanted = relay.create_executor("debug", mod, params=params).evaluate()(data)
    tvm.testing.assert_allclose(module.get_output(0).numpy(), wanted.numpy(), rtol=1e-4, atol=1e-6)
    assert module.get_num_outputs() == 1 and module.get_input_index("data") == 0
    folder = utils.tempdir()
    lib.export_library(folder.relpath("net.rlx"))
    again = graph_executor.GraphModule(tvm.runtime.load_module(folder.relpath("net.rlx"))["default"](tvm.cpu()))
    again.run(data=data)
    tvm.testing.assert_allclose(again.get_output(0).numpy(), module.get_output(0).numpy())
    with pytest.raises(ValueError, match="no input 'other'"):
        module.set_input("other", data)


def test_virtual_machine():
    x = relay.var("x", shape=(relay.Any(), 2))
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([x + x, x]))), target="llvm")
    vm = tvm.runtime.vm.VirtualMachine(tvm.runtime.vm.Executable.load_exec(*exe.save()), tvm.cpu())
    data = np.ones((3, 2), "float32")
    result = vm.invoke("main", data)
    assert isinstance(result, tvm.runtime.container.ADT) and len(result) == 2
    vm.set_input("main", x=data)
    tvm.testing.assert_allclose(vm.run()[0].numpy(), data + data)


def test_prelude_and_nat():
    prelude = relay.Prelude()
    prelude.mod.import_from_std("nat.rly")
    five = testing.make_nat_expr(prelude, 5)
    assert testing.count(prelude, relay.create_executor("debug", mod=prelude.mod).evaluate(five)) == 5
    _, cons, nil = prelude.mod.get_type("List")
    numbers = cons(relay.const(1), cons(relay.const(2), nil()))
    assert relay.create_executor("debug", mod=prelude.mod).evaluate(prelude.length(numbers)).numpy() == 2
    assert relay.create_executor("debug", mod=prelude.mod).evaluate(prelude.sum(numbers)).numpy() == 3


def test_scope_builder_and_if():
    sb, x = relay.ScopeBuilder(), relay.var("x", shape=(), dtype="int32")
    with sb.if_scope(relay.less(x, relay.const(3))):
        sb.ret(x + relay.const(10))
    with sb.else_scope():
        sb.ret(x)
    func = relay.Function([x], sb.get())
    assert run(func, np.int32(1)).numpy() == 11 and run(func, np.int32(5)).numpy() == 5


def test_while_loop():
    i = relay.var("i", shape=(), dtype="int32")
    loop = relay.loops.while_loop(lambda n: relay.less(n, relay.const(10)), [i], lambda n: [n + relay.const(3)])
    assert relay.create_executor("debug").evaluate(relay.TupleGetItem(relay.Call(loop, [relay.const(0)]), 0)).numpy() == 12


def test_with_fields():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    call = relay.add(x, y)
    assert relay.expr.CallWithFields(call) is call
    assert relay.expr.CallWithFields(call, args=[y, y]).args[0] is y
    assert relay.expr.VarWithFields(x, "z").name_hint == "z"
    assert relay.expr.TupleWithFields(relay.Tuple([x]), [y]).fields[0] is y


def test_json_and_params():
    mod, params = create_workload(testing.synthetic.get_net())
    assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(mod)), mod)
    assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(mod["main"])), mod["main"])
    loaded = relay.load_param_dict(relay.save_param_dict(params))
    assert sorted(loaded) == sorted(params)
    tvm.testing.assert_allclose(loaded["conv1_weight"].numpy(), params["conv1_weight"].numpy())
    with pytest.raises(tvm.TVMError, match="no JSON document"):
        tvm.ir.load_json("{")
    with pytest.raises(tvm.TVMError, match="inside an entry"):
        relay.load_param_dict(bytes(relay.save_param_dict(params))[:100])


def test_arrays():
    a = tvm.nd.array([[1.0, 2.0]])
    assert a.dtype == "float32" and a.shape == (1, 2) and a.device == tvm.cpu(0)
    source = np.zeros(3, "int32")
    copied = tvm.nd.array(source)
    source[0] = 5
    assert copied.numpy()[0] == 0 and tvm.nd.empty((2,)).asnumpy().shape == (2,)
    with pytest.raises(NotImplementedError, match="CPU only"):
        tvm.nd.array(source, tvm.cuda(0))


def test_targets():
    target = tvm.target.Target("llvm -mcpu=skylake-avx512", host="llvm")
    assert target.kind.name == "llvm" and target.mcpu == "skylake-avx512"
    with target:
        assert tvm.target.Target.current() is target
    assert tvm.target.Target.current() is None
    with pytest.raises(NotImplementedError, match="compiled for CPUs"):
        relay.create_executor("graph", target="cuda")


def test_errors():
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(relay.var("x", shape=(2,)) + relay.var("y", shape=(3,)))
    with pytest.raises(NotImplementedError, match="tuning schedules"):
        tvm.te.create_schedule(None)
    with pytest.raises(NotImplementedError, match="remote devices"):
        importlib.import_module("tvm.rpc").connect("localhost", 9090)
    with pytest.raises(AttributeError):
        tvm.nothing_of_this_name


@pytest.mark.parametrize("make, shape", [
    (lambda: testing.mobilenet.get_workload(image_shape=(3, 32, 32)), (1, 1000)),
    (lambda: testing.resnet.get_workload(num_layers=8, num_classes=10, image_shape=(3, 28, 28)), (1, 10)),
    (lambda: testing.resnet.get_workload(num_layers=18), (1, 1000)),
    (lambda: testing.dcgan.get_workload(1, ngf=8), (1, 3, 64, 64)),
    (lambda: testing.lstm.get_workload(2, 4), (1, 4)),
    (lambda: testing.dqn.get_workload(1), (1, 18)),
    (lambda: testing.squeezenet.get_workload(version="1.1", image_shape=(3, 64, 64)), (1, 1000)),
])  # fmt: skip
def test_networks(make, shape):
    mod, params = make()
    assert tuple(mod["main"].body.checked_type.concrete_shape) == shape
    assert len(params) == len(mod["main"].params) - 1


def test_operator_attributes():
    with testing.temp_op_attr.TempOpAttr("nn.relu", "mine", 3):
        assert relay.op.get("nn.relu").get_attr("mine") == 3
    assert relay.op.get("nn.relu").get_attr("mine") is None


def test_parser():
    mod = tvm.parser.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { %x + %x }')
    tvm.testing.assert_allclose(relay.create_executor(mod=mod).evaluate()(rand("float32", 2)).shape, (2,))


def test_relay_does_not_import_tvm():
    import subprocess
    import sys

    subprocess.run([sys.executable, "-c", "import relay, sys; assert 'tvm' not in sys.modules"], check=True)


def test_refuses_to_shadow(tmp_path, monkeypatch):
    from tvm import _guard

    folder = tmp_path / "site-packages"
    (folder / "apache_tvm-0.18.0.dist-info").mkdir(parents=True)
    (folder / "apache_tvm-0.18.0.dist-info" / "METADATA").write_text("Name: apache-tvm\nVersion: 0.18.0\n")
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(ImportError, match="apache-tvm 0.18.0 is installed as well"):
        _guard.refuse_to_shadow(folder / "tvm")
    _guard.refuse_to_shadow(tmp_path / "source" / "tvm")
