"""nn: pooling. A plain NumPy reference says what the attributes mean; wherever PyTorch has the same operator it must agree."""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F

from .conv import SPACE, permuted, sides
from .core import REFERENCE, Type, draw, narrow, reference, shape_label, wide


def space_first(x, layout, dims):
    """The data with its spatial axes last, and the order that undoes this (blocked layouts pool over capital letters only)."""
    letters = [c for c in layout if not c.isdigit()]
    space = [letters.index(c) for c in SPACE[dims]]
    order = [a for a in range(x.ndim) if a not in space] + space
    return np.transpose(x, order), np.argsort(order)


def pooled_extent(extent, pool, stride, dilation, before, after, ceil_mode):
    span = extent + before + after - (dilation * (pool - 1) + 1)
    return (math.ceil(span / stride) if ceil_mode else span // stride) + 1


def register_pool(name, dims):
    largest = name == "max"

    @reference(f"nn.{name}_pool{dims}d")
    def pool(
        x,
        *,
        pool_size,
        strides=None,
        dilation=None,
        padding=0,
        layout="NC" + SPACE[dims],
        out_layout="",
        ceil_mode=False,
        count_include_pad=False,
    ):
        strides, dilation = strides or [1] * dims, dilation or [1] * dims
        strides, dilation = (list(v) * dims if len(v) == 1 else v for v in (strides, dilation))
        around = sides(padding, dims)
        data, undo = space_first(x, layout, dims)
        space = data.shape[-dims:]
        out = [
            pooled_extent(e, p, s, d, *b, ceil_mode)
            for e, p, s, d, b in zip(space, pool_size, strides, dilation, around)
        ]
        result = np.zeros(
            data.shape[:-dims] + tuple(out), np.float64 if x.dtype.kind == "f" else np.int64
        )
        for place in np.ndindex(*out):
            windows, padded = [], 1
            for i, (o, (before, after)) in enumerate(zip(place, around)):
                taps = [o * strides[i] - before + k * dilation[i] for k in range(pool_size[i])]
                windows.append([t for t in taps if 0 <= t < space[i]])
                padded *= sum(-before <= t < space[i] + after for t in taps)
            size = math.prod(map(len, windows))
            if size == 0:
                raise ValueError("a window without an element has no agreed result")
            window = data[(..., *np.ix_(*windows))].reshape(data.shape[:-dims] + (size,))
            if largest:
                value = window.max(-1)
            else:
                count = padded if count_include_pad else window.shape[-1]
                total = (
                    wide(window).sum(-1) if x.dtype.kind == "f" else window.astype(np.int64).sum(-1)
                )
                value = (
                    total / count
                    if x.dtype.kind == "f"
                    else np.trunc(total / count).astype(np.int64)
                )
            result[(..., *place)] = value
        return narrow(np.transpose(result, undo), x.dtype)


def register_adaptive(name, dims):
    largest = name == "max"

    @reference(f"nn.adaptive_{name}_pool{dims}d")
    def pool(x, *, output_size=(), layout="NC" + SPACE[dims], out_layout=""):
        data, undo = space_first(x, layout, dims)
        space = data.shape[-dims:]
        out = list(output_size) or list(space)
        out = out * dims if len(out) == 1 else out
        result = np.zeros(
            data.shape[:-dims] + tuple(out), np.float64 if x.dtype.kind == "f" else np.int64
        )
        for place in np.ndindex(*out):
            cut = tuple(
                slice(o * e // n, -(-(o + 1) * e // n)) for o, e, n in zip(place, space, out)
            )
            size = math.prod(c.stop - c.start for c in cut)
            window = wide(data[(..., *cut)]).reshape(data.shape[:-dims] + (size,))
            result[(..., *place)] = window.max(-1) if largest else window.mean(-1)
        return narrow(np.transpose(result, undo), x.dtype)


def register_global(name):
    @reference(f"nn.global_{name}_pool2d")
    def pool(x, *, layout="NCHW", out_layout=""):
        axes = tuple(i for i, c in enumerate(layout) if c in "HW")
        function = np.max if name == "max" else np.mean
        return narrow(function(wide(x), axis=axes, keepdims=True), x.dtype)


for _name, _dims in itertools.product(("max", "avg"), (1, 2, 3)):
    register_pool(_name, _dims)
    register_adaptive(_name, _dims)
for _name in ("max", "avg"):
    register_global(_name)


def torch_pool(name, dims, x, attributes):
    """PyTorch's answer, or None where it has no such attribute. Its ceil mode drops windows that start in the padding."""
    size, around = attributes["pool_size"], sides(attributes.get("padding", [0]), dims)
    dilation = attributes.get("dilation", [1] * dims)
    if (
        x.dtype.kind != "f"
        or "layout" in attributes
        or any(a != b or 2 * a > s for (a, b), s in zip(around, size))
        or 0 in x.shape
    ):
        return None
    padding, data = [a for a, _ in around], torch.from_numpy(wide(x))
    strides, ceil_mode = attributes.get("strides", [1] * dims), attributes.get("ceil_mode", False)
    if name == "max":
        return getattr(F, f"max_pool{dims}d")(
            data, size, strides, padding, dilation, ceil_mode
        ).numpy()
    if any(d != 1 for d in dilation):
        return None
    return getattr(F, f"avg_pool{dims}d")(
        data, size, strides, padding, ceil_mode, attributes.get("count_include_pad", False)
    ).numpy()


def add_pool(book, name, dims, label, x, **attributes):
    op = f"nn.{name}_pool{dims}d"
    answer = torch_pool(name, dims, x, attributes)
    book.add(
        op, label, [x], "numpy" if answer is None else "torch", exact=name == "max", **attributes
    )
    if answer is not None:
        ours = REFERENCE[op](x, **attributes)
        if ours.shape != answer.shape or not np.allclose(
            ours,
            answer,
            rtol=5e-3 if x.dtype == np.float16 else 1e-5,
            atol=1e-3 if x.dtype == np.float16 else 1e-6,
        ):
            raise ValueError(f"{op}/{label}: PyTorch disagrees")


def windows(book):
    for name, dims in itertools.product(("max", "avg"), (1, 2, 3)):
        op = f"nn.{name}_pool{dims}d"
        space = {1: [8], 2: [6, 5], 3: [4, 5, 3]}[dims]
        none, twos, ones = [0] * dims, [2] * dims, [1] * dims

        def add(label, shape=None, dtype="float32", low=None, high=None, **attributes):
            x = draw((op, label), shape or (1, 2, *space), dtype, low, high)
            add_pool(book, name, dims, label, x, **({"pool_size": twos} | attributes))

        add("stride 1", padding=none)
        add("stride 2", strides=twos, padding=none)
        add("pool 3 stride 2", pool_size=[3] * dims, strides=twos, padding=none)
        add(
            "pool 3 stride 2 ceil", pool_size=[3] * dims, strides=twos, padding=none, ceil_mode=True
        )
        add("pool 1", pool_size=ones, padding=none)
        add("pool the whole", pool_size=space, padding=none)
        add(
            "stride 3 ceil",
            (1, 2, *[7, 5, 4][:dims]),
            strides=[3] * dims,
            padding=none,
            ceil_mode=True,
        )
        add("strides beyond the pool", strides=[4] * dims, padding=none)
        for batch, channels in [(2, 3), (1, 17), (0, 2), (1, 1)]:
            add(
                f"batch {batch} channels {channels}",
                (batch, channels, *[s - 1 for s in space]),
                strides=twos,
                padding=none,
            )
        before, after = [1, 0, 1][:dims], [0, 1, 1][:dims]
        for padding in map(
            list, dict.fromkeys([(1,), tuple(ones), tuple(before), (*before, *after)])
        ):
            for flags in (
                ({}, {"ceil_mode": True})
                if name == "max"
                else (
                    {},
                    {"count_include_pad": True},
                    {"ceil_mode": True},
                    {"ceil_mode": True, "count_include_pad": True},
                )
            ):
                label = f"padding {padding if len(padding) != 1 else 'one entry'} {' '.join(flags)}".strip()
                add(label, pool_size=[3] * dims, strides=twos, padding=padding, **flags)
        add("dilation 2", dilation=twos, padding=none)
        add("dilation with padding", strides=twos, dilation=twos, padding=ones)
        if name == "avg":
            add(
                "dilation with counted padding",
                strides=twos,
                dilation=twos,
                padding=ones,
                count_include_pad=True,
            )
        if dims > 1:
            add(
                "different in each dimension",
                pool_size=[2, 3, 1][:dims],
                strides=[1, 2, 2][:dims],
                padding=[1, 0, 0, 1] if dims == 2 else [1, 0, 0, 0, 1, 0],
            )
        add("float64", dtype="float64", strides=twos, padding=ones)
        add("float16", dtype="float16", strides=twos, padding=ones)
        if name == "max":
            for dtype in ("int8", "uint8", "int32", "int64", "int16"):
                add(dtype, dtype=dtype, strides=twos, padding=ones)
            x = -np.abs(draw((op, "negative"), (1, 2, *space), "float32")) - 1
            add_pool(
                book,
                name,
                dims,
                "negative data with padding",
                x,
                pool_size=twos,
                strides=twos,
                padding=ones,
            )
        else:
            add("int32 truncates", dtype="int32", low=-20, high=20, strides=twos, padding=none)
        last = "N" + SPACE[dims] + "C"
        for label, attributes in [
            ("", {"padding": none}),
            (" padding", {"padding": before + after}),
            (" ceil", {"padding": none, "ceil_mode": True}),
        ]:
            x = permuted(
                draw((op, label, "last"), (2, 3, *space), "float32"), "NC" + SPACE[dims], last
            )
            add_pool(
                book,
                name,
                dims,
                f"{last}{label}",
                x,
                pool_size=[3] * dims,
                strides=twos,
                layout=last,
                **attributes,
            )
        if dims == 2:
            add_pool(
                book,
                name,
                dims,
                "NCHW3c",
                draw((op, "blocked"), (1, 2, 4, 4, 3), "float32"),
                pool_size=twos,
                strides=twos,
                padding=none,
                layout="NCHW3c",
            )
        x = Type("float32", 1, 2, *space)
        fails = [
            (
                "data of lower rank",
                "the data has the layout's rank",
                Type("float32", 2, *space),
                {},
            ),
            ("no pool size", "the pool size is required", x, {"pool_size": "omit"}),
            (
                "pool larger than the data",
                "the window does not fit",
                Type("float32", 1, 2, *ones),
                {},
            ),
            ("stride zero", "a stride is positive", x, {"strides": none}),
            ("pool size zero", "a window has an element", x, {"pool_size": none}),
            (
                "too many padding entries",
                "padding has another number of entries",
                x,
                {"padding": [0] * (2 * dims + 1)},
            ),
            (
                "layout without its dimensions",
                "the layout names the spatial axes",
                x,
                {"layout": "NCQ" + "RST"[: dims - 1]},
            ),
            ("ceil mode is text", "ceil_mode is a boolean", x, {"ceil_mode": "up"}),
            (
                "too many pool sizes",
                "there is one size for each dimension",
                x,
                {"pool_size": [2] * (dims + 1)},
            ),
        ]
        for label, why, argument, changes in fails:
            book.fail(
                op,
                label,
                why,
                [argument],
                **{
                    k: v
                    for k, v in ({"pool_size": twos, "padding": none} | changes).items()
                    if v != "omit"
                },
            )
        book.fail(
            op, "two arguments", f"{op} takes one argument", [x, x], pool_size=twos, padding=none
        )


def adaptive(book):
    for name, dims in itertools.product(("max", "avg"), (1, 2, 3)):
        op = f"nn.adaptive_{name}_pool{dims}d"
        sizes = {
            1: [
                ((1, 2, 7), [3]),
                ((1, 2, 7), [7]),
                ((2, 3, 6), [1]),
                ((1, 17, 5), [2]),
                ((1, 1, 3), [5]),
                ((0, 2, 4), [2]),
                ((1, 2, 5), []),
            ],
            2: [
                ((1, 2, 6, 5), [3, 2]),
                ((1, 2, 5, 7), [5, 7]),
                ((2, 3, 4, 6), [1, 1]),
                ((1, 17, 3, 5), [2, 3]),
                ((1, 1, 2, 3), [3, 5]),
                ((0, 2, 4, 4), [2, 2]),
                ((1, 2, 5, 4), [2]),
                ((1, 2, 3, 3), []),
                ((1, 1, 1, 1), [1, 1]),
            ],
            3: [
                ((1, 2, 4, 3, 5), [2, 3, 2]),
                ((2, 3, 2, 2, 2), [1, 1, 1]),
                ((1, 1, 3, 2, 4), [3, 2, 4]),
                ((1, 5, 2, 3, 3), [1, 2, 2]),
                ((1, 2, 4, 4, 2), [2]),
            ],
        }[dims]
        for shape, size in sizes:
            x = draw((op, shape, size), shape, "float32")
            book.add(
                op, f"{shape_label(shape)} to {size}", [x], exact=name == "max", output_size=size
            )
            if 0 not in shape and size:
                answer = getattr(F, f"adaptive_{name}_pool{dims}d")(
                    torch.from_numpy(x), size if len(size) == dims else size * dims
                ).numpy()
                if not np.allclose(
                    answer.reshape(-1), book.records[-1]["outputs"][0]["values"], atol=1e-5
                ):
                    raise ValueError(f"{op} {shape}: PyTorch disagrees")
                book.records[-1]["source"] = "torch"
        for dtype in ("float64", "float16") + (("int32", "uint8") if name == "max" else ()):
            shape = (1, 3, 5, 4, 3)[: dims + 2]
            book.add(
                op,
                dtype,
                [draw((op, dtype), shape, dtype)],
                exact=name == "max",
                output_size=[2] * dims,
            )
        last = "N" + SPACE[dims] + "C"
        x = permuted(
            draw((op, last), (2, 3, 5, 4, 3)[: dims + 2], "float32"), "NC" + SPACE[dims], last
        )
        book.add(op, last, [x], exact=name == "max", output_size=[2, 3, 1][:dims], layout=last)
        x = Type("float32", 1, 2, *[4] * dims)
        book.fail(
            op,
            "data of lower rank",
            "the data has the layout's rank",
            [Type("float32", 2, *[4] * dims)],
            output_size=[2] * dims,
        )
        book.fail(
            op,
            "too many sizes",
            "there is one size for each dimension",
            [x],
            output_size=[2] * (dims + 1),
        )
        book.fail(op, "size is text", "a size is an integer", [x], output_size="all")
        book.fail(
            op,
            "layout without its dimensions",
            "the layout names the spatial axes",
            [x],
            output_size=[2] * dims,
            layout="NCQ" + "RST"[: dims - 1],
        )
    for name in ("max", "avg"):
        op = f"nn.global_{name}_pool2d"
        for shape in [(1, 2, 3, 4), (2, 3, 1, 1), (1, 17, 2, 2), (0, 2, 3, 3), (1, 1, 5, 1)]:
            book.add(
                op,
                f"shape {shape_label(shape)}",
                [draw((op, shape), shape, "float32")],
                exact=name == "max",
            )
        for dtype in ("float64", "float16") + (("int8", "uint8", "int32") if name == "max" else ()):
            book.add(op, dtype, [draw((op, dtype), (1, 3, 3, 3), dtype)], exact=name == "max")
        book.add(
            op,
            "NHWC",
            [draw((op, "NHWC"), (2, 3, 4, 5), "float32")],
            exact=name == "max",
            layout="NHWC",
        )
        book.fail(
            op, "data of lower rank", "the data has the layout's rank", [Type("float32", 2, 3, 3)]
        )
        book.fail(
            op,
            "layout without width",
            "the layout names height and width",
            [Type("float32", 1, 2, 3, 3)],
            layout="NCHQ",
        )
        book.fail(
            op, "two arguments", f"{op} takes one argument", [Type("float32", 1, 2, 3, 3)] * 2
        )


def build(book):
    windows(book)
    adaptive(book)
