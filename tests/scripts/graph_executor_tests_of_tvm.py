"""Tests of the graph executor in the manner of TVM's own."""
import json
import threading

import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import relay
from tvm.contrib import graph_executor, utils
from tvm.relay.op import add
from tvm.relay.testing.config import ctx_list


def input_shape(mod):
    return [int(x) for x in mod["main"].checked_type.arg_types[0].shape]


def verify(data):
    if not tvm.runtime.enabled("llvm"):
        print("Skip because llvm is not enabled")
        return
    mod, params = relay.testing.synthetic.get_workload(input_shape=(1, 3, 8, 8))
    with relay.build_config(opt_level=3):
        graph, lib, graph_params = relay.build_module.build(mod, "llvm", params=params)
    dev = tvm.cpu()
    module = graph_executor.create(graph, lib, dev)
    module.set_input("data", data)
    module.set_input(**graph_params)
    module.run()
    return module.get_output(0).numpy()


def test_add_op_scalar():
    x = relay.var("x", shape=())
    y = relay.var("y", shape=())
    func = relay.Function([x, y], add(x, y))
    x_y_data = [(np.array(10.0, dtype="float32"), np.array(1.0, dtype="float32")), (np.float32(10.0), np.float32(1.0)), (10.0, 1.0)]
    for x_data, y_data in x_y_data:
        mod = tvm.IRModule.from_expr(func)
        for target, dev in ctx_list():
            graph = relay.build(mod, target)
            module = graph_executor.GraphModule(graph["default"](dev))
            module.set_input(x=x_data, y=y_data)
            module.run()
            tvm.testing.assert_allclose(module.get_output(0).numpy(), x_data + y_data)


def test_legacy_compatibility():
    mod, params = relay.testing.synthetic.get_workload(input_shape=(1, 3, 8, 8))
    data = np.random.uniform(-1, 1, size=input_shape(mod)).astype("float32")
    with tvm.transform.PassContext(opt_level=3):
        complied_graph_lib = relay.build_module.build(mod, "llvm", params=params)
    gmod = complied_graph_lib["default"](tvm.cpu())
    set_input, run, get_output = gmod["set_input"], gmod["run"], gmod["get_output"]
    set_input("data", tvm.nd.array(data))
    run()
    tvm.testing.assert_allclose(get_output(0).numpy(), verify(data), atol=1e-5)


@pytest.mark.parametrize("with_params", [False, True])
def test_export_and_load(with_params):
    x = relay.var("x", shape=(1, 10))
    y = relay.var("y", shape=(1, 10))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.exp(x) - y))
    y_in = np.random.rand(1, 10).astype("float32")
    lib = relay.build(mod, "llvm", params={"y": y_in} if with_params else None)
    temp = utils.tempdir()
    path_lib = temp.relpath("deploy_lib.so")
    lib.export_library(path_lib)
    with open(temp.relpath("deploy_graph.json"), "w") as fo:
        fo.write(lib.get_graph_json())
    assert "nodes" in json.load(open(temp.relpath("deploy_graph.json")))
    with open(temp.relpath("deploy_param.params"), "wb") as fo:
        fo.write(relay.save_param_dict(lib.get_params()))
    loaded_lib = tvm.runtime.load_module(path_lib)
    module = graph_executor.GraphModule(loaded_lib["default"](tvm.cpu()))
    x_in = np.ones((1, 10)).astype("float32")
    module.set_input("x", x_in)
    if not with_params:
        module.set_input("y", y_in)
    module.run()
    tvm.testing.assert_allclose(module.get_output(0).numpy(), np.exp(x_in) - y_in, rtol=1e-5)


def test_threads_with_a_module_each():
    x = relay.var("x", shape=(8,))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], x + relay.const(1.0))), "llvm")
    results = {}

    def work(k):
        m = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
        m.run(x=np.full(8, k, "float32"))
        results[k] = m.get_output(0).numpy()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        assert (results[k] == k + 1).all()


def test_plan_memory_names_and_counts():
    x, y = relay.var("x", shape=(10,)), relay.var("y", shape=(10,))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple([x + y, x - y]))), "llvm")
    m = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    assert m.get_num_inputs() == 2 and m.get_num_outputs() == 2
    shape_dict, dtype_dict = m.get_input_info()
    assert tuple(shape_dict["x"]) == (10,) and dtype_dict["y"] == "float32"
    out = tvm.nd.empty((10,), "float32")
    m.run(x=np.ones(10, "float32"), y=np.ones(10, "float32"))
    m.get_output(1, out)
    assert (out.numpy() == 0).all()


if __name__ == "__main__":
    tvm.testing.main()
