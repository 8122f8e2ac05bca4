"""relay.optimize, BuildModule, build with executors and runtimes, names of modules, errors."""
import json

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import graph_executor, ndk
from tvm.relay.backend import Executor, Runtime


def network():
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    return tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))), {"w": tvm.nd.array(np.ones((3, 4), "float32"))}


def test_optimize():
    mod, params = network()
    with tvm.transform.PassContext(opt_level=3):
        mod, params = relay.optimize(mod, "llvm", params)
    assert isinstance(mod, tvm.IRModule) and len(mod["main"].params) == 1


def test_build_module():
    mod, params = network()
    builder = relay.build_module.BuildModule()
    graph, lib, bound = builder.build(mod, "llvm", params=params)
    m = graph_executor.create(graph, lib, tvm.cpu(0))
    m.set_input("x", np.ones((2, 4), "float32"))
    m.set_input(**bound)
    m.run()
    assert (m.get_output(0).numpy() == 4).all()


@pytest.mark.parametrize("executor", [Executor("graph"), Executor("graph", {"link-params": True}), Executor("aot", {"interface-api": "packed"})])
def test_executors_and_runtimes(executor):
    mod, params = network()
    lib = relay.build(mod, target="llvm", executor=executor, runtime=Runtime("cpp", {"system-lib": False}), params=params, mod_name="net")
    m = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    m.run(x=np.ones((2, 4), "float32"))
    assert m.get_output(0).shape == (2, 3) and lib.libmod_name == "net" and isinstance(json.loads(lib.get_graph_json()), dict)


def test_a_function_instead_of_a_module():
    mod, params = network()
    with tvm.transform.PassContext(opt_level=2):
        lib = relay.build(mod["main"], "llvm", params=params)
    assert lib.ir_mod is not None


def test_export_with_a_compiler(tmp_path):
    mod, params = network()
    lib = relay.build(mod, "llvm", params=params)
    path = str(tmp_path / "net.so")
    lib.export_library(path, fcompile=ndk.create_shared)
    assert tvm.runtime.load_module(path)["default"](tvm.cpu()) is not None


def test_wrong_inputs():
    mod, params = network()
    m = graph_executor.GraphModule(relay.build(mod, "llvm", params=params)["default"](tvm.cpu()))
    with pytest.raises(Exception):
        m.set_input("x", np.ones((3, 3), "float32"))
    with pytest.raises(Exception):
        m.set_input("nothing", 1)
    with pytest.raises(Exception):
        relay.build(mod, "no_such_target")


def test_gpus_are_refused():
    mod, params = network()
    with pytest.raises(NotImplementedError):
        relay.build(mod, tvm.target.Target("cuda", host="llvm"), params=params)
    with pytest.raises(NotImplementedError):
        tvm.nd.array(np.ones(2), tvm.cuda(0))


if __name__ == "__main__":
    pytest.main([__file__])
