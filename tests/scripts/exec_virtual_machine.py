"""relay.vm.compile and the virtual machine."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import utils
from tvm.relay.loops import while_loop
from tvm.runtime import profiler_vm, vm as vm_rt


def run_vm(f, *args):
    mod = f if isinstance(f, tvm.IRModule) else tvm.IRModule.from_expr(f)
    exe = relay.vm.compile(mod, target="llvm")
    return vm_rt.VirtualMachine(exe, tvm.cpu()).invoke("main", *args)


def flatten(value):
    if isinstance(value, tvm.nd.NDArray):
        return [value.numpy().tolist()]
    assert isinstance(value, tvm.runtime.container.ADT), type(value)
    return [leaf for field in value for leaf in flatten(field)]


def test_branch():
    p, x = relay.var("p", shape=(), dtype="bool"), relay.var("x", shape=(2,))
    f = relay.Function([p, x], relay.If(p, relay.negative(x), relay.exp(x)))
    assert run_vm(f, np.array(True), np.array([1, 2], "float32")).numpy().tolist() == [-1, -2]


def test_loop():
    i = relay.var("i", shape=(), dtype="int32")
    seen = relay.var("seen", shape=(relay.Any(), 1), dtype="float32")
    loop = while_loop(
        lambda i, _: relay.less(i, relay.const(3)),
        [i, seen],
        lambda i, rows: [i + relay.const(1), relay.concatenate([rows, relay.reshape(relay.cast(i, "float32"), (1, 1))], axis=0)],
    )
    start = relay.var("start", shape=(relay.Any(), 1), dtype="float32")
    out = run_vm(relay.Function([start], relay.TupleGetItem(loop(relay.const(0), start), 1)), np.full((1, 1), 9, "float32"))
    assert out.numpy().ravel().tolist() == [9, 0, 1, 2]


def test_recursion_in_a_module():
    mod = tvm.IRModule()
    fib = relay.GlobalVar("fib")
    n = relay.var("n", shape=(), dtype="int32")
    sb = relay.ScopeBuilder()
    with sb.if_scope(relay.less(n, relay.const(2))):
        sb.ret(n)
    with sb.else_scope():
        sb.ret(fib(n - relay.const(1)) + fib(n - relay.const(2)))
    mod[fib] = relay.Function([n], sb.get(), ret_type=relay.TensorType((), "int32"))
    k = relay.var("k", shape=(), dtype="int32")
    mod["main"] = relay.Function([k], fib(k))
    assert int(run_vm(mod, np.array(10, "int32")).numpy()) == 55


def test_lists():
    mod = tvm.IRModule()
    prelude = relay.prelude.Prelude(mod)
    _, cons, nil = prelude.mod.get_type("List")
    x, y = relay.var("x", shape=(), dtype="int32"), relay.var("y")
    mod["main"] = relay.Function([x], prelude.map(relay.Function([y], y * y), cons(x, cons(relay.const(4), nil()))))
    assert flatten(run_vm(mod, np.array(3, "int32"))) == [9, 16]


def test_two_results_and_set_input():
    a, b = relay.var("a", shape=(2,)), relay.var("b", shape=(2,))
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([a, b], relay.Tuple([a + b, a - b]))), "llvm")
    machine = vm_rt.VirtualMachine(exe, tvm.cpu())
    machine.set_input("main", b=np.array([1, 2], "float32"), a=np.array([5, 5], "float32"))
    machine.invoke_stateful("main")
    assert [out.numpy().tolist() for out in machine.get_outputs()] == [[6, 7], [4, 3]]
    assert machine.get_input_index("b") == 1
    report = profiler_vm.VirtualMachineProfiler(exe, tvm.cpu()).profile(np.ones(2, "float32"), np.ones(2, "float32"), func_name="main")
    assert "Duration" in str(report)


def test_bytes_and_back(tmp_path):
    x = relay.var("x", shape=(3,))
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], relay.sqrt(x))), target="llvm")
    code, lib = exe.save()
    lib.export_library(str(tmp_path / "lib.so"))
    loaded = vm_rt.Executable.load_exec(code, tvm.runtime.load_module(str(tmp_path / "lib.so")))
    machine = vm_rt.VirtualMachine(loaded, tvm.cpu(0))
    np.testing.assert_allclose(machine.run(np.array([1, 4, 9], "float32")).numpy(), [1, 2, 3])


if __name__ == "__main__":
    pytest.main([__file__])
