"""Whole models of torchvision and Hugging Face: each converts, compiles and agrees with PyTorch at two sizes."""

import pytest

torch = pytest.importorskip("torch")

import model_check  # noqa: E402
import models  # noqa: E402


@pytest.mark.parametrize("name", models.MODELS)
def test_converts_and_agrees(name):
    pytest.importorskip(name.split("/")[0])
    outcome = model_check.check(name)
    assert outcome.stage == "agrees", f"{outcome.stage}: {outcome.error or outcome.difference}"


def test_at_least_sixty_architectures():
    assert len(models.MODELS) >= 60


def test_a_difference_is_seen():
    one = torch.linspace(0, 1, 5)
    assert model_check.difference(one, one) == 0
    assert model_check.difference(one + 0.01, one) > model_check.TOLERANCE
    with pytest.raises(ValueError, match="shape"):
        model_check.difference(one[:4], one)
    with pytest.raises(ValueError, match="2 results instead of 1"):
        model_check.difference([one, one], one)
    with pytest.raises(ValueError, match="not finite"):
        model_check.difference(one, one / 0)
