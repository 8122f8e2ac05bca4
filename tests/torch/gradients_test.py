"""Gradients that PyTorch leaves as operators of their own, against PyTorch."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from relay.frontend.torch.backend import relay as backend  # noqa: E402


def gradients(run, model, *inputs):
    given = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    model.zero_grad()
    (run(*given) ** 3).sum().backward()
    return [x.grad for x in (*given, *model.parameters()) if x.grad is not None]


def agree(model, *inputs):
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="a part of the model runs in PyTorch")
        got = [g.clone() for g in gradients(torch.compile(model, backend=backend), model, *inputs)]
    want = gradients(model, model, *inputs)
    assert len(got) == len(want) > 0
    for a, b in zip(got, want):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape,normal", [((3, 5), (5,)), ((2, 3, 4), (3, 4)), ((4,), (4,)), ((1, 6), (6,))])
def test_layer_norm(shape, normal, affine):
    torch.manual_seed(0)
    agree(torch.nn.LayerNorm(normal, elementwise_affine=affine), torch.randn(shape))


@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("indices", [[[1, 2, 2], [0, 1, 6]], [3]])
def test_embedding(indices, padding):
    torch.manual_seed(0)
    agree(torch.nn.Embedding(7, 4, padding_idx=padding), torch.tensor(indices))


NETWORKS = {
    "conv2d": (lambda: [torch.nn.Conv2d(4, 8, 3, padding=1, stride=2, bias=True), torch.nn.Conv2d(8, 8, (3, 2), groups=4, dilation=2)], (2, 4, 12, 13)),
    "conv1d": (lambda: [torch.nn.Conv1d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv1d(8, 4, 5, stride=2)], (2, 3, 16)),
    "conv3d": (lambda: [torch.nn.Conv3d(3, 4, 3, padding=1), torch.nn.MaxPool3d(2), torch.nn.Conv3d(4, 4, 1)], (2, 3, 4, 4, 4)),
    "transposed": (lambda: [torch.nn.ConvTranspose2d(3, 8, 3, padding=1, stride=2, output_padding=1), torch.nn.AdaptiveAvgPool2d((3, 5))], (2, 3, 5, 7)),
    "norms": (lambda: [torch.nn.Conv2d(3, 8, 3, bias=False), torch.nn.BatchNorm2d(8), torch.nn.Conv2d(8, 8, 1), torch.nn.GroupNorm(2, 8)], (2, 3, 6, 6)),
    "pools": (lambda: [torch.nn.Conv2d(2, 4, 1), torch.nn.MaxPool2d(3, 2, padding=1, ceil_mode=True),
                       torch.nn.AvgPool2d(2, padding=1, count_include_pad=False)], (2, 2, 9, 8)),
    "resize": (lambda: [torch.nn.Conv2d(2, 4, 1), torch.nn.PixelShuffle(2), torch.nn.ReflectionPad2d(1)], (1, 2, 4, 5)),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name):
    torch.manual_seed(0)
    layers, shape = NETWORKS[name]
    agree(torch.nn.Sequential(*layers()), torch.randn(shape))


def test_equal_elements_of_a_max_pool_have_one_gradient():
    torch.manual_seed(0)
    agree(torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1), torch.nn.MaxPool2d(2)), torch.ones(1, 1, 4, 4))


def test_dropout_runs_in_pytorch_and_the_rest_is_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 4))
    x = torch.randn(3, 8)
    with pytest.warns(UserWarning, match="native_dropout"):
        torch.manual_seed(1)
        got = [g.clone() for g in gradients(torch.compile(model, backend=backend), model, x)]
    torch.manual_seed(1)
    for a, b in zip(got, gradients(model, model, x)):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0)
            self.mask = torch.nn.Transformer.generate_square_subsequent_mask(6) if causal else None

        def forward(self, x):
            return self.layer(x, src_mask=self.mask, is_causal=causal) * torch.linspace(-1, 1, 16)

    agree(Attention(), torch.randn(2, 6, 16))
