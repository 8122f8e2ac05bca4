"""Resize and upsampling: NumPy references in float64 at exact places; PyTorch and ONNX's reference agree where they have the same."""

import itertools
from fractions import Fraction

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx.reference import ReferenceEvaluator

from .core import REFERENCE, Type, draw, narrow, reference, wide

SPACE = {1: "W", 2: "HW", 3: "DHW"}


def spatial(layout):
    """Positions of the spatial axes of a plain layout, depth first."""
    return [layout.index(c) for c in "DHW" if c in layout]


# Resize ----------------------------------------------------------------------------------------------------------


def place(mode, i, count, out, roi):
    """Where element i of `out` lies between `count` elements: a fraction, or float32 for crops."""
    if mode == "tf_crop_and_resize":
        begin, end, last = np.float32(roi[0]), np.float32(roi[1]), np.float32(count - 1)
        if out == 1:
            return np.float32(0.5) * (begin + end) * last
        return begin * last + np.float32(i) * (end - begin) * last / np.float32(out - 1)
    if mode == "align_corners":
        return Fraction(i * (count - 1), max(out - 1, 1))
    if mode == "asymmetric":
        return Fraction(i * count, out)
    if mode == "tf_half_pixel_for_nn":
        return Fraction((2 * i + 1) * count, 2 * out)
    if mode == "pytorch_half_pixel" and out == 1:
        return Fraction(0)
    return Fraction((2 * i + 1) * count, 2 * out) - Fraction(1, 2)


def rounded(x, method, mode):
    x = Fraction(float(x)) if isinstance(x, np.floating) else x
    half = Fraction(1, 2)
    method = method or ("round" if mode == "align_corners" else "floor")
    if method == "floor":
        return x.__floor__()
    if method == "ceil":
        return x.__ceil__()
    if method == "round_prefer_floor":
        return (x - half).__ceil__()
    return (x + half).__floor__()  # once moved inside, halves go up and away from zero alike


def weights(x, method, alpha):
    """(first tap, weights) of a place."""
    low = int(np.floor(float(x))) if isinstance(x, np.floating) else x.__floor__()
    t = float(x - low)
    if method == "linear":
        return low, [1 - t, t]
    a = alpha
    return low - 1, [
        a * (t**3 - 2 * t**2 + t),
        (a + 2) * t**3 - (a + 3) * t**2 + 1,
        -(a + 2) * t**3 + (2 * a + 3) * t**2 - a * t,
        a * (t**2 - t**3),
    ]


def matrix(count, out, method, mode, rounding, alpha, exclude, roi):
    """The rows that make each element of one dimension, and which of them are outside."""
    result, outside = np.zeros((out, count)), np.zeros(out, bool)
    for i in range(out):
        x = place(mode, i, count, out, roi)
        outside[i] = mode == "tf_crop_and_resize" and not 0 <= x <= count - 1
        if mode == "tf_crop_and_resize" and not np.isfinite(x):
            continue
        if method == "nearest_neighbor":
            result[i, min(max(rounded(x, rounding, mode), 0), count - 1)] = 1
            continue
        first, taps = weights(x, method, alpha)
        if exclude:
            taps = [w if 0 <= first + k < count else 0.0 for k, w in enumerate(taps)]
            taps = [w / sum(taps) for w in taps]
        for k, w in enumerate(taps):
            result[i, min(max(first + k, 0), count - 1)] += w
    return result, outside


def finish(value, dtype):
    """Integers truncate, after a step back into their range."""
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        # A sum of thirds may miss a whole number by its last bit.
        nearest = np.round(value)
        value = np.where(np.abs(value - nearest) < 1e-9, nearest, np.trunc(value))
        return np.clip(value, info.min, info.max).astype(dtype)
    return narrow(value, dtype)


def resize(
    x,
    *,
    size,
    layout,
    roi=None,
    method="linear",
    coordinate_transformation_mode="half_pixel",
    rounding_method="round",
    cubic_alpha=-0.5,
    cubic_exclude=0,
    extrapolation_value=0.0,
    out_dtype=None,
):
    value = wide(x)
    dims = len(size)
    outsides = []
    for d, axis in enumerate(spatial(layout)):
        part = (roi[d], roi[dims + d]) if roi else (0.0, 0.0)
        rows, outside = matrix(
            x.shape[axis],
            size[d],
            method,
            coordinate_transformation_mode,
            rounding_method,
            cubic_alpha,
            cubic_exclude,
            part,
        )
        if method == "nearest_neighbor":
            value = np.take(value, rows.argmax(1), axis)
        else:
            value = np.moveaxis(np.tensordot(rows, value, (1, axis)), 0, axis)
        outsides.append(outside.reshape([-1 if a == axis else 1 for a in range(x.ndim)]))
    value = finish(value, out_dtype or x.dtype)
    if coordinate_transformation_mode == "tf_crop_and_resize":
        outside = np.broadcast_to(np.any(np.broadcast_arrays(*outsides), axis=0), value.shape)
        value = np.where(outside, np.asarray(extrapolation_value).astype(value.dtype), value)
    return value


for _dims in (1, 2, 3):

    @reference(f"image.resize{_dims}d")
    def _resize(x, *, size, layout="NC" + SPACE[_dims], **attributes):
        return resize(x, size=size, layout=layout, **attributes)


@reference("dyn.image.resize2d")
def dynamic_resize(x, size, roi, /, *, layout="NCHW", **attributes):
    attributes.pop("size", None)
    attributes["roi"] = [float(r) for r in roi]
    return resize(x, size=[int(s) for s in size], layout=layout, **attributes)


@reference("nn.upsampling")
def upsampling(x, *, scale_h, scale_w, layout="NCHW", method="nearest_neighbor", align_corners=False):
    h, w = spatial(layout)
    size = [round(x.shape[h] * scale_h), round(x.shape[w] * scale_w)]
    kind = {"nearest_neighbor": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"}[method]
    mode = "align_corners" if align_corners and kind != "nearest_neighbor" else "asymmetric"
    return resize(
        x,
        size=size,
        layout=layout,
        method=kind,
        coordinate_transformation_mode=mode,
        rounding_method="floor",
    )


@reference("nn.upsampling3d")
def upsampling3d(
    x,
    *,
    scale_d,
    scale_h,
    scale_w,
    layout="NCDHW",
    method="nearest_neighbor",
    coordinate_transformation_mode="half_pixel",
):
    axes = spatial(layout)
    size = [round(x.shape[a] * s) for a, s in zip(axes, (scale_d, scale_h, scale_w))]
    return resize(
        x,
        size=size,
        layout=layout,
        method="linear" if method == "trilinear" else method,
        coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method="",
    )


@reference("dyn.nn.upsampling")
def dynamic_upsampling(x, h, w, *, scale_h=0.0, scale_w=0.0, **attributes):
    return upsampling(x, scale_h=float(h), scale_w=float(w), **attributes)


@reference("dyn.nn.upsampling3d")
def dynamic_upsampling3d(x, d, h, w, *, scale_d=0.0, scale_h=0.0, scale_w=0.0, **attributes):
    return upsampling3d(x, scale_d=float(d), scale_h=float(h), scale_w=float(w), **attributes)


def torch_resize(x, size, attributes):
    """PyTorch's answer for floats with channels first, or None."""
    method = attributes.get("method", "linear")
    mode = attributes.get("coordinate_transformation_mode", "half_pixel")
    if x.dtype.kind != "f" or 0 in x.shape or 0 in size or "out_dtype" in attributes:
        return None
    if not set(attributes) <= {"method", "coordinate_transformation_mode", "rounding_method", "cubic_alpha"}:
        return None
    rounding = attributes.get("rounding_method", "round")
    data = torch.from_numpy(wide(x))
    if method == "nearest_neighbor":
        name = {("asymmetric", "floor"): "nearest", ("half_pixel", "round_prefer_ceil"): "nearest-exact"}
        name = name.get((mode, rounding))
        return name and F.interpolate(data, size, mode=name).numpy()
    if mode not in ("half_pixel", "align_corners") or (mode == "half_pixel" and 1 in size):
        return None
    corners = mode == "align_corners"
    if method == "linear":
        name = ("linear", "bilinear", "trilinear")[len(size) - 1]
        return F.interpolate(data, size, mode=name, align_corners=corners).numpy()
    if len(size) == 2 and attributes.get("cubic_alpha") == -0.75:
        return F.interpolate(data, size, mode="bicubic", align_corners=corners).numpy()
    return None


def onnx_resize(x, size, attributes):
    """The answer of ONNX's own reference, or None where it computes something else."""
    method = {"nearest_neighbor": "nearest"}.get(
        attributes.get("method", "linear"), attributes.get("method", "linear")
    )
    mode = attributes.get("coordinate_transformation_mode", "half_pixel")
    rounding = attributes.get("rounding_method", "round")
    if x.dtype.kind != "f" or 0 in x.shape or 0 in size or {"layout", "out_dtype"} & set(attributes):
        return None
    if method == "nearest" and rounding not in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        return None
    if mode in ("tf_half_pixel_for_nn", "pytorch_half_pixel"):
        return None
    if method == "nearest" and mode == "tf_crop_and_resize":
        return None
    if mode == "align_corners" and 1 in size:
        return None
    fields = {"mode": method, "coordinate_transformation_mode": mode}
    if method == "nearest":
        fields["nearest_mode"] = rounding
    if method == "cubic":
        fields["cubic_coeff_a"] = attributes.get("cubic_alpha", -0.5)
        fields["exclude_outside"] = attributes.get("cubic_exclude", 0)
    roi = ""
    inputs = {"X": wide(x), "sizes": np.array(list(x.shape[:2]) + list(size))}
    if mode == "tf_crop_and_resize":
        fields["extrapolation_value"] = attributes.get("extrapolation_value", 0.0)
        dims = len(size)
        part = attributes["roi"]
        inputs["roi"] = np.array([0, 0] + part[:dims] + [1, 1] + part[dims:], np.float64)
        roi = "roi"
    node = onnx.helper.make_node("Resize", ["X", roi, "", "sizes"], ["Y"], **fields)
    info = onnx.helper.make_tensor_value_info
    kinds = {"X": onnx.TensorProto.DOUBLE, "sizes": onnx.TensorProto.INT64, "roi": onnx.TensorProto.DOUBLE}
    graph = onnx.helper.make_graph(
        [node],
        "resize",
        [info(name, kinds[name], None) for name in inputs],
        [info("Y", onnx.TensorProto.DOUBLE, None)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)])
    return ReferenceEvaluator(model).run(None, inputs)[0]


def add_resize(book, label, x, size, **attributes):
    op = f"image.resize{len(size)}d"
    source = "numpy"
    for name, peer in (("torch", torch_resize), ("onnx", onnx_resize)):
        answer = peer(x, size, attributes)
        if answer is None:
            continue
        ours = REFERENCE[op](wide(x), size=size, **attributes)
        if ours.shape != answer.shape or not np.allclose(ours, answer, rtol=1e-5, atol=1e-5):
            raise ValueError(f"{op}/{label}: {name} disagrees\n{ours}\n{answer}")
        source = name
    exact = attributes.get("method") == "nearest_neighbor" or x.dtype.kind != "f"
    book.add(op, label, [x], source, exact=exact and "out_dtype" not in attributes, size=size, **attributes)


MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")
ROUNDINGS = ("round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil", "")


def build_resize(book):
    shape = {1: (1, 2, 6), 2: (1, 2, 3, 5), 3: (1, 1, 2, 3, 4)}
    sizes = {1: [[13], [4], [1], [6]], 2: [[5, 9], [2, 3]], 3: [[3, 2, 7]]}
    for dims in (1, 2, 3):
        x = draw(("resize", dims), shape[dims], "float32")
        for mode, size in itertools.product(MODES, sizes[dims]):
            if dims == 3 and mode in ("pytorch_half_pixel", "tf_half_pixel_for_nn"):
                continue
            text = "x".join(map(str, size))
            for method in ("linear", "cubic"):
                add_resize(book, f"{method} {mode} to {text}", x, size, method=method, coordinate_transformation_mode=mode)
            if dims == 3:
                continue
            for rounding in ROUNDINGS if dims == 1 else ("round", ""):
                add_resize(
                    book,
                    f"nearest {mode} {rounding or 'by itself'} to {text}",
                    x,
                    size,
                    method="nearest_neighbor",
                    coordinate_transformation_mode=mode,
                    rounding_method=rounding,
                )
        big = [9, 4, 7][:dims]
        for mode in ("half_pixel", "align_corners"):
            add_resize(book, f"cubic slope -0.75 {mode}", x, big, method="cubic", coordinate_transformation_mode=mode, cubic_alpha=-0.75)
        for mode in ("half_pixel", "asymmetric"):
            add_resize(
                book, f"cubic that excludes, {mode}", x, big, method="cubic", coordinate_transformation_mode=mode, cubic_exclude=1
            )
        roi = [0.25, 0.1, -0.2][:dims] + [0.75, 1.3, 1.0][:dims]
        for method in ("linear", "cubic"):
            add_resize(
                book,
                f"{method} crop",
                x,
                [5, 4, 3][:dims],
                method=method,
                coordinate_transformation_mode="tf_crop_and_resize",
                roi=roi,
                extrapolation_value=-3.5,
            )
        add_resize(
            book,
            "nearest crop of one element",
            x,
            [1, 2, 3][:dims],
            method="nearest_neighbor",
            coordinate_transformation_mode="tf_crop_and_resize",
            roi=roi,
            extrapolation_value=2.0,
        )
        last = "N" + SPACE[dims] + "C"
        y = draw(("resize", dims, "last"), (2, *shape[dims][2:], 3), "float32")
        for method in ("linear", "nearest_neighbor"):
            add_resize(book, f"{last} {method}", y, big, method=method, layout=last)
        for dtype in ("float64", "float16", "int32", "int64", "uint8", "int8"):
            y = draw(("resize", dims, dtype), shape[dims], dtype)
            for method in ("linear", "nearest_neighbor"):
                # The places are eighths: integers have one result.
                size = [8, 3, 8][:dims] if dtype.startswith("float") else [2 * s for s in shape[dims][2:]]
                if dims < 3 or dtype in ("float64", "uint8"):
                    add_resize(book, f"{dtype} {method}", y, size, method=method)
        for size in ([0] * dims, [2] * (dims - 1) + [0])[: min(dims, 2)]:
            if dims < 3:
                add_resize(book, f"to extents {size}", x, size)
        empty = draw("empty", (0, *shape[dims][1:]), "float32")
        add_resize(book, "no images", empty, big)
        one = draw(("one", dims), (1, 2) + (1,) * dims, "float32")
        for method in ("linear", "cubic", "nearest_neighbor"):
            add_resize(book, f"one element {method}", one, [3] * dims, method=method)
        add_resize(book, "to float64", x, big, out_dtype="float64")
        add_resize(book, "float32 to int32", np.float32(8) * draw("i", shape[dims], "float32", 1, 2).round(), [2 * s for s in shape[dims][2:]], out_dtype="int32")
        op, t = f"image.resize{dims}d", Type("float32", *shape[dims])
        book.fail(op, "size of another rank", "size has an extent for each dimension", [t], size=[2] * (dims + 1))
        book.fail(op, "no size", "size is missing", [t])
        book.fail(op, "negative size", "an extent is not negative", [t], size=[-1] * dims)
        book.fail(op, "crop without roi", "the roi is an attribute that is required", [t], size=[2] * dims, coordinate_transformation_mode="tf_crop_and_resize")
        book.fail(op, "data of lower rank", "the layout has another rank", [Type("float32", *shape[dims][1:])], size=[2] * dims)
        book.fail(op, "unknown method", "there is no such method", [t], size=[2] * dims, method="lanczos")
        book.fail(op, "bool", "the dtype is a number's", [Type("bool", *shape[dims])], size=[2] * dims)
        book.fail(op, "nothing to make elements of", "the extents of the data are positive: elements come from others", [Type("float32", 1, 2, *[0] * dims)], size=[2] * dims)
    wide_row = draw("wide row", (1, 1, 2, 37), "float32")
    add_resize(book, "a row longer than vectors", wide_row, [3, 75])
    add_resize(book, "a row longer than vectors shrinks", wide_row, [1, 19], method="cubic", cubic_alpha=-0.75)
    odd = draw("not a number", (1, 1, 3, 4), "float32")
    odd[0, 0, 1, 1], odd[0, 0, 2, 3] = np.nan, np.inf
    add_resize(book, "not-a-number and infinity, nearest", odd, [6, 8], method="nearest_neighbor")
    overshoot = np.array([0, 255, 0, 0, 255, 255], "uint8").reshape(1, 1, 6)
    add_resize(book, "uint8 that overshoots stays in its range", overshoot, [12], method="cubic")
    for dims, method, mode in itertools.product([2], ("linear", "cubic", "nearest_neighbor"), ("half_pixel", "align_corners")):
        x = draw(("dynamic", method, mode), (1, 2, 3, 4), "float32")
        book.add(
            "dyn.image.resize2d",
            f"{method} {mode}",
            [x, np.array([5, 3], "int64"), np.zeros(4, "float32")],
            method=method,
            coordinate_transformation_mode=mode,
        )


def dynamic(book):
    """Extents known at run time have no numbers in the types: `?`."""
    for record in book.records:
        if record["name"].startswith("dyn.") and "outputs" in record:
            rank = len(record["outputs"][0]["shape"])
            record["type"] = f"Tensor[({', '.join(['?'] * rank)}), {record['outputs'][0]['dtype']}]"
            shape = ", ".join(map(str, record["inputs"][0]["shape"]))
            record["program"] = record["program"].replace(f"Tensor[({shape}),", f"Tensor[({', '.join(['?'] * rank)}),", 1)


def build(book):
    build_resize(book)
    dynamic(book)
