"""Errors for names that are none, texts of arrays and types, and facts about passes, operators and targets, as scripts of TVM ask them."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.driver.tvmc import TVMCException, frontends
from tvm.driver.tvmc.shape_parser import parse_shape_string


def test_names_that_a_module_does_not_have():
    mod = tvm.IRModule()
    for find in (lambda: mod["f"], lambda: mod.get_global_var("f"), lambda: mod.get_global_type_var("T"), lambda: mod.get_type("T")):
        for kind in (ValueError, KeyError):
            with pytest.raises(kind, match="^the module has no"):
                find()
    assert isinstance(mod.functions, tvm.ir.Map) and not isinstance([], tvm.ir.Map)


def test_texts_of_arrays_and_types():
    array = tvm.nd.array(np.ones((2, 3), "float32"))
    assert repr(array).startswith("<tvm.nd.NDArray shape=(2, 3), cpu(0)>\narray(") and str(array) == str(array.numpy())
    assert relay.TensorType((1, relay.Any()), "int8").astext() == '#[version = "0.0.5"]\nTensor[(1, ?), int8]'


def test_an_instrument_may_have_a_name():
    @tvm.ir.instrument.pass_instrument
    class Named:
        def __init__(self, name=None):
            if name is not None:
                self.name = name

        def run_before_pass(self, mod, info):
            pass

    assert Named("mine").name == "mine" and Named().name == "Named"


def test_facts():
    assert tvm.transform.PassContext.list_configs()["relay.FuseOps.max_depth"]["type"] == "IntImm"
    assert relay.op.get("nn.conv2d").attrs_type_key == "relay.attrs.Conv2DAttrs" and relay.op.get("log").attrs_type_key == ""


def test_options_of_targets_and_names_of_products():
    with pytest.raises(ValueError, match="targets llvm have no option 'mcpus'; did you mean mcpu?"):
        tvm.target.Target("llvm -mcpus=x")
    with pytest.raises(ValueError, match="targets llvm have no option 'no_such'$"):
        tvm.target.Target({"kind": "llvm", "no_such": 1})
    assert tvm.target.Target("llvm -link-params=1 -num-cores=2 -fast-math").kind.name == "llvm"
    assert tvm.target.list_tags()["raspberry-pi/4b-aarch64"].kind.name == "llvm"


def test_formats_and_extents_of_tvmc():
    assert frontends.guess_frontend("a.onnx").name() == "onnx" and frontends.get_frontend_by_name("keras").suffixes() == ["h5"]
    for call in (lambda: frontends.get_frontend_by_name("other"), lambda: frontends.guess_frontend("a.other"), lambda: frontends.guess_frontend("a.tflite").load("a.tflite")):
        with pytest.raises(TVMCException, match="the formats are onnx, relay, and other systems export ONNX"):
            call()
    extent, size = parse_shape_string("x:[-1,3]")["x"]
    assert isinstance(extent, relay.Any) and size == 3
