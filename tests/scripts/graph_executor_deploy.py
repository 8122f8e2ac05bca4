"""Build once, deploy: libraries, parameters, devices, several inputs, the debugger, and the interfaces of 0.8 and 0.19."""
import os
import tempfile

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import graph_executor, utils
from tvm.contrib.debugger import debug_executor
from tvm.relay.backend import Executor, Runtime


def network():
    return relay.testing.mlp.get_workload(batch_size=2, num_classes=10, image_shape=(1, 28, 28))


def data():
    return np.random.RandomState(0).rand(2, 1, 28, 28).astype("float32")


@pytest.fixture(scope="module")
def reference():
    mod, params = network()
    return relay.create_executor("graph", mod, tvm.cpu(), "llvm", params).evaluate()(data()).numpy()


def test_export(reference):
    mod, params = network()
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build_module.build(mod, target=tvm.target.Target("llvm"), params=params, executor=Executor("graph"), runtime=Runtime("cpp"))
    temp = utils.tempdir()
    path = temp.relpath("deploy_lib.tar")
    lib.export_library(path)
    loaded = tvm.runtime.load_module(path)
    m = graph_executor.GraphModule(loaded["default"](tvm.cpu()))
    m.set_input(0, data())
    m.run()
    tvm.testing.assert_allclose(m.get_output(0).asnumpy(), reference, rtol=1e-5)
    assert m.get_num_outputs() == 1 and m.get_num_inputs() >= 1


def test_three_parts(reference):
    mod, params = network()
    graph, lib, params = relay.build(mod, "llvm", params=params)
    blob = relay.save_param_dict(params)
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "deploy.params"), "wb") as fo:
        fo.write(blob)
    with open(os.path.join(folder, "deploy.json"), "w") as fo:
        fo.write(graph)
    m = graph_executor.create(graph, lib, tvm.cpu(0))
    m.load_params(bytearray(open(os.path.join(folder, "deploy.params"), "rb").read()))
    m.run(data=tvm.nd.array(data()))
    tvm.testing.assert_allclose(m.get_output(0, tvm.nd.empty((2, 10), "float32")).numpy(), reference, rtol=1e-5)
    assert set(relay.load_param_dict(blob)) == set(params)


def test_debugger(reference):
    mod, params = network()
    lib = relay.build(mod, "llvm", params=params)
    m = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu(), dump_root=tempfile.mkdtemp())
    m.set_input(**lib.get_params())
    m.set_input("data", data())
    m.run()
    tvm.testing.assert_allclose(m.get_output(0).numpy(), reference, rtol=1e-5)
    report = m.profile(data=data())
    assert "Name" in str(report) or len(str(report)) > 0


def test_build_factory_interfaces():
    mod, params = network()
    lib = relay.build(mod, {"cpu": "llvm"} if False else "llvm", params=params, mod_name="my_mod")
    gmod = lib["my_mod"](tvm.cpu(0))
    set_input, run, get_output = gmod["set_input"], gmod["run"], gmod["get_output"]
    set_input("data", tvm.nd.array(data()))
    run()
    assert get_output(0).numpy().shape == (2, 10)
    assert lib.ir_mod is not None and isinstance(lib.get_graph_json(), str) and lib.get_executor_config() is not None
