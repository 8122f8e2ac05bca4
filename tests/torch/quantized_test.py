"""`from_pytorch` and `from_torch`: models that PyTorch quantised. Results are within one step of the scale of what PyTorch computes."""

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import relay
from relay.frontend import from_pytorch

ao = pytest.importorskip("torch.ao.quantization")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
ENGINES = [name for name in ("fbgemm", "x86", "qnnpack", "onednn") if name in torch.backends.quantized.supported_engines]


@pytest.fixture(autouse=True)
def own_engine():
    before = torch.backends.quantized.engine
    yield
    torch.backends.quantized.engine = before


def forms(module, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"traced": torch.jit.trace(module, inputs), "scripted": torch.jit.script(module), "plain": module}


def near(found, expected, step):
    """No element is farther than a step and the rounding of floats."""
    np.testing.assert_allclose(np.asarray(found), expected.detach().numpy(), rtol=0, atol=step * 1.001 + 1e-6)


def operators(mod):
    return {name for name in relay.analysis.list_op_freqs(relay.transform.InferType()(mod)) if name.startswith("qnn.")}


class Static(nn.Module):
    """Quantised around a function of layers and quantised tensors."""

    def __init__(self, body, *layers):
        super().__init__()
        self.quant, self.dequant, self.ff = ao.QuantStub(), ao.DeQuantStub(), torch.ao.nn.quantized.FloatFunctional()
        self.layers, self.body = nn.ModuleList(layers), body

    def forward(self, x):
        return self.dequant(self.body(self, self.quant(x)))


class Whole(nn.Module):
    """A small network with most of what networks have."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant, self.ff = ao.QuantStub(), ao.DeQuantStub(), torch.ao.nn.quantized.FloatFunctional()
        self.conv, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()
        self.depth = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8, bias=False)
        self.pool, self.fc = nn.MaxPool2d(2), nn.Linear(16, 5)

    def forward(self, x):
        x = self.relu(self.conv(self.quant(x)))
        x = self.pool(self.depth(x))
        x = self.ff.cat([x, self.ff.add_scalar(x, 0.5)], 1)
        return self.dequant(self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1)))


def quantised(module, x, engine="fbgemm", fuse=()):
    torch.backends.quantized.engine = engine
    module.eval().qconfig = ao.get_default_qconfig(engine)
    if fuse:
        ao.fuse_modules(module, [list(fuse)], inplace=True)
    ao.prepare(module, inplace=True)
    for _ in range(3):
        module(x)
        module(torch.rand_like(x) * 2 - 1)
    return ao.convert(module, inplace=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_network_quantised_in_eager_mode(engine):
    torch.manual_seed(0)
    x = torch.rand(2, 3, 16, 16) * 2 - 1
    net = quantised(Whole(), x, engine, ("conv", "relu"))
    for form, module in forms(net, x).items():
        mod, params = from_pytorch(module, [("x", x.shape)])
        assert {"qnn.quantize", "qnn.conv2d", "qnn.dense", "qnn.requantize", "qnn.dequantize"} <= operators(mod), form
        # qnnpack packs a bias of zeros where a layer has none.
        assert sorted(params.keys() - {"depth_bias"}) == ["conv_bias", "conv_weight", "depth_weight", "fc._packed_params_bias", "fc._packed_params_weight"]
        assert {array.dtype for array in params.values()} == {"float32"}
        near(params["conv_weight"].numpy(), net.conv.weight().dequantize(), 0)
        # Layers before the last one may be a step apart, too.
        near(relay.compile(mod, params=params)(x), net(x), 2 * net.fc.scale)
        kept, params = from_pytorch(module, [("x", x.shape)], keep_quantized_weight=True, use_parser_friendly_name=True)
        assert params["conv_weight"].dtype == params["fc__packed_params_weight"].dtype == "int8"
        np.testing.assert_array_equal(params["conv_weight"].numpy(), net.conv.weight().int_repr().numpy())
        near(relay.compile(kept, params=params)(x), net(x), 2 * net.fc.scale)


LAYERS = {
    "linear": (lambda: [nn.Linear(8, 5)], (3, 8), "qnn.dense"),
    "linear of three axes, no bias": (lambda: [nn.Linear(8, 5, bias=False)], (2, 3, 8), "qnn.dense"),
    "conv1d": (lambda: [nn.Conv1d(3, 4, 3, stride=2, padding=1)], (2, 3, 9), "qnn.quantize"),
    "conv2d": (lambda: [nn.Conv2d(4, 6, 3, stride=2, padding=(1, 2), dilation=2, groups=2)], (2, 4, 9, 9), "qnn.conv2d"),
    "conv3d": (lambda: [nn.Conv3d(2, 3, 2)], (1, 2, 4, 4, 4), "qnn.quantize"),
    "conv and relu": (lambda: [ao.fuse_modules(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).eval(), [["0", "1"]])], (1, 3, 6, 6), "qnn.conv2d"),
    "linear and relu": (lambda: [ao.fuse_modules(nn.Sequential(nn.Linear(8, 5), nn.ReLU()).eval(), [["0", "1"]])], (3, 8), "qnn.dense"),
    "batch norm": (lambda: [nn.BatchNorm2d(3)], (2, 3, 4, 4), "qnn.quantize"),
    "layer norm": (lambda: [nn.LayerNorm(8)], (3, 8), "qnn.quantize"),
    "group norm": (lambda: [nn.GroupNorm(2, 4)], (2, 4, 5), "qnn.quantize"),
    "instance norm": (lambda: [nn.InstanceNorm2d(3, affine=True)], (2, 3, 5, 5), "qnn.quantize"),
    "hardswish": (lambda: [nn.Hardswish()], (3, 8), "qnn.quantize"), "leaky relu": (lambda: [nn.LeakyReLU(0.2)], (3, 8), "qnn.quantize"),
    "elu": (lambda: [nn.ELU()], (3, 8), "qnn.quantize"), "sigmoid": (lambda: [nn.Sigmoid()], (3, 8), "qnn.quantize"),
    "relu6": (lambda: [nn.ReLU6()], (3, 8), "qnn.quantize"),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer(name):
    torch.manual_seed(1)
    layers, shape, wanted = LAYERS[name]
    x = torch.rand(shape) * 2 - 1
    net = quantised(Static(lambda self, x: self.layers[0](x), *layers()), x)
    mod, params = from_pytorch(forms_of_trace(net, x), [("x", shape)])
    assert wanted in operators(mod)
    near(relay.compile(mod, params=params)(x), net(x), float(_step(net, x)))
    kept, params = from_pytorch(net, [("x", shape)], keep_quantized_weight=True)
    near(relay.compile(kept, params=params)(x), net(x), float(_step(net, x)))


def forms_of_trace(net, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(net, inputs)


def _step(net, x):
    return net.body(net, net.quant(x)).q_scale()


def test_a_transposed_convolution():
    torch.manual_seed(2)
    x = torch.rand(1, 4, 5, 5)
    for layer in (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), nn.ConvTranspose1d(4, 6, 3, stride=2)):
        given = x if isinstance(layer, nn.ConvTranspose2d) else x[:, :, 0]
        net = quantised(Static(lambda self, x: self.layers[0](x), layer), given, "qnnpack" if "qnnpack" in ENGINES else ENGINES[0])
        mod, params = from_pytorch(forms_of_trace(net, given), [("x", given.shape)])
        assert ("qnn.conv2d_transpose" in operators(mod)) == isinstance(layer, nn.ConvTranspose2d)
        near(relay.compile(mod, params=params)(given), net(given), _step(net, given))


FUNCTIONS = {
    "add": lambda self, x: self.ff.add(x, x), "add_relu": lambda self, x: self.ff.add_relu(x, x), "mul": lambda self, x: self.ff.mul(x, x),
    "cat": lambda self, x: self.ff.cat([x, x], 1), "add_scalar": lambda self, x: self.ff.add_scalar(x, 0.75),
    "mul_scalar": lambda self, x: self.ff.mul_scalar(x, -1.5), "relu": lambda self, x: F.relu(x), "mean": lambda self, x: x.mean((2, 3)),
    "average": lambda self, x: F.avg_pool2d(x, 2), "greatest": lambda self, x: F.max_pool2d(x, 2, 2, 0), "tanh": lambda self, x: torch.tanh(x),
    "moved": lambda self, x: torch.chunk(x.permute(0, 2, 3, 1).reshape(2, -1, 4)[:, 1:], 2, 2)[1].contiguous(), "clamp": lambda self, x: x.clamp(-0.5, 0.25),
    "enlarged": lambda self, x: F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False), "stacked": lambda self, x: torch.stack([x, x]),
    "sizes": lambda self, x: x.view(x.size(0), x.shape[1] * x.dim(), -1), "hard": lambda self, x: F.hardsigmoid(x),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_quantised_tensors(name):
    torch.manual_seed(3)
    x = torch.rand(2, 4, 6, 6) * 3 - 1.5
    net = quantised(Static(FUNCTIONS[name]), x) if name not in ("moved", "sizes") else quantised(Static(FUNCTIONS[name]), torch.rand(2, 4, 6, 6) * 3)
    mod, params = from_pytorch(forms_of_trace(net, x), [("x", x.shape)])
    assert not params and operators(mod) >= {"qnn.quantize", "qnn.dequantize"}
    near(relay.compile(mod)(x), net(x), _step(net, x))


class Two(nn.Module):
    """Operands of two scales, integers as a result, and what asks for scales."""

    def forward(self, x, y):
        a, b = torch.quantize_per_tensor(x, 0.02, 3, torch.quint8), torch.quantize_per_tensor(y, 0.05, 100, torch.quint8)
        c = torch.ops.quantized.add(a, b, 0.06, 80)
        d = torch.ops.quantized.cat([a, b], 1, 0.05, 90)
        e = torch.ops.quantized.mul(a, b, 0.1, 70)
        per_channel = torch.quantize_per_channel(x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 5, -5]), 1, torch.qint8)
        return c.dequantize(), d.dequantize(), e.int_repr(), per_channel.dequantize(), a.dequantize() * c.q_scale() + c.q_zero_point(), b


def test_operands_of_two_scales_and_properties():
    torch.manual_seed(4)
    x, y = torch.rand(5, 3) * 3, torch.rand(5, 3) * 8 - 4
    expected = Two()(x, y)
    for module in (forms_of_trace(Two(), x, y), torch.jit.script(Two())):
        mod, _ = from_pytorch(module, [("x", (5, 3)), ("y", (5, 3))])
        assert {"qnn.add", "qnn.mul"} <= operators(mod)
        found = relay.compile(mod)(x, y)
        for ours, theirs, step in zip(found, expected, (0.06, 0.05, 1, 0, 0, 0)):
            theirs = theirs.int_repr() if theirs.is_quantized else theirs
            np.testing.assert_allclose(np.asarray(ours).astype("float32"), theirs.float().numpy(), rtol=1e-6, atol=step * 1.001 + 1e-6)


def test_layers_quantised_when_they_run():
    torch.manual_seed(5)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4, bias=False)).eval()
    x = torch.randn(3, 8)
    for dynamic in (ao.quantize_dynamic(net, {nn.Linear}), ao.quantize_dynamic(net, {nn.Linear: ao.per_channel_dynamic_qconfig})):
        for module in forms(dynamic, x).values():
            mod, params = from_pytorch(module, [("x", x.shape)])
            assert {"0._packed_params_bias", "0._packed_params_weight", "2._packed_params_weight"} <= set(params), sorted(params)
            assert "qnn.dense" in operators(mod)
            np.testing.assert_allclose(np.asarray(relay.compile(mod, params=params)(x)), dynamic(x).numpy(), rtol=1e-2, atol=5e-3)
        kept, params = from_pytorch(dynamic, [("x", x.shape)], keep_quantized_weight=True)
        assert params["0._packed_params_weight"].dtype == "int8" and params["0._packed_params_bias"].dtype == "float32"
        np.testing.assert_allclose(np.asarray(relay.compile(kept, params=params)(x)), dynamic(x).numpy(), rtol=1e-2, atol=5e-3)


def test_open_batches():
    x = torch.rand(2, 3, 16, 16) * 2 - 1
    net = quantised(Whole(), x, fuse=("conv", "relu"))
    mod, params = from_pytorch(torch.jit.script(net), [("x", (relay.Any(), 3, 16, 16))])
    run = relay.compile(mod, params=params)
    for batch in (1, 4):
        given = torch.rand(batch, 3, 16, 16)
        near(run(given), net(given), 2 * net.fc.scale)


class Float(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).mean((2, 3)))


def graph_mode(convert, qconfig=None):
    fx = pytest.importorskip("torch.ao.quantization.quantize_fx")
    torch.manual_seed(6)
    torch.backends.quantized.engine = ENGINES[0]
    x = torch.rand(2, 3, 8, 8)
    mapping = ao.get_default_qconfig_mapping(ENGINES[0]) if qconfig is None else ao.QConfigMapping().set_global(qconfig)
    prepared = fx.prepare_fx(Float().eval(), mapping, (x,))
    prepared(x)
    return getattr(fx, convert)(prepared), x


def test_graph_mode():
    net, x = graph_mode("convert_fx")
    for module in (net, forms_of_trace(net, x)):
        mod, params = from_pytorch(module, [("x", x.shape)])
        assert {"qnn.conv2d", "qnn.dense"} <= operators(mod)
        near(relay.compile(mod, params=params)(x), net(x), 2 * net.fc.scale)
    reference, x = graph_mode("convert_to_reference_fx")
    mod, params = from_pytorch(reference, [("x", x.shape)])
    assert {"qnn.quantize", "qnn.dequantize"} <= operators(mod)
    near(relay.compile(mod, params=params)(x), reference(x), 2 * net.fc.scale)


@pytest.mark.parametrize("qconfig", ["static", "dynamic"])
def test_exported_programs(qconfig):
    chosen = None if qconfig == "static" else ao.default_dynamic_qconfig
    net, x = graph_mode("_convert_to_reference_decomposed_fx", chosen)
    program = torch.export.export(net, (x,))
    mod, params = relay.from_torch(program)
    assert {"qnn.quantize", "qnn.dequantize"} <= operators(mod)
    np.testing.assert_allclose(np.asarray(relay.compile(mod, params=params)(x)), net(x).detach().numpy(), atol=0.02)


class Unknown(nn.Module):
    def forward(self, x):
        a = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
        return torch.ops.quantized.embedding_bag_byte_prepack(x), torch.ops.quantized.embedding_bag_byte_unpack(a.int_repr())


class Ranged(nn.Module):
    def forward(self, x):
        return torch.relu(torch.quantize_per_tensor(x, x.max() / 255, torch.zeros((), dtype=torch.int64), torch.quint8)).dequantize()


def test_what_is_not_supported_is_named_at_its_line():
    import tvm

    words = r"are not implemented: \['quantized::embedding_bag_byte_prepack', 'quantized::embedding_bag_byte_unpack'\]\n"
    with pytest.raises(tvm.error.OpNotImplemented, match=words) as failed:
        tvm.relay.frontend.from_pytorch(torch.jit.script(Unknown()), [("x", (3, 12))])
    assert "quantized_test.py:" in str(failed.value)
    with pytest.raises(relay.RelayError, match="aten::relu: a quantised tensor whose scale is a tensor can be dequantised only") as failed:
        from_pytorch(torch.jit.script(Ranged()), [("x", (3, 12))])
    assert "quantized_test.py:" in str(failed.value)
