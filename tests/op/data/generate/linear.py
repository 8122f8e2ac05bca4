"""nn: products of matrices, bias, activations, softmax, dropout, batch_flatten."""

import numpy as np
import torch

from .core import FLOATS, INTS, NUMBERS, Type, draw, narrow, reference, shape_label, steps, wide


def product(a, b, out_dtype):
    """A matrix product in float64 or int64, then in the result's dtype."""
    a, b = (wide(t) if t.dtype.kind == "f" else t.astype(np.int64) for t in (a, b))
    return narrow(
        torch.matmul(
            torch.from_numpy(np.ascontiguousarray(a)), torch.from_numpy(np.ascontiguousarray(b))
        ).numpy(),
        out_dtype,
    )


@reference("nn.dense")
def dense(x, weight, *, units, out_dtype=""):
    return product(x, weight.T, out_dtype or x.dtype)


@reference("nn.matmul")
def matmul(a, b, *, units, out_dtype="", transpose_a=False, transpose_b=False):
    return product(a.T if transpose_a else a, b.T if transpose_b else b, out_dtype or a.dtype)


@reference("nn.batch_matmul")
def batch_matmul(a, b, *, out_dtype="", transpose_a=False, transpose_b=False):
    return product(
        np.swapaxes(a, -1, -2) if transpose_a else a,
        np.swapaxes(b, -1, -2) if transpose_b else b,
        out_dtype or a.dtype,
    )


def along(vector, rank, axis):
    """A vector placed along one axis so that it broadcasts over the others."""
    shape = [1] * rank
    shape[axis] = -1
    return vector.reshape(shape)


@reference("nn.bias_add")
def bias_add(x, bias, *, axis=1):
    return narrow(wide(x) + wide(along(bias, x.ndim, axis)), x.dtype)


reference("nn.relu")(lambda x: np.maximum(x, x.dtype.type(0)))


@reference("nn.leaky_relu")
def leaky_relu(x, *, alpha=0.25):
    return narrow(np.where(x > 0, wide(x), wide(x) * alpha), x.dtype)


@reference("nn.prelu")
def prelu(x, alpha, *, axis=1):
    return narrow(np.where(x > 0, wide(x), wide(x) * wide(along(alpha, x.ndim, axis))), x.dtype)


@reference("nn.softmax", "nn.fast_softmax")
def softmax(x, *, axis=-1):
    return narrow(torch.softmax(torch.from_numpy(wide(x)), axis).numpy(), x.dtype)


@reference("nn.log_softmax")
def log_softmax(x, *, axis=-1):
    return narrow(torch.log_softmax(torch.from_numpy(wide(x)), axis).numpy(), x.dtype)


@reference("nn.dropout")
def dropout(x, *, rate=0.5):
    """Inference: the data passes; the mask is not looked at."""
    return x, None


@reference("nn.batch_flatten")
def batch_flatten(x):
    return x.reshape(x.shape[0], int(np.prod(x.shape[1:], dtype=int)))


def products(book):
    for m, k, n in [
        (2, 3, 4),
        (1, 1, 1),
        (1, 17, 3),
        (3, 5, 1),
        (0, 3, 2),
        (2, 0, 3),
        (2, 3, 0),
        (4, 33, 5),
    ]:
        key = (m, k, n)
        book.add(
            "nn.dense",
            f"{m}x{k} by {n}",
            [draw(key, (m, k), "float32"), draw((key, 1), (n, k), "float32")],
            "torch",
            tolerance=3e-5,
            units=n,
        )
        for ta in (False, True):
            for tb in (False, True):
                a, b = draw((key, 2), (k, m) if ta else (m, k), "float32"), draw(
                    (key, 3), (n, k) if tb else (k, n), "float32"
                )
                flags = ({"transpose_a": True} if ta else {}) | (
                    {"transpose_b": True} if tb else {}
                )
                book.add(
                    "nn.matmul",
                    f"{m}x{k}x{n} {ta} {tb}",
                    [a, b],
                    "torch",
                    tolerance=3e-5,
                    units=n,
                    **flags,
                )
                for batches in [(2, 2), (1, 3), (3, 1), (1, 1)] if m == 2 and k == 3 else [(2, 2)]:
                    a3 = draw((key, 4, batches), (batches[0],) + a.shape, "float32")
                    b3 = draw((key, 5, batches), (batches[1],) + b.shape, "float32")
                    book.add(
                        "nn.batch_matmul",
                        f"{batches[0]} and {batches[1]} of {m}x{k}x{n} {ta} {tb}",
                        [a3, b3],
                        "torch",
                        tolerance=3e-5,
                        **flags,
                    )
    book.add(
        "nn.batch_matmul",
        "no batches",
        [np.zeros((0, 2, 3), "float32"), np.zeros((0, 3, 2), "float32")],
        "torch",
    )
    book.add(
        "nn.dense",
        "units from the weight",
        [draw("units", (2, 3), "float32"), draw("weight", (4, 3), "float32")],
        "torch",
        units=None,
    )
    for dtype in FLOATS + ("int32", "int64"):
        a, b = draw((dtype, 0), (3, 5), dtype), draw((dtype, 1), (4, 5), dtype)
        tolerance = 1e-2 if dtype == "float16" else None
        book.add("nn.dense", dtype, [a, b], "torch", tolerance=tolerance, units=4)
        book.add(
            "nn.matmul", dtype, [a, b], "torch", tolerance=tolerance, units=4, transpose_b=True
        )
        book.add(
            "nn.batch_matmul",
            dtype,
            [a[None], b[None]],
            "torch",
            tolerance=tolerance,
            transpose_b=True,
        )
    for source, target in [
        ("int8", "int32"),
        ("uint8", "int32"),
        ("int16", "int32"),
        ("float16", "float32"),
        ("float32", "float64"),
    ]:
        low, high = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-3000, 3000)}.get(
            source, (-2, 2)
        )
        a, b = draw((source, target, 0), (2, 4), source, low, high), draw(
            (source, target, 1), (3, 4), source, low, high
        )
        book.add("nn.dense", f"{source} in {target}", [a, b], "torch", units=3, out_dtype=target)
        book.add(
            "nn.batch_matmul",
            f"{source} in {target}",
            [a[None], b[None]],
            "torch",
            out_dtype=target,
            transpose_b=True,
        )
    x = Type("float32", 2, 3)
    book.fail("nn.dense", "inner extents", "3 and 4 differ", [x, Type("float32", 2, 4)], units=2)
    book.fail(
        "nn.dense",
        "inner extents without units",
        "3 and 4 differ",
        [x, Type("float32", 2, 4)],
        units=None,
    )
    book.fail(
        "nn.dense", "other units", "the weight has four rows", [x, Type("float32", 4, 3)], units=3
    )
    book.fail(
        "nn.dense", "weight is a vector", "the weight is a matrix", [x, Type("float32", 3)], units=1
    )
    book.fail(
        "nn.dense",
        "float32 and float64",
        "both operands have one dtype",
        [x, Type("float64", 4, 3)],
        units=4,
    )
    book.fail(
        "nn.dense",
        "scalar data",
        "the data has an axis to contract",
        [Type("float32"), Type("float32", 4, 3)],
        units=4,
    )
    book.fail("nn.matmul", "inner extents", "3 and 2 differ", [x, Type("float32", 2, 3)], units=3)
    book.fail(
        "nn.matmul",
        "inner extents transposed",
        "3 and 4 differ",
        [x, Type("float32", 2, 4)],
        units=2,
        transpose_b=True,
    )
    book.fail(
        "nn.batch_matmul",
        "batches of two and three",
        "2 and 3 do not broadcast",
        [Type("float32", 2, 3, 4), Type("float32", 3, 4, 5)],
    )
    book.fail(
        "nn.batch_matmul",
        "inner extents",
        "4 and 3 differ",
        [Type("float32", 2, 3, 4), Type("float32", 2, 3, 4)],
    )
    book.fail(
        "nn.batch_matmul",
        "a matrix",
        "both operands have rank three",
        [x, Type("float32", 2, 3, 4)],
    )
    book.fail(
        "nn.batch_matmul",
        "float32 and int8",
        "both operands have one dtype",
        [Type("float32", 1, 2, 3), Type("int8", 1, 3, 2)],
    )
    book.fail(
        "nn.batch_matmul",
        "transpose is a number list",
        "the attribute is a boolean",
        [Type("float32", 1, 2, 2)] * 2,
        transpose_a=[1],
    )


def biases(book):
    for shape, axis in [
        ((2, 3), 1),
        ((2, 3), 0),
        ((2, 3), -1),
        ((2, 3, 4), 1),
        ((2, 3, 4), -2),
        ((1, 17, 2, 1), 1),
        ((1, 2, 2, 3), 3),
        ((0, 3), 1),
        ((3, 0), 1),
        ((4,), 0),
        ((1, 1), 1),
    ]:
        extra = {} if axis == 1 else {"axis": axis}
        book.add(
            "nn.bias_add",
            f"{shape_label(shape)} axis {axis}",
            [
                draw((shape, axis), shape, "float32"),
                draw((shape, axis, 1), (shape[axis],), "float32"),
            ],
            **extra,
        )
        book.add(
            "nn.prelu",
            f"{shape_label(shape)} axis {axis}",
            [
                draw((shape, axis, 2), shape, "float32"),
                draw((shape, axis, 3), (shape[axis],), "float32"),
            ],
            **extra,
        )
    for dtype in NUMBERS:
        book.add(
            "nn.bias_add", dtype, [draw((dtype, 0), (2, 3), dtype), draw((dtype, 1), (3,), dtype)]
        )
    for dtype in FLOATS:
        book.add(
            "nn.prelu", dtype, [draw((dtype, 0), (2, 3), dtype), draw((dtype, 1), (3,), dtype)]
        )
    x = Type("float32", 2, 3)
    for op, what in (("nn.bias_add", "bias"), ("nn.prelu", "slope")):
        book.fail(
            op, f"{what} of another length", "axis one has extent three", [x, Type("float32", 4)]
        )
        book.fail(
            op,
            f"{what} along the other axis",
            "axis zero has extent two",
            [x, Type("float32", 3)],
            axis=0,
        )
        book.fail(op, f"{what} is a matrix", f"the {what} is a vector", [x, Type("float32", 2, 3)])
        book.fail(
            op, "axis 2 of rank two", "the data has rank two", [x, Type("float32", 3)], axis=2
        )
        book.fail(op, "two dtypes", "both have one dtype", [x, Type("float64", 3)])
        book.fail(op, "one argument", f"{op} takes two arguments", [x])


def activations(book):
    for dtype in NUMBERS:
        book.add("nn.relu", dtype, [draw(("relu", dtype), (2, 4), dtype)], exact=True)
    for shape in [(), (0, 2), (1,), (1, 17, 1)]:
        book.add(
            "nn.relu", f"shape {shape_label(shape)}", [draw(shape, shape, "float32")], exact=True
        )
        book.add("nn.leaky_relu", f"shape {shape_label(shape)}", [draw(shape, shape, "float32")])
    book.add("nn.relu", "infinities", [np.array([np.inf, -np.inf, 0.0], "float32")], exact=True)
    for dtype in FLOATS:
        book.add("nn.leaky_relu", dtype, [draw(("leaky", dtype), (2, 4), dtype)], alpha=0.125)
    for alpha in (0.0, 0.5, 2.0, -0.5):
        book.add("nn.leaky_relu", f"slope {alpha}", [draw(alpha, (5,), "float32")], alpha=alpha)
    book.fail("nn.relu", "two arguments", "nn.relu takes one argument", [Type("float32", 2)] * 2)
    book.fail(
        "nn.leaky_relu",
        "slope is text",
        "the slope is a number",
        [Type("float32", 2)],
        alpha="small",
    )
    for op in ("nn.softmax", "nn.log_softmax"):
        for shape, axis in [
            ((5,), -1),
            ((2, 3), 0),
            ((2, 3), 1),
            ((2, 3, 4), 1),
            ((2, 3, 4), -1),
            ((2, 3, 4), -3),
            ((1, 17), 1),
            ((3, 1), 1),
            ((0, 3), 1),
            ((1, 1), 0),
            ((2, 1, 3, 2), 2),
        ]:
            book.add(
                op,
                f"{shape_label(shape)} axis {axis}",
                [draw((op, shape, axis), shape, "float32", -4, 4)],
                "torch",
                **({} if axis == -1 else {"axis": axis}),
            )
        for dtype in FLOATS:
            book.add(op, dtype, [draw((op, dtype), (2, 5), dtype, -4, 4)], "torch")
        book.add(
            op,
            "large values",
            [np.array([[1e4, 1e4 - 1, -1e4], [-1e4, -1e4 + 2, -1e4 - 1]], "float32")],
            "torch",
            tolerance=1e-4,
        )
        book.add(op, "equal values", [np.full((2, 4), 7.5, "float32")], "torch")
        book.add(op, "a long axis", [draw((op, "long"), (2, 150), "float32", -4, 4)], "torch")
        for axis in (2, -3):
            book.fail(
                op,
                f"axis {axis} of rank two",
                "the data has rank two",
                [Type("float32", 2, 3)],
                axis=axis,
            )
        book.fail(op, "two arguments", f"{op} takes one argument", [Type("float32", 2)] * 2)
    book.add(
        "nn.softmax",
        "minus infinity",
        [np.array([[-np.inf, 0.5, 1], [2, -np.inf, -np.inf]], "float32")],
        "torch",
    )
    for dtype in FLOATS:
        book.add(
            "nn.dropout",
            dtype,
            [draw(("dropout", dtype), (2, 3), dtype)],
            exact=True,
            project=0,
            rate=0.25,
        )
    for shape in [(), (0, 2), (1, 17)]:
        book.add(
            "nn.dropout",
            f"shape {shape_label(shape)}",
            [draw(shape, shape, "float32")],
            exact=True,
            project=0,
        )
    book.fail(
        "nn.dropout", "rate is text", "the rate is a number", [Type("float32", 2)], rate="half"
    )
    for shape in [
        (2, 3, 4),
        (2, 3),
        (1, 1, 1),
        (3, 0, 2),
        (0, 2, 2),
        (2, 17, 1, 1),
        (1, 2, 3, 1, 2),
    ]:
        book.add("nn.batch_flatten", f"shape {shape_label(shape)}", [steps(shape)], exact=True)
    for dtype in INTS + ("float64", "bool"):
        book.add("nn.batch_flatten", dtype, [draw(("flat", dtype), (2, 2, 2), dtype)], exact=True)
    book.fail("nn.batch_flatten", "a scalar", "a scalar has no batch", [Type("float32")])


def build(book):
    products(book)
    biases(book)
    activations(book)
