"""What a GraphModule knows before it runs, and the table of a profile."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.contrib.debugger import debug_executor


def module_of(text, params=None):
    lib = relay.build(tvm.parser.parse('#[version = "0.0.5"]\n' + text), "llvm", params=params)
    return graph_executor.GraphModule(lib["default"](tvm.cpu()))


PAIR = "def @main(%x: Tensor[(2, 3), float32], %i: Tensor[(4), int64]) { (exp(%x), (%i, sum(%x))) }"


def test_counts_and_shapes():
    m = module_of(PAIR)
    assert (m.get_num_inputs(), m.get_num_outputs()) == (2, 3)
    assert [(m.get_output(i).shape, m.get_output(i).dtype) for i in range(3)] == [((2, 3), "float32"), ((4,), "int64"), ((), "float32")]
    assert m.get_input("x").shape == (2, 3) and m.get_input(1).dtype == "int64" and not m.get_input("x").numpy().any()
    out = m.get_output(0, tvm.nd.array(np.ones((2, 3), "float32")))
    assert not out.numpy().any()
    with pytest.raises(IndexError, match="output 3 of a program with 3 outputs"):
        m.get_output(3)
    m.run(x=np.ones((2, 3), "float32"), i=np.arange(4))
    assert m.get_num_outputs() == 3 and m.get_output(2).numpy() == 6.0


def test_inputs_can_be_written_where_they_are():
    m = module_of(PAIR)
    m.get_input("x").copyfrom(np.ones((2, 3), "float32"))
    m.set_input("i", np.arange(4))
    m.run()
    assert m.get_output(2).numpy() == 6.0


def test_what_only_a_run_knows():
    m = module_of("def @main(%x: Tensor[(?, 3), float32]) { exp(%x) }")
    assert m.get_num_outputs() == 1
    with pytest.raises(RuntimeError, match="did not run yet, and output 0 has a shape that a run finds"):
        m.get_output(0)
    with pytest.raises(ValueError, match="'x' was not set, and its type .* has no one shape"):
        m.get_input("x")
    m = module_of("type Two { Both(float32, float32) }\ndef @main(%x: float32) { Both(%x, %x) }")
    with pytest.raises(RuntimeError, match="did not run yet"):
        m.get_num_outputs()


def test_a_table_is_of_the_whole_run():
    x = relay.var("x", shape=(8, 8))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.dense(x, x)))), "llvm")
    m = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu())
    table = m.profile(x=np.ones((8, 8), "float32")).table().splitlines()
    columns = {line.split()[0]: [float(word) for word in line.split()[1:3]] for line in table[1:]}
    kernels = [value for name, value in columns.items() if name not in ("Sum", "Total")]
    assert columns["Total"][1] == 100.0
    assert abs(columns["Sum"][1] - 100 * columns["Sum"][0] / columns["Total"][0]) < 0.1 and columns["Sum"][0] <= columns["Total"][0]
    assert abs(sum(percent for _, percent in kernels) - columns["Sum"][1]) < 0.1


def test_nodes_of_the_debug_executor():
    x = relay.var("x", shape=(2,))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
    m = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu())
    with pytest.raises(RuntimeError, match="did not run yet"):
        m.get_node_output(1, 0)
    assert m.execute_node(1).numpy().tolist() == [1, 1]
    m.run(number=1)
    assert m.get_output(0).numpy().tolist() == [1, 1]
    m.share_params(m, relay.save_param_dict({"x": tvm.nd.array([1.0, 2.0])}))
    assert m.get_input("x").numpy().tolist() == [0, 0]  # the value that the other one has of it


if __name__ == "__main__":
    pytest.main([__file__])
