"""The answers of `relay.build` about a program: its graph, values of nodes, kernels and instructions; and passes of scripts around it."""

import json

import numpy as np
import pytest

import tvm
from tvm import relay, te, tir
from tvm.arith import Analyzer, ConstIntBound
from tvm.contrib.debugger import debug_executor
from tvm.relay.analysis.operations_distribution import analyze_operations_distribution
from tvm.relay.dataflow_pattern import is_op, wildcard
from tvm.relay.transform.suffixes import SUFFIX_STRING, tag_suffixes


def network():
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    y = relay.nn.relu(relay.nn.dense(x, w))
    parts = relay.split(y, 3, axis=1)
    return tvm.IRModule.from_expr(relay.Function([x, w], relay.Tuple([relay.exp(parts[0]), relay.sum(y, axis=1)])))


X = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)
W = np.arange(12, dtype="float32").reshape(3, 4)


def test_graph():
    graph, _, _ = relay.build(network(), "llvm", params={"w": W})
    graph = json.loads(graph)
    assert set(graph) == {"nodes", "arg_nodes", "heads", "attrs", "node_row_ptr"}
    names = [node["name"] for node in graph["nodes"]]
    assert names[:3] == ["x", "p0", "tvmgen_default_fused_nn_dense_nn_relu"] and graph["arg_nodes"] == [0, 1]
    dense = graph["nodes"][2]
    assert dense["op"] == "tvm_op" and dense["inputs"] == [[0, 0, 0], [1, 0, 0]]
    assert dense["attrs"]["func_name"] == names[2] and dense["attrs"]["num_inputs"] == "2" and dense["attrs"]["num_outputs"] == "1"
    assert graph["attrs"]["shape"] == ["list_shape", [[2, 4], [3, 4], [2, 3], [2, 1], [2]]]
    assert graph["attrs"]["dltype"][1] == ["float32"] * 5 and graph["node_row_ptr"] == [0, 1, 2, 3, 4, 5]
    assert graph["heads"] == [[3, 0, 0], [4, 0, 0]]


def test_graph_of_several_results():
    x = relay.var("x", shape=(4, 4))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.split(x, 2).astuple())), "llvm")
    graph = json.loads(lib.get_graph_json())
    assert graph["heads"] == [[1, 0, 0], [1, 1, 0]] and graph["nodes"][1]["attrs"]["num_outputs"] == "2" and graph["node_row_ptr"] == [0, 1, 3]


def test_graph_of_equal_kernels():
    x, w = relay.var("x", shape=(4, 4)), relay.var("w", shape=(4, 4))
    graph = json.loads(relay.build(tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(relay.nn.dense(x, w), w))), "llvm").get_graph_json())
    assert [node["name"] for node in graph["nodes"][2:]] == ["tvmgen_default_fused_nn_dense", "tvmgen_default_fused_nn_dense_1"]
    assert {node["attrs"]["func_name"] for node in graph["nodes"][2:]} == {"tvmgen_default_fused_nn_dense"}


def test_graph_with_control_flow_is_one_node():
    text = '#[version = "0.0.5"]\ndef @main(%c: bool, %x: float32) { if (%c) { %x } else { exp(%x) } }'
    graph = json.loads(relay.build(tvm.relay.parse(text), "llvm").get_graph_json())
    assert [node["op"] for node in graph["nodes"]] == ["null", "null", "tvm_op"] and graph["heads"] == [[2, 0, 0]]


def test_graph_of_a_long_chain():
    x = relay.var("x", shape=(2,))
    y = x
    for _ in range(3000):
        y = relay.annotation.stop_fusion(relay.exp(y))
    assert len(json.loads(relay.build(tvm.IRModule.from_expr(relay.Function([x], y)), "llvm").get_graph_json())["nodes"]) >= 1000


def test_values_of_nodes():
    lib = relay.build(network(), "llvm", params={"w": W})
    module = debug_executor.create(lib.get_graph_json(), lib, tvm.cpu())
    assert not module.debug_get_output(0).numpy().any()
    module.set_input("x", X)
    np.testing.assert_allclose(module.debug_get_output("tvmgen_default_fused_nn_dense_nn_relu").numpy(), np.maximum(X @ W.T, 0), rtol=1e-5)
    np.testing.assert_allclose(module.debug_get_output(0).numpy(), X)
    out = tvm.nd.empty((2,))
    module.debug_get_output(4, out)
    np.testing.assert_allclose(out.numpy(), np.maximum(X @ W.T, 0).sum(1), rtol=1e-5)
    for wrong in ("none", 5, -1):
        with pytest.raises(ValueError, match="node"):
            module.debug_get_output(wrong)


def test_values_of_nodes_of_a_file(tmp_path):
    relay.build(network(), "llvm", params={"w": W}).export_library(str(tmp_path / "net.so"))
    module = debug_executor.GraphModuleDebug(tvm.runtime.load_module(str(tmp_path / "net.so"))["default"](tvm.cpu()), tvm.cpu())
    with pytest.raises(RuntimeError, match="a program from a file has no functions of nodes"):
        module.debug_get_output(0)


def test_kernels_and_instructions():
    program = relay.vm.compile(network(), "llvm")
    assert program.primitive_ops and all(isinstance(name, str) for name in program.primitive_ops)
    assert "@main" in program.bytecode and "return" in program.bytecode


def test_attributes_by_type_key():
    attrs = tvm.ir.make_node("relay.attrs.SoftmaxAttrs", axis=1)
    assert attrs.axis == 1 and tvm.ir.structural_equal(attrs, relay.nn.softmax(relay.var("x", shape=(2, 3)), axis=1).attrs)
    for key, values in (("relay.attrs.NoAttrs", {}), ("relay.attrs.SoftmaxAttrs", {"axes": 1})):
        with pytest.raises((ValueError, TypeError, tvm.TVMError)):
            tvm.ir.make_node(key, **values)


def convolutions():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(3, 3, 3, 3))
    first = relay.nn.conv2d(x, w, padding=(1, 1))
    return relay.Function([x, w], relay.nn.conv2d(relay.nn.relu(first), w, padding=(1, 1)))


def test_recast():
    made = relay.transform.recast(convolutions(), "int8", "int32", skip_layers=[0])
    last = made.body
    assert last.op.name == "cast" and last.attrs.dtype == "float32"
    conv = last.args[0]
    assert conv.attrs.out_dtype == "int32" and [arg.attrs.dtype for arg in conv.args] == ["int8", "int8"] and tuple(conv.attrs.padding)[:2] == (1, 1)
    assert relay.testing.count_ops(made)["cast"] == 3
    tvm.ir.assert_structural_equal(relay.transform.recast(convolutions(), "int8", "int32", skip_layers=[-2]), made)


def test_recast_of_a_module_and_an_expression():
    mod = relay.transform.recast(tvm.IRModule.from_expr(convolutions()), "float16", "float16")
    assert relay.testing.count_ops(mod["main"])["cast"] == 6
    x = relay.var("x", shape=(2, 4))
    assert relay.testing.count_ops(relay.transform.recast(relay.nn.dense(x, x), "float16", "float16", ops=["nn.dense"]))["cast"] == 3


@pytest.mark.parametrize(
    ("arguments", "kind", "match"),
    [
        ({"ops": ["nn.conv9"]}, AttributeError, "nn.conv9"),
        ({"skip_layers": [2]}, IndexError, "layer 2 of 2"),
        ({"ops": ["split"]}, ValueError, "split gives several results"),
    ],
)
def test_recast_of_what_is_not_there(arguments, kind, match):
    found = convolutions()
    function = relay.Function(found.params, relay.split(found.body, 3, axis=1)[0])
    with pytest.raises(kind, match=match):
        relay.transform.recast(function, "int8", "int32", **arguments)


def test_recast_of_operators_without_out_dtype_and_of_tuples():
    x, y = relay.var("x", shape=(2, 4)), relay.var("y", shape=(2, 4))
    for joined in (relay.Tuple([x, y]), relay.split(relay.add(x, y), 2, axis=1).astuple()):
        made = relay.transform.recast(relay.nn.relu(relay.concatenate(joined, axis=1)), "float16", "float32", ops=["concatenate", "nn.relu"])
        typed = relay.transform.InferType()(tvm.IRModule.from_expr(made))["main"].body
        assert typed.attrs.dtype == "float32" and typed.args[0].op.name == "nn.relu" and typed.args[0].checked_type.dtype == "float16"
        back = typed.args[0].args[0].args[0]  # relu reads a cast of what concatenate gives, cast back
        assert back.attrs.dtype == "float32" and [field.op.name for field in back.args[0].args[0].fields] == ["cast", "cast"]
    nested = relay.Function([x], relay.Tuple([x]))
    assert relay.testing.count_ops(relay.transform.recast(nested, "float16", "float32", ops=["nn.relu"])) == {}


def test_calls_are_found_again_after_partitioning():
    mod = tvm.relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) { nn.softmax(nn.relu(exp(%x) + %x)) }')
    tagged = relay.transform.InferType()(tag_suffixes(mod))
    table = [("q.f", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))]
    passes = [relay.transform.MergeComposite(table), relay.transform.AnnotateTarget(["q"]), relay.transform.MergeCompilerRegions(), relay.transform.PartitionGraph()]
    found = analyze_operations_distribution(tvm.transform.Sequential(passes)(tagged))
    assert len(found) == 4 and all(SUFFIX_STRING in name for name in found)
    rows = [row for _, row in sorted(found.items())]
    assert [row[:2] for row in rows] == [["generic", "generic"], ["q", "q.f"], ["q", "q.f"], ["generic", "generic"]]
    assert rows[1][2] == rows[2][2] and len({row[2] for row in rows}) == 3


N, M = te.var("n"), te.var("m")


def test_terms():
    analyzer = Analyzer()
    assert analyzer.can_prove_equal((N + 1) * (N - 1), N * N - 1) and not analyzer.can_prove_equal(N, M)
    assert str(analyzer.simplify(N * 4 // 2)) == "2 * n" and analyzer.simplify(7) == 7 and analyzer.can_prove(N + N == 2 * N)
    assert (analyzer.modular_set(N * 4 + 3).coeff, analyzer.modular_set(N * 4 + 3).base) == (4, 3)


@pytest.mark.parametrize(
    ("term", "low", "high"),
    [
        (N * 2 + 3, 3, ConstIntBound.POS_INF), ((N + 3) % 4, 0, 3), (tir.max(N, M) * -1 + 2, ConstIntBound.NEG_INF, 2), (tir.min(N, 5), 0, 5),
        (N // 3, 0, ConstIntBound.POS_INF), (5, 5, 5), (N * M, 0, ConstIntBound.POS_INF), (N - M, ConstIntBound.NEG_INF, ConstIntBound.POS_INF),
    ],
)  # fmt: skip
def test_bounds_of_terms(term, low, high):
    assert Analyzer().const_int_bound(term) == ConstIntBound(low, high)


def test_names_with_values_and_bounds():
    analyzer = Analyzer()
    analyzer.bind(N, 8)
    assert str(analyzer.simplify(N * M + N // 3)) == "8 * m + 2" and analyzer.simplify(N % 3) == 2
    analyzer.update(M, ConstIntBound(2, 5))
    assert analyzer.const_int_bound(M * N - 1) == ConstIntBound(15, 39)
    assert analyzer.can_prove_greater_equal(M, 2) and analyzer.can_prove_less(M, 6) and not analyzer.can_prove_less(M, 5)
    with pytest.raises(ValueError, match="n is 8 already"):
        analyzer.bind(N, 9)
    with pytest.raises(TypeError, match="named extents"):
        analyzer.bind(3, 9)
    with pytest.raises(ValueError, match="between 2 and 5 already"):
        analyzer.update(M, ConstIntBound(0, 9))


def fused_plan(params, body):
    mod = tvm.IRModule.from_expr(relay.Function(params, body))
    for run in (relay.transform.InferType(), relay.transform.FuseOps(0), relay.transform.InferType()):
        mod = run(mod)
    plan = relay.backend._backend.GraphPlanMemory(mod["main"])
    return {storage: size for info in plan.expr_to_storage_info.values() for storage, size in zip(info.storage_ids, info.storage_sizes)}


def test_storage_of_another_size_is_taken_where_the_sizes_are_near():
    x, y, wide = relay.var("x", shape=(10,)), relay.var("y", shape=(1,)), relay.var("wide", shape=(20,))

    def after(first, count):
        for _ in range(count):
            first = relay.exp(first)
        return first

    # That of 4 bytes grows to 40, and that of 80 bytes serves for 40.
    assert fused_plan([x, y], after(relay.add(x, relay.exp(y)), 5)) == {0: 40, 1: 4, 2: 4, 3: 40}
    assert fused_plan([wide, x], after(relay.add(x, relay.sum(relay.exp(wide), keepdims=True)), 2)) == {0: 80, 1: 40, 2: 80, 3: 4}
    # 4 bytes are less than a sixteenth of 80.
    assert fused_plan([wide, y], after(relay.add(wide, relay.exp(y)), 3)) == {0: 80, 1: 4, 2: 4, 3: 80, 4: 80}


def test_the_workspace_of_a_graph():
    x = relay.var("x", shape=(16,))
    a = relay.sum(x, keepdims=True)
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(x * a))), "llvm")
    info = lib.function_metadata["__tvm_main__"]
    host = tvm.target.Target("llvm")
    assert info.io_sizes[host] == 128 and info.workspace_sizes[host] in (4, 64, 68)
    assert relay.build(tvm.IRModule.from_expr(relay.Function([x], x)), "llvm").function_metadata["__tvm_main__"].workspace_sizes[host] == 0
    mod = tvm.relay.parse('#[version = "0.0.5"] def @other(%y: float32) { exp(%y) } def @main(%x: float32) { @other(%x) }')
    built = relay.build(mod, "llvm").function_metadata
    for name, found in built.items():
        if name != "__tvm_main__":
            with pytest.raises(NotImplementedError, match="FunctionInfo.workspace_sizes is that of the graph"):
                print(found.workspace_sizes)


def test_functions_of_nodes():
    x, w, v = relay.var("x", shape=(4, 4)), relay.var("w", shape=(4, 4)), relay.var("v", shape=(8, 4))
    y = relay.nn.softmax(relay.nn.dense(relay.nn.softmax(relay.nn.dense(relay.nn.softmax(relay.nn.dense(x, w)), w)), v))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x, w, v], y)), "llvm")
    nodes = [node for node in json.loads(lib.get_graph_json())["nodes"] if node["op"] == "tvm_op"]
    dense = [node for node in nodes if "dense" in node["name"]]
    assert [node["name"] for node in dense] == [f"tvmgen_default_fused_nn_dense{end}" for end in ("", "_1", "_2")]
    # Nodes that call equal functions share one.
    assert [node["attrs"]["func_name"] for node in dense] == [f"tvmgen_default_fused_nn_dense{end}" for end in ("", "", "_1")]
    found, host = lib.function_metadata, tvm.target.Target("llvm")
    assert set(found) == {node["attrs"]["func_name"] for node in nodes} | {"__tvm_main__"}
    assert found["tvmgen_default_fused_nn_dense"].io_sizes[host] == 3 * 64
    assert found["tvmgen_default_fused_nn_dense_1"].io_sizes[host] == 64 + 128 + 128
    assert isinstance(found["tvmgen_default_fused_nn_softmax"].relay_primfuncs[host], relay.Function)
