"""tvm.testing, tvm.topi.testing, relay.testing: fixtures, references, networks."""

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay
from tvm.relay import testing
from tvm.relay.testing import layers
from tvm.topi import testing as topi_testing

dtype = tvm.testing.parameter("float32", "int32")
size, wanted_sum = tvm.testing.parameters((2, 4), (3, 9))
named = tvm.testing.parameter(by_dict={"one": 1, "two": 2})
calls = []


@tvm.testing.fixture
def data(size, dtype):
    return np.ones((size, size), dtype)


@tvm.testing.fixture(cache_return_value=True)
def expensive(size):
    calls.append(size)
    return [size]


def test_parameters_go_together(data, size, wanted_sum):
    assert data.sum() == wanted_sum and data.shape == (size, size)


def test_named_parameter(named, request):
    assert ("one" in request.node.name) == (named == 1)


def test_cached_fixture_first(expensive):
    expensive.append("changed by this test")


def test_cached_fixture_second(expensive, size):
    assert expensive == [size] and calls.count(size) == 1


def test_target_and_dev(target, dev):
    assert tvm.testing.device_enabled(target) and dev == tvm.device(target)


@tvm.testing.parametrize_targets("llvm", "cuda")
def test_parametrize_targets(target, dev):
    assert target == "llvm" and dev.exist  # the other is skipped


@tvm.testing.exclude_targets("cuda")
def test_exclude_targets(target, dev):
    assert target != "cuda"


@tvm.testing.known_failing_targets("llvm")
def test_known_failing_targets():
    assert False


@tvm.testing.requires_llvm
def test_requires_llvm():
    assert ("llvm", tvm.cpu(0)) in tvm.testing.enabled_targets()


@tvm.testing.requires_gpu
def test_requires_gpu():
    raise AssertionError("this is skipped where programs are compiled for CPUs")


def test_enabled_targets_of_the_environment(monkeypatch):
    monkeypatch.setenv("TVM_TEST_TARGETS", "llvm;cuda")
    assert [text for text, _ in tvm.testing.enabled_targets()] == ["llvm"]


def test_assert_allclose():
    tvm.testing.assert_allclose([1.0], [1.0 + 1e-8])
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose([1.0], [1.1])
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose(np.ones(2), np.ones((2, 1)))


def test_rand_and_count_ops():
    made = testing.rand("float32", 3, 4)
    assert made.shape == (3, 4) and 0 <= made.numpy().min() and made.numpy().max() < 1
    x = relay.var("x", shape=(2,))
    assert testing.count_ops(relay.exp(x) + relay.exp(x)) == {"exp": 2, "add": 1}


def test_create_workload_is_seeded():
    net = testing.synthetic.get_net()
    (_, first), (_, second) = testing.create_workload(net), testing.create_workload(net)
    assert all((first[name].numpy() == second[name].numpy()).all() for name in first)
    assert any((first[n].numpy() != testing.create_workload(net, seed=1)[1][n].numpy()).any() for n in first)


@pytest.mark.parametrize("initializer", [testing.init.Xavier(factor_type="in", magnitude=2), testing.init.Constant()])
def test_initializers(initializer):
    net = relay.Function([x := relay.var("data", shape=(1, 4)), w := relay.var("fc_weight", shape=(3, 4))], relay.nn.dense(x, w))
    _, params = testing.create_workload(net, initializer)
    weight = params["fc_weight"].numpy()
    assert weight.shape == (3, 4) and np.isfinite(weight).all()
    if isinstance(initializer, testing.init.Constant):
        assert abs(weight.sum() - 1) < 1e-5


def test_layers():
    x = relay.var("data", shape=(1, 3, 8, 8))
    y = layers.conv2d(x, kernel_size=(3, 3), channels=4, padding=(1, 1), name="conv")
    y = layers.batch_norm_infer(y, name="bn")
    y = layers.dense_add_bias(relay.nn.batch_flatten(y), units=5, name="fc")
    func = relay.Function(relay.analysis.free_vars(y), y)
    assert [p.name_hint for p in func.params] == ["data", "conv_weight", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var", "fc_weight", "fc_bias"]
    assert testing.run_infer_type(func).checked_type.ret_type == relay.TensorType((1, 5))
    assert layers.conv_kernel_layout("NHWC") == "HWIO" and layers.conv_kernel_layout("NCHW", True) == "OIHW"


@pytest.mark.parametrize("make, out", [
    (lambda: testing.mlp.get_workload(3), (3, 10)),
    (lambda: testing.resnet.get_workload(num_layers=20, num_classes=10, image_shape=(3, 28, 28)), (1, 10)),
    (lambda: testing.vgg.get_workload(1, num_classes=7, image_shape=(3, 32, 32), num_layers=11), (1, 7)),
    (lambda: testing.vgg.get_workload(1, num_classes=7, image_shape=(3, 32, 32), num_layers=11, batch_norm=True), (1, 7)),
    (lambda: testing.mobilenet.get_workload(num_classes=11, image_shape=(3, 64, 64)), (1, 11)),
    (lambda: testing.squeezenet.get_workload(num_classes=9, version="1.0", image_shape=(3, 64, 64)), (1, 9)),
    (lambda: testing.densenet.get_workload(121, classes=9, batch_size=2, image_shape=(3, 64, 64)), (2, 9)),
    (lambda: testing.inception_v3.get_workload(num_classes=9, image_shape=(3, 96, 96)), (1, 9)),
    (lambda: testing.resnet_3d.get_workload(num_layers=8, num_classes=9, image_shape=(3, 8, 28, 28)), (1, 9)),
    (lambda: testing.resnet_3d.get_workload(num_layers=50, num_classes=9, image_shape=(3, 8, 56, 56)), (1, 9)),
    (lambda: testing.dqn.get_workload(2, num_actions=4), (2, 4)),
    (lambda: testing.lstm.get_workload(3, 8, batch_size=2), (2, 8)),
])  # fmt: skip
def test_zoo(make, out):
    mod, params = make()
    assert tuple(mod["main"].checked_type.ret_type.concrete_shape) == out
    for param in mod["main"].params:
        if param.name_hint in params:
            assert tuple(params[param.name_hint].shape) == tuple(param.checked_type.concrete_shape)


@pytest.mark.parametrize("make, wanted", [
    (lambda: testing.densenet.get_workload(121, image_shape=(3, 32, 32)), 7978856),
    (lambda: testing.densenet.get_workload(169, image_shape=(3, 32, 32)), 14149480),
    (lambda: testing.inception_v3.get_workload(image_shape=(3, 96, 96)), 23834568),
], ids=["densenet121", "densenet169", "inception_v3"])  # fmt: skip
def test_networks_have_as_many_weights_as_those_of_others(make, wanted):
    """As counted in torchvision's models, Inception's without the side classifier."""
    _, params = make()
    assert sum(int(np.prod(value.shape)) for name, value in params.items() if "moving" not in name) == wanted


@pytest.mark.parametrize("depth", [3, 19])
@pytest.mark.parametrize("network", [testing.resnet, testing.resnet_3d])
def test_resnet_depths_that_there_are_not(network, depth):
    with pytest.raises(ValueError, match=f"no network has {depth} layers: there are 18, 34, 50"):
        network.get_workload(num_layers=depth)


def test_networks_that_there_are_not():
    with pytest.raises(ValueError, match="no DenseNet has 120 layers: there are 121, 161, 169, 201"):
        testing.densenet.get_workload(120)
    with pytest.raises(ValueError, match="pooling p is max or avg, not 'sum'"):
        testing.inception_v3.Pooling(relay.var("x", shape=(1, 3, 8, 8)), (3, 3), (1, 1), (1, 1), "sum", "p")


@pytest.mark.parametrize("make", [
    lambda: testing.densenet.get_workload(121, classes=5, batch_size=1, image_shape=(3, 32, 32)),
    lambda: testing.resnet_3d.get_workload(num_layers=8, num_classes=5, image_shape=(3, 4, 8, 8)),
], ids=["densenet", "resnet_3d"])  # fmt: skip
def test_networks_run_in_both_executors(make):
    mod, params = make()
    shape = tuple(mod["main"].params[0].checked_type.concrete_shape)
    data = np.random.default_rng(1).normal(size=shape).astype("float32")
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    found = [relay.create_executor(kind, mod=mod).evaluate()(data).numpy() for kind in ("vm", "debug")]
    assert np.isfinite(found[0]).all() and found[0].shape == (1, 5)
    tvm.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-4)


def test_dcgan_layers():
    x = relay.var("x", shape=(1, 8, 4, 4))
    y = testing.dcgan.deconv2d(x, (8, 4, 4), (4, 8, 8), (4, 4), "NCHW", "g")
    assert testing.run_infer_type(y).checked_type == relay.TensorType((1, 4, 8, 8))


# References of topi against NumPy written another way.


def test_reference_of_conv2d():
    a, w = np.random.rand(1, 2, 5, 5), np.random.rand(3, 2, 3, 3)
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3), axis=(2, 3))
    tvm.testing.assert_allclose(topi_testing.conv2d_nchw_python(a, w, 1, 0), np.einsum("ncyxij,ocij->noyx", windows, w), rtol=1e-6)
    wanted = topi_testing.conv2d_nchw_python(a, w, 2, 1).transpose(0, 2, 3, 1)
    tvm.testing.assert_allclose(topi_testing.conv2d_nhwc_python(a.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), 2, 1), wanted, rtol=1e-6)


def test_reference_of_conv2d_transpose_is_the_adjoint():
    a, w = np.random.rand(1, 2, 4, 4), np.random.rand(2, 3, 3, 3)
    up = topi_testing.conv2d_transpose_nchw_python(a, w, (2, 2), (1, 1), (0, 0))
    b = np.random.rand(*up.shape)
    down = topi_testing.conv2d_nchw_python(b, w, 2, 1)
    tvm.testing.assert_allclose((up * b).sum(), (down * a).sum(), rtol=1e-5)


def test_references_of_arrays():
    a = np.random.rand(2, 3)
    assert topi_testing.one_hot(np.array([1]), 1, 0, 3, -1, "float32").tolist() == [[0, 1, 0]]
    assert topi_testing.dilate_python(a, (1, 2)).shape == (2, 5)
    assert (topi_testing.gather_python(a, 1, np.array([[0], [2]])) == np.array([[a[0, 0]], [a[1, 2]]])).all()
    tvm.testing.assert_allclose(topi_testing.softmax_python(a).sum(1), np.ones(2))
    tvm.testing.assert_allclose(np.exp(topi_testing.log_softmax_python(a)), topi_testing.softmax_python(a))
    tvm.testing.assert_allclose(topi_testing.batch_matmul(a[None], a[None]), (a @ a.T)[None])
    tvm.testing.assert_allclose(topi_testing.strided_slice_python(a, [0, 2], [2, -4], [1, -1]), a[:, ::-1])


def test_a_reference_that_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="tuning schedules"):
        topi_testing.get_injective_schedule("llvm")
    with pytest.raises(AttributeError):
        topi_testing.nothing


def test_check_grad():
    testing.check_grad(relay.Function([x := relay.var("x", shape=(2,))], x * x))


def test_check_grad_of_functions_with_floats_inside():
    x = relay.var("x", shape=(2, 3))
    v = relay.var("v", shape=(2, 3))
    bodies = [
        relay.sqrt(x * x + relay.const(1.0)),
        x * relay.ones((3,), "float32"),
        relay.cast(x, "float32"),
        relay.nn.bias_add(x, relay.const(np.ones(3, "float32")), axis=1),
        relay.Function([v], v * relay.const(2.0))(x),  # of a type that is written
    ]
    for body in bodies:
        testing.check_grad(relay.Function([x], body))
    for inputs in ([], [np.ones((2, 3))] * 2):
        with pytest.raises(TypeError, match=f"@main takes 1 argument, not {len(inputs)}"):
            testing.check_grad(relay.Function([x], x), inputs=inputs)
