"""ConvertLayout, AlterOpLayout, Legalize: layouts and calls that scripts choose; the numbers of the program stay."""

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay
from tvm.relay import transform
from tvm.relay.testing import count_ops, run_infer_type, run_opt_pass
from tvm.relay.testing.temp_op_attr import TempOpAttr

NHWC = {"nn.conv2d": ["NHWC", "default"]}


def module(expr):
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(expr), expr))


def conv(channels=8, shape=(1, 4, 6, 6), kernel=(3, 3), name="w", data=None, **attrs):
    data = relay.var("x", shape=shape) if data is None else data
    groups = attrs.get("groups", 1)
    weight = relay.var(name, shape=(channels, shape[1] // groups, *kernel))
    return relay.nn.conv2d(data, weight, channels=channels, kernel_size=kernel, padding=[k // 2 for k in kernel], **attrs)


def converted(mod, desired=None, level=3):
    with tvm.transform.PassContext(opt_level=level):
        return tvm.transform.Sequential([transform.ConvertLayout(NHWC if desired is None else desired)])(mod)


def same_numbers(before, after, rtol=1e-4):
    rng = np.random.RandomState(0)
    args = [rng.uniform(-1, 1, param.type_annotation.concrete_shape).astype(param.type_annotation.dtype) for param in before["main"].params]
    results = [relay.create_executor("debug", mod=mod).evaluate()(*args) for mod in (before, after)]
    for a, b in zip(*[result if isinstance(result, (list, tuple)) or not hasattr(result, "numpy") else [result] for result in results]):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=rtol, atol=1e-5)


def attributes(mod, op, name):
    found = []
    relay.analysis.post_order_visit(mod["main"], lambda e: found.append(e.attrs[name]) if isinstance(e, relay.Call) and e.op == relay.op.get(op) else None)
    return found


def transforms(mod):
    return count_ops(mod["main"]).get("layout_transform", 0)


def test_one_convolution():
    mod = module(conv())
    after = converted(mod)

    x, w = relay.var("x", shape=(1, 4, 6, 6)), relay.var("w", shape=(8, 4, 3, 3))
    y = relay.nn.conv2d(
        relay.layout_transform(x, "NCHW", "NHWC"), relay.layout_transform(w, "OIHW", "HWIO"), channels=8, kernel_size=(3, 3), padding=(1, 1),
        data_layout="NHWC", kernel_layout="HWIO",
    )  # fmt: skip
    expected = run_infer_type(relay.Function([x, w], relay.layout_transform(y, "NHWC", "NCHW")))
    tvm.ir.assert_structural_equal(after["main"], expected)
    same_numbers(mod, after)


@pytest.mark.parametrize("groups, layout", [(1, "HWIO"), (2, "HWIO"), (4, "HWOI")])
def test_weights_go_with_the_data(groups, layout):
    mod = module(conv(channels=4 if groups == 4 else 8, groups=groups))
    after = converted(mod)
    assert attributes(after, "nn.conv2d", "kernel_layout") == [layout]
    same_numbers(mod, after)


@pytest.mark.parametrize("desired", [["NHWC", "OHWI"], ["NHWC"], ["HWNC", "OIHW"], ["NCHW4c", "OIHW4i4o"], ["NCHW2c", "HWIO"]])
def test_any_pair_of_layouts(desired):
    mod = module(relay.nn.relu(conv()))
    after = converted(mod, {"nn.conv2d": desired})
    assert attributes(after, "nn.conv2d", "data_layout") == [desired[0]]
    same_numbers(mod, after)


FOLLOWING = {
    "relu": lambda y: relay.nn.relu(y),
    "clip": lambda y: relay.clip(y, -0.5, 0.5),
    "scalar": lambda y: y * relay.const(2.0) + relay.const(1.0),
    "bias_add": lambda y: relay.nn.bias_add(y, relay.var("b", shape=(8,))),
    "broadcast": lambda y: y + relay.var("b", shape=(8, 1, 1)),
    "residual": lambda y: y + relay.nn.relu(y),
    "batch_norm": lambda y: relay.nn.batch_norm(y, *[relay.exp(relay.var("g", shape=(8,)))] * 4)[0],
    "max_pool2d": lambda y: relay.nn.max_pool2d(y, (2, 2), strides=(2, 2)),
    "avg_pool2d": lambda y: relay.nn.avg_pool2d(y, (3, 3), padding=(1, 1), count_include_pad=True),
    "global_avg_pool2d": lambda y: relay.nn.global_avg_pool2d(y),
    "adaptive_avg_pool2d": lambda y: relay.nn.adaptive_avg_pool2d(y, (2, 3)),
    "upsampling": lambda y: relay.nn.upsampling(y, 2, 2),
    "resize2d": lambda y: relay.image.resize2d(y, (9, 4)),
    "pad": lambda y: relay.nn.pad(y, [[0, 0], [0, 0], [1, 2], [3, 0]]),
    "concatenate": lambda y: relay.concatenate([y, relay.nn.relu(y)], axis=1),
    "split": lambda y: relay.split(y, 2, axis=1)[1],
    "softmax": lambda y: relay.nn.softmax(y, axis=1),
    "mean_keepdims": lambda y: relay.mean(y, axis=[2, 3], keepdims=True),
    "prelu": lambda y: relay.nn.prelu(y, relay.var("a", shape=(8,))),
    "strided_slice": lambda y: relay.strided_slice(y, [0, 2, 1, 0], [1, 6, 5, 6], [1, 2, 1, 3]),
    "depth_to_space": lambda y: relay.nn.depth_to_space(y, 2),
    "lrn": lambda y: relay.nn.lrn(y),
    "take": lambda y: relay.take(y, relay.const([1, 0]), axis=1),
    "reverse": lambda y: relay.reverse(y, axis=2),
    "where": lambda y: relay.where(y > relay.const(0.0), y, y * relay.const(0.1)),
    "quantize": lambda y: relay.qnn.op.dequantize(relay.qnn.op.quantize(y, relay.const(0.1), relay.const(0)), relay.const(0.1), relay.const(0)),
    "quantize_by_channel": lambda y: relay.qnn.op.dequantize(
        relay.qnn.op.quantize(y, relay.const([0.1] * 8), relay.const(0), axis=1), relay.const([0.1] * 8), relay.const(0), axis=1),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWING)
def test_operators_follow(name):
    """Between two convolutions: nothing is transformed there."""
    y = FOLLOWING[name](conv())
    shape = run_infer_type(y).checked_type.concrete_shape
    mod = module(conv(channels=3, shape=shape, kernel=(1, 1), name="v", data=y))
    after = converted(mod)
    assert attributes(after, "nn.conv2d", "data_layout") == ["NHWC", "NHWC"]
    # x, both weights, what comes out, and what is added along all axes
    assert transforms(after) == 4 + (name == "broadcast"), after
    same_numbers(mod, after)


ABSORBING = {
    "transpose": lambda y: relay.transpose(y, [0, 2, 3, 1]),
    "reversed_transpose": lambda y: relay.transpose(y),
    "mean": lambda y: relay.mean(y, axis=[2, 3]),
    "sum_exclude": lambda y: relay.sum(y, axis=[1], exclude=True),
    "layout_transform": lambda y: relay.layout_transform(y, "NCHW", "NHWC"),
}


@pytest.mark.parametrize("name", ABSORBING)
def test_operators_absorb_the_transform(name):
    mod = module(ABSORBING[name](conv()))
    after = converted(mod)
    assert transforms(after) == 2
    same_numbers(mod, after)


STAYING = {
    "batch_flatten": lambda y: relay.nn.batch_flatten(y),
    "reshape": lambda y: relay.reshape(y, (2, -1)),
    "tile": lambda y: relay.tile(y, (2, 1, 1, 1)),
    "gather": lambda y: relay.gather(y, 1, relay.const(np.zeros((1, 2, 6, 6), "int32"))),
    "argmax_of_all": lambda y: relay.argmax(y),
    "repeat_flat": lambda y: relay.repeat(y, 2, axis=1),
}


@pytest.mark.parametrize("name", STAYING)
def test_numbers_stay_where_layouts_end(name):
    mod = module(STAYING[name](conv()))
    same_numbers(mod, converted(mod))


def test_let_and_branches_have_the_layout_of_the_program():
    a, c = relay.var("a"), relay.var("c", shape=(), dtype="bool")
    y = relay.Let(a, conv(), relay.If(c, relay.nn.relu(a), conv(shape=(1, 8, 6, 6), name="v", data=a)))
    mod = module(y)
    after = converted(mod)
    assert attributes(after, "nn.conv2d", "data_layout") == ["NHWC", "NHWC"]
    same_numbers(mod, after)


def test_other_dimensions():
    x, w = relay.var("x", shape=(1, 2, 4, 4, 4)), relay.var("w", shape=(3, 2, 1, 1, 1))
    mod = module(relay.nn.max_pool3d(relay.nn.conv3d(x, w, kernel_size=(1, 1, 1), channels=3), (2, 2, 2)))
    after = converted(mod, {"nn.conv3d": ["NDHWC", "default"]})
    assert attributes(after, "nn.conv3d", "kernel_layout") == ["DHWIO"] and transforms(after) == 3
    same_numbers(mod, after)


def test_quantised_convolution():
    x, w = relay.var("x", shape=(1, 4, 6, 6), dtype="int8"), relay.var("w", shape=(8, 4, 1, 1), dtype="int8")
    scale = relay.const(np.linspace(0.1, 0.5, 8).astype("float32"))
    y = relay.qnn.op.conv2d(x, w, relay.const(1), relay.const(0), relay.const(0.5), scale, kernel_size=(1, 1), channels=8)
    mod = module(relay.qnn.op.requantize(y, scale, relay.const(0), relay.const(1.0), relay.const(0), axis=1))
    after = converted(mod, {"qnn.conv2d": ["NHWC", "default"]})
    assert attributes(after, "qnn.requantize", "axis") == [3] and transforms(after) == 3
    rng = np.random.RandomState(1)
    args = [rng.randint(-9, 9, shape).astype("int8") for shape in ((1, 4, 6, 6), (8, 4, 1, 1))]
    a, b = (relay.create_executor("debug", mod=m).evaluate()(*args).numpy() for m in (mod, after))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("skip, layouts", [([], ["NHWC", "NHWC"]), ([0], ["NCHW", "NHWC"]), ([1], ["NHWC", "NCHW"]), ([0, 1], ["NCHW", "NCHW"])])
def test_layout_config(skip, layouts):
    mod = module(conv(shape=(1, 8, 6, 6), name="v", data=relay.nn.relu(conv())))
    with transform.LayoutConfig(skip_layers=skip) as config:
        assert transform.LayoutConfig.current is config
        after = converted(mod)
    assert transform.LayoutConfig.current is None
    assert attributes(after, "nn.conv2d", "data_layout") == layouts
    same_numbers(mod, after)
    assert attributes(converted(mod), "nn.conv2d", "data_layout") == ["NHWC", "NHWC"]


@pytest.mark.parametrize("desired", [{"nn.nothing": ["NHWC"]}, {"nn.relu": ["NHWC"]}, {"nn.conv2d": ["NHW"]}, {"nn.conv2d": ["NHWC"] * 4}])
def test_what_cannot_be(desired):
    with pytest.raises(tvm.TVMError):
        converted(module(conv()), desired)


def to_blocks(attrs, inputs, tinfos, out_type):
    new = dict(attrs)
    new["data_layout"], new["kernel_layout"] = "NCHW4c", "OIHW4i"
    return relay.nn.conv2d(*inputs, **new)


def test_alter_op_layout_transforms_arguments():
    mod = module(conv(shape=(1, 8, 6, 6), name="v", data=relay.nn.relu(conv())))
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", to_blocks), tvm.transform.PassContext(opt_level=3):
        after = run_opt_pass(mod["main"], tvm.transform.Sequential([transform.CanonicalizeOps(), transform.AlterOpLayout()]))
    after = tvm.IRModule.from_expr(after)
    assert attributes(after, "nn.conv2d", "kernel_layout") == ["OIHW4i"] * 2 and transforms(after) == 4
    same_numbers(mod, after)


def test_alter_op_layout_to_something_else():
    def twice(attrs, inputs, tinfos, out_type):
        assert tinfos[0].dtype == "float32" and tuple(out_type.shape) == (1, 4)
        return relay.add(inputs[0], inputs[0])

    x = relay.var("x", shape=(1, 4))
    with TempOpAttr("nn.relu", "FTVMAlterOpLayout", twice):
        after = run_opt_pass(relay.Function([x], relay.nn.relu(x)), transform.AlterOpLayout())
    assert count_ops(after) == {"add": 1}


def test_alter_op_layout_none():
    mod = module(conv())
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", lambda attrs, inputs, tinfos, out_type: None):
        tvm.ir.assert_structural_equal(run_opt_pass(mod["main"], transform.AlterOpLayout()), run_infer_type(mod["main"]))


def test_alter_op_layout_of_another_type_is_refused():
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", lambda attrs, inputs, tinfos, out_type: relay.mean(inputs[0])):
        with pytest.raises(tvm.TVMError, match="does not fit"):
            run_opt_pass(module(conv())["main"], transform.AlterOpLayout())


def test_an_error_of_an_attached_function_is_shown():
    def fails(attrs, inputs, types):
        raise RuntimeError("no such layout here")

    with TempOpAttr("nn.relu", "FTVMLegalize", fails), pytest.raises(Exception, match="no such layout here"):
        run_opt_pass(module(relay.nn.relu(relay.var("x", shape=(2,))))["main"], transform.Legalize())


def test_legalize_under_a_key_of_the_script():
    x = relay.var("x", shape=(2, 3))
    with TempOpAttr("tanh", "FMyRules", lambda attrs, inputs, types: relay.sigmoid(inputs[0])):
        before = relay.Function([x], relay.tanh(relay.exp(x)))
        assert count_ops(run_opt_pass(before, transform.Legalize("FMyRules"))) == {"exp": 1, "sigmoid": 1}
        assert count_ops(run_opt_pass(before, transform.Legalize())) == {"exp": 1, "tanh": 1}


def test_qnn_legalize():
    x = relay.var("x", shape=(2, 3), dtype="int8")
    before = relay.Function([x], relay.qnn.op.dequantize(x, relay.const(0.5), relay.const(0)))
    rule = lambda attrs, inputs, types: relay.cast(inputs[0], "float32") * inputs[1]  # noqa: E731
    with TempOpAttr("qnn.dequantize", "FTVMQnnLegalize", rule):
        assert count_ops(run_opt_pass(before, relay.qnn.transform.Legalize())) == {"cast": 1, "multiply": 1}


def test_register_legalize():
    name = "log2"
    relay.op.register_legalize(name, lambda attrs, inputs, types: relay.log(inputs[0]) / relay.const(float(np.log(2.0))), level=11)
    try:
        x = relay.var("x", shape=(3,))
        assert count_ops(run_opt_pass(relay.Function([x], relay.log2(x)), transform.Legalize())) == {"log": 1, "divide": 1}
    finally:
        relay.op.get(name).reset_attr("FTVMLegalize")


def quantised_layer():
    x, w = relay.var("x", shape=(2, 4), dtype="uint8"), relay.const(np.arange(12, dtype="int8").reshape(3, 4))
    sums = relay.qnn.op.dense(x, w, relay.const(128), relay.const(0), relay.const(0.5), relay.const(0.25), units=3)
    return relay.Function([x], relay.qnn.op.requantize(sums, relay.const(0.125), relay.const(0), relay.const(1.0), relay.const(3), out_dtype="uint8"))


def test_qnn_legalize_under_a_target():
    with tvm.target.Target("llvm"):
        ops = count_ops(run_opt_pass(quantised_layer(), relay.qnn.transform.Legalize()))
    assert ops == {"cast": 1, "subtract": 1, "nn.dense": 1, "qnn.requantize": 1}
    assert count_ops(run_opt_pass(quantised_layer(), relay.qnn.transform.Legalize())) == {"qnn.dense": 1, "qnn.requantize": 1}


def test_qnn_canonicalize_writes_fixed_point_multiply():
    before = quantised_layer()
    after = run_opt_pass(before, relay.qnn.transform.CanonicalizeOps())
    ops = count_ops(after)
    assert ops["fixed_point_multiply"] == 1 and ops["nn.dense"] == 1 and not any(name.startswith("qnn.") for name in ops)
    data = np.random.randint(0, 256, (2, 4)).astype("uint8")
    run = lambda f: relay.create_executor("vm", tvm.IRModule.from_expr(f)).evaluate()(data).numpy()  # noqa: E731
    np.testing.assert_array_equal(run(after), run(before))
