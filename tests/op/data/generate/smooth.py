"""nn: smooth activations, hardswish and rms_norm, by PyTorch in float64."""

import numpy as np
import torch
import torch.nn.functional as F

from .core import FLOATS, Type, draw, narrow, reference, shape_label, wide
from .norm import vectors


def double(x):
    return torch.from_numpy(np.asarray(wide(x)))


@reference("nn.gelu")
def gelu(x, *, approximate="none"):
    return narrow(F.gelu(double(x), approximate=approximate).numpy(), x.dtype)


@reference("nn.silu")
def silu(x, *, alpha=1.0):
    # x * sigmoid(alpha * x) is silu(alpha * x) / alpha.
    result = F.silu(alpha * double(x)) / alpha if alpha else double(x) / 2
    return narrow(result.numpy(), x.dtype)


@reference("nn.softplus")
def softplus(x, *, beta=1.0):
    return narrow(F.softplus(double(x), beta=beta, threshold=700).numpy(), x.dtype)


@reference("nn.mish")
def mish(x):
    return narrow(F.mish(double(x)).numpy(), x.dtype)


@reference("hardswish")
def hardswish(x):
    return narrow(F.hardswish(double(x)).numpy(), x.dtype)


@reference("nn.rms_norm")
def rms_norm(x, gamma, *, axis=-1, epsilon=1e-5, scale=True):
    rows = torch.from_numpy(np.ascontiguousarray(np.moveaxis(wide(x), axis, -1)))
    weight = double(gamma) if scale else None
    result = F.rms_norm(rows, rows.shape[-1:], weight, epsilon).numpy()
    return narrow(np.moveaxis(result, -1, axis), x.dtype)


ACTIVATIONS = [
    ("nn.gelu", "", {}),
    ("nn.gelu", "by tanh ", {"approximate": "tanh"}),
    ("nn.silu", "", {}),
    ("nn.silu", "alpha 1.702 ", {"alpha": 1.702}),
    ("nn.softplus", "", {}),
    ("nn.softplus", "beta 2.5 ", {"beta": 2.5}),
    ("nn.mish", "", {}),
    ("hardswish", "", {}),
]


def activations(book):
    for op, label, attributes in ACTIVATIONS:
        for shape in [(), (7,), (3, 5), (2, 1, 4), (0,), (2, 0, 3), (1, 1)]:
            x = draw((op, shape), shape, "float32", -6, 6)
            book.add(op, f"{label}{shape_label(shape)}", [x], "torch", **attributes)
        for dtype in FLOATS:
            x = draw((op, dtype), (4, 6), dtype, -8, 8)
            book.add(op, f"{label}{dtype}", [x], "torch", **attributes)
            # At minus infinity these are 0 in the limit, and the product of both factors is none.
            special = np.array([np.inf, np.nan, 0.0, 60.0, -60.0, 3.0, -3.0], dtype)
            book.add(op, f"{label}special {dtype}", [special], "torch", **attributes)
        book.fail(op, f"{label}integers", "needs floats", [Type("int32", 3)], **attributes)
        book.fail(op, f"{label}bool", "needs floats", [Type("bool", 3)], **attributes)
    book.add("nn.softplus", "infinities", [np.array([-np.inf, np.inf], "float32")], "torch")
    book.fail("nn.gelu", "unknown form", "no such word", [Type("float32", 2)], approximate="sigmoid")
    book.fail("nn.softplus", "beta zero", "beta is a number other than 0", [Type("float32", 2)], beta=0.0)


def norms(book):
    for shape, axis in [
        ((2, 3), -1),
        ((2, 3, 4), -1),
        ((2, 3, 4), 1),
        ((2, 3, 4), 0),
        ((1, 1), -1),
        ((0, 3), -1),
        ((5,), 0),
        ((3, 33), -1),
        ((2, 300), -1),
    ]:
        x = draw(("rms", shape, axis), shape, "float32")
        gamma = vectors(("rms", shape, axis), 1, shape[axis])
        label = f"{shape_label(shape)} axis {axis}"
        book.add("nn.rms_norm", label, [x, *gamma], "torch", axis=axis)
        book.add("nn.rms_norm", f"{label} unscaled", [x, *gamma], "torch", axis=axis, scale=False)
    for dtype in FLOATS:
        x = draw(("rms", dtype), (3, 8), dtype)
        gamma = vectors(("rms", dtype), 1, 8, dtype)
        book.add("nn.rms_norm", dtype, [x, *gamma], "torch")
        book.add("nn.rms_norm", f"{dtype} epsilon", [x, *gamma], "torch", epsilon=0.5)
    zeros = np.zeros((2, 4), "float32")
    book.add("nn.rms_norm", "zeros", [zeros, *vectors("rms zeros", 1, 4)], "torch")
    x = Type("float32", 2, 3)
    for label, why, args, attributes in [
        ("length of gamma", "gamma runs along the axis", [x, Type("float32", 2)], {}),
        ("axis out of range", "there is no axis 2", [x, Type("float32", 3)], {"axis": 2}),
        ("gamma of rank two", "gamma is a vector", [x, x], {}),
        ("integers", "needs floats", [Type("int32", 2, 3), Type("int32", 3)], {}),
        ("dtypes differ", "one dtype", [x, Type("float16", 3)], {}),
    ]:
        book.fail("nn.rms_norm", label, why, args, **attributes)


def build(book):
    activations(book)
    norms(book)
