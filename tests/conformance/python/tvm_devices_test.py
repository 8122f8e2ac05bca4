"""Virtual devices, settings of builds, kinds of targets, and what the debug executor knows of a graph."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.contrib.debugger import debug_executor
from tvm.contrib.debugger.debug_result import DebugResult


def test_devices_of_calls_are_virtual_devices():
    x = relay.var("x", shape=(2,))
    device = relay.annotation.on_device(x, "cuda").attrs.virtual_device
    assert (device.device_type_int, device.virtual_device_id, device.target, device.memory_scope) == (2, 0, None, "")
    assert device == "cuda(0)" and isinstance(device, tvm.target.VirtualDevice)
    copy = relay.op.device_copy(x, tvm.cuda(1), tvm.target.VirtualDevice(tvm.cpu(0)))
    assert copy.attrs.src_virtual_device.virtual_device_id == 1 and copy.attrs.dst_virtual_device.device_type == 1
    assert relay.op.annotation.on_device is relay.annotation.on_device and relay.device_copy is relay.op.device_copy
    for call in (lambda: relay.annotation.on_device(x, "bogus"), lambda: relay.device_copy(x, "bogus", "cpu")):
        with pytest.raises(ValueError, match="no device type is called 'bogus'"):
            call()


LIBRARY = (pathlib.Path(__file__).resolve().parents[3] / "relay" / "runtime" / "device.cpp").read_text()


@pytest.mark.parametrize("kind", re.findall(r'\{DeviceType::\w+, "(\w+)"\}', LIBRARY))
def test_every_kind_of_the_library_has_a_number(kind):
    assert tvm.runtime.Device.MASK2STR[tvm.device(kind).device_type] == kind and str(tvm.device(kind, 1)) == f"{kind}(1)"
    call = relay.parse_expr(f'fn (%x: Tensor[(2), float32]) {{ on_device(%x, virtual_device="{kind}(1)") }}').body
    found = call.attrs.virtual_device
    assert found == f"{kind}(1)" and (found.device_type, found.virtual_device_id) == (tvm.device(kind).device_type, 1)
    assert tvm.ir.structural_equal(call.attrs, call.attrs) and relay.annotation.on_device(call.args[0], kind).attrs.virtual_device == f"{kind}(0)"


@pytest.mark.parametrize("text", ["bogus(0)", "cuda(x)", "(", "cuda("])
def test_texts_that_are_no_devices_stay(text):
    attrs = relay.Function([], relay.const(1)).with_attr("virtual_device", text).attrs  # attributes of functions are not checked
    assert attrs.virtual_device == attrs["virtual_device"] == attrs.get("virtual_device") == text
    assert getattr(attrs, "virtual_device", None) == text and tvm.ir.structural_equal(attrs, attrs)


def test_a_value_for_attributes_that_are_not_there():
    attrs = relay.nn.softmax(relay.var("x", shape=(2,)), axis=0).attrs
    assert attrs.get("nope", default=5) == attrs.get("nope", 5) == 5 and attrs.get("axis", default=5) == 0


def test_virtual_devices_compare_by_what_they_say():
    make = tvm.target.VirtualDevice
    assert make(tvm.cpu(1), "llvm", "global") == make(tvm.cpu(1), tvm.target.Target("llvm"), "global") != make(tvm.cpu(1), "llvm")
    assert tvm.ir.structural_equal(make(tvm.cpu()), make(tvm.cpu())) and not tvm.ir.structural_equal(make(tvm.cpu()), make(tvm.cpu(1)))
    assert tvm.ir.structural_hash(make(tvm.cpu())) == tvm.ir.structural_hash(make(tvm.cpu()))
    assert tvm.ir.structural_equal({"t": tvm.target.Target("llvm")}, {"t": tvm.target.Target("llvm")})
    assert repr(make(tvm.cpu(1), "llvm")) == "VirtualDevice(device_type=1, virtual_device_id=1, target=llvm -keys=cpu)"
    with pytest.raises(TypeError, match="object is not part of a program"):
        tvm.ir.structural_equal(object(), object())


def test_settings_of_a_build():
    config = tvm.target.make_compilation_config(tvm.transform.PassContext(), tvm.target.Target("llvm"))
    assert [target.kind.name for target in config.primitive_targets] == ["llvm"] and config.optional_homogeneous_target == tvm.target.Target("llvm")
    assert config.default_primitive_virtual_device.device_type == config.host_virtual_device.device_type == 1
    assert config.host_target.kind.name == "llvm"
    several = tvm.target.make_compilation_config(tvm.transform.PassContext(), ["llvm", "cuda"])
    assert len(several.primitive_targets) == 2 and several.optional_homogeneous_target is None


def test_options_of_kinds():
    kind = tvm.target.target.TargetKind
    assert "mcpu" in kind.options_from_name("llvm") and tvm.target.Target("llvm").kind.options == kind.options_from_name("llvm")
    with pytest.raises(ValueError, match="no target kind is called 'bogus'"):
        kind.options_from_name("bogus")


def built():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.exp(relay.nn.dense(x, w))))
    return relay.build(mod, "llvm", params={"w": np.ones((4, 3), "float32")})


def test_functions_of_what_build_gives():
    lib = built()
    assert lib.type_key == "GraphExecutorFactory" and lib["get_graph_json"]() == lib.get_graph_json() and list(lib["get_graph_params"]()) == ["w"]
    for create in (graph_executor.create, debug_executor.create):
        with pytest.raises(ValueError, match="a graph is text of JSON, not int"):
            create(123, lib.get_lib(), tvm.cpu())


def test_parameters_are_shared():
    lib, zeros = built(), relay.save_param_dict({"w": np.zeros((4, 3), "float32")})
    first, second = (graph_executor.GraphModule(lib["default"](tvm.cpu())) for _ in range(2))
    first.load_params(zeros)
    second.share_params(first, zeros)
    second.run(x=np.ones((2, 3), "float32"))
    np.testing.assert_array_equal(second.get_output(0).numpy(), np.ones((2, 4), "float32"))


def test_parameters_are_shared_all_or_none():
    x, w, v = (relay.var(name, shape=(2,)) for name in "xwv")
    wide = tvm.IRModule.from_expr(relay.Function([x, w, v], x + w * v))
    narrow = tvm.IRModule.from_expr(relay.Function([x, w], x + w))
    mine, other = (graph_executor.GraphModule(relay.build(mod, "llvm")["default"](tvm.cpu())) for mod in (wide, narrow))
    ones, zeros = np.ones(2, "float32"), np.zeros(2, "float32")
    mine.set_input(w=ones, v=ones)
    other.set_input(w=zeros)
    with pytest.raises((KeyError, ValueError), match="'v'"):
        mine.share_params(other, relay.save_param_dict({"w": zeros, "v": zeros}))
    np.testing.assert_array_equal(mine.get_input("w").numpy(), ones)


def test_the_graph_of_a_debug_executor(tmp_path, capsys):
    lib = built()
    module = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu(), str(tmp_path))
    datum = module.debug_datum
    nodes = datum.get_graph_nodes()
    assert [node["op"] for node in nodes] == ["param", "param", "tvmgen_default_fused_nn_dense_exp"]
    assert nodes[2]["inputs"] == ["x", "p0"] and nodes[2]["shape"] == [2, 4] and nodes[2]["attrs"]["T"] == "type: float32"
    assert datum.get_graph_node_shapes() == [[2, 3], [4, 3], [2, 4]] and datum.get_graph_node_dtypes() == ["float32"] * 3
    assert [datum.get_graph_node_output_num(node) for node in nodes] == [1, 1, 1]
    with pytest.raises(RuntimeError, match="did not run yet"):
        datum.display_debug_result()
    module.run(x=np.zeros((2, 3), "float32"))
    outputs = datum.get_output_tensors()
    assert [name.split("____")[1:] for name in outputs] == [[f"topo-index:{i}", "output-num:0"] for i in range(3)]
    np.testing.assert_array_equal(outputs["tvmgen_default_fused_nn_dense_exp____topo-index:2____output-num:0"].numpy(), np.ones((2, 4), "float32"))
    datum.display_debug_result()
    assert "fused_nn_dense_exp" in capsys.readouterr().out
    (tmp_path / "_tvmdbg_device_CPU_0" / "output_tensors.params").unlink()
    datum.dump_output_tensor()
    datum.dump_graph_json({"nodes": []})
    assert (tmp_path / "_tvmdbg_device_CPU_0" / "output_tensors.params").exists()
    with pytest.raises(RuntimeError, match="no dump_root"):
        DebugResult(lib.get_graph_json(), None).dump_output_tensor()


def test_reports_name_kernels_as_tvm_does():
    module = debug_executor.create(built().get_graph_json(), built().get_lib(), tvm.cpu())
    report = module.profile(x=np.zeros((2, 3), "float32"))
    assert "fused_nn_dense_exp" in str(report) and "Hash" in report.csv().splitlines()[0]


def test_devices_of_a_function():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    function = relay.Function([x, y], x + y, relay.TensorType((2,)))
    made = relay.annotation.function_on_device(function, [tvm.cpu(0), tvm.target.VirtualDevice()], tvm.cuda(0))
    assert [param.name_hint for param in made.params] == ["x", "y"] and made.ret_type == relay.TensorType((2,))
    assert made.body.op.name == "on_device" and made.body.attrs.virtual_device.device_type_int == tvm.cuda(0).device_type and made.body.attrs.constrain_result
    first, second = made.body.args[0].args
    assert first.op.name == "on_device" and first.attrs.virtual_device.device_type_int == tvm.cpu(0).device_type and second.same_as(made.params[1])
    config = tvm.target.make_compilation_config(tvm.transform.PassContext(), ["cuda", "llvm"])
    with pytest.raises(tvm.TVMError, match=r"would have to be on cuda\(0\) and on cpu\(0\)"):
        relay.transform.PlanDevices(config)(tvm.IRModule.from_expr(made))
    alike = relay.annotation.function_on_device(function, ["cuda", tvm.cuda(0)], "cuda")
    assert "device_copy" not in relay.analysis.list_op_freqs(relay.transform.PlanDevices(config)(tvm.IRModule.from_expr(alike)))
    with pytest.raises(ValueError, match="the function has 2 parameters, and 1 devices were given"):
        relay.annotation.function_on_device(function, ["cpu"], "cpu")


def test_hashes_of_targets_and_devices_are_those_of_every_process():
    program = "import tvm; print(*(tvm.ir.structural_hash(each) for each in (tvm.target.Target('llvm -mcpu=skylake'), tvm.cpu(), tvm.target.VirtualDevice(tvm.cpu()))))"
    found = {subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True).stdout for seed in "12"}
    assert len(found) == 1 and len(set(found.pop().split())) == 3
