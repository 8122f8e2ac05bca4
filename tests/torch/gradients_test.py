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
