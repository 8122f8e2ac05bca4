"""Functions of code generators of others: outlining, inlining, and the whole way to a run."""

import sys
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import transform

sys.path.insert(0, str(Path(__file__).parent))
from partition_helpers import SHAPE, tensor, module, supports, partitioned, external, count, run, same_numbers, merged, relu_of  # noqa: E402

# ---- Functions of code generators -------------------------------------------------------------------------------------------------


def inner_function(symbol="q_0"):
    y = tensor("y")
    func = relay.Function([y], relay.exp(y), relay.TensorType(SHAPE))
    return func.with_attr("Compiler", "q").with_attr("global_symbol", symbol)


def test_outlining():
    mod = transform.OutlineCompilerFunctionsWithExistingGlobalSymbols("q")(transform.InferType()(module(relay.Call(inner_function(), [tensor("x")]))))
    assert mod["main"].body.op.name_hint == "q_0" and count(mod["q_0"], "exp") == 1


def test_outlining_of_another_code_generator():
    mod = transform.OutlineCompilerFunctionsWithExistingGlobalSymbols("other")(transform.InferType()(module(relay.Call(inner_function(), [tensor("x")]))))
    assert isinstance(mod["main"].body.op, relay.Function)


def test_extern():
    mod = transform.OutlineCompilerFunctionsWithExistingGlobalSymbols()(transform.InferType()(module(relay.Call(inner_function(), [tensor("x")]))))
    attrs = transform.MarkCompilerFunctionsAsExtern("q")(mod)["q_0"].attrs
    assert list(attrs.keys()) == ["Extern"] and int(attrs["Extern"]) == 1


def test_inlining_gives_the_program_back():
    before = transform.InferType()(module(relay.sqrt(relay.nn.relu(tensor("x") + tensor("y")))))
    after = partitioned(merged(before, [("q1.f", relu_of("add"))]), "q1")
    back = transform.InlineCompilerFunctionsBoundTo([after.get_global_var(name) for name in external(after)])(after)
    tvm.ir.assert_structural_equal(transform.InferType()(back)["main"], before["main"])


# ---- The whole way ----------------------------------------------------------------------------------------------------------------


def test_code_generator_in_python():
    seen = []

    @tvm.register_func("relay.ext.w1", override=True)
    def generate(func):
        seen.append(func)
        return lambda x, y: np.maximum(x + y, 0)

    before = module(relay.sqrt(relay.nn.relu(tensor("x") + tensor("y"))))
    after = partitioned(merged(before, [("w1.add_relu", relu_of("add"))]), "w1")
    data = np.arange(6, dtype="float32").reshape(SHAPE)
    lib = relay.build(after, target="llvm")
    graph = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    graph.run(x=data, y=data)
    np.testing.assert_allclose(graph.get_output(0).numpy(), np.sqrt(2 * data), rtol=1e-6)
    assert seen[0].body.op.attrs["Composite"] == "w1.add_relu"


def test_no_code_generator_of_the_name():
    before = module(relay.exp(relay.tanh(tensor("x"))))
    with supports("w2", "exp", "tanh"):
        after = partitioned(before, "w2")
    for kind in ("vm", "graph"):
        with pytest.raises(tvm.TVMError, match="Failed to find the codegen tool for relay.ext.w2: @tvmgen_default_w2_main_0"):
            relay.create_executor(kind, mod=after, target="llvm").evaluate()


def convolution():
    x, w, b = tensor("x", (1, 3, 8, 8)), tensor("w", (4, 3, 3, 3)), tensor("b", (4,))
    y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w, padding=(1, 1)), b))
    return module(relay.exp(relay.nn.max_pool2d(y, (2, 2), (2, 2))), [x, w, b])


def test_partition_for_dnnl():
    after = relay.op.contrib.dnnl.partition_for_dnnl(convolution())
    (func,) = external(after).values()
    assert func.attrs["Compiler"] == "dnnl" and count(func, "nn.conv2d") == 1 and count(after["main"], "nn.conv2d") == 0


def test_partition_for_dnnl_computes_the_same():
    before = convolution()
    same_numbers(before, relay.op.contrib.dnnl.partition_for_dnnl(before), (1, 3, 8, 8), (4, 3, 3, 3), (4,))


def test_partition_for_dnnl_with_constant_weights():
    x, w, b = tensor("x", (1, 8, 14, 14)), np.random.rand(16, 8, 3, 3).astype("float32"), np.random.rand(16).astype("float32")
    y = relay.nn.conv2d(x, relay.const(w), kernel_size=(3, 3), channels=16, padding=(1, 1))
    before = module(relay.nn.relu(relay.nn.bias_add(y, relay.const(b))), [x])
    after = relay.op.contrib.dnnl.partition_for_dnnl(before)
    assert len(external(after)) == 1
    same_numbers(before, after, (1, 8, 14, 14))


def test_functions_without_a_product_go_back():
    assert external(relay.op.contrib.dnnl.partition_for_dnnl(module(relay.exp(tensor("x"))))) == {}
    assert len(external(relay.op.contrib.dnnl.partition_for_dnnl(module(relay.exp(tensor("x"))), prune_subgraphs=False))) == 1


def test_calibration_data():
    with supports("w3", "exp"):
        after = partitioned(module(relay.sqrt(relay.exp(tensor("x")))), "w3")
    data = np.ones(SHAPE, "float32")
    (found,) = relay.analysis.get_calibration_data(after, {"x": data}).values()
    np.testing.assert_allclose(np.asarray(found["inputs"][0].numpy()), data)
    np.testing.assert_allclose(np.asarray(found["outputs"][0].numpy()), np.exp(data), rtol=1e-6)


def test_calibration_data_without_a_value():
    with supports("w4", "exp"):
        after = partitioned(module(relay.exp(tensor("x"))), "w4")
    with pytest.raises(ValueError, match="%x has no value"):
        relay.analysis.get_calibration_data(after, {})
