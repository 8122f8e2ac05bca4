"""Modules of `tvm.driver.tvmc` that scripts take functions of."""

import argparse
import json

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.driver import tvmc
from tvm.driver.tvmc import TVMCException, TVMCModel, TVMCResult, pass_config, pass_list, result_utils, target, transform


def model():
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    return TVMCModel(tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))), {"w": tvm.nd.array(np.ones((3, 4), "float32"))})


@pytest.mark.parametrize("text, found", [
    ("llvm", [("llvm", {})]), ("llvm -mcpu=skylake-avx512", [("llvm", {"mcpu": "skylake-avx512"})]),
    ("llvm -mattr=+avx2,+fma -device=arm_cpu", [("llvm", {"mattr": "+avx2,+fma", "device": "arm_cpu"})]), ("llvm --system-lib", [("llvm", {"system-lib": True})]),
    ("foo -opt1=\"a, b\" --flag, llvm -libs='x y'", [("foo", {"opt1": "a, b", "flag": True}), ("llvm", {"libs": "x y"})]),
    ("foo,llvm", [("foo", {}), ("llvm", {})]), ("cuda -arch=sm_60, llvm", [("cuda", {"arch": "sm_60"}), ("llvm", {})]),
])  # fmt: skip
def test_a_target_is_taken_apart(text, found):
    parts = target.parse_target(text)
    assert [(part["name"], part["opts"]) for part in parts] == found
    assert [part["is_tvm_target"] for part in parts] == [name != "foo" for name, _ in found]
    assert all(part["raw"].split(" ")[0] == part["name"] for part in parts)


@pytest.mark.parametrize("text, said", [
    ("llvm -mcpu", "Error when parsing '-mcpu'"), ("llvm,", "names no code generator at one place"), ("", "names no code generator"), ("foo", "No available targets"),
    ("llvm, c, cuda", "Only two of the following targets can be used at a time. Found: llvm, c, cuda."), ("llvm -mcpuu=x", "cannot be read"), ('{"kind": 3}', "cannot be read"),
])  # fmt: skip
def test_targets_that_cannot_be_read(text, said):
    with pytest.raises(TVMCException) as caught:
        target.target_from_cli(text)
    assert said in str(caught.value)


def test_targets_of_words_json_and_files(tmp_path):
    made, others = target.target_from_cli("foo --x, llvm -mcpu=haswell", {"llvm": {"num_cores": 2}})
    assert made.kind.name == "llvm" and made.mcpu == "haswell" and made.attrs["num-cores"] == 2 and [other["name"] for other in others] == ["foo"]
    assert target.target_from_cli("cuda, llvm")[0].host.kind.name == "llvm"
    assert target.target_from_cli('{"kind": "llvm", "mcpu": "haswell"}')[0].mcpu == "haswell"
    path = tmp_path / "target.json"
    path.write_text(json.dumps({"kind": "llvm", "mcpu": "skylake"}))
    assert target.target_from_cli(str(path))[0].mcpu == "skylake" and target.is_inline_json("{}") and not target.is_inline_json("llvm")
    with pytest.raises(TVMCException, match="did not specify c target"):
        target.target_from_cli("llvm", {"c": {"mcpu": "x"}})
    words = argparse.Namespace(target_llvm_mcpu="haswell", target_llvm_mattr=None, target_c_model="m", other=1)
    assert target.reconstruct_target_args(words) == {"llvm": {"mcpu": "haswell"}, "c": {"model": "m"}}


def test_a_package_has_the_graph_of_what_was_compiled(tmp_path):
    package = tvmc.compile(model(), target="llvm", package_path=str(tmp_path / "m.tar"))
    assert json.loads(package.graph)["nodes"][0]["name"] == "x" and package.executor_type == "graph"
    assert tvmc.TVMCPackage(str(tmp_path / "m.tar")).graph is None
    machine = tvmc.compile(model(), target="llvm", use_vm=True)
    assert machine.graph is None and machine.executor_type == "vm"


def test_the_best_classes():
    result = TVMCResult({"output_0": np.array([[0.1, 0.7, 0.2, 0.0]])}, None)
    np.testing.assert_array_equal(result_utils.get_top_results(result, 2), [[1, 2], [0.7, 0.2]])
    assert result_utils.get_top_results(result).shape == (2, 4) and result_utils.get_top_results(result, 0).shape == (2, 0)


def test_changes_of_a_model():
    mod = relay.transform.InferType()(model().mod)
    half = transform.convert_to_mixed_precision(mod)
    assert half["main"].body.checked_type.dtype == "float16"
    assert transform.convert_to_mixed_precision(mod, ["nn.relu"])["main"].body.op.name == "nn.relu"
    assert transform.apply_graph_transforms(mod, {"mixed_precision": True})["main"].body.checked_type.dtype == "float16"
    assert transform.apply_graph_transforms(mod, None) is mod
    with pytest.raises(TVMCException, match="there is no operator nn.none"):
        transform.convert_to_mixed_precision(mod, ["nn.none"])
    with pytest.raises(AttributeError, match="there is no operator nn.none"):
        transform.MixedPrecision(["nn.dense", "nn.none"]).__enter__()
    assert relay.op.get("nn.dense").get_attr("FTVMMixedPrecisionConversionType").__name__ == "nn_dense_precision"
    x, w = relay.var("x", shape=(1, 2, 8, 8)), relay.var("w", shape=(3, 2, 3, 3))
    conv = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.conv2d(x, w)))
    assert 'data_layout="NHWC"' in transform.apply_graph_transforms(conv, {"desired_layout": "NHWC", "desired_layout_ops": ["nn.conv2d"]}).astext()


def test_lists_and_settings_of_passes():
    assert pass_list.parse_pass_list_str("FoldConstant,tir.UnrollLoop,") == ["FoldConstant", "tir.UnrollLoop"]
    with pytest.raises(argparse.ArgumentTypeError, match="no pass is called FoldConstants"):
        pass_list.parse_pass_list_str("FoldConstants,InferType")
    assert pass_config.parse_configs(["relay.FuseOps.max_depth=8"]) == {"relay.FuseOps.max_depth": 8}


def test_a_model_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="there is no model at /nowhere/model.onnx"):
        tvmc.load("/nowhere/model.onnx")
