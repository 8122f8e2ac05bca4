"""The nodes of graphs, run one by one: tvm.contrib.debugger."""

import json

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.contrib.debugger import debug_executor


def module_of(func, params=None, **inputs):
    lib = relay.build(tvm.IRModule.from_expr(func), "llvm", params=params)
    module = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu())
    for name, value in inputs.items():
        module.set_input(name, value)
    return module, json.loads(lib.get_graph_json())


def several_results():
    x, y = relay.var("x", shape=(2, 4)), relay.var("y", shape=(2, 4))
    parts = relay.split(x, 2, axis=1)
    joined = relay.concatenate([relay.nn.softmax(parts[0]), relay.nn.softmax(parts[1]), y], axis=1)
    return relay.Function([x, y], relay.Tuple([joined, relay.sum(joined, axis=1)]))


X, Y = np.arange(8, dtype="float32").reshape(2, 4), np.ones((2, 4), "float32")


def test_one_node_after_another():
    module, graph = module_of(several_results(), x=X, y=Y)
    names = [node["name"] for node in graph["nodes"]]
    for at, node in enumerate(graph["nodes"]):
        value = module.execute_next_node(at, 0)
        assert list(value.shape) == graph["attrs"]["shape"][1][graph["node_row_ptr"][at]], names[at]
    module.run(number=1)
    head = graph["heads"][0]
    np.testing.assert_array_equal(module.get_node_output(*head[:2]).numpy(), module.get_output(0).numpy())
    np.testing.assert_array_equal(module.execute_node(names[head[0]]).numpy(), module.get_output(0).numpy())
    outputs = module.debug_datum.get_output_tensors()
    assert len(outputs) == graph["node_row_ptr"][-1]
    out = tvm.nd.empty((2, 8))
    module.debug_get_output(names[head[0]], out)
    np.testing.assert_array_equal(out.numpy(), module.get_output(0).numpy())


def test_nodes_that_are_none_or_did_not_run():
    module, graph = module_of(several_results(), x=X, y=Y)
    with pytest.raises(RuntimeError, match="did not run yet"):
        module.execute_next_node(len(graph["nodes"]) - 1)
    for wrong in ("none", 99, -1):
        with pytest.raises(AttributeError, match="node"):
            module.debug_get_output(wrong)
    for wrong in (1.5, None, True):
        with pytest.raises(RuntimeError, match="node index or name"):
            module.debug_get_output(wrong)
    with pytest.raises(IndexError, match="result 7 of the node 'x', which has 1"):
        module.execute_next_node(0, 7)


def test_equal_nodes_share_a_program_and_have_values_of_their_own():
    x, w = relay.var("x", shape=(2, 4)), relay.const(np.eye(4, dtype="float32") * 2)
    y = x
    for _ in range(3):
        y = relay.nn.relu(relay.nn.dense(y, w))
    module, graph = module_of(relay.Function([x], y), x=X)
    ops = [at for at, node in enumerate(graph["nodes"]) if node["op"] == "tvm_op"]
    assert [float(module.debug_get_output(at).numpy()[1, 3]) for at in ops] == [14, 28, 56]
    assert len(module._nodes._programs) == 1


def test_a_program_with_control_flow_is_one_node():
    x, p = relay.var("x", shape=(2, 4)), relay.var("p", shape=(), dtype="bool")
    module, graph = module_of(relay.Function([x, p], relay.If(p, x + x, relay.exp(x))), x=X, p=True)
    assert [node["op"] for node in graph["nodes"]] == ["null", "null", "tvm_op"]
    np.testing.assert_array_equal(module.debug_get_output(2).numpy(), X + X)
    assert [len(times) for times in module.run_individual(1, repeat=2)] == [2, 2, 2]


def test_weights_that_were_set_anew_are_inputs_of_the_graph():
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(4, 4))
    eye = np.eye(4, dtype="float32")
    module, graph = module_of(relay.Function([x, w], relay.nn.dense(x, w)), {"w": eye}, x=X)
    name = graph["nodes"][-1]["name"]
    np.testing.assert_array_equal(module.debug_get_output(name).numpy(), X)
    module.set_input("w", 3 * eye)
    np.testing.assert_array_equal(module.debug_get_output(name).numpy(), 3 * X)
    module.run(number=1)
    np.testing.assert_array_equal(module.debug_get_output(name).numpy(), 3 * X)
    assert [node["name"] for node in module.debug_datum.get_graph_nodes()][:2] == ["x", "w"]


def test_results_stay_until_an_input_changes():
    x, y = relay.var("x", shape=(2, 4)), relay.var("y", shape=(2, 4))
    module, graph = module_of(relay.Function([x, y], relay.Tuple([relay.nn.softmax(x), relay.nn.batch_flatten(relay.nn.softmax(relay.exp(y)))])), x=X, y=Y)
    module.run(number=1)
    heads = [head[0] for head in graph["heads"]]
    before = [module.get_output(i).numpy() for i in range(2)]
    module.debug_get_output(0)
    for at, value in zip(heads, before):
        np.testing.assert_array_equal(module.get_node_output(at).numpy(), value)
    module.set_input("x", X + 1)
    module.debug_get_output("x")
    np.testing.assert_array_equal(module.get_node_output(heads[1]).numpy(), before[1])
    with pytest.raises(RuntimeError, match="did not run yet"):
        module.get_node_output(heads[0])


def test_the_table_is_that_of_the_last_run():
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(4, 4))
    module, graph = module_of(relay.Function([x, w], relay.nn.dense(x, w)), {"w": np.eye(4, dtype="float32")}, x=X)
    module.run(number=1)
    table = module.get_debug_result()
    module.set_input("w", np.zeros((4, 4), "float32"))
    assert not module.execute_node(graph["nodes"][-1]["name"]).numpy().any()
    assert module.get_debug_result() == table
