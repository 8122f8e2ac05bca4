"""relay.quantize: a network of floats becomes one of integers, calibrated on data, and stays near to what it was."""

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.testing import count_ops

RNG = np.random.RandomState(0)
PARAMS = {
    "w0": RNG.normal(0, 0.3, (8, 3, 3, 3)), "w1": RNG.normal(0, 0.15, (8, 8, 3, 3)), "w2": RNG.normal(0, 0.15, (8, 8, 3, 3)),
    "gamma": RNG.uniform(0.5, 1.5, 8), "beta": RNG.normal(0, 0.2, 8), "mean": RNG.normal(0, 0.1, 8), "var": RNG.uniform(0.5, 1.5, 8),
    "w3": RNG.normal(0, 0.3, (10, 8)),
}  # fmt: skip
PARAMS = {name: value.astype("float32") for name, value in PARAMS.items()}


def network():
    """Three convolutions with a residual connection, then a dense layer: ten classes."""
    var = {name: relay.var(name, shape=value.shape) for name, value in PARAMS.items()}
    x = relay.var("data", shape=(4, 3, 12, 12))
    y = relay.nn.conv2d(x, var["w0"], kernel_size=(3, 3), channels=8, padding=(1, 1))
    y = relay.nn.relu(relay.nn.batch_norm(y, var["gamma"], var["beta"], var["mean"], var["var"])[0])
    y = relay.nn.max_pool2d(y, (2, 2), strides=(2, 2))
    z = relay.nn.relu(relay.nn.conv2d(y, var["w1"], kernel_size=(3, 3), channels=8, padding=(1, 1)))
    z = relay.nn.conv2d(z, var["w2"], kernel_size=(3, 3), channels=8, padding=(1, 1))
    y = relay.nn.relu(z + relay.nn.conv2d(y, relay.const(np.eye(8, dtype="float32").reshape(8, 8, 1, 1)), kernel_size=(1, 1), channels=8))
    y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y))
    return tvm.IRModule.from_expr(relay.Function([x, *var.values()], relay.nn.dense(y, var["w3"])))


def images(count, seed):
    return np.random.RandomState(seed).normal(0, 1, (count, 4, 3, 12, 12)).astype("float32")


def run(mod, data, params=None):
    return relay.create_executor("vm", mod=mod, params=params).evaluate()(data).numpy()


def quantised(dataset=None, **config):
    with relay.quantize.qconfig(**config):
        return relay.quantize.quantize(network(), PARAMS, dataset)


def error_of(mod):
    """The mean square of the differences, as a share of that of the results; and how often the best class is the same."""
    exact = np.concatenate([run(relay.transform.InferType()(bound()), batch) for batch in images(8, 5)])
    near = np.concatenate([run(mod, batch) for batch in images(8, 5)])
    return float(((exact - near) ** 2).mean() / exact.var()), float((exact.argmax(1) == near.argmax(1)).mean())


def bound():
    mod = network()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], PARAMS)
    return mod


DATA = [{"data": batch} for batch in images(4, 1)]
MODES = {
    "global_scale": dict(calibrate_mode="global_scale", global_scale=4.0),
    "kl_divergence": dict(calibrate_mode="kl_divergence", weight_scale="max"),
    "percentile": dict(calibrate_mode="percentile", weight_scale="max"),
    "max": dict(calibrate_mode="max", weight_scale="max"),
    "chunks": dict(calibrate_mode="max", weight_scale="max", calibrate_chunk_by=2),
    "dense": dict(calibrate_mode="max", weight_scale="max", skip_dense_layer=False),
    "first_layer": dict(calibrate_mode="max", weight_scale="max", skip_conv_layers=[]),
}


@pytest.mark.parametrize("mode", MODES)
def test_little_is_lost(mode):
    error, same = error_of(quantised(DATA, **MODES[mode]))
    assert error < (0.1 if mode == "global_scale" else 0.02) and same >= 0.85, (error, same)


def dtypes_of_products(mod):
    found = {}

    def look(expr):
        if isinstance(expr, relay.Call) and expr.op.name in ("nn.conv2d", "nn.dense"):
            found.setdefault(expr.op.name, []).append((expr.args[0].checked_type.dtype, expr.args[1].checked_type.dtype, expr.checked_type.dtype))

    relay.analysis.post_order_visit(relay.transform.InferType()(mod)["main"], look)
    return found


def test_what_is_quantised():
    floats, integers = ("float32",) * 3, ("int8", "int8", "int32")
    products = dtypes_of_products(quantised(DATA, calibrate_mode="max"))
    assert products == {"nn.conv2d": [floats] + [integers] * 3, "nn.dense": [floats]}
    every = quantised(DATA, calibrate_mode="max", skip_conv_layers=[], skip_dense_layer=False)
    assert dtypes_of_products(every) == {"nn.conv2d": [integers] * 4, "nn.dense": [integers]}
    ops = count_ops(every["main"])
    assert not [name for name in ops if name.startswith("qnn.")] and ops["clip"] and ops["fixed_point_multiply"]
    products = dtypes_of_products(quantised(DATA, calibrate_mode="max", skip_conv_layers=[0, 1, 2, 3]))
    assert products == {"nn.conv2d": [floats] * 4, "nn.dense": [floats]}


def test_steps_give_the_same_form():
    with relay.quantize.qconfig(calibrate_mode="global_scale", global_scale=4.0):
        steps = [relay.quantize.partition(), relay.quantize.annotate(), relay.quantize.calibrate(), relay.quantize.realize()]
        mod = bound()
        with tvm.transform.PassContext(opt_level=3):
            made = tvm.transform.Sequential(steps)(mod)
        assert dtypes_of_products(made) == dtypes_of_products(relay.quantize.quantize(bound()))
    assert not [name for name in count_ops(made["main"]) if name.startswith("qnn.")]


def test_types_stay():
    mod = relay.transform.InferType()(quantised())
    assert [param.name_hint for param in mod["main"].params] == ["data"]
    assert mod["main"].ret_type == relay.TensorType((4, 10), "float32") or mod["main"].body.checked_type == relay.TensorType((4, 10), "float32")


def test_simulation_computes_on_floats():
    config = dict(calibrate_mode="max", weight_scale="max")
    simulated = quantised(DATA, do_simulation=True, **config)
    assert count_ops(simulated["main"])["nn.conv2d"] == 4
    data = images(1, 9)[0]
    np.testing.assert_allclose(run(simulated, data), run(quantised(DATA, **config), data), rtol=0.1, atol=0.1)


def test_fewer_bits_lose_more():
    config = dict(calibrate_mode="max", weight_scale="max")
    eight, _ = error_of(quantised(DATA, **config))
    four, _ = error_of(quantised(DATA, nbit_input=4, nbit_weight=4, **config))
    assert eight < four < 1


def test_kl_divergence_cuts_off_what_is_rare():
    samples = np.abs(np.random.RandomState(0).normal(0, 1, 100000))
    threshold = relay.quantize.kl_divergence_threshold(np.append(samples, 50.0))
    assert 2 < threshold < 30
    assert relay.quantize.kl_divergence_threshold(np.zeros(5)) == 0


def test_configurations_nest():
    assert relay.quantize.current_qconfig().skip_conv_layers == [0]
    with relay.quantize.qconfig(nbit_weight=4):
        with relay.quantize.qconfig(global_scale=2.0):
            assert relay.quantize.current_qconfig().nbit_weight == 8
        assert relay.quantize.current_qconfig().nbit_weight == 4
    config = relay.quantize.current_qconfig()
    assert (config.nbit_input, config.dtype_activation, config.weight_scale, config.rounding) == (8, "int32", "power2", "UPWARD")


@pytest.mark.parametrize("fields", [dict(calibrate_mode="guess"), dict(nbit_input=9), dict(global_scale=0), dict(weight_scale="min"), dict(no_field=1)])
def test_wrong_configurations(fields):
    with pytest.raises((ValueError, TypeError)):
        relay.quantize.qconfig(**fields)


@pytest.mark.parametrize("dataset", [None, [], [{"image": np.zeros((4, 3, 12, 12), "float32")}]])
def test_calibration_needs_data(dataset):
    with pytest.raises(Exception, match="data"):
        quantised(dataset, calibrate_mode="kl_divergence")


def calibrated(mode, dataset):
    x, w = relay.var("x", shape=(1, 3)), relay.var("w", shape=(4, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    with relay.quantize.qconfig(calibrate_mode=mode, skip_dense_layer=False):
        return relay.quantize.quantize(mod, {"w": np.ones((4, 3), "float32")}, dataset)


def test_calibration_data_that_do_not_fit():
    with pytest.raises(TypeError, match=r"dataset\[0\] is a dictionary from the names of inputs to arrays, not array"):
        calibrated("max", [np.ones((1, 3), "float32")])
    for mode in ("max", "percentile", "kl_divergence"):
        with pytest.raises(ValueError, match="calibration data make operand 1 of 1, of quantize.scale.1.0, infinite or not a number"):
            calibrated(mode, [{"x": np.full((1, 3), np.nan, "float32")}])
    with pytest.warns(UserWarning, match='"global_scale" uses no data'):
        calibrated("global_scale", [{"x": np.ones((1, 3), "float32")}])


def test_parameters_that_are_none():
    with pytest.warns(UserWarning, match=r"^@main has no parameter %w00: did you mean %w0\?$"):
        relay.quantize.prerequisite_optimize(network(), {"w00": PARAMS["w0"]})


def test_steps_by_hand():
    mod = relay.quantize.prerequisite_optimize(network(), PARAMS)
    with relay.quantize.qconfig(calibrate_mode="max"):
        passes = [relay.quantize.annotate(), relay.quantize.calibrate(DATA), relay.transform.InferType(), relay.quantize.realize()]
    with tvm.transform.PassContext(opt_level=3):
        done = tvm.transform.Sequential(passes)(mod)
    assert error_of(done)[0] < 0.05


def test_data_of_numpy_as_it_comes():
    """Numbers of NumPy are float64 unless a script says otherwise; inputs of float32 take them."""
    data = [{name: np.asarray(value, "float64") for name, value in item.items()} for item in DATA[:2]]
    narrow = [{name: np.asarray(value, "float32") for name, value in item.items()} for item in DATA[:2]]
    wide = quantised(data, calibrate_mode="max", weight_scale="max")
    tvm.ir.assert_structural_equal(wide, quantised(narrow, calibrate_mode="max", weight_scale="max"))
    with pytest.raises(tvm.TVMError, match="expected .*float32.*found .*int64"):
        quantised([{name: np.asarray(value).astype("int64") for name, value in data[0].items()}], calibrate_mode="max", weight_scale="max")
