"""dyn.*: the same as without, with shapes, positions and factors that are arguments. Attributes that repeat them are not read."""

import itertools

import numpy as np

from . import index, norm, resize, shape, sort  # the references that these stand on
from .core import REFERENCE, Type, draw, reference, type_text


@reference("dyn.zeros")
def zeros(extents, /, *, dtype="float32", **_):
    return np.zeros(tuple(extents), dtype)


@reference("dyn.ones")
def ones(extents, /, *, dtype="float32", **_):
    return np.ones(tuple(extents), dtype)


@reference("dyn.full")
def full(value, extents, /, *, dtype=None, **_):
    return np.full(tuple(extents), value).astype(dtype or value.dtype)


@reference("dyn.broadcast_to")
def broadcast_to(x, extents, /, **_):
    return np.broadcast_to(x, tuple(extents)).copy()


@reference("dyn.reshape")
def reshape(x, extents, /, *, allowzero=False, **_):
    return shape.reshape(x, newshape=[int(e) for e in extents], allowzero=allowzero)


@reference("dyn.expand_dims")
def expand_dims(x, axis, *, num_newaxis=1):
    first = int(axis) if axis >= 0 else x.ndim + 1 + int(axis)
    return np.expand_dims(x, tuple(range(first, first + num_newaxis)))


reference("dyn.squeeze")(lambda x, axes, /, **_: np.squeeze(x, tuple(axes)))
reference("dyn.tile")(lambda x, reps, /, **_: np.tile(x, reps))


@reference("dyn.strided_slice")
def strided_slice(x, begin, end, strides, /, *, axes=None, slice_mode="end", **_):
    begin, end, strides = (each.tolist() for each in (begin, end, strides))
    return shape.strided_slice(x, begin=begin, end=end, strides=strides, axes=axes, slice_mode=slice_mode)


@reference("strided_set")
def strided_set(x, values, begin, end, strides):
    result = x.copy()
    picks = [slice(b, e, strides[k] if k < len(strides) else 1) for k, (b, e) in enumerate(zip(begin, end))]
    result[tuple(picks)] = values
    return result


@reference("dyn.nn.pad")
def pad(x, widths, value, /, *, pad_mode="constant", **_):
    return REFERENCE["nn.pad"](x, value, pad_width=widths.tolist(), pad_mode=pad_mode)


@reference("dyn.topk")
def topk(x, count, /, *, axis=-1, ret_type="both", is_ascend=False, dtype="int32", **_):
    return sort.topk(x, k=int(count), axis=axis, ret_type=ret_type, is_ascend=is_ascend, dtype=dtype)


@reference("dyn.one_hot")
def one_hot(indices, on, off, classes, /, **attributes):
    return index.one_hot(indices, on, off, **(attributes | {"depth": int(classes)}))


# Cases ------------------------------------------------------------------------------------------------------------


def unknown(rank, dtype):
    return type_text(dtype, ("?",) * rank)


def create(book):
    add = lambda op, label, args, rank, kind, **attributes: book.add(
        op, label, args, exact=True, type=unknown(rank, kind), **attributes
    )
    for extents, kind in itertools.product(((2, 3), (4,), (0, 2), (1, 1, 1)), ("int32", "int64")):
        shape_ = np.array(extents, kind)
        label = f"{extents} {kind}"
        for op in ("dyn.zeros", "dyn.ones"):
            add(op, label, [shape_], len(extents), "float32")
        add("dyn.full", label, [draw(label, (), "float32"), shape_], len(extents), "float32")
    for dtype in ("float64", "float16", "int8", "int64", "uint8", "bool"):
        shape_ = np.array((2, 2), "int64")
        for op in ("dyn.zeros", "dyn.ones"):
            add(op, dtype, [shape_], 2, dtype, dtype=dtype)
        add("dyn.full", dtype, [draw(dtype, (), dtype), shape_], 2, dtype)
        add("dyn.full", f"int32 as {dtype}", [draw("as", (), "int32"), shape_], 2, dtype, dtype=dtype)
    for of, to in (((3, 1), (3, 4)), ((3,), (2, 3)), ((), (2, 2)), ((1, 2, 1), (4, 2, 3)), ((2, 1), (2, 0))):
        for dtype in ("float32", "int64", "bool"):
            x = draw((of, dtype), of, dtype)
            add("dyn.broadcast_to", f"{of} to {to} {dtype}", [x, np.array(to, "int64")], len(to), dtype)
    for (extents, axis), dtype in itertools.product((((3,), -1), ((2, 2), 0), ((2, 2), 1), ((), -1), ((2, 0), 1)), ("float32", "int64", "bool")):
        indices = draw((extents, axis), extents, "int32", -1, 4)
        on, off = (np.asarray(v, dtype) for v in ((1, 0) if dtype == "bool" else (3, 1)))
        for depth in (3, 1):
            label = f"{extents} axis {axis} depth {depth} {dtype}"
            rank = len(extents) + 1
            places = ["?" if k == axis % rank else None for k in range(rank)]
            of = iter(extents)
            dims = [p or next(of) for p in places]
            arguments = [indices, on, off, np.asarray(depth, "int64")]
            book.add("dyn.one_hot", label, arguments, exact=True, type=type_text(dtype, dims), axis=axis)
            if dtype == "float32":
                book.add("dyn.one_hot", f"{label} from the end", arguments, exact=True, type=type_text(dtype, dims), axis=axis, from_end=True)
    two = Type("int64", 2)
    book.fail("dyn.zeros", "shape of unknown length", "the length of shape is known", [Type("int64", "?")])
    book.fail("dyn.full", "vector of values", "fill_value is a scalar", [Type("float32", 2), two])
    book.fail("dyn.broadcast_to", "fewer axes", "shape has as many axes at least", [Type("float32", 2, 3), Type("int64", 1)])
    book.fail("dyn.one_hot", "axis", "the axis is out of range", [Type("int32", 3), Type("float32"), Type("float32"), Type("int64")], axis=2)
    x = draw("fails", (3, 2), "float32")
    book.fail_running("dyn.broadcast_to", "extent 3 to 4", "shapes broadcast", [x, np.array((4, 2), "int64")])
    book.fail_running("dyn.zeros", "negative", "an entry of shape is positive", [np.array((2, -1), "int64")])


def move(book):
    add = lambda op, label, args, rank, **attributes: book.add(
        op, label, args, exact=True, type=unknown(rank, args[0].dtype), **attributes
    )
    integers = lambda *values: np.array(values, "int64")
    for dtype in ("float32", "float64", "float16", "int8", "int64", "uint8", "bool"):
        x = draw(("move", dtype), (2, 3, 4), dtype)
        add("dyn.reshape", dtype, [x, integers(4, 6)], 2)
        add("dyn.tile", dtype, [x, integers(1, 2, 2)], 3)
        add("dyn.strided_slice", dtype, [x, integers(0, 2, 1), integers(2, 0, 4), integers(1, -1, 2)], 3)
        add("dyn.expand_dims", dtype, [x, np.asarray(1, "int64")], 4)
        add("dyn.squeeze", dtype, [x[:1], integers(0)], 2)
        widths = np.array(((1, 0), (0, 2), (1, 1)), "int64")
        add("dyn.nn.pad", dtype, [x, widths, np.asarray(1, dtype)], 3)
    x = draw("reshape", (2, 3, 4), "float32")
    for extents in ((24,), (-1,), (0, -1), (0, 0, 0), (2, -1, 2), (3, 8, 1), (-1, 1)):
        for kind in ("int32", "int64"):
            add("dyn.reshape", f"{extents} {kind}", [x, np.array(extents, kind)], len(extents))
    add("dyn.reshape", "an extent of 0", [draw("none", (0, 3), "float32"), integers(3, 0)], 2, allowzero=True)
    for axis, count in itertools.product((0, 1, 2, -1, -2, -3), (1, 2)):
        for kind in ("int32", "int64"):
            label = f"axis {axis} count {count} {kind}"
            add("dyn.expand_dims", label, [draw("axis", (2, 3), "float32"), np.asarray(axis, kind)], 2 + count, num_newaxis=count)
    for axes in ((0,), (2,), (0, 2), (-1, 0), (-3,)):
        add("dyn.squeeze", f"{axes}", [draw("ones", (1, 3, 1), "float32"), integers(*axes)], 3 - len(axes))
    for reps in ((2,), (2, 1), (1, 3), (2, 1, 2), (0, 1)):
        add("dyn.tile", f"{reps}", [draw("tile", (2, 3), "float32"), integers(*reps)], max(2, len(reps)))
    x = draw("slice", (5, 4), "float32")
    for begin, end, strides in (
        ((0, 0), (5, 4), (1, 1)),
        ((1, -3), (4, -1), (2, 1)),
        ((-1, 3), (-6, -5), (-1, -2)),
        ((-9, 2), (9, 2), (1, 1)),
        ((3,), (1,), (-1,)),
        ((1, 1), (5, 4), (3,)),
    ):
        label = f"{begin} {end} {strides}"
        arguments = [integers(*begin), integers(*end), integers(*strides)]
        rows = unknown(2, "float32") if len(begin) == 2 else None
        book.add("dyn.strided_slice", label, [x, *arguments], exact=True, type=rows or "Tensor[(?, 4), float32]")
        values = draw(label, shape.strided_slice(x, begin=begin, end=end, strides=strides).shape, "float32")
        book.add("strided_set", label, [x, values, *arguments], exact=True)
    book.add("dyn.strided_slice", "sizes", [x, integers(1, -2), integers(3, -1), integers(1, 1)], exact=True, type=unknown(2, "float32"), slice_mode="size")
    book.add("dyn.strided_slice", "axes", [x, integers(3), integers(0), integers(-1)], exact=True, type="Tensor[(5, ?), float32]", axes=[1])
    for mode, widths in itertools.product(("constant", "edge", "reflect"), (((1, 2), (0, 1)), ((0, 0), (3, 3)), ((0, 0), (0, 0)))):
        arguments = [x, np.array(widths, "int64"), np.asarray(1.5, "float32")]
        add("dyn.nn.pad", f"{mode} {widths}", arguments, 2, pad_mode=mode)
    data, one = Type("float32", 2, 3), Type("int64", 1)
    book.fail("dyn.reshape", "shape of unknown length", "the rank is known", [data, Type("int64", "?")])
    book.fail("dyn.squeeze", "too many axes", "as many axes as the data at most", [data, Type("int64", 3)])
    book.fail("dyn.tile", "floats", "reps are integers", [data, Type("float32", 2)])
    book.fail("dyn.strided_slice", "too many", "an entry for each axis", [data, *[Type("int64", 3)] * 3])
    book.fail("dyn.nn.pad", "one axis", "a pair for each axis", [data, Type("int64", 1, 2), Type("float32")])
    book.fail("strided_set", "other dtype", "v has the data's dtype", [data, Type("int32", 2, 3), one, one, one])
    book.fail_running("dyn.reshape", "other elements", "as many elements", [x, integers(3, 7)])
    book.fail_running("dyn.squeeze", "extent 5", "the extent is 1", [x, integers(0)])
    book.fail_running("dyn.expand_dims", "axis 3", "the axis is out of range", [x, np.asarray(3, "int64")])
    book.fail_running("dyn.tile", "negative", "reps are positive", [x, integers(1, -1)])
    book.fail_running("dyn.strided_slice", "stride 0", "a stride is not 0", [x, integers(0, 0), integers(1, 1), integers(1, 0)])
    book.fail_running("strided_set", "other shape", "v has the shape of the slice", [x, x, integers(0), integers(2), integers(1)])
    book.fail_running("dyn.nn.pad", "reflect too far", "elements to mirror: extent", [x, np.array(((5, 0), (0, 0)), "int64"), np.float32(0)], pad_mode="reflect")


def choose(book):
    for (axis, k), dtype in itertools.product(((-1, 2), (0, 3), (1, 0), (1, 4)), ("float32", "int64", "float16")):
        x = draw((axis, k, dtype), (3, 4), dtype)
        for result, ascending in itertools.product(("both", "values", "indices"), (False, True)):
            kinds = {"values": dtype, "indices": "int64"}
            dims = ["?" if d == axis % 2 else e for d, e in enumerate(x.shape)]
            texts = [type_text(kinds[name], dims) for name in kinds if result in (name, "both")]
            book.add(
                "dyn.topk", f"{result} {k} axis {axis} {'least' if ascending else 'greatest'} {dtype}", [x, np.asarray(k, "int32")],
                exact=True, type=texts[0] if len(texts) == 1 else f"({', '.join(texts)})", axis=axis, ret_type=result, is_ascend=ascending, dtype="int64",
            )
    book.fail("dyn.topk", "axis", "the axis is out of range", [Type("float32", 3, 4), Type("int64")], axis=2)
    book.fail_running("dyn.topk", "more than there are", "k is the extent at most", [draw("more", (3,), "float32"), np.asarray(4, "int64")])


def upsample(book):
    x, scales = draw("images", (1, 2, 3, 4), "float32"), ((2.0, 2.0), (1.5, 2.5), (0.5, 0.75), (1.0, 3.0))
    by = lambda *values: [np.asarray(value, "float32") for value in values]
    for method, corners, scale in itertools.product(("nearest_neighbor", "bilinear", "bicubic"), (False, True), scales):
        label = f"{method} {scale} {'corners' if corners else 'asymmetric'}"
        book.add("dyn.nn.upsampling", label, [x, *by(*scale)], exact=method == "nearest_neighbor", type="Tensor[(1, 2, ?, ?), float32]", method=method, align_corners=corners)
    for layout, extents in (("NHWC", (2, 3, 4, 2)), ("HWCN", (2, 3, 2, 2))):
        dims = ", ".join("?" if axis in "HW" else str(e) for axis, e in zip(layout, extents))
        for method in ("nearest_neighbor", "bicubic"):
            y = draw((layout, method), extents, "float32")
            book.add("dyn.nn.upsampling", f"{layout} {method}", [y, *by(2, 3)], type=f"Tensor[({dims}), float32]", method=method, layout=layout)
    for dtype in ("float64", "float16", "uint8", "int8", "int32", "int64"):
        y = draw(("dtype", dtype), (1, 1, 2, 4), dtype)
        for method in ("nearest_neighbor", "bilinear", "bicubic"):
            book.add("dyn.nn.upsampling", f"{dtype} {method}", [y, *by(2, 2)], type=f"Tensor[(1, 1, ?, ?), {dtype}]", method=method)
    half = np.asarray(1.5, "float16"), np.asarray(0.5, "float64")
    book.add("dyn.nn.upsampling", "other dtypes of factors", [x, *half], exact=True, type="Tensor[(1, 2, ?, ?), float32]")
    book.add("dyn.nn.upsampling", "no samples", [x[:0], *by(2, 3)], type="Tensor[(0, 2, ?, ?), float32]", method="bilinear")
    y = draw("volumes", (1, 2, 2, 3, 2), "float32")
    for method, mode, scale in itertools.product(
        ("nearest_neighbor", "trilinear"), ("half_pixel", "align_corners", "asymmetric"), ((2.0, 2.0, 2.0), (1.0, 1.5, 3.0))
    ):
        book.add(
            "dyn.nn.upsampling3d", f"{method} {mode} {scale}", [y, *by(*scale)], exact=method == "nearest_neighbor", type="Tensor[(1, 2, ?, ?, ?), float32]",
            method=method, coordinate_transformation_mode=mode,
        )
    last = draw("last", (1, 2, 3, 2, 2), "float32")
    book.add("dyn.nn.upsampling3d", "NDHWC", [last, *by(2, 1, 2)], type="Tensor[(1, ?, ?, ?, 2), float32]", layout="NDHWC", method="trilinear")
    image, factor = Type("float32", 1, 2, 3, 4), Type("float32")
    book.fail("dyn.nn.upsampling", "vector of factors", "a factor is a scalar: rank", [image, Type("float32", 2), factor])
    book.fail("dyn.nn.upsampling3d", "layout of images", "the layout names D", [Type("float32", 1, 1, 1, 1, 1), factor, factor, factor], layout="NCHW")
    book.fail_running("dyn.nn.upsampling", "negative", "factors are positive", [x, *by(2, -1)])
    book.fail_running("dyn.nn.upsampling", "not a number", "factors are positive", [x, *by(float("nan"), 1)])
    book.fail_running("dyn.nn.upsampling3d", "zero", "factors are positive", [y, *by(0, 1, 1)])


def build(book):
    create(book)
    move(book)
    choose(book)
    upsample(book)
