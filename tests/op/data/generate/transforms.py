"""Fourier transforms and named sums by NumPy, gradients of pooling by PyTorch."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F

from .core import Type, draw, narrow, reference, wide


@reference("dft")
def dft(re, im, *, inverse=False):
    result = (np.fft.ifft if inverse else np.fft.fft)(wide(re) + 1j * wide(im), axis=-1)
    return narrow(result.real, re.dtype), narrow(result.imag, re.dtype)


@reference("stft")
def stft(x, window, *, n_fft, hop_length=0, win_length=0, normalized=False, onesided=True):
    samples = wide(x).reshape(-1, x.shape[-1])
    factors, before = np.zeros(n_fft), (n_fft - len(window)) // 2
    factors[before : before + len(window)] = window
    starts = range(0, samples.shape[1] - n_fft + 1, hop_length or n_fft // 4)
    frames = np.stack([samples[:, s : s + n_fft] * factors for s in starts], axis=-1)
    result = np.fft.fft(frames, axis=1) / (np.sqrt(n_fft) if normalized else 1)
    result = result[:, : n_fft // 2 + 1] if onesided else result
    result = narrow(np.stack([result.real, result.imag], axis=-1), x.dtype)
    return result[0] if x.ndim == 1 else result


@reference("einsum")
def einsum(xs, *, equation):
    return narrow(np.einsum(equation, *(wide(x) for x in xs)), xs[0].dtype)


@reference("nn.fast_softmax")
def fast_softmax(x, *, axis=-1):
    powers = np.exp(wide(x) - wide(x).max(axis, keepdims=True))
    return narrow(powers / powers.sum(axis, keepdims=True), x.dtype)


def pooled(pool, gradient, x, padding, value, layout):
    """The gradient of a pool of padded images with channels first."""
    first = layout == "NCHW"
    data = torch.from_numpy(wide(x if first else x.transpose(0, 3, 1, 2)).copy()).requires_grad_()
    sides = {1: lambda p: p * 4, 2: lambda p: p * 2, 4: lambda p: p}[len(padding)](list(padding))
    top, left, bottom, right = sides
    weights = torch.from_numpy(wide(gradient if first else gradient.transpose(0, 3, 1, 2)).copy())
    (pool(F.pad(data, (left, right, top, bottom), value=value)) * weights).sum().backward()
    result = data.grad.numpy()
    return narrow(result if first else result.transpose(0, 2, 3, 1), x.dtype)


@reference("nn.max_pool2d_grad")
def max_pool2d_grad(gradient, x, *, pool_size, strides=(1, 1), dilation=(1, 1), padding=(0, 0), layout="NCHW", ceil_mode=False):
    pool = lambda images: F.max_pool2d(images, tuple(pool_size), tuple(strides), dilation=tuple(dilation), ceil_mode=ceil_mode)
    return pooled(pool, gradient, x, padding, -np.inf, layout)


@reference("nn.avg_pool2d_grad")
def avg_pool2d_grad(gradient, x, *, pool_size, strides=(1, 1), padding=(0, 0), layout="NCHW", count_include_pad=False):
    def pool(images):
        sums = F.avg_pool2d(images, tuple(pool_size), tuple(strides))
        if count_include_pad:
            return sums
        # The elements in the window but not in the padding.
        inside = torch.ones(1, 1, *(x.shape[2:] if layout == "NCHW" else x.shape[1:3]), dtype=torch.float64)
        sides = {1: lambda p: p * 4, 2: lambda p: p * 2, 4: lambda p: p}[len(padding)](list(padding))
        share = F.avg_pool2d(F.pad(inside, (sides[1], sides[3], sides[0], sides[2])), tuple(pool_size), tuple(strides))
        return sums / share

    return pooled(pool, gradient, x, padding, 0.0, layout)


# Cases ------------------------------------------------------------------------------------------------------------


def build(book):
    for dtype in ("float32", "float64"):
        for shape in ((1,), (8,), (3, 5), (2, 2, 12), (2, 0)):
            re, im = draw((shape, "re"), shape, dtype), draw((shape, "im"), shape, dtype)
            for inverse in (False, True):
                if 0 not in shape:
                    book.add("dft", f"{shape} {dtype} {'back' if inverse else 'forth'}", [re, im], inverse=inverse)
        x = draw(("signal", dtype), (2, 24), dtype)
        for n, hop, width, normalized, onesided in (
            (8, 4, 8, False, True), (8, 0, 8, True, False), (6, 5, 4, False, True), (5, 2, 5, True, True), (24, 1, 24, False, False), (4, 3, 1, False, True),
        ):
            window = draw(("window", width), (width,), dtype)
            attributes = {"n_fft": n, "hop_length": hop, "win_length": width, "normalized": normalized, "onesided": onesided}
            book.add("stft", f"{n} {hop} {width} {normalized} {onesided} {dtype}", [x, window], **attributes)
        book.add("stft", f"one signal {dtype}", [x[0], draw("one", (8,), dtype)], n_fft=8)
    for dtype in ("float32", "float64", "float16", "int32", "int64"):
        a, b = draw(("a", dtype), (3, 4), dtype), draw(("b", dtype), (4, 2), dtype)
        for equation in ("ij,jk->ik", "ij,jk", "ij,jk->", "ij,jk->kji"):
            book.add("einsum", f"{equation} {dtype}", [[a, b]], equation=equation)
        for equation in ("ij->ji", "ij->", "ij->j", "...j->..."):
            book.add("einsum", f"{equation} {dtype}", [[a]], equation=equation)
    square, cube = draw("square", (3, 3), "float32"), draw("cube", (2, 3, 3), "float32")
    for equation, operands in (
        ("ii", [square]), ("ii->i", [square]), ("bii->b", [cube]), ("bij,bjk->bik", [cube, cube]), ("...ij,jk->...ik", [cube, square]),
        ("ij,jk,kl->il", [square, square, square]), ("i,j->ij", [square[0], square[1]]), ("...,...->...", [cube, square]),
    ):
        book.add("einsum", equation, [operands], equation=equation)
    for dtype, axis in itertools.product(("float32", "float64", "float16"), (-1, 0, 1)):
        book.add("nn.fast_softmax", f"{dtype} {axis}", [draw(dtype, (3, 4, 2), dtype)], axis=axis)
    for dtype, layout in itertools.product(("float32", "float64"), ("NCHW", "NHWC")):
        for size, strides, padding in (((2, 2), (2, 2), (0, 0)), ((3, 2), (1, 2), (1, 1)), ((3, 3), (2, 2), (1, 0, 0, 1)), ((1, 4), (1, 1), (0, 2))):
            sides = list(padding) * (4 // len(padding))
            extents = (5, 6)
            out = [(e + sides[d] + sides[d + 2] - size[d]) // strides[d] + 1 for d, e in enumerate(extents)]
            shapes = [(2, 2, *e) if layout == "NCHW" else (2, *e, 2) for e in (out, extents)]
            random = np.random.default_rng(sum(size) * 7 + sum(sides))
            x = (random.permutation(120) / 8 - 7).astype(dtype).reshape(shapes[1])
            g = draw((size, strides), shapes[0], dtype)
            attributes = {"pool_size": list(size), "strides": list(strides), "padding": list(padding), "layout": layout}
            label = f"{size} {strides} {padding} {layout} {dtype}"
            book.add("nn.max_pool2d_grad", label, [g, x], source="torch", **attributes)
            for include in (False, True):
                book.add("nn.avg_pool2d_grad", f"{label} {include}", [g, x], source="torch", count_include_pad=include, **attributes)
    book.fail("dft", "other shapes", "parts of one shape", [Type("float32", 3), Type("float32", 4)])
    book.fail("stft", "window too long", "a window of win_length: extent", [Type("float32", 8), Type("float32", 5)], n_fft=4)
    book.fail("einsum", "other extents", "an axis of two extents", [[Type("float32", 2, 3), Type("float32", 2, 3)]], equation="ij,jk->ik")
    book.fail("nn.fast_softmax", "axis 2", "the axis is out of range", [Type("float32", 2, 3)], axis=2)
    gradient, images = Type("float32", 1, 1, 2, 2), Type("float32", 1, 1, 4, 4)
    book.fail("nn.max_pool2d_grad", "other gradient", "the gradient has the pool's shape", [gradient, images], pool_size=[2, 2])
    book.fail("nn.avg_pool2d_grad", "other gradient", "the gradient has the pool's shape", [gradient, images], pool_size=[2, 2])
