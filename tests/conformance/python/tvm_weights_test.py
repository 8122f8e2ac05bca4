"""Weights that `relay.build` made constants of, replaced afterwards by `set_input` and `load_params`."""

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import graph_executor

X = np.arange(4, dtype="float32").reshape(2, 2)
EYE = np.eye(2, dtype="float32")


def built():
    x, w, b = relay.var("x", shape=(2, 2)), relay.var("w"), relay.var("b", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x, w, b], relay.nn.dense(x, w) + b))
    return relay.build(mod, "llvm", params={"w": EYE, "b": np.ones(2, "float32")})


@pytest.fixture
def module():
    made = graph_executor.GraphModule(built()["default"](tvm.cpu()))
    made.set_input("x", X)
    return made


def result(module):
    module.run()
    return module.get_output(0).numpy()


def saved(**params):
    return relay.save_param_dict({name: tvm.nd.array(value) for name, value in params.items()})


def test_load_params_replaces_weights(module):
    np.testing.assert_array_equal(result(module), X + 1)
    module.load_params(saved(w=np.zeros((2, 2), "float32")))
    np.testing.assert_array_equal(module.get_input("w").numpy(), 0 * EYE)
    np.testing.assert_array_equal(result(module), np.ones((2, 2)))
    module.load_params(saved(b=np.zeros(2, "float32"), w=EYE))
    np.testing.assert_array_equal(result(module), X)


def test_set_input_replaces_weights_and_keeps_inputs(module):
    np.testing.assert_array_equal(module.get_input("w").numpy(), EYE)
    module.set_input(w=2 * np.eye(2))
    np.testing.assert_array_equal(result(module), 2 * X + 1)
    module.set_input("w", 3 * EYE)
    module.set_input("x", X + 1)
    np.testing.assert_array_equal(result(module), 3 * (X + 1) + 1)


def test_the_same_values_compile_nothing(module):
    program = module._program
    module.load_params(saved(w=EYE, b=np.ones(2, "float32")))
    np.testing.assert_array_equal(result(module), X + 1)
    assert module._program is program


def test_older_scripts_replace_weights_too():
    graph, lib, _ = built()
    module = graph_executor.create(graph, lib, tvm.cpu())
    module.set_input(x=X, w=5 * EYE)
    np.testing.assert_array_equal(result(module), 5 * X + 1)


def test_weights_that_do_not_fit(module):
    with pytest.raises(ValueError, match=r"the value of 'b' has shape \(2, 2\), what the program was built with has \(2,\)"):
        module.set_input("b", X)
    with pytest.raises(ValueError, match="the program has no input 'totally_wrong'; it has x$"):
        module.load_params(saved(totally_wrong=X))
    np.testing.assert_array_equal(result(module), X + 1)


def test_names_are_looked_at_before_anything_is_set(module):
    with pytest.raises(ValueError, match="no input 'other'"):
        module.set_input(w=2 * EYE, other=X)
    np.testing.assert_array_equal(result(module), X + 1)


def test_programs_from_files_keep_their_constants(tmp_path):
    path = str(tmp_path / "net.rlx")
    built().export_library(path)
    module = graph_executor.GraphModule(tvm.runtime.load_module(path)["default"](tvm.cpu()))
    with pytest.raises(ValueError, match="the value of 'w' is not the one that the program of this file has as a constant"):
        module.load_params(saved(w=2 * EYE))
