"""Derived gradients, grad.NAME(inputs, gradient of the result), against PyTorch's automatic differentiation in float64."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F

from .conv import sides
from .core import Type, distinct, draw, narrow, reference, shape_label, wide

FORWARD = {}


def forward(name):
    """Registers the operator in PyTorch; its gradient is the reference of grad.NAME."""

    def register(function):
        FORWARD[name] = function

        @reference(f"grad.{name}")
        def gradient(*args, **attributes):
            *inputs, given = args
            tensors = [torch.tensor(wide(i)) for i in inputs]
            floats = [t.requires_grad_() for t in tensors if t.dtype == torch.float64]
            result = function(*tensors, **attributes)
            seed = torch.tensor(wide(given))
            results = torch.autograd.grad(result, floats, seed, allow_unused=True)
            dtypes = [i.dtype for i in inputs if i.dtype.kind == "f"]
            outputs = tuple(
                narrow(np.zeros(f.shape) if r is None else r.numpy(), d)
                for r, f, d in zip(results, floats, dtypes)
            )
            return outputs if len(outputs) > 1 else outputs[0]

        return function

    return register


@forward("nn.softmax")
def softmax(x, *, axis=-1):
    return torch.softmax(x, axis)


@forward("nn.layer_norm")
def layer_norm(x, gamma, beta, *, axis=-1, epsilon=1e-5, center=True, scale=True):
    moved = x.movedim(axis, -1)
    return F.layer_norm(
        moved, moved.shape[-1:], gamma if scale else None, beta if center else None, epsilon
    ).movedim(-1, axis)


@forward("cumsum")
def cumsum(x, *, axis=None, dtype=None, exclusive=False):
    if axis is None:
        x, axis = x.reshape(-1), 0
    result = torch.cumsum(x, axis)
    return result - x if exclusive else result


@forward("take")
def take(x, indices, *, batch_dims=0, axis=None, mode="clip"):
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis % x.ndim
    extent = x.shape[axis]
    indices = indices.to(torch.int64)
    indices = (
        indices.clamp(0, extent - 1)
        if mode == "clip"
        else indices % extent if mode == "wrap" else indices
    )
    if batch_dims == 0:
        shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
        return torch.index_select(x, axis, indices.reshape(-1)).reshape(shape)
    rows = [
        take(a, i, batch_dims=batch_dims - 1, axis=axis - 1, mode="fast")
        for a, i in zip(x, indices)
    ]
    return torch.stack(rows)


@forward("scatter_nd")
def scatter_nd(x, indices, updates, *, mode="update"):
    """One update after the other, so that of several assignments the last one counts."""
    combine = {
        "update": lambda old, new: new,
        "add": torch.add,
        "mul": torch.mul,
        "min": torch.minimum,
        "max": torch.maximum,
    }[mode]
    result = x
    for position in np.ndindex(*indices.shape[1:]):
        place = tuple(int(i) for i in indices[(slice(None),) + position])
        result = result.clone()
        result[place] = combine(result[place].clone(), updates[position])
    return result


@forward("nn.conv2d")
def conv2d(
    x,
    weight,
    *,
    strides=(1, 1),
    padding=0,
    dilation=(1, 1),
    groups=1,
    channels=None,
    kernel_size=None,
    data_layout="NCHW",
    kernel_layout="OIHW",
    out_layout="",
):
    data = x.permute([data_layout.index(c) for c in "NCHW"])
    kernel = weight.permute([kernel_layout.index(c) for c in "OIHW"])
    around = [n for pair in reversed(sides(padding, 2)) for n in pair]
    result = F.conv2d(F.pad(data, around), kernel, None, strides, 0, dilation, groups)
    return result.permute(["NCHW".index(c) for c in out_layout or data_layout])


@forward("nn.max_pool2d")
def max_pool2d(
    x, *, pool_size, strides=(1, 1), padding=0, dilation=(1, 1), layout="NCHW", ceil_mode=False
):
    """PyTorch's own, whose gradient goes to the first maximum of each window."""
    data = x.permute([layout.index(c) for c in "NCHW"])
    around = [n for pair in reversed(sides(padding, 2)) for n in pair]
    data = F.pad(data, around, value=-np.inf)
    result = F.max_pool2d(data, pool_size, strides, 0, dilation, ceil_mode)
    return result.permute(["NCHW".index(c) for c in layout])


def add(book, op, label, inputs, dtype, **attributes):
    """A case with a gradient drawn for it; inputs that are shapes become values of `dtype`."""
    name = f"{label} {dtype}"
    key = f"grad.{op}/{name}"
    values = [
        draw((key, i), x, dtype) if isinstance(x, tuple) else x for i, x in enumerate(inputs)
    ]
    tensors = [torch.tensor(wide(v)) for v in values]
    shape = tuple(FORWARD[op](*tensors, **attributes).shape)
    values.append(draw((key, "gradient"), shape, dtype))
    tolerance = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-6}[dtype]
    book.add(f"grad.{op}", name, values, source="torch", tolerance=tolerance, **attributes)


DTYPES = ("float64", "float32")


def build_rows(book):
    shapes = [((5,), -1), ((3, 4), -1), ((3, 4), 0), ((2, 3, 4), 1), ((4, 1), 1), ((1, 1), 0)]
    for (shape, axis), dtype in itertools.product(shapes + [((2, 17), 1)], DTYPES):
        label = f"{shape_label(shape)} axis {axis}"
        add(book, "nn.softmax", label, [shape], dtype, axis=axis)
        vector = (shape[axis],)
        add(book, "nn.layer_norm", label, [shape, vector, vector], dtype, axis=axis)
    add(book, "nn.softmax", "4x9", [(4, 9)], "float16")
    large = np.array([[800.0, 799.0, -1000.0], [0.0, 0.0, 0.0]])
    add(book, "nn.softmax", "large and equal", [large], "float64")
    for center, scale in itertools.product((False, True), repeat=2):
        add(
            book,
            "nn.layer_norm",
            f"center {center} scale {scale}",
            [(3, 6), (6,), (6,)],
            "float64",
            center=center,
            scale=scale,
            epsilon=0.1,
        )
    for (shape, axis), exclusive, dtype in itertools.product(
        [((5,), 0), ((3, 4), 1), ((3, 4), 0), ((2, 3, 4), -2), ((3, 1), 1), ((1, 3), 0), ((2, 3), None)],
        (False, True),
        DTYPES,
    ):
        more = {} if axis is None else {"axis": axis}
        label = f"{shape_label(shape)} axis {axis} exclusive {exclusive}"
        add(book, "cumsum", label, [shape], dtype, exclusive=exclusive, **more)


def build_indices(book):
    index = lambda *rows: np.array(rows, "int32")  # noqa: E731
    cases = [
        ((4, 3), index(1, 3, 1, 1), {"axis": 0}),
        ((4, 3), index([2, 0], [0, 0]), {"axis": 1}),
        ((4, 3), index(2, 2), {"axis": -1, "mode": "fast"}),
        ((2, 3, 2), index(2, 0, 2, 2), {"axis": 1, "mode": "wrap"}),
        ((4,), index(-1, 9, 3), {"axis": 0, "mode": "clip"}),
        ((4,), index(-1, 9, 3), {"axis": 0, "mode": "wrap"}),
        ((2, 3), index(5, 0, 5), {}),
        ((3, 2), np.array(1, "int64"), {"axis": 0}),
        ((1, 2), index(0, 0, 0), {"axis": 0}),
        ((2, 3), index([0, 2, 2], [1, 1, 1]), {"axis": 1, "batch_dims": 1, "mode": "fast"}),
    ]
    for (n, (shape, indices, attributes)), dtype in itertools.product(enumerate(cases), DTYPES):
        label = f"{n} {shape_label(shape)} by {shape_label(indices.shape)}"
        add(book, "take", label, [shape, indices], dtype, **attributes)

    rows = index([1, 3, 0])
    pairs = index([0, 1, 1], [2, 0, 1])
    repeated = index([0, 1, 0, 0])
    last = index([0, -1], [-2, 0])
    cases = [
        ("rows", (4, 3), rows, (3, 3)),
        ("elements", (2, 3), pairs, (3,)),
        ("repeated rows", (2, 3), repeated, (4, 3)),
        ("from the end", (2, 3), last, (2,)),
        ("a single one", (1, 1), index([0], [0]), (1,)),
        ("no coordinates", (2,), np.zeros((0, 3), "int32"), (3, 2)),
    ]
    for (what, shape, indices, updates), mode, dtype in itertools.product(
        cases, ("update", "add", "mul", "min", "max"), DTYPES
    ):
        values = distinct(("scatter", what, mode), (*updates, 1), dtype)[..., 0] + 0.125
        data = draw(("scatter", what, mode), shape, dtype)
        add(book, "scatter_nd", f"{what} {mode}", [data, indices, values], dtype, mode=mode)
    zeros = np.array([[0.0, 2.0, 3.0], [1.5, 0.0, 0.0]])
    factors = np.array([[2.0, 0.0, 0.0], [3.0, 4.0, 0.0]])
    add(book, "scatter_nd", "zeros mul", [zeros, index([0, 0]), factors], "float64", mode="mul")


def build_windows(book):
    cases = [
        ("plain", (1, 2, 5, 6), (3, 2, 3, 3), {}),
        ("padded", (2, 3, 4, 5), (2, 3, 3, 3), {"padding": [1, 1]}),
        ("uneven padding", (1, 2, 4, 5), (2, 2, 3, 2), {"padding": [0, 1, 2, 0]}),
        ("strides", (1, 2, 7, 8), (3, 2, 3, 3), {"strides": [2, 2]}),
        ("strides with a remainder", (1, 1, 8, 6), (2, 1, 3, 3), {"strides": [2, 3]}),
        ("strides and padding", (2, 2, 7, 6), (2, 2, 3, 3), {"strides": [2, 2], "padding": [1, 1]}),
        ("stride 3 of 5 taps", (1, 2, 11, 9), (2, 2, 5, 4), {"strides": [3, 3], "padding": [2, 1]}),
        ("stride beyond the kernel", (1, 2, 7, 7), (2, 2, 2, 2), {"strides": [3, 4]}),
        ("dilation", (1, 2, 8, 9), (2, 2, 3, 3), {"dilation": [2, 3]}),
        ("dilation and strides", (1, 2, 9, 10), (2, 2, 3, 3), {"dilation": [2, 3], "strides": [3, 2], "padding": [2, 1]}),
        ("dilation a multiple of strides", (1, 1, 9, 9), (2, 1, 3, 3), {"dilation": [4, 2], "strides": [2, 2]}),
        ("dilation 4 strides 6", (1, 1, 15, 9), (2, 1, 4, 2), {"dilation": [4, 4], "strides": [6, 6], "padding": [3, 1]}),
        ("groups", (2, 4, 5, 5), (6, 2, 3, 3), {"groups": 2, "padding": [1, 1]}),
        ("groups with strides", (1, 4, 7, 7), (4, 2, 3, 3), {"groups": 2, "strides": [2, 2], "padding": [1, 1]}),
        ("depthwise", (1, 4, 5, 6), (4, 1, 3, 3), {"groups": 4, "padding": [1, 1]}),
        ("depthwise with a multiplier", (1, 3, 5, 5), (6, 1, 3, 3), {"groups": 3, "strides": [2, 2]}),
        ("one tap", (2, 3, 4, 4), (4, 3, 1, 1), {}),
        ("one tap with strides", (1, 3, 5, 4), (4, 3, 1, 1), {"strides": [2, 2]}),
        ("extents of 1", (1, 1, 1, 1), (1, 1, 1, 1), {}),
        ("a kernel larger than the data", (1, 1, 1, 2), (1, 1, 3, 5), {"padding": [1, 2]}),
        ("one result", (1, 2, 3, 3), (2, 2, 3, 3), {}),
        ("channels last", (1, 5, 6, 2), (3, 3, 2, 4), {"data_layout": "NHWC", "kernel_layout": "HWIO", "strides": [2, 1], "padding": [1, 1]}),
        ("larger", (1, 4, 9, 10), (8, 4, 3, 3), {"padding": [1, 1]}),
    ]  # fmt: skip
    for (label, data, weight, attributes), dtype in itertools.product(cases, DTYPES):
        add(book, "nn.conv2d", label, [data, weight], dtype, **attributes)
    add(book, "nn.conv2d", "narrow", [(1, 4, 6, 6), (4, 4, 3, 3)], "float16", padding=[1, 1])

    cases = [
        ("2x2", (1, 2, 4, 6), {"pool_size": [2, 2], "strides": [2, 2]}),
        ("overlapping", (2, 2, 5, 5), {"pool_size": [3, 3]}),
        ("overlapping with strides", (1, 3, 7, 8), {"pool_size": [3, 3], "strides": [2, 2]}),
        ("padded", (1, 2, 5, 6), {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1]}),
        ("uneven padding", (1, 1, 4, 5), {"pool_size": [2, 3], "padding": [0, 1, 1, 0]}),
        ("stride beyond the window", (1, 2, 7, 7), {"pool_size": [2, 2], "strides": [3, 3]}),
        ("dilation", (1, 1, 7, 8), {"pool_size": [2, 3], "dilation": [3, 2], "strides": [2, 1]}),
        ("ceil mode", (1, 1, 6, 7), {"pool_size": [3, 2], "strides": [2, 2], "ceil_mode": True}),
        ("extents of 1", (1, 1, 1, 1), {"pool_size": [1, 1]}),
        ("channels last", (1, 5, 4, 3), {"pool_size": [2, 2], "strides": [2, 1], "layout": "NHWC"}),
    ]
    for (label, shape, attributes), dtype in itertools.product(cases, DTYPES):
        data = distinct(("max_pool", label), shape, dtype)
        add(book, "nn.max_pool2d", label, [data], dtype, **attributes)
        ties = draw(("ties", label), shape, "int32", 0, 2).astype(dtype)
        add(book, "nn.max_pool2d", f"{label} with ties", [ties], dtype, **attributes)


def build_errors(book):
    image, weight = Type("float32", 1, 2, 5, 5), Type("float32", 3, 2, 3, 3)
    book.fail(
        "grad.nn.conv2d", "another gradient", "its extents", [image, weight, Type("float32", 1, 3, 3, 4)]
    )
    book.fail(
        "grad.nn.conv2d", "gradient of another rank", "its rank and extents", [image, weight, Type("float32", 3, 3)]
    )
    book.fail("grad.nn.softmax", "another dtype", "its dtype", [Type("float32", 3), Type("float64", 3)])
    book.fail("grad.nn.softmax", "no gradient", "an argument is missing", [Type("float32", 3)])
    book.fail("grad.cumsum", "integers", "integers have no derivative", [Type("int32", 3), Type("int32", 3)], axis=0)
    book.fail(
        "grad.take", "integers", "integers have no derivative", [Type("int32", 3), Type("int32", 2), Type("int32", 2)], axis=0
    )
    book.fail("grad.argmax", "positions", "an integer has no derivative", [Type("float32", 3), Type("int32")])
    book.fail_running(
        "grad.take",
        "an index outside",
        "an index beyond the extent",
        [draw("outside", (3,), "float32"), np.array([1, 7], "int32"), draw("g", (2,), "float32")],
        axis=0,
        mode="fast",
    )


def build(book):
    build_rows(book)
    build_indices(book)
    build_windows(book)
    build_errors(book)
