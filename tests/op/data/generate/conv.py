"""nn: convolutions and their transposes in one, two and three dimensions, against PyTorch."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F

from .core import draw, narrow, reference, shape_label

SPACE = {1: "W", 2: "HW", 3: "DHW"}
FORWARD = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
BACKWARD = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def permuted(x, old, new):
    """The tensor with its axes, named by the letters of `old`, in the order of `new`."""
    return np.transpose(x, [old.index(letter) for letter in new])


def sides(padding, dims):
    """(before, after) for each dimension, from one entry, one for each dimension, or all before and then all after."""
    padding = [padding] if isinstance(padding, int) else list(padding)
    if len(padding) == 1:
        padding = padding * dims
    if len(padding) == dims:
        padding = padding * 2
    return list(zip(padding[:dims], padding[dims:]))


def tensor64(x):
    """Products and sums of the data's integers are exact in float64."""
    return torch.from_numpy(np.ascontiguousarray(x, dtype=np.float64))


def register_convolution(dims):
    space = SPACE[dims]

    @reference(f"nn.conv{dims}d")
    def convolution(
        x,
        weight,
        *,
        strides=None,
        padding=0,
        dilation=None,
        groups=1,
        channels=None,
        kernel_size=None,
        data_layout="NC" + space,
        kernel_layout="OI" + space,
        out_layout="",
        out_dtype="",
    ):
        data = tensor64(permuted(x, data_layout, "NC" + space))
        kernel = tensor64(permuted(weight, kernel_layout, "OI" + space))
        around = [n for pair in reversed(sides(padding, dims)) for n in pair]
        result = FORWARD[dims](
            F.pad(data, around),
            kernel,
            None,
            strides or [1] * dims,
            0,
            dilation or [1] * dims,
            groups,
        )
        exact = result.numpy().astype(np.int64) if x.dtype.kind in "iu" else result.numpy()
        return narrow(
            permuted(exact, "NC" + space, out_layout or data_layout), out_dtype or x.dtype
        )

    @reference(f"nn.conv{dims}d_transpose")
    def transposed(
        x,
        weight,
        *,
        strides=None,
        padding=0,
        dilation=None,
        groups=1,
        channels=None,
        kernel_size=None,
        output_padding=None,
        data_layout="NC" + space,
        kernel_layout="IO" + space,
        out_layout="",
        out_dtype="",
    ):
        """The full result, extended by output_padding at the end of each axis, cropped by padding on both sides."""
        data = tensor64(permuted(x, data_layout, "NC" + space))
        kernel = tensor64(permuted(weight, kernel_layout, "IO" + space))
        extra = output_padding or [0] * dims
        result = BACKWARD[dims](
            data, kernel, None, strides or [1] * dims, 0, 0, groups, dilation or [1] * dims
        ).numpy()
        result = np.pad(result, [(0, 0), (0, 0)] + [(0, e) for e in extra])
        crop = [
            slice(before, extent - after)
            for (before, after), extent in zip(sides(padding, dims), result.shape[2:])
        ]
        result = result[(slice(None), slice(None), *crop)]
        exact = result.astype(np.int64) if x.dtype.kind in "iu" else result
        return narrow(
            permuted(exact, "NC" + space, out_layout or data_layout), out_dtype or x.dtype
        )


for _dims in (1, 2, 3):
    register_convolution(_dims)


def convolve(
    book,
    op,
    label,
    shape,
    channels,
    kernel,
    dtype="float32",
    low=None,
    high=None,
    tolerance=None,
    transposed=False,
    from_weight=False,
    **attributes,
):
    """A case from NC… data of `shape`; the attributes' layouts decide how data and weight are stored."""
    dims = len(kernel)
    space, groups = SPACE[dims], attributes.get("groups", 1)
    weight = (shape[1], channels // groups) if transposed else (channels, shape[1] // groups)
    native = ("IO" if transposed else "OI") + space
    x = draw((op, label, 0), shape, dtype, low, high)
    w = draw((op, label, 1), weight + tuple(kernel), dtype, low, high)
    x = permuted(x, "NC" + space, attributes.get("data_layout", "NC" + space))
    w = permuted(w, native, attributes.get("kernel_layout", native))
    if not from_weight:
        attributes = {"channels": channels, "kernel_size": list(kernel)} | attributes
    if tolerance is None and dtype == "float32":
        tolerance = 3e-5  # Sums of some hundred products, in any order.
    book.add(op, label, [x, w], "torch", tolerance=tolerance, **attributes)


def common(book, dims):
    """The cases that all dimensions share: extents, channels, strides, padding, dilation, groups, dtypes."""
    op, ones = f"nn.conv{dims}d", [1] * dims
    space = [5, 4, 3][:dims] if dims > 1 else [7]
    kernel = [3, 2, 2][:dims]
    none = {"padding": [0] * dims}
    for batch, inner, outer in [(1, 1, 1), (2, 3, 5), (1, 17, 3), (1, 3, 17), (3, 1, 2), (0, 2, 3)]:
        convolve(
            book,
            op,
            f"batch {batch} channels {inner} to {outer}",
            (batch, inner, *space),
            outer,
            kernel,
            **none,
        )
    for size in (1, 2, 3):
        if dims < 3 or size < 3:
            convolve(
                book,
                op,
                f"kernel {size}",
                (1, 2, *space[: dims - 1], 5),
                3,
                [min(size, s) for s in space[: dims - 1]] + [size],
                **none,
            )
    for stride in (2, 3):
        convolve(
            book,
            op,
            f"stride {stride}",
            (1, 2, *[s + 2 for s in space]),
            2,
            kernel,
            strides=[stride] * dims,
            **none,
        )
    mixed = [2, 1, 3][:dims]
    if dims > 1:
        convolve(
            book,
            op,
            f"strides {mixed}",
            (1, 2, *[s + 2 for s in space]),
            2,
            kernel,
            strides=mixed,
            **none,
        )
        convolve(
            book,
            op,
            f"dilation {mixed}",
            (1, 2, *[s + 3 for s in space]),
            2,
            kernel,
            dilation=mixed,
            **none,
        )
    convolve(
        book,
        op,
        "dilation 2",
        (1, 2, *[s + 2 for s in space]),
        2,
        kernel,
        dilation=[2] * dims,
        **none,
    )
    before, after = [1, 0, 2][:dims], [2, 1, 0][:dims]
    for padding in map(list, dict.fromkeys([(2,), (1,) * dims, tuple(before), (*before, *after)])):
        convolve(book, op, f"padding {padding}", (1, 2, *space), 2, kernel, padding=padding)
    convolve(
        book,
        op,
        "stride, padding and dilation",
        (2, 3, *[s + 1 for s in space]),
        4,
        kernel,
        strides=[2] * dims,
        padding=before + after,
        dilation=[2] * dims,
    )
    for groups, inner, outer in [(2, 4, 6), (3, 3, 3), (3, 3, 6), (5, 5, 5), (2, 2, 6), (3, 9, 6)]:
        convolve(
            book,
            op,
            f"groups {groups} channels {inner} to {outer}",
            (1, inner, *space),
            outer,
            kernel,
            padding=ones,
            groups=groups,
        )
    convolve(
        book,
        op,
        "channels and kernel size from the weight",
        (1, 2, *space),
        3,
        kernel,
        from_weight=True,
        **none,
    )
    for dtype in ("float64", "float16", "int32"):
        convolve(
            book,
            op,
            dtype,
            (1, 3, *space),
            2,
            kernel,
            dtype,
            padding=ones,
            tolerance=2e-2 if dtype == "float16" else None,
        )
    for source, target, low, high in [
        ("int8", "int32", -128, 127),
        ("uint8", "int32", 0, 255),
        ("int16", "int32", -2000, 2000),
        ("float16", "float32", -2, 2),
    ]:
        convolve(
            book,
            op,
            f"{source} in {target}",
            (1, 3, *space),
            2,
            kernel,
            source,
            low,
            high,
            padding=ones,
            out_dtype=target,
        )


def layouts(book):
    for data, kernel in [("NWC", "WIO"), ("NWC", "OIW"), ("NCW", "WIO")]:
        for groups in (1, 3):
            convolve(
                book,
                "nn.conv1d",
                f"{data} {kernel} groups {groups}",
                (2, 3, 6),
                6,
                (3,),
                strides=[2],
                padding=[1, 0],
                groups=groups,
                data_layout=data,
                kernel_layout=kernel,
            )
    for data, kernel in itertools.product(("NCHW", "NHWC", "HWCN"), ("OIHW", "HWIO", "OHWI")):
        for groups in (1, 3):
            if (data, kernel, groups) != ("NCHW", "OIHW", 1):
                convolve(
                    book,
                    "nn.conv2d",
                    f"{data} {kernel} groups {groups}",
                    (2, 3, 5, 4),
                    6,
                    (3, 2),
                    strides=[2, 1],
                    padding=[1, 0, 0, 1],
                    groups=groups,
                    data_layout=data,
                    kernel_layout=kernel,
                )
    convolve(
        book,
        "nn.conv2d",
        "NHWC HWIO with 17 channels",
        (1, 17, 3, 3),
        5,
        (2, 2),
        padding=[1, 1],
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    convolve(
        book,
        "nn.conv2d",
        "NHWC HWOI depthwise of 17",
        (1, 17, 3, 3),
        17,
        (2, 2),
        padding=[0, 1],
        groups=17,
        data_layout="NHWC",
        kernel_layout="HWOI",
    )
    convolve(
        book,
        "nn.conv2d",
        "NHWC HWIO int8 in int32",
        (1, 3, 4, 4),
        2,
        (3, 3),
        "int8",
        -128,
        127,
        padding=[1, 1],
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_dtype="int32",
    )
    convolve(
        book,
        "nn.conv2d",
        "NHWC HWIO dilated",
        (1, 3, 6, 6),
        2,
        (3, 3),
        padding=[2, 1],
        dilation=[2, 1],
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    for data, kernel in [("NDHWC", "DHWIO"), ("NDHWC", "OIDHW"), ("NCDHW", "DHWIO")]:
        for groups in (1, 3):
            convolve(
                book,
                "nn.conv3d",
                f"{data} {kernel} groups {groups}",
                (1, 3, 3, 3, 2),
                3,
                (2, 2, 2),
                strides=[1, 2, 1],
                padding=[0, 1, 0, 1, 0, 1],
                groups=groups,
                data_layout=data,
                kernel_layout=kernel,
            )
    for kernel, stride, padding, shape in [
        ((1, 1), [1, 1], [0, 0], (1, 4, 3, 3)),
        ((1, 1), [2, 2], [0, 0], (1, 3, 5, 4)),
        ((5, 5), [1, 1], [2, 2], (1, 2, 5, 5)),
        ((1, 5), [1, 1], [0, 2], (1, 2, 3, 6)),
        ((7, 1), [2, 1], [3, 0], (1, 1, 8, 2)),
        ((3, 3), [1, 1], [1, 1], (1, 1, 1, 1)),
        ((2, 2), [2, 2], [0, 0], (2, 2, 1 + 3, 5)),
        ((3, 3), [3, 3], [4, 4], (1, 1, 2, 2)),
    ]:
        convolve(
            book,
            "nn.conv2d",
            f"kernel {shape_label(kernel)} stride {stride} padding {padding} data {shape_label(shape)}",
            shape,
            2,
            kernel,
            strides=stride,
            padding=padding,
        )


def build(book):
    for dims in (1, 2, 3):
        common(book, dims)
    layouts(book)
