"""Complex numbers, which are pairs of tensors in Relay: each function by from_torch and by torch.compile, against PyTorch."""

import warnings

import pytest

torch = pytest.importorskip("torch")

import relay  # noqa: E402
from functions import Module  # noqa: E402
from relay.frontend.torch.backend import relay as backend  # noqa: E402

G = torch.Generator().manual_seed(0)
X, Y, Z = (torch.randn(3, 4, 6, generator=G) for _ in range(3))
NUMBERS = torch.randn(6, dtype=torch.complex64, generator=G)


def both(x, y):
    return torch.complex(x, y)


def parts(z):
    return torch.view_as_real(z)


CASES = {
    "arithmetic": lambda x, y: parts((both(x, y) + 2 - 1j * x) * both(y, x) - x),
    "numbers": lambda x, y: (parts(both(x, y) * (2 - 3j)), parts(both(x, y) / (1 + 2j)), parts(both(x, y) + (1 + 2j)), parts(both(x, y) / 2)),
    "quotients": lambda x, y: (parts(both(x, y) / both(y, x + 3)), parts(both(x, y) / (x + 9)), parts(x / both(y, x + 3))),
    "great quotients": lambda x, y: parts(both(x * 1e30, y * 1e30) / both(y * 1e30, x * 1e30)),
    "functions": lambda x, y: (both(x, y).abs(), both(x * 1e30, y * 1e30).abs(), both(x, y).angle(), x.angle(), parts(both(x, y).exp()), parts(both(x, y) ** 2)),
    "parts": lambda x, y: (both(x, y).real * 2, both(x, y).imag + 1, parts(both(x, y).conj() * both(y, x))),
    "polar": lambda x, y: parts(torch.polar(x.abs(), y)),
    "movement": lambda x, y: parts(torch.cat([both(x, y)[:, 1:], both(y, x)[:, :2].flip(1)], 1).transpose(0, 1).reshape(5, -1)[:, ::2]),
    "choice": lambda x, y: parts(torch.where(x > 0, both(x, y), both(y, x))[torch.tensor([2, 0])]),
    "sums": lambda x, y: (parts(both(x, y).sum(1)), parts(both(x, y).mean((0, 2)))),
    "products": lambda x, y: (parts(both(x, y) @ both(y, x).mT), parts(both(x, y)[0] @ x[0].mT.to(torch.complex64)), parts(torch.einsum("bij,bkj->bik", both(x, y), both(y, y)))),
    "constants": lambda x, y: parts(both(x, y) * NUMBERS),
    "fft": lambda x, y: (parts(torch.fft.fft(both(x, y))), parts(torch.fft.ifft(both(x, y), dim=1, norm="ortho")), parts(torch.fft.fft(x, n=5))),
    "rfft": lambda x, y: (parts(torch.fft.rfft(x)), torch.fft.irfft(torch.fft.rfft(x)), torch.fft.irfft(both(x, y), n=9, norm="forward"), torch.fft.irfft(both(x, y), n=1)),
    "fft of planes": lambda x, y: (parts(torch.fft.fft2(both(x, y))), parts(torch.fft.rfft2(x)), torch.fft.irfft2(torch.fft.rfft2(x, norm="ortho"), norm="ortho"), parts(torch.fft.ifftn(both(x, y)))),
    "shifts": lambda x, y: parts(torch.fft.fftshift(torch.fft.fft2(x), dim=(-2, -1))),
    "stft": lambda x, y: torch.stft(x.flatten(1), 8, 3, window=torch.hann_window(8), return_complex=True).abs(),
    "complex results": lambda x, y: both(x, y),
}  # fmt: skip


def close(gots, wants):
    gots, wants = ([item] if isinstance(item, torch.Tensor) else list(item) for item in (gots, wants))
    assert len(gots) == len(wants)
    for got, want in zip(gots, wants):
        torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_agrees(name):
    function, wanted = CASES[name], CASES[name](X, Y)
    run = relay.compile(relay.from_torch(torch.export.export(Module(function), (X, Y)))[0], cache=False)
    got = run(X, Y)
    got = [torch.from_dlpack(item) for item in (got if isinstance(got, (list, tuple)) else [got])]
    # A complex result has a last axis for its parts.
    close(got, torch.view_as_real(wanted) if isinstance(wanted, torch.Tensor) and wanted.is_complex() else wanted)
    torch._dynamo.reset()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", message="a part of the model runs in PyTorch")
        close(torch.compile(function, backend=backend)(X, Y), wanted)


def test_complex_inputs_and_weights():
    torch._dynamo.reset()

    class Filter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(NUMBERS.clone())

        def forward(self, z):
            return z * self.weight

    model, z = Filter(), torch.complex(X, Y)
    run = torch.compile(model, backend=backend)
    with torch.no_grad():
        close(run(z), model(z))
        model.weight.mul_(2j)
        close(run(z), model(z))
        close(run(z.conj()), model(z.conj()))
    with torch.no_grad():
        run = relay.compile(relay.from_torch(torch.export.export(model, (z,)))[0], cache=False)
        close(torch.from_dlpack(run(torch.view_as_real(z))), torch.view_as_real(model(z)))


def test_open_batches_of_spectra():
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(Module(lambda x: torch.fft.rfft(x).abs()), (X,), dynamic_shapes=(({0: batch},),))
    run = relay.compile(relay.from_torch(program)[0], cache=False)
    for count in (2, 5):
        x = torch.randn(count, 4, 6)
        close(torch.from_dlpack(run(x)), torch.fft.rfft(x).abs())


def test_gradients_of_spectra():
    torch._dynamo.reset()

    def power(x):
        return (torch.fft.rfft(x).abs() ** 2).sum()

    slopes = []
    for run in (power, torch.compile(power, backend=backend)):
        x = X.clone().requires_grad_()
        run(x).backward()
        slopes.append(x.grad)
    torch.testing.assert_close(slopes[0], slopes[1], atol=1e-3, rtol=1e-4)


def test_operators_on_complex_numbers_that_are_not_taken_say_so():
    with pytest.raises(relay.RelayError, match="complex"):
        relay.from_torch(torch.export.export(Module(lambda x, y: torch.complex(x, y).tanh().abs()), (X, Y)))
