"""Core ATen: each operator against PyTorch on the samples of PyTorch's own tests, which have extents 0 and 1, and on other dtypes."""

import functools
import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # of PyTorch's testing package

from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import relay  # noqa: E402
from relay.frontend.torch.convert import decompositions  # noqa: E402
from relay.frontend.torch.program import convert_graph, unsupported  # noqa: E402
from relay.frontend.torch.registry import supported  # noqa: E402

# Core operators without a converter, and why. docs/guides/pytorch.md has the same table.
LEFT_OUT = {
    "random numbers of PyTorch's generator": "rand.default randn.default randperm.default",
    "memory, not values: functional graphs have none of them": "resize_.default sym_is_contiguous.default atan2.out",
}


def core():
    names = set()
    for full in torch._C._dispatch_get_all_op_names():
        packet, _, overload = full.removeprefix("aten::").partition(".")
        op = full.startswith("aten::") and getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
        if op and torch.Tag.core in op.tags:
            names.add(op)
    return sorted(names, key=str)


def test_each_core_operator_has_a_converter_or_a_reason():
    reasons = {"aten." + name for names in LEFT_OUT.values() for name in names.split()}
    missing = {str(op) for op in core() if not supported(op)}
    assert missing == reasons & {str(op) for op in core()}


CORE = {op.name().removeprefix("aten::").partition(".")[0] for op in core() if supported(op)}
# Alternatives of core operators under names of their own.
NAMES = {"nn.functional.conv2d", "nn.functional.conv1d", "nn.functional.conv3d", "nn.functional.conv_transpose2d", "nn.functional.linear",
         "nn.functional.layer_norm", "nn.functional.group_norm", "nn.functional.batch_norm", "nn.functional.max_pool2d", "softmax", "log_softmax",
         "nn.functional.scaled_dot_product_attention", "nn.functional.pad", "__getitem__", "to", "nn.functional.silu", "nn.functional.grid_sample",
         "nn.functional.fold", "nn.functional.unfold", "nn.functional.interpolate", "nn.functional.embedding_bag", "nn.functional.pdist", "cdist",
         "nn.functional.max_pool3d", "nn.functional.max_pool1d", "unfold", "bucketize", "searchsorted",
         "nn.functional.upsample_bilinear", "nn.functional.upsample_nearest"}  # fmt: skip
VARIANTS = {"", "nearest", "linear", "bilinear", "trilinear", "bicubic", "nearest-exact"}  # of interpolation
KNOWN = {name.lstrip("_") for name in CORE}
CASES = [info for info in op_db if info.variant_test_name in VARIANTS and (info.name in NAMES or (info.aten_name or info.name).lstrip("_") in KNOWN)]


@functools.cache
def table():
    """The decompositions; to list them takes longer than to trace a sample."""
    return dict(decompositions().items())


def tensors(value):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def run(info, sample):
    """The results of Relay and PyTorch; None where the sample is of what PyTorch cannot trace or the table leaves out."""
    leaves, spec = torch.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    held = [leaves[i].detach() for i in at]

    def call(*given):
        full = list(leaves)
        for i, value in zip(at, given):
            full[i] = value
        first, args, kwargs = torch.utils._pytree.tree_unflatten(full, spec)
        return tuple(tensors(info.op(first, *args, **kwargs)))

    graph = make_fx(call, decomposition_table=table(), tracing_mode="fake")(*held)
    wanted = call(*held)
    if unsupported(graph) or not wanted:
        return None
    try:
        mod, places = convert_graph(graph)
    except relay.RelayError as error:
        if "written in place" in str(error):  # graphs of export and of AOTAutograd have no such calls
            return None
        raise
    used = [leaf.contiguous() for leaf in held]
    got = relay.compile(mod, threads=1, cache=False)(*used)
    return [got] if len(places) == 1 else list(got), wanted


def by_value(info, sample, got, wanted):
    """Positions as the values that stand there, since PyTorch says nothing of the order of equal ones; none may come twice."""
    if not sample.input.dim():
        return got, wanted
    at = 0 if info.name == "sort" else 1  # topk takes the count first
    axis = sample.args[at] if len(sample.args) > at else sample.kwargs.get("dim", -1)
    places = torch.tensor(np.asarray(got[1]))
    for row in places.movedim(axis, -1).reshape(-1, places.shape[axis]):
        assert len(set(row.tolist())) == len(row)
    return [got[0], sample.input.gather(axis, places)], [wanted[0], sample.input.gather(axis, wanted[1])]


@pytest.mark.parametrize("info", CASES, ids=lambda info: f"{info.name}.{info.variant_test_name}".rstrip("."))
def test_agrees(info, record_property):
    if "random" in info.name or info.name.startswith(("empty", "new_empty")):
        pytest.skip("has no result to compare")
    torch.manual_seed(0)
    dtypes = [dtype for dtype in (torch.float32, torch.int64, torch.bool) if dtype in info.supported_dtypes("cpu")]
    compared = 0
    for dtype in dtypes:
        for sample in itertools.islice(info.sample_inputs("cpu", dtype), 6):
            result = run(info, sample)
            if result is None:
                continue
            compared += 1
            if info.name in ("sort", "topk"):
                result = by_value(info, sample, *result)
            for got, want in zip(*result):
                got = np.asarray(got)
                assert got.shape == tuple(want.shape) and got.dtype == want.numpy().dtype
                np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-4)
    record_property("samples", compared)
    assert compared or not dtypes
