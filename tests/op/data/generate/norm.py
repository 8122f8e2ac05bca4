"""nn: normalisations, padding, and upsampling (whose reference is in resize.py)."""

import numpy as np
import torch
import torch.nn.functional as F

from .core import (
    FLOATS,
    INTS,
    Type,
    draw,
    narrow,
    reference,
    shape_label,
    wide,
)
from .linear import along
from .pads import padding


@reference("nn.batch_norm")
def batch_norm(x, gamma, beta, mean, variance, *, axis=1, epsilon=1e-5, center=True, scale=True):
    moved = torch.from_numpy(np.moveaxis(wide(x), axis, 1) if x.ndim > 1 else wide(x)[None])
    vectors = [torch.from_numpy(wide(v)) for v in (mean, variance, gamma, beta)]
    result = F.batch_norm(
        moved,
        vectors[0],
        vectors[1],
        vectors[2] if scale else None,
        vectors[3] if center else None,
        False,
        0.1,
        epsilon,
    ).numpy()
    return (
        narrow(np.moveaxis(result, 1, axis) if x.ndim > 1 else result[0], x.dtype),
        mean,
        variance,
    )


def normalised(x, axes, epsilon):
    centered = x - x.mean(axis=axes, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=axes, keepdims=True) + epsilon)


def affine(result, gamma, beta, axis, center, scale, dtype):
    if scale:
        result = result * wide(along(gamma, result.ndim, axis))
    if center:
        result = result + wide(along(beta, result.ndim, axis))
    return narrow(result, dtype)


@reference("nn.layer_norm")
def layer_norm(x, gamma, beta, *, axis=-1, epsilon=1e-5, center=True, scale=True):
    return affine(normalised(wide(x), (axis,), epsilon), gamma, beta, axis, center, scale, x.dtype)


@reference("nn.instance_norm")
def instance_norm(x, gamma, beta, *, axis=1, epsilon=1e-5, center=True, scale=True):
    axes = tuple(a for a in range(1, x.ndim) if a != axis % x.ndim)
    return affine(normalised(wide(x), axes, epsilon), gamma, beta, axis, center, scale, x.dtype)


@reference("nn.group_norm")
def group_norm(x, gamma, beta, *, num_groups=0, axis=1, epsilon=1e-5, center=True, scale=True):
    vectors = [torch.from_numpy(wide(v)) for v in (gamma, beta)]
    result = F.group_norm(
        torch.from_numpy(wide(x)),
        num_groups,
        vectors[0] if scale else None,
        vectors[1] if center else None,
        epsilon,
    )
    return narrow(result.numpy(), x.dtype)


@reference("nn.l2_normalize")
def l2_normalize(x, *, eps, axis):
    squares = (wide(x) ** 2).sum(axis=tuple(axis) if axis else None, keepdims=True)
    return narrow(wide(x) / np.sqrt(np.maximum(squares, eps)), x.dtype)


def vectors(key, count, length, dtype="float32"):
    """gamma, beta, mean and (positive) variance, as many as are asked for."""
    return [
        draw((key, i), (length,), dtype, *((0.25, 2) if i == 3 else (-2, 2))) for i in range(count)
    ]


def batch(book):
    for shape, axis in [
        ((2, 3), 1),
        ((2, 3, 4), 1),
        ((1, 17, 2, 1), 1),
        ((1, 2, 2, 3), 3),
        ((1, 2, 2, 3), -1),
        ((3, 2), 0),
        ((0, 3, 2), 1),
        ((1, 1), 1),
        ((4,), 0),
        ((1, 3, 2, 2, 2), 1),
    ]:
        book.add(
            "nn.batch_norm",
            f"{shape_label(shape)} axis {axis}",
            [draw((shape, axis), shape, "float32")] + vectors((shape, axis), 4, shape[axis]),
            "torch",
            project=0,
            **({} if axis == 1 else {"axis": axis}),
        )
    for label, attributes in [
        ("epsilon", {"epsilon": 0.25}),
        ("no center", {"center": False}),
        ("no scale", {"scale": False}),
        ("neither", {"center": False, "scale": False}),
    ]:
        book.add(
            "nn.batch_norm",
            label,
            [draw(label, (2, 3, 2), "float32")] + vectors(label, 4, 3),
            "torch",
            project=0,
            **attributes,
        )
    for dtype in FLOATS:
        arguments = [draw(("bn", dtype), (2, 3, 2), dtype)] + vectors(("bn", dtype), 4, 3, dtype)
        book.add(
            "nn.batch_norm",
            dtype,
            arguments,
            "torch",
            tolerance=1e-2 if dtype == "float16" else None,
            project=0,
        )
        book.add("nn.batch_norm", f"{dtype} statistics", arguments, "torch", project=1)
        book.add(
            "nn.batch_norm",
            f"{dtype} all results",
            arguments,
            "torch",
            tolerance=1e-2 if dtype == "float16" else None,
        )
    x, v = Type("float32", 2, 3), Type("float32", 3)
    for i, name in enumerate(("gamma", "beta", "mean", "variance")):
        arguments = [x] + [Type("float32", 4) if j == i else v for j in range(4)]
        book.fail("nn.batch_norm", f"length of {name}", "axis one has extent three", arguments)
        arguments = [x] + [Type("float32", 1, 3) if j == i else v for j in range(4)]
        book.fail("nn.batch_norm", f"rank of {name}", f"{name} is a vector", arguments)
    book.fail(
        "nn.batch_norm", "axis 2 of rank two", "the data has rank two", [x, v, v, v, v], axis=2
    )
    book.fail("nn.batch_norm", "four arguments", "nn.batch_norm takes five arguments", [x, v, v, v])


def others(book):
    for op, cases in {
        "nn.layer_norm": [
            ((2, 4), -1),
            ((2, 4), 0),
            ((2, 3, 4), 1),
            ((2, 3, 4), -1),
            ((1, 17), 1),
            ((3, 1), 1),
            ((0, 3), 1),
            ((5,), 0),
            ((2, 1, 3, 2), -2),
        ],
        "nn.instance_norm": [
            ((2, 3, 4), 1),
            ((1, 3, 2, 2), 1),
            ((1, 17, 2, 3), 1),
            ((2, 2, 3, 3), 3),
            ((2, 2, 3, 3), -1),
            ((0, 2, 3), 1),
            ((2, 3, 1), 1),
            ((1, 1, 5), 1),
        ],
    }.items():
        for shape, axis in cases:
            default = -1 if op == "nn.layer_norm" else 1
            arguments = [draw((op, shape, axis), shape, "float32")] + vectors(
                (op, shape, axis), 2, shape[axis]
            )
            book.add(
                op,
                f"{shape_label(shape)} axis {axis}",
                arguments,
                **({} if axis == default else {"axis": axis}),
            )
        for label, attributes in [
            ("epsilon", {"epsilon": 0.25}),
            ("no center", {"center": False}),
            ("no scale", {"scale": False}),
            ("neither", {"center": False, "scale": False}),
        ]:
            length = 4 if op == "nn.layer_norm" else 3
            book.add(
                op,
                label,
                [draw((op, label), (2, 3, 4), "float32")] + vectors((op, label), 2, length),
                **attributes,
            )
        for dtype in FLOATS:
            length = 5 if op == "nn.layer_norm" else 3
            book.add(
                op,
                dtype,
                [draw((op, dtype), (2, 3, 5), dtype)] + vectors((op, dtype), 2, length, dtype),
                tolerance=2e-2 if dtype == "float16" else None,
            )
    for shape, groups in [
        ((1, 4, 3), 2),
        ((2, 6, 2, 2), 3),
        ((1, 3, 5), 3),
        ((1, 3, 5), 1),
        ((1, 17, 2), 17),
        ((1, 15, 2), 5),
        ((2, 4, 1, 1), 2),
        ((1, 2, 2, 2, 2), 2),
    ]:
        arguments = [draw(("group", shape, groups), shape, "float32")] + vectors(
            ("group", shape, groups), 2, shape[1]
        )
        book.add(
            "nn.group_norm",
            f"{shape_label(shape)} groups {groups}",
            arguments,
            "torch",
            num_groups=groups,
        )
    for label, attributes in [
        ("epsilon", {"epsilon": 0.25}),
        ("no center", {"center": False}),
        ("no scale", {"scale": False}),
        ("neither", {"center": False, "scale": False}),
    ]:
        book.add(
            "nn.group_norm",
            label,
            [draw(("group", label), (2, 6, 3), "float32")] + vectors(("group", label), 2, 6),
            "torch",
            num_groups=3,
            **attributes,
        )
    for dtype in FLOATS:
        book.add(
            "nn.group_norm",
            dtype,
            [draw(("group", dtype), (2, 4, 3), dtype)] + vectors(("group", dtype), 2, 4, dtype),
            "torch",
            tolerance=2e-2 if dtype == "float16" else None,
            num_groups=2,
        )
    x = Type("float32", 2, 6, 4)
    good = {
        "nn.layer_norm": (Type("float32", 4), {}),
        "nn.instance_norm": (Type("float32", 6), {}),
        "nn.group_norm": (Type("float32", 6), {"num_groups": 3}),
    }
    for op, (v, attributes) in good.items():
        book.fail(
            op,
            "length of gamma",
            "gamma has another length than its axis",
            [x, Type("float32", 5), v],
            **attributes,
        )
        book.fail(
            op,
            "length of beta",
            "beta has another length than its axis",
            [x, v, Type("float32", 5)],
            **attributes,
        )
        book.fail(
            op,
            "gamma is a matrix",
            "gamma is a vector",
            [x, Type("float32", 1, v.shape[0]), v],
            **attributes,
        )
        book.fail(
            op, "axis 3 of rank three", "the data has rank three", [x, v, v], axis=3, **attributes
        )
        book.fail(
            op, "epsilon is text", "epsilon is a number", [x, v, v], epsilon="small", **attributes
        )
        book.fail(op, "two arguments", f"{op} takes three arguments", [x, v], **attributes)
    book.fail(
        "nn.group_norm",
        "groups do not divide",
        "4 does not divide six channels",
        [x, Type("float32", 6), Type("float32", 6)],
        num_groups=4,
    )
    for shape, axis in [
        ((2, 3), [1]),
        ((2, 3), [0]),
        ((2, 3), [0, 1]),
        ((2, 3, 4), [1]),
        ((2, 3, 4), [-1]),
        ((2, 3, 4), [0, 2]),
        ((1, 17), [1]),
        ((3, 1), [1]),
        ((0, 3), [1]),
        ((5,), [0]),
    ]:
        book.add(
            "nn.l2_normalize",
            f"{shape_label(shape)} axis {axis}",
            [draw(("l2", shape, axis), shape, "float32")],
            eps=0.0078125,
            axis=axis,
        )
    for dtype in FLOATS:
        book.add(
            "nn.l2_normalize", dtype, [draw(("l2", dtype), (2, 4), dtype)], eps=0.0078125, axis=[1]
        )
    book.add(
        "nn.l2_normalize",
        "eps decides",
        [np.array([[0, 0], [0.25, 0], [3, 4]], "float32")],
        eps=1.0,
        axis=[1],
    )
    for axis in ([2], [-3]):
        book.fail(
            "nn.l2_normalize",
            f"axis {axis} of rank two",
            "the data has rank two",
            [Type("float32", 2, 3)],
            eps=0.5,
            axis=axis,
        )


def scaled(book):
    for shape, h, w in [
        ((1, 2, 2, 3), 2.0, 2.0),
        ((1, 1, 3, 2), 3.0, 1.0),
        ((2, 3, 1, 1), 2.0, 4.0),
        ((1, 17, 1, 2), 1.0, 2.0),
        ((1, 1, 4, 4), 1.0, 1.0),
        ((1, 1, 5, 4), 2.0, 3.0),
        ((0, 2, 2, 2), 2.0, 2.0),
    ]:
        label = f"{shape_label(shape)} by {int(h)} and {int(w)}"
        x = draw(("up", shape), shape, "float32")
        book.add("nn.upsampling", f"nearest {label}", [x], exact=True, scale_h=h, scale_w=w)
        book.add("nn.upsampling", f"bilinear {label}", [x], scale_h=h, scale_w=w, method="bilinear")
        book.add(
            "nn.upsampling",
            f"aligned {label}",
            [x],
            scale_h=h,
            scale_w=w,
            method="bilinear",
            align_corners=True,
        )
        if 0 not in shape:
            data, size = torch.from_numpy(wide(x)), [int(shape[2] * h), int(shape[3] * w)]
            for record, answer in zip(
                book.records[-3::2],
                (
                    F.interpolate(data, size, mode="nearest"),
                    F.interpolate(data, size, mode="bilinear", align_corners=True),
                ),
            ):
                if not np.allclose(
                    answer.numpy().reshape(-1), record["outputs"][0]["values"], atol=1e-5
                ):
                    raise ValueError(f"upsampling {label}: PyTorch disagrees")
                record["source"] = "torch"
        nhwc = np.transpose(x, (0, 2, 3, 1))
        book.add(
            "nn.upsampling",
            f"nearest NHWC {label}",
            [nhwc],
            exact=True,
            scale_h=h,
            scale_w=w,
            layout="NHWC",
        )
        book.add(
            "nn.upsampling",
            f"aligned NHWC {label}",
            [nhwc],
            scale_h=h,
            scale_w=w,
            layout="NHWC",
            method="bilinear",
            align_corners=True,
        )
    for dtype in FLOATS + INTS:
        book.add(
            "nn.upsampling",
            f"nearest {dtype}",
            [draw(("up", dtype), (1, 2, 2, 2), dtype)],
            exact=True,
            scale_h=2.0,
            scale_w=2.0,
        )
    for dtype in FLOATS:
        book.add(
            "nn.upsampling",
            f"bilinear {dtype}",
            [draw(("up", dtype), (1, 2, 2, 3), dtype)],
            scale_h=2.0,
            scale_w=2.0,
            method="bilinear",
        )
    x = Type("float32", 1, 2, 3, 3)
    for label, why, argument, changes in [
        ("rank three", "NCHW data has rank four", Type("float32", 2, 3, 3), {}),
        ("unknown method", "the method has no such name", x, {"method": "cosine"}),
        ("unknown layout", "the layout names height and width", x, {"layout": "NCQR"}),
        ("scale is text", "a scale is a number", x, {"scale_h": "double"}),
        ("no height", "scale_h is required", x, {"scale_h": "omit"}),
        ("scale zero", "a scale is positive", x, {"scale_w": 0.0}),
    ]:
        book.fail(
            "nn.upsampling",
            label,
            why,
            [argument],
            **{
                k: v for k, v in ({"scale_h": 2.0, "scale_w": 2.0} | changes).items() if v != "omit"
            },
        )


def build(book):
    batch(book)
    others(book)
    padding(book)
    scaled(book)
