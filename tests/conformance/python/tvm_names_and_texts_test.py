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


def conv():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    return relay.nn.conv2d(x, w, padding=(1, 1), channels=4)


def test_attributes_have_the_members_of_nodes():
    attrs = conv().attrs
    assert attrs.channels.value == 4 and attrs["padding"][0].value == 1 and attrs.get("groups").value == 1 and dict(attrs.items())["strides"][1].value == 1
    assert attrs.get("none", 5) == 5 and attrs.data_layout == "NCHW"
    function = relay.Function([], relay.const(1)).with_attr({"one": 1, "words": ["a"], "flag": True})
    assert function.attrs["one"].value == 1 and function.attrs["words"][0] == "a" and function.attrs["flag"] is True
    assert tvm.runtime.convert([1, {"a": 2}])[1]["a"].value == 2
    assert tvm.ir.structural_equal(relay.nn.conv2d(*conv().args, **dict(attrs)), conv(), map_free_vars=True)


def test_fields_of_attributes():
    fields = {field.name: field for field in conv().attrs.list_field_info()}
    assert fields["dilation"].description and fields["groups"].type_info == "int"
    assert relay.Function([], relay.const(1)).with_attr("one", 1).attrs.list_field_info() == []


def test_attributes_as_classes():
    kinds = relay.op.op_attrs
    assert isinstance(conv().attrs, kinds.Conv2DAttrs) and not isinstance(conv().attrs, kinds.SoftmaxAttrs) and not isinstance(3, kinds.Conv2DAttrs)
    with pytest.raises(AttributeError, match="NoSuchAttrs"):
        kinds.NoSuchAttrs


def test_documents_keep_types_and_targets():
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(conv()))
    assert tvm.ir.load_json(tvm.ir.save_json(mod))["main"].checked_type == mod["main"].checked_type
    with pytest.raises(ValueError, match="checked_type is there after InferType"):
        tvm.ir.load_json(tvm.ir.save_json(tvm.IRModule.from_expr(conv())))["main"].checked_type
    target = tvm.target.Target("llvm -mcpu=skylake", host="llvm")
    assert str(tvm.ir.load_json(tvm.ir.save_json(target))) == str(target)
    assert tvm.testing.echo(target) is target


def test_errors_are_of_the_classes_that_scripts_catch():
    for call in (lambda: relay.build("no module", "llvm"), lambda: relay.optimize("no module", "llvm")):
        for kind in (TypeError, ValueError):
            with pytest.raises(kind, match="a build takes an IRModule or a function, not str"):
                call()
    with pytest.raises(RuntimeError, match="unknown execution strategy: none; there are debug, graph, vm and aot"):
        relay.create_executor("none")
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x := relay.var("x", shape=(2,))], relay.exp(x))), "llvm")
    with pytest.raises(RuntimeError, match="the program has no input 'nobody'"):
        tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu())).set_input("nobody", np.zeros(2, "float32"))


def test_optimize_puts_operators_into_kernels():
    mod, _ = relay.optimize(tvm.IRModule.from_expr(conv()), "llvm")
    assert "Primitive=1" in mod.astext()
