"""Weights of torch.compile(backend="relay") without gradients: constants while nobody changes them, and changes count at once."""

import pytest

torch = pytest.importorskip("torch")

from relay.frontend.torch import backend as module  # noqa: E402
from relay.frontend.torch.weights import Steady  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4), torch.nn.BatchNorm1d(4)
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x):
        self.count.add_(1)
        return self.norm(self.second(torch.relu(self.first(x)))) * self.scale


@pytest.fixture
def compiled(monkeypatch):
    """A function that compiles a model, and the numbers of constants of each program that is compiled."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    made, whole = [], module._whole
    monkeypatch.setattr(module, "_warned", set())
    monkeypatch.setattr(module, "_whole", lambda graph, fixed: made.append(len(fixed)) or whole(graph, fixed))
    return lambda model: torch.compile(model, backend=module.relay), made


def agrees(run, model, calls=1):
    for _ in range(calls):
        x = torch.randn(3, 8)
        with torch.no_grad():
            torch.testing.assert_close(run(x), model(x), atol=1e-4, rtol=1e-4)


def test_weights_are_constants_and_what_the_model_changes_is_not(compiled):
    compile_, made = compiled
    model = Net().eval()
    agrees(compile_(model), model, 2)
    assert made == [9]
    assert model.count.item() == 4


@pytest.mark.parametrize("change", ["load_state_dict", "optimizer", "new memory", "data in place"])
def test_changes_of_all_weights_count_at_once(compiled, change):
    compile_, made = compiled
    model = Net().eval()
    run = compile_(model)
    agrees(run, model)
    if change == "load_state_dict":
        model.load_state_dict(Net().state_dict())
    elif change == "optimizer":
        model(torch.randn(3, 8)).sum().backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    else:
        for weight in model.parameters():
            if change == "new memory":
                weight.data = torch.randn(weight.shape)
            else:
                weight.data.mul_(1.5)
    agrees(run, model, 2)
    assert made == [9, 0]
    # When they are still for some calls, they are constants again.
    agrees(run, model, Steady.FIRST_WAIT)
    assert made == [9, 0, 9]


def test_few_weights_that_change_become_arguments(compiled):
    compile_, made = compiled
    model = Net().eval()
    run = compile_(model)
    agrees(run, model)
    for _ in range(3):
        with torch.no_grad():
            model.scale.mul_(2)
        agrees(run, model)
    assert made == [9, 8]


def test_weights_without_a_count_of_changes_are_arguments(compiled):
    compile_, made = compiled
    with torch.inference_mode():
        model = torch.nn.Linear(8, 4).eval()
    run = compile_(model)
    for _ in range(2):
        x = torch.randn(3, 8)
        with torch.inference_mode():
            torch.testing.assert_close(run(x), model(x))
            model.weight.mul_(2)
    assert made and not any(made)


def test_parts_around_an_operator_that_is_not_supported_have_the_weights(compiled):
    compile_, made = compiled

    class Around(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(3, 2)

        def forward(self, x):
            y = torch.geqrf(torch.relu(self.first(x)) + 1)[1]
            return self.second(torch.relu(y) + 1)

    model = Around().eval()
    with pytest.warns(UserWarning, match="geqrf"):
        run = compile_(model)
        agrees(run, model)
    assert made == [2, 2]
    model.load_state_dict(Around().state_dict())
    agrees(run, model)
    assert made == [2, 2, 0, 0]


def test_channels_last_weights_are_watched(compiled):
    compile_, made = compiled
    model = torch.nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last).eval()
    run, x = compile_(model), torch.randn(1, 3, 9, 9)
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x), atol=1e-4, rtol=1e-4)
        model.weight.data.mul_(2)
        torch.testing.assert_close(run(x), model(x), atol=1e-4, rtol=1e-4)
    assert made == [2, 0]
