"""Hooks on operators by scripts: legalisation, layouts and precision, put on for a while by TempOpAttr."""
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.op import register_mixed_precision_conversion
from tvm.relay.op.op import register_convert_op_layout
from tvm.relay.testing.temp_op_attr import TempOpAttr


def run_opt_pass(expr, passes):
    passes = passes if isinstance(passes, list) else [passes]
    mod = tvm.IRModule.from_expr(expr)
    with tvm.transform.PassContext(opt_level=3):
        mod = tvm.transform.Sequential(passes)(mod)
    entry = mod["main"]
    return entry if isinstance(expr, relay.Function) else entry.body


def before():
    x = relay.var("x", shape=(1, 64, 56, 56))
    weight = relay.var("weight", shape=(64, 64, 3, 3))
    y = relay.nn.conv2d(x, weight, channels=64, kernel_size=(3, 3), padding=(1, 1))
    return relay.Function([x, weight], relay.nn.relu(y))


def test_legalize():
    def legalize_conv2d(attrs, inputs, types):
        data, weight = inputs
        weight = relay.multiply(weight, relay.const(2.0, "float32"))
        return relay.nn.conv2d(data, weight, **attrs)

    with TempOpAttr("nn.conv2d", "FTVMLegalize", legalize_conv2d):
        got = run_opt_pass(before(), transform.Legalize())
    x = relay.var("x", shape=(1, 64, 56, 56))
    weight = relay.var("weight", shape=(64, 64, 3, 3))
    y = relay.nn.conv2d(x, relay.multiply(weight, relay.const(2.0, "float32")), channels=64, kernel_size=(3, 3), padding=(1, 1))
    want = run_opt_pass(relay.Function([x, weight], relay.nn.relu(y)), transform.InferType())
    assert tvm.ir.structural_equal(got, want)


def test_convert_layout():
    got = run_opt_pass(before(), [transform.ConvertLayout({"nn.conv2d": ["NHWC", "OHWI"]})])
    text = got.astext(show_meta_data=False)
    assert "NHWC" in text and text.count("layout_transform") == 3


def test_own_layout_rule():
    seen = []

    def convert(attrs, inputs, tinfos, desired_layouts):
        seen.append(list(desired_layouts))
        new_attrs = dict(attrs)
        new_attrs["data_layout"], new_attrs["kernel_layout"] = map(str, desired_layouts)
        return relay.nn.conv2d(*inputs, **new_attrs)

    with TempOpAttr("nn.conv2d", "FTVMConvertOpLayout", convert):
        run_opt_pass(before(), transform.ConvertLayout({"nn.conv2d": ["NHWC", "HWIO"]}))
    assert seen == [["NHWC", "HWIO"]]

    register_convert_op_layout("nn.conv2d", level=11)(convert)
    try:
        run_opt_pass(before(), transform.ConvertLayout({"nn.conv2d": ["NHWC", "OHWI"]}))
    finally:
        relay.op.get("nn.conv2d").reset_attr("FTVMConvertOpLayout")
    assert seen[1:] == [["NHWC", "OHWI"]]


def test_layout_config():
    with transform.LayoutConfig(skip_layers=[0]):
        got = run_opt_pass(before(), transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}))
    assert "NHWC" not in got.astext(show_meta_data=False)


def test_mixed_precision():
    def never(call_node, mixed_precision_type):
        return [0, "float32", "float32"]

    with TempOpAttr("nn.relu", "FTVMMixedPrecisionConversionType", lambda call, dtype: [2, dtype, dtype]):
        got = run_opt_pass(before(), [transform.InferType(), transform.ToMixedPrecision("float16")])
    assert "float16" in got.astext(show_meta_data=False)
    assert callable(register_convert_op_layout) and callable(register_mixed_precision_conversion) and never(None, None)[0] == 0


def test_alter_op_layout():
    def alter(attrs, inputs, tinfos, out_type):
        data, weight = inputs
        new_attrs = dict(attrs)
        new_attrs["data_layout"] = "NCHW16c"
        return relay.nn.conv2d(data, weight, **new_attrs)

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        got = run_opt_pass(before(), [transform.InferType(), transform.AlterOpLayout()])
    assert "NCHW16c" in got.astext(show_meta_data=False)
