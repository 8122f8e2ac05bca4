"""nn: transposed convolutions, and the ill-typed programs of all convolutions."""

from .conv import SPACE, convolve
from .core import Type, shape_label


def transposes(book):
    for dims in (1, 2, 3):
        op, ones, kernel = f"nn.conv{dims}d_transpose", [1] * dims, [3, 2, 2][:dims]
        space = [3, 4, 2][:dims]
        none = {"padding": [0] * dims, "transposed": True}
        for batch, inner, outer in [(1, 1, 1), (2, 3, 5), (1, 17, 3), (1, 3, 17), (0, 2, 3)]:
            convolve(
                book,
                op,
                f"batch {batch} channels {inner} to {outer}",
                (batch, inner, *space),
                outer,
                kernel,
                **none,
            )
        for stride in (1, 2, 3):
            convolve(
                book,
                op,
                f"stride {stride}",
                (1, 2, *space),
                2,
                kernel,
                strides=[stride] * dims,
                **none,
            )
            convolve(
                book,
                op,
                f"stride {stride} padding",
                (1, 2, *space),
                2,
                kernel,
                strides=[stride] * dims,
                padding=ones,
                transposed=True,
            )
        for extra in (1, 2):
            convolve(
                book,
                op,
                f"output padding {extra}",
                (1, 2, *space),
                2,
                kernel,
                strides=[3] * dims,
                padding=ones,
                output_padding=[extra] * dims,
                transposed=True,
            )
        before, after = [1, 0, 1][:dims], [0, 1, 0][:dims]
        convolve(
            book,
            op,
            "asymmetric padding",
            (1, 2, *space),
            3,
            kernel,
            strides=[2] * dims,
            padding=before + after,
            transposed=True,
        )
        convolve(
            book,
            op,
            "one padding entry",
            (1, 2, *space),
            3,
            kernel,
            strides=[2] * dims,
            padding=[1],
            transposed=True,
        )
        convolve(
            book,
            op,
            "dilation 2",
            (1, 2, *space),
            2,
            kernel,
            strides=[2] * dims,
            dilation=[2] * dims,
            **none,
        )
        convolve(
            book,
            op,
            "dilation, padding, output padding",
            (1, 2, *space),
            2,
            kernel,
            strides=[2] * dims,
            dilation=[2] * dims,
            padding=ones,
            output_padding=ones,
            transposed=True,
        )
        convolve(
            book, op, "kernel 1 stride 2", (1, 2, *space), 2, [1] * dims, strides=[2] * dims, **none
        )
        for groups, inner, outer in [(2, 4, 6), (3, 3, 3), (5, 5, 5), (3, 3, 6), (3, 9, 3)]:
            convolve(
                book,
                op,
                f"groups {groups} channels {inner} to {outer}",
                (1, inner, *space),
                outer,
                kernel,
                strides=[2] * dims,
                padding=ones,
                groups=groups,
                transposed=True,
            )
        convolve(
            book,
            op,
            "channels and kernel size from the weight",
            (1, 2, *space),
            3,
            kernel,
            from_weight=True,
            strides=[2] * dims,
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
                strides=[2] * dims,
                tolerance=2e-2 if dtype == "float16" else None,
                **none,
            )
        convolve(
            book,
            op,
            "int8 in int32",
            (1, 3, *space),
            2,
            kernel,
            "int8",
            -128,
            127,
            strides=[2] * dims,
            out_dtype="int32",
            **none,
        )
    for data, kernel in [
        ("NHWC", "IOHW"),
        ("NHWC", "HWIO"),
        ("NHWC", "HWOI"),
        ("NCHW", "HWIO"),
        ("NCHW", "OIHW"),
    ]:
        for groups in (1, 3):
            convolve(
                book,
                "nn.conv2d_transpose",
                f"{data} {kernel} groups {groups}",
                (2, 3, 3, 2),
                6 if groups == 1 else 3,
                (3, 2),
                strides=[2, 1],
                padding=[1, 0, 0, 1],
                output_padding=[1, 0],
                groups=groups,
                data_layout=data,
                kernel_layout=kernel,
                transposed=True,
            )
    for stride, kernel in [([2, 3], (4, 4)), ([1, 2], (1, 3)), ([2, 2], (5, 2))]:
        convolve(
            book,
            "nn.conv2d_transpose",
            f"strides {stride} kernel {shape_label(kernel)}",
            (1, 2, 3, 3),
            2,
            kernel,
            strides=stride,
            padding=[0, 0],
            transposed=True,
        )


def wrong(book):
    for dims in (1, 2, 3):
        space, kernel = [6, 5, 4][:dims], [3, 3, 2][:dims]
        for op, transposed in ((f"nn.conv{dims}d", False), (f"nn.conv{dims}d_transpose", True)):
            x, good = Type("float32", 1, 4, *space), (4, 6) if transposed else (6, 4)
            w = Type("float32", *good, *kernel)
            base = {"channels": 6, "kernel_size": kernel, "padding": [0] * dims}
            layout = "NC" + SPACE[dims]

            def fail(label, why, args, **changes):
                book.fail(
                    op,
                    label,
                    why,
                    args,
                    **{k: v for k, v in (base | changes).items() if v != "omit"},
                )

            fail(
                "data of lower rank",
                f"{layout} data has rank {dims + 2}",
                [Type("float32", 4, *space), w],
            )
            fail(
                "weight of lower rank",
                f"the weight has rank {dims + 2}",
                [x, Type("float32", *good, *kernel[1:])],
            )
            fail(
                "input channels",
                "the data has four channels, the weight five",
                [x, Type("float32", *((5, 6) if transposed else (6, 5)), *kernel)],
            )
            fail(
                "channels disagree with the weight",
                "the weight makes six channels",
                [x, w],
                channels=7,
            )
            fail(
                "kernel size disagrees with the weight",
                "the weight has another kernel size",
                [x, w],
                kernel_size=[k + 1 for k in kernel],
            )
            fail("groups do not divide", "3 does not divide four channels", [x, w], groups=3)
            fail("no groups", "there is at least one group", [x, w], groups=0)
            fail("stride zero", "a stride is positive", [x, w], strides=[0] * dims)
            fail("dilation zero", "a dilation is positive", [x, w], dilation=[0] * dims)
            fail(
                "too many padding entries",
                "padding has another number of entries",
                [x, w],
                padding=[0] * (2 * dims + 1),
            )
            fail(
                "too many strides",
                "there is one stride for each dimension",
                [x, w],
                strides=[1] * (dims + 1),
            )
            fail(
                "unknown data layout",
                "the layout names every axis",
                [x, w],
                data_layout="NCQ" + SPACE[dims][1:],
            )
            fail(
                "unknown kernel layout",
                "the layout names every axis",
                [x, w],
                kernel_layout="OO" + SPACE[dims],
            )
            fail(
                "data layout is text of another rank",
                "the layout has another number of axes",
                [x, w],
                data_layout="NC",
            )
            fail(
                "float32 and float16",
                "both operands have one dtype",
                [x, Type("float16", *good, *kernel)],
            )
            fail("one argument", f"{op} takes two arguments", [x])
            if not transposed:
                fail(
                    "kernel larger than the data",
                    "the kernel does not fit",
                    [Type("float32", 1, 4, *[2] * dims), Type("float32", 6, 4, *[3] * dims)],
                    kernel_size=[3] * dims,
                )
                fail(
                    "negative padding beyond the data",
                    "the kernel does not fit",
                    [x, w],
                    padding=[-3] * dims,
                )


def build(book):
    transposes(book)
    wrong(book)
