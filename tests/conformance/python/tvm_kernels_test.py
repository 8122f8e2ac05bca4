"""Functions of the graph's nodes, as scripts take them from a library by name."""

import json

import numpy as np
import pytest

import tvm
from tvm import relay


def build():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    joined = relay.concatenate([relay.nn.relu(relay.nn.dense(x, w)), x], axis=1)
    parts = relay.split(joined, 7, axis=1)
    return relay.build(tvm.IRModule.from_expr(relay.Function([x, w], relay.Tuple([parts[0] * parts[6], joined]))), "llvm", mod_name="m")


def test_each_node_by_itself():
    lib = build()
    graph = json.loads(lib.get_graph_json())
    rng = np.random.RandomState(0)
    values = {0: [rng.randn(2, 3).astype("float32")], 1: [rng.randn(4, 3).astype("float32")]}
    shapes = graph["attrs"]["shape"][1]
    for at, node in enumerate(graph["nodes"]):
        if node["op"] != "tvm_op":
            continue
        name = node["attrs"]["func_name"]
        assert lib.get_lib().implements_function(name, True)
        first = graph["node_row_ptr"][at]
        outputs = [tvm.nd.empty(tuple(shapes[first + i])) for i in range(int(node["attrs"]["num_outputs"]))]
        lib.get_lib().get_function(name, True)(*(tvm.nd.array(values[source][k]) for source, k, _ in node["inputs"]), *outputs)
        values[at] = [output.numpy() for output in outputs]
    x, w = values[0][0], values[1][0]
    joined = np.concatenate([np.maximum(x @ w.T, 0), x], axis=1)
    product, whole = (values[at][k] for at, k, _ in graph["heads"])
    np.testing.assert_allclose(whole, joined, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(product, joined[:, :1] * joined[:, 6:], rtol=1e-5, atol=1e-6)


def test_what_is_no_function(tmp_path):
    lib = build()
    assert not lib.get_lib().implements_function("tvmgen_m_other")
    with pytest.raises(AttributeError, match="the module has no function tvmgen_m_other; it has main"):
        lib.get_lib().get_function("tvmgen_m_other")
    function = next(node["attrs"]["func_name"] for node in json.loads(lib.get_graph_json())["nodes"] if node["op"] == "tvm_op")
    with pytest.raises(TypeError, match=f"{function} takes 3 arrays, inputs and outputs, not 1"):
        lib[function](tvm.nd.empty((2, 3)))
