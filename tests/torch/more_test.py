"""Operators outside of core ATen, against PyTorch."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import relay  # noqa: E402
from functions import Module, results  # noqa: E402
from relay.frontend.torch.backend import relay as backend  # noqa: E402

NAN = float("nan")
X = torch.randn(4, 7, generator=torch.Generator().manual_seed(0))
Y = torch.randn(4, 7, generator=torch.Generator().manual_seed(1))
HOLES = X.clone()
HOLES[1, 2], HOLES[2, 3] = NAN, HOLES[2, 1]
PLACES = torch.tensor([[0, 2, 6], [1, 1, 1], [6, 5, 4], [0, 0, 3]])
WHOLE = torch.tensor([3, 0, 3, 2, 2, 2, 0, 1, 3])

CASES = {
    "exp2": (torch.exp2, X),
    "erfc": (torch.erfc, X),
    "hypot": (torch.hypot, X * 1e25, Y * 1e25),
    "fmax": (torch.fmax, HOLES, Y),
    "fmin": (torch.fmin, Y, HOLES),
    "bilinear": (torch.nn.functional.bilinear, X, Y, torch.ones(2, 7, 7)),
    "histc of the data's range": (lambda x: torch.histc(x, 5), X),
    "histc of a range": (lambda x: torch.histc(x, 5, -1, 1), X),
    "histc of equal elements": (lambda x: torch.histc(x, 3), torch.ones(4)),
    "cummax": (lambda x: torch.cummax(x, 1), HOLES),
    "cummin": (lambda x: torch.cummin(x, 0), HOLES),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), X * 50),
    "median": (lambda x: torch.median(x, 1), X),
    "median of all": (torch.median, X),
    "kthvalue": (lambda x: torch.kthvalue(x, 2, 0, True), X),
    "masked_select": (lambda x: torch.masked_select(x, x > 0) * 2, X),
    "scatter with reduce": (lambda x, i, v: x.scatter(1, i, v, reduce="add"), X, PLACES, Y[:, :3]),
    "scatter of a number with reduce": (lambda x, i: x.scatter(1, i, 2.0, reduce="multiply"), X, PLACES),
    "operators without tensors": (lambda x: x * torch.hann_window(7) * torch.kaiser_window(7), X),
    "positions without tensors": (lambda x: x[tuple(torch.tril_indices(4, 4))], X),
    "unique": (lambda i: torch.unique(i, return_inverse=True, return_counts=True), WHOLE),
    "bincount": (lambda i: torch.bincount(i, minlength=6), WHOLE),
    "bincount beyond its least length": (lambda i, w: torch.bincount(i, w, 2), WHOLE, X.flatten()[:9]),
    "unique_consecutive": (lambda i: torch.unique_consecutive(i, return_inverse=True, return_counts=True), WHOLE),
    "unique_consecutive of nothing": (lambda i: torch.unique_consecutive(i, return_inverse=True), WHOLE[:0]),
    "fake_quantize of a tensor": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 40), X),
    "fake_quantize by tensors": (
        lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.05), torch.tensor(3, dtype=torch.int32), 0, 40), X),
    "fake_quantize of channels": (
        lambda x: torch.fake_quantize_per_channel_affine(x, torch.linspace(0.01, 0.2, 7), torch.arange(7, dtype=torch.int32), 1, -10, 10), X),
    "as_strided": (lambda x: x.t().as_strided((3, 2), (2, 7), 1), X),
    **{f"scatter_reduce {reduce} {itself} {kind}": (
        lambda x, i, v, reduce=reduce, itself=itself: x.scatter_reduce(1, i, v, reduce, include_self=itself),
        X.mul(4).to(kind), PLACES, Y[:, :3].mul(4).to(kind))
       for reduce in ("sum", "mean", "prod", "amax", "amin") for itself in (True, False) for kind in (torch.float32, torch.int64)},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_agrees(name):
    check(*CASES[name])


def check(function, *args):
    run = relay.compile(relay.from_torch(torch.export.export(Module(function), tuple(args)))[0], cache=False)
    wanted = results(function(*args))
    got = results(run(*args))
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        one = np.asarray(one)
        assert one.shape == tuple(other.shape) and one.dtype == other.numpy().dtype
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)


def test_boxes_of_torchvision():
    ops = pytest.importorskip("torchvision").ops
    generator = torch.Generator().manual_seed(0)
    boxes = torch.rand(30, 4, generator=generator) * 4
    boxes[:, 2:] += boxes[:, :2]
    boxes[1], boxes[2] = torch.tensor([0.0, 0, 2, 1]), torch.tensor([0.0, 0, 1, 1])  # these overlap by just a half, which keeps both
    scores = torch.rand(30, generator=generator) - 0.5
    for threshold in (0.2, 0.5, 1.0):
        check(lambda b, s, t=threshold: ops.nms(b, s, t), boxes, scores)
    image = torch.randn(2, 3, 9, 9, generator=generator)
    for aligned in (True, False):
        check(lambda x, b, a=aligned: ops.roi_align(x, [b[:2], b[2:5]], (3, 2), 0.9, 2, a), image, boxes)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("masks", ["none", "pairs", "padding", "both"])
def test_encoder_layers_of_inference(norm_first, masks):
    torch._dynamo.reset()
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first, activation="gelu" if norm_first else "relu").eval()
    given = {}
    if masks in ("pairs", "both"):
        given["src_mask"] = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    if masks in ("padding", "both"):
        given["src_key_padding_mask"] = torch.tensor([[False] * 5, [False, False, False, True, True]])
    x = torch.randn(2, 5, 8)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", message="a part of the model runs in PyTorch")
        torch.testing.assert_close(torch.compile(layer, backend=backend)(x, **given), layer(x, **given), atol=1e-5, rtol=1e-4)


def test_averages_of_pictures_whose_channels_are_last_and_batch_is_open():
    """PyTorch's pool writes its result's strides by as_strided."""
    pool = Module(lambda x: torch.nn.functional.adaptive_avg_pool2d(x.permute(0, 3, 1, 2), 1).flatten(1))
    dims = {axis: torch.export.Dim.AUTO for axis in range(3)}
    run = relay.compile(relay.from_torch(torch.export.export(pool, (torch.randn(2, 4, 5, 8),), dynamic_shapes={"args": (dims,)}))[0], cache=False)
    x = torch.randn(3, 6, 4, 8)
    np.testing.assert_allclose(np.asarray(run(x)), pool(x).numpy(), rtol=1e-5, atol=1e-6)


def test_groups_of_rows_have_matrices_of_their_own():
    grouped = getattr(torch.nn.functional, "grouped_mm", None)
    if grouped is None:
        pytest.skip("this PyTorch has no grouped_mm")
    rows, matrices = torch.randn(6, 8).bfloat16(), torch.randn(3, 8, 8).bfloat16()
    offsets = torch.tensor([2, 2, 6], dtype=torch.int32)  # the second group is empty
    run = relay.compile(relay.from_torch(torch.export.export(Module(lambda a, b, o: grouped(a, b, offs=o)), (rows, matrices, offsets)))[0], cache=False)
    got, want = torch.from_dlpack(run(rows, matrices, offsets)).float(), grouped(rows, matrices, offs=offsets).float()
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("function,words", [
    (lambda x: torch.nn.functional.adaptive_max_pool1d(x[None], 3, return_indices=True)[1], "indices of adaptive_max_pool"),
    (lambda x: torch.cummax(x.long(), 0), "running extreme of whole numbers"),
    (lambda x: x[:, ::2].as_strided((2, 2), (1, 1)), "as_strided"),
])  # fmt: skip
def test_calls_that_are_not_taken_say_why(function, words):
    with pytest.raises(relay.RelayError, match=words):
        relay.from_torch(torch.export.export(Module(function), (X,)))


@pytest.mark.parametrize("bad", [-1, 5])
@pytest.mark.parametrize("function", [lambda x, i: torch.nn.functional.embedding(i, x), lambda x, i: x.index_select(0, i)])
def test_indices_that_are_out_of_range_are_an_error(function, bad):
    """As in PyTorch: `take` would give the nearest element."""
    x, i = torch.randn(5, 3), torch.tensor([4, 0])
    run = relay.compile(relay.from_torch(torch.export.export(Module(function), (x, i)))[0], cache=False)
    np.testing.assert_array_equal(run(x, i), function(x, i))
    with pytest.raises(relay.RelayError, match=f"index {bad} is out of range for extent 5"):
        run(x, torch.tensor([4, bad]))
