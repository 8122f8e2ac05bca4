"""The tools of one's own front ends: tables, converters, padding, recurrent cells; helpers with extents; tvmc; tuning; downloads."""

import os

import json

import numpy as np
import pytest

import tvm
import tvm.topi.testing
from tvm import auto_scheduler, autotvm, relay
from tvm.relay.frontend import common

RNG = np.random.default_rng(3)


def rand(*shape):
    return RNG.uniform(-1, 1, shape).astype("float32")


def run(expr, **values):
    free = relay.analysis.free_vars(expr)
    return relay.create_executor("debug").evaluate(relay.Function(free, expr))(*(values[v.name_hint] for v in free))


def test_attributes_of_text():
    attrs = common.StrAttrsDict({"kernel": "(3, 3)", "ratio": "0.5", "n": "4", "flag": "True", "pads": "((0, 1), (2, 3))", "s": "x", "f": "[1.5, 2]"})
    assert attrs.get_int_tuple("kernel") == (3, 3) and attrs.get_float("ratio") == 0.5 and attrs.get_int("n") == 4 and attrs.get_bool("flag")
    assert attrs.get_tuple_tuple_int("pads") == ((0, 1), (2, 3)) and attrs.get_str("s") == "x" and attrs.get_float_tuple("f") == (1.5, 2.0)
    assert attrs.get_int_list("kernel") == [3, 3] and attrs.get_int("none", 7) == 7 and not attrs.has_attr("none")
    with pytest.raises(AttributeError, match="Required attribute none not found"):
        attrs.get_int("none")


def test_converter_of_attributes():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    convert = common.AttrCvt(
        "conv2d", transforms={"kernel_shape": "kernel_size", "group": ("groups", 1), "stride": ("strides", 2, lambda s: (s, s))},
        ignores=["name"], excludes=["wings"], extras={"channels": 4}, custom_check=(lambda attrs: "bad" not in attrs, "bad is not allowed"),
    )  # fmt: skip
    call = convert([x, w], {"kernel_shape": (3, 3), "name": "c1"})
    assert call.op.name == "nn.conv2d" and [int(s) for s in call.attrs.strides] == [2, 2] and call.attrs.groups == 1 and call.attrs.channels == 4
    with pytest.raises(tvm.error.OpAttributeRequired, match="kernel_shape not found"):
        convert([x, w], {})
    with pytest.raises(tvm.error.OpAttributeUnImplemented, match="wings in operator conv2d is not supported"):
        convert([x, w], {"kernel_shape": (3, 3), "wings": 2})
    with pytest.raises(RuntimeError, match="bad is not allowed"):
        convert([x, w], {"bad": 1})
    with pytest.raises(tvm.error.OpNotImplemented, match="Unable to map op_name fly to relay"):
        common.get_relay_op("fly")
    assert common.Renamer("relu")([x], {}).op.name == "nn.relu" and common.get_relay_op("nn.dense") is relay.nn.dense


def test_table_of_expressions():
    table = common.ExprTable()
    weight = table.new_const(rand(2, 3))
    assert weight.name_hint == "_param_1" and table.params["_param_1"].shape == (2, 3)
    table.set_expr("a", weight)
    table.set_expr("a", relay.const(1.0))
    assert table.get_expr("a") is weight and table.has_expr("a")
    table.set_expr("a", relay.const(1.0), force_override=True)
    assert isinstance(table.get_expr("a"), relay.Constant)
    with pytest.raises(TypeError, match="b is no expression but int"):
        table.set_expr("b", 3)
    table.set_padding([1, 1])
    assert table.in_padding and table.paddings == [1, 1]
    table.clear_padding()
    assert not table.in_padding


def test_values_and_types():
    x = relay.var("x", shape=(2, 3))
    assert common.get_name(x) == "x" and common.get_name(relay.GlobalVar("main")) == "main" and common.get_name(relay.transpose(x)) == ""
    assert common.infer_shape(relay.transpose(x)) == (3, 2) and common.infer_channels(relay.var("w", shape=(8, 4, 3, 3))) == 8
    assert common.infer_value(x + x, {"x": np.ones((2, 3), "float32")}).numpy().sum() == 12
    assert common.infer_value_simulated(x, {}).numpy().sum() == 6
    assert common.try_infer_value(x)[1] is False and common.try_infer_value(relay.const(3) + relay.const(4), int) == (7, True)
    with pytest.raises(ValueError, match="%x has no value"):
        common.infer_value(x, {})
    assert isinstance(common.fold_constant(relay.const(1) + relay.const(2)), relay.Constant)
    assert common.shape_of(x).data.numpy().tolist() == [2, 3] and common.shape_of(x, start=1).data.numpy().tolist() == [3]
    y = relay.var("y", shape=(relay.Any(), 3))
    assert run(common.shape_of(y), y=rand(5, 3)).numpy().tolist() == [5, 3]
    parts = common.unbind(x, axis=1)
    assert len(parts) == 3 and common.infer_shape(parts[0]) == (2,)
    assert common.infer_shape(common.ensure_scalar_shape(relay.var("s", shape=(1, 1)))) == ()
    with pytest.raises(ValueError, match="is no scalar"):
        common.ensure_scalar_shape(x)
    assert isinstance(common.try_resolve_var_to_const(x, {"x": np.ones(2, "float32")}), relay.Constant) and common.try_resolve_var_to_const(x, {}) is x
    spanned = common.set_span(relay.exp(relay.const(1.0)), "layer1")
    assert spanned.span.source_name.name == "layer1" and spanned.args[0].span.source_name.name == "layer1" and common.set_span(x, None) is x
    assert common.to_int_list(np.array([1, 2])) == [1, 2]


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("known", [True, False])
def test_padding(mode, known):
    x = relay.var("x", shape=(1, 2, 7, 8) if known else (1, 2, relay.Any(), relay.Any()))
    data = rand(1, 2, 7, 8)
    padded = run(common.autopad(x, [2, 2], [3, 4], mode=mode), x=data).numpy()
    # 7 by 2 is 4 windows, which take 9 rows; 8 by 2 is 4, which take 10 columns.
    wanted = np.pad(data, [(0, 0), (0, 0), (1, 1), (1, 1)])
    np.testing.assert_array_equal(padded, wanted)
    odd = run(common.autopad(x, [1, 2], [2, 3], mode=mode), x=data).numpy()
    before = mode == "SAME_LOWER"
    np.testing.assert_array_equal(odd, np.pad(data, [(0, 0), (0, 0), (int(before), int(not before)), (int(before), int(not before))]))


def test_recurrent_cells():
    steps, batch, features, hidden = 4, 2, 3, 5
    xs, h0, c0 = rand(steps, batch, features), rand(batch, hidden), rand(batch, hidden)
    inputs = [relay.const(x) for x in xs]
    wi, wh, bi, bh = rand(4 * hidden, features), rand(4 * hidden, hidden), rand(4 * hidden), rand(4 * hidden)
    outputs, _, cell = common.lstm_cell(inputs, relay.const(h0), relay.const(c0), *(relay.const(w) for w in (wi, wh, bi, bh)))
    # The reference takes the gates in another order.
    order = lambda w: np.concatenate([np.split(w, 4)[i] for i in (0, 1, 2, 3)])  # noqa: E731
    hs, cs = tvm.topi.testing.lstm_python(xs, order(wi), order(wh), order(bi), order(bh), h0, c0)
    np.testing.assert_allclose(run(outputs[-1]).numpy(), hs[-1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run(cell).numpy(), cs[-1], rtol=1e-4, atol=1e-5)

    wi, wh, bi, bh = rand(hidden, features), rand(hidden, hidden), rand(hidden), rand(hidden)
    outputs, last = common.rnn_cell(inputs, relay.const(h0), *(relay.const(w) for w in (wi, wh, bi, bh)), backwards=True)
    h = h0
    for x in xs[::-1]:
        h = np.tanh(x @ wi.T + bi + h @ wh.T + bh)
    np.testing.assert_allclose(run(last).numpy(), h, rtol=1e-4, atol=1e-5)

    wi, wh, bi, bh = rand(3 * hidden, features), rand(3 * hidden, hidden), rand(3 * hidden), rand(3 * hidden)
    sigmoid = lambda a: 1 / (1 + np.exp(-a))  # noqa: E731
    for linear in (True, False):
        h = h0
        for x in xs:
            gx, gh = np.split(x @ wi.T + bi, 3, 1), np.split(h @ wh.T + bh, 3, 1)
            r, z = sigmoid(gx[0] + gh[0]), sigmoid(gx[1] + gh[1])
            inner = r * gh[2] if linear else (r * h) @ np.split(wh, 3)[2].T + np.split(bh, 3)[2]
            h = (1 - z) * np.tanh(gx[2] + inner) + z * h
        _, last = common.gru_cell(inputs, relay.const(h0), *(relay.const(w) for w in (wi, wh, bi, bh)), linear_before_reset=linear)
        np.testing.assert_allclose(run(last).numpy(), h, rtol=1e-4, atol=1e-5)
    lengths = relay.const(np.array([2, 4], "int32"))
    outputs, last = common.gru_cell(inputs, relay.const(h0), *(relay.const(w) for w in (wi, wh, bi, bh)), sequence_lens=lengths)
    assert not run(outputs[3]).numpy()[0].any() and run(outputs[3]).numpy()[1].any()
    np.testing.assert_allclose(run(last).numpy()[0], run(outputs[1]).numpy()[0], rtol=1e-5)


def test_extents():
    from tvm.topi import utils
    from tvm.topi.nn.utils import get_pad_tuple, get_pad_tuple1d, get_pad_tuple3d, get_pad_tuple_generic

    assert utils.prod((2, 3, 4)) == 24 and utils.ceil_div(7, 2) == 4 and utils.ravel_index([1, 2], [3, 4]) == 6 and utils.unravel_index(6, [3, 4]) == [1, 2]
    assert utils.get_max_power2_factor(24) == 8 and utils.get_max_power2_factor(24, 4) == 4 and utils.get_shape((1, 2, 3, 4), "NCHW", "NHWC") == (1, 3, 4, 2)
    assert utils.is_dynamic_shape(relay.TensorType((relay.Any(), 2)).shape) and utils.is_empty_shape([2, 0]) and utils.swap([1, 2, 3], 0) == [3, 2, 1]
    assert utils.get_float_tuple([1, 2.5]) == (1.0, 2.5) and utils.equal_const_int(3, 3) and utils.simplify(tvm.tir.IntImm("int32", 4)) == 4
    with tvm.target.Target("llvm"):
        assert utils.is_target("llvm") and utils.is_target(["cuda", "cpu"]) and not utils.is_target("cuda")
    assert get_pad_tuple("SAME", (3, 4)) == (1, 2, 1, 1) and get_pad_tuple((1, 2), (3, 3)) == (1, 2, 1, 2) and get_pad_tuple(1, (3, 3)) == (1, 1, 1, 1)
    assert get_pad_tuple1d("VALID", 3) == (0, 0) and get_pad_tuple3d((1, 2, 3, 4, 5, 6), (3, 3, 3)) == (1, 2, 3, 4, 5, 6)
    assert get_pad_tuple_generic(1, (3, 3)) == ((1, 1), (1, 1))
    with pytest.raises(ValueError, match="no padding is called 'HALF'"):
        get_pad_tuple("HALF", (3, 3))


@pytest.mark.parametrize("data, data_layout, kernel, kernel_layout, groups, depthwise", [
    ((1, 32, 8, 8), "NCHW", (32, 1, 3, 3), "OIHW", 32, True), ((1, 8, 8, 32), "NHWC", (3, 3, 32, 1), "HWOI", 32, True),
    ((1, 2, 8, 8, 16), "NCHW16c", (2, 1, 3, 3, 1, 16), "OIHW1i16o", 32, True), ((1, 32, 8, 8), "NCHW", (8, 32, 3, 3), "OIHW", 1, False),
    ((1, 32, 8, 8), "NCHW", (64, 1, 3, 3), "OIHW", 32, False),
])  # fmt: skip
def test_a_group_for_each_channel(data, data_layout, kernel, kernel_layout, groups, depthwise):
    from tvm.relay.op.strategy.generic import is_depthwise_conv2d

    assert is_depthwise_conv2d(data, data_layout, kernel, kernel_layout, groups) is depthwise


def test_shapes_that_layouts_do_not_fit():
    from tvm.relay.op.strategy import is_depthwise_conv2d

    with pytest.raises(ValueError, match=r"the layout 'NCHW' does not say where C is in the shape \(1, 2\)"):
        is_depthwise_conv2d((1, 2), "NCHW", (2, 1, 3, 3), "OIHW", 2)


def test_tvmc(tmp_path):
    from tvm.driver import tvmc

    x, w = relay.var("x", shape=(1, 4)), relay.var("w", shape=(3, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    model = tvmc.TVMCModel(mod, {"w": tvm.nd.array(np.eye(3, 4, dtype="float32"))})
    model.save(str(tmp_path / "model"))
    again = tvmc.TVMCModel(model_path=str(tmp_path / "model"))
    package = tvmc.compile(again, target="llvm", package_path=str(tmp_path / "net.tar"), tuning_records=tvmc.tune(again, "llvm"))
    result = tvmc.run(package, device="cpu", inputs={"x": np.arange(4, dtype="float32").reshape(1, 4)}, benchmark=True, repeat=2, number=1)
    assert result.get_output("output_0").tolist() == [[0, 1, 2]] and "mean" in result.format_times() and "output_0" in str(result)
    unmeasured = tvmc.run(package, device="cpu")
    assert unmeasured.format_times() == "[]" and "[]" not in str(unmeasured)
    result.save(str(tmp_path / "out.npz"))
    assert np.load(tmp_path / "out.npz")["output_0"].shape == (1, 3)
    with pytest.raises(tvmc.TVMCException, match="the model has no input 'y'"):
        tvmc.run(package, "cpu", inputs={"y": 1})
    with pytest.raises(tvmc.TVMCException, match="no fill mode is called 'noise'"):
        tvmc.run(package, "cpu", fill_mode="noise")
    with pytest.raises(tvmc.TVMCException, match="model.tflite cannot be read: the formats are onnx, relay"):
        tvmc.load("model.tflite")
    with pytest.raises(NotImplementedError, match="programs run in this process"):
        tvmc.run(package, "cpu", hostname="board")
    assert isinstance(tvmc.compile(model, "llvm", desired_layout="NHWC"), tvmc.TVMCPackage)
    with pytest.raises(NotImplementedError, match=r"tvmc.compile\(cross=…\) is not there: .*no compiler of another machine"):
        tvmc.compile(model, "llvm", cross="gcc")
    with pytest.raises(ValueError, match="either a module or the path"):
        tvmc.TVMCModel()
    (tmp_path / "net.relay").write_text(mod.astext())
    for given in ({}, {"model_format": None}, {"model_format": ""}):
        loaded = tvmc.load(str(tmp_path / "net.relay"), **given)
        tvm.ir.assert_structural_equal(loaded.mod, mod)


def test_tuning_has_no_tasks(tmp_path):
    mod, params = relay.testing.mlp.get_workload(1)
    assert autotvm.task.extract_from_program(mod["main"], params, "llvm") == [] and auto_scheduler.extract_tasks(mod, params, "llvm") == ([], [])
    with pytest.raises(FileNotFoundError):
        autotvm.apply_history_best(str(tmp_path / "none.log"))
    log = tmp_path / "some.log"
    log.write_text("")
    with autotvm.apply_history_best(str(log)) as context, autotvm.tophub.context("llvm"):
        assert autotvm.DispatchContext.current is not context
    assert autotvm.DispatchContext.current is None
    option = autotvm.measure_option(builder="local", runner=autotvm.LocalRunner(number=3))
    assert isinstance(option["builder"], autotvm.LocalBuilder) and "number=3" in repr(option["runner"])


def test_downloads(tmp_path, monkeypatch):
    from tvm.contrib.download import download, download_testdata

    source = tmp_path / "weights.bin"
    source.write_bytes(b"abc")
    download(source.as_uri(), str(tmp_path / "copy.bin"))
    assert (tmp_path / "copy.bin").read_bytes() == b"abc"
    monkeypatch.setenv("TEST_DATA_ROOT_PATH", str(tmp_path / "data"))
    assert open(download_testdata(str(source), "w.bin", module="models"), "rb").read() == b"abc"
    with pytest.raises(FileNotFoundError, match=r"https://example.org/m.onnx is not fetched: .* Put the file to .*data/onnx/m.onnx by hand"):
        download_testdata("https://example.org/m.onnx", "m.onnx", module="onnx")
    (tmp_path / "data/onnx").mkdir()
    (tmp_path / "data/onnx/m.onnx").write_bytes(b"")
    assert download_testdata("https://example.org/m.onnx", "m.onnx", module="onnx").endswith("data/onnx/m.onnx")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        download(str(tmp_path / "gone"), str(tmp_path / "x"))


def test_profiles():
    from tvm.contrib.debugger import debug_executor
    from tvm.runtime.profiling import Report

    x = relay.var("x", shape=(4, 4))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.nn.dense(relay.exp(x), x))), "llvm")
    module = debug_executor.GraphModuleDebug(lib["debug_create"]("default", tvm.cpu()), [tvm.cpu()], lib.get_graph_json(), None)
    with pytest.raises(RuntimeError, match="did not run yet"):
        module.get_debug_result()
    module.run(x=rand(4, 4))
    lines = module.get_debug_result().splitlines()
    assert lines[0].split("  ")[0] == "Node Name" and lines[0].rstrip().endswith("Measurements(us)") and lines[-1].startswith("Total_time")
    assert {line.split()[0] for line in lines[2:-1]} == {"tvmgen_default_fused_exp", "tvmgen_default_fused_nn_dense"}
    assert [line.split()[0] for line in module.get_debug_result(sort_by_time=False).splitlines()[2:]] == ["tvmgen_default_fused_exp", "tvmgen_default_fused_nn_dense"]
    report = module.profile(x=rand(4, 4))
    assert Report.from_json(report.json()).calls == report.calls and report.csv().count("\n") == len(report.calls) + 1
    assert all(call["Duration (us)"].microseconds >= 0 and call["Percent"].percent >= 0 and call["Count"].value == 1 for call in report.calls)
    document = json.loads(report.json())
    assert document["calls"][0]["Count"] == {"count": 1} and set(document["calls"][0]["Duration (us)"]) == {"microseconds"}
    again = Report.from_json(report.json())
    assert again.json() == report.json() and again.calls[0]["Percent"].percent == report.calls[0]["Percent"]
    assert Report.from_json(json.dumps({"calls": [{"Count": 2}], "device_metrics": {}, "configuration": {}})).calls == [{"Count": 2}]
    times = module.run_individual(2, repeat=3)
    assert [len(each) for each in times] == [3, 3, 3] and times[0] == [0, 0, 0] and min(times[1] + times[2]) > 0
    assert module.run_individual_node(1, number=2).mean > 0
    with pytest.raises(IndexError, match="node 9 of a graph with 3 nodes"):
        module.run_individual_node(9)
    with pytest.raises(ValueError, match="the graph has no node 'n'"):
        module.debug_get_output("n", None)
    with pytest.raises(NotImplementedError, match="programs run on the CPU only"):
        debug_executor.create("", lib, tvm.cuda(0))


def test_dtypes_as_objects():
    assert str(tvm.DataType("int8x4")) == "int8x4" and tvm.DataType("bool").bits == 1 and tvm.DataType("float16") == "float16" and str(tvm.DataType("handle")) == "handle"
    with pytest.raises(ValueError, match="'int8y' is no dtype"):
        tvm.DataType("int8y")


def test_old_scatter():
    data, indices, updates = np.zeros((3, 3), "float32"), np.array([[1, 2, 0]], "int64"), np.ones((1, 3), "float32")
    d, i, u = (relay.var(n, shape=a.shape, dtype=str(a.dtype)) for n, a in (("d", data), ("i", indices), ("u", updates)))
    out = relay.create_executor("debug").evaluate(relay.Function([d, i, u], relay.scatter(d, i, u, axis=0)))(data, indices, updates).numpy()
    assert out.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]] and relay.op.scatter_add is relay.scatter_add


def test_targets_by_functions():
    v100 = tvm.target.cuda("v100", options="-libs=cudnn")
    assert str(v100).startswith("cuda -keys=cuda,gpu ") and "-model=v100 -libs=cudnn" in str(v100) and tvm.target.arm_cpu("rasp3b").keys[0] == "arm_cpu"
    assert tvm.target.Target.from_device("llvm").kind.name == "llvm" and "llvm" in tvm.target.Target.list_kinds()
    assert tvm.target.Target(tvm.target.Target("llvm -mcpu=core-avx2").export()).mcpu == "core-avx2" and tvm.target.mali().get_target_device_type() == 4
    x = relay.var("x", shape=(1,))
    with pytest.raises(NotImplementedError, match="programs are compiled for Linux on x86-64 or AArch64"):
        relay.build(relay.Function([x], x), tvm.target.riscv_cpu())
    if os.uname().machine == "x86_64":
        with pytest.raises(tvm.TVMError, match="compiled for aarch64, which this machine cannot run"):
            tvm.contrib.graph_executor.GraphModule(relay.build(relay.Function([x], relay.exp(x)), tvm.target.arm_cpu())["default"](tvm.cpu())).run(x=np.ones(1, "float32"))
    with pytest.raises(NotImplementedError, match="programs are compiled for CPUs"):
        relay.build(relay.Function([x], x), tvm.target.cuda())


def test_dynamic_types():
    assert relay.ty.is_dynamic(relay.TupleType([relay.TensorType((relay.Any(),))])) and not relay.ty.is_dynamic(relay.TensorType((1, 2)))
    with pytest.raises(TypeError, match="is_dynamic asks about a type"):
        relay.ty.is_dynamic(3)


def test_instruments_are_replaced():
    names = []

    @tvm.instrument.pass_instrument
    class Names:
        def run_before_pass(self, mod, info):
            names.append(info.name)

    mod = tvm.IRModule.from_expr(relay.const(1.0))
    with tvm.transform.PassContext(opt_level=1) as ctx:
        ctx.override_instruments([Names()])
        relay.transform.InferType()(mod)
        ctx.override_instruments(None)
        relay.transform.InferType()(mod)
    assert names == ["InferType"]
    tvm.transform.PassContext.current().override_instruments([Names()])
    relay.transform.FoldConstant()(relay.transform.InferType()(mod))
    tvm.transform.PassContext.current().override_instruments([])
    relay.transform.InferType()(mod)
    assert names[-1] == "FoldConstant" and not tvm.transform.PassContext.current().instruments


def test_instruments_end_where_others_begin():
    events = []

    class Noted(tvm.ir.instrument.PassInstrument):
        def __init__(self, name, wrong=False):
            super().__init__()
            self.label, self.wrong = name, wrong

        def enter_pass_ctx(self):
            events.append(f"{self.label} begins")
            if self.wrong:
                raise RuntimeError("not today")

        def exit_pass_ctx(self):
            events.append(f"{self.label} ends")

    with tvm.transform.PassContext(instruments=[Noted("A")]) as ctx:
        ctx.override_instruments([Noted("B")])
        assert events == ["A begins", "A ends", "B begins"]
        tvm.transform.PassContext.current().override_instruments([Noted("C")])
        assert events[3:] == ["B ends", "C begins"]
        ctx.override_instruments(None)
        assert events[5:] == ["C ends"]
        ctx.override_instruments([Noted("D")])
    assert events[6:] == ["D begins", "D ends"]
    assert not tvm.transform.PassContext.current().instruments
    events.clear()
    with tvm.transform.PassContext(instruments=[Noted("A")]) as ctx:
        with pytest.raises(RuntimeError, match="not today"):
            ctx.override_instruments([Noted("B", wrong=True)])
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.const(1.0)))
    assert events == ["A begins", "A ends", "B begins"]
    events.clear()
    outside = tvm.transform.PassContext(instruments=[Noted("A")])
    outside.override_instruments([Noted("B")])
    assert not events
    with outside:
        pass
    assert events == ["B begins", "B ends"] and tvm.transform.PassContext.current() is not outside


def test_kernels_of_one_name_are_timed_apart():
    from tvm.contrib.debugger import debug_executor

    x, w, v = relay.var("x", shape=(4, 4)), relay.var("w", shape=(4, 4)), relay.var("v", shape=(8, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x, w, v], relay.nn.relu(relay.nn.dense(relay.nn.relu(relay.nn.dense(x, w)), v))))
    lib = relay.build(mod, "llvm")
    module = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu())
    module.set_input(x=rand(4, 4), w=rand(4, 4), v=rand(8, 4))
    assert len(module.profile().calls) == 2 and len(module.run_individual(2)) == 5
