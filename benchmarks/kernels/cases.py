"""Elementwise kernels, reductions, layouts, pools and depthwise convolutions against PyTorch."""

from case import Case, tensor


def program(shapes, body):
    params = ", ".join(f"%{name}: {tensor(shape)}" for name, shape in zip("xyzw", shapes))
    return f"def @main({params}) {{\n{body}\n}}\n"


def unary(name, shape, body, torch):
    return Case(name, program([shape], body), (shape,), torch)


def cases():
    n = 16 << 20
    fused = """  %0 = multiply(%x, 1.7f);
  %1 = add(%0, 0.3f);
  %2 = tanh(%1);
  %3 = sigmoid(%x);
  %4 = multiply(%2, %3);
  %5 = abs(%x);
  %6 = sqrt(%5);
  %7 = add(%4, %6);
  %8 = maximum(%7, 0.1f);
  subtract(%8, 0.5f)"""
    yield Case(
        "ten elementwise, 16 M",
        program([(n,)], fused),
        ((n,),),
        lambda t: lambda x: t.maximum(t.tanh(x * 1.7 + 0.3) * t.sigmoid(x) + t.sqrt(t.abs(x)), t.tensor(0.1)) - 0.5,
        bytes=8 * n,
    )
    for rows, columns in ((4096, 1024), (128, 768)):
        shape = (rows, columns)
        yield unary(f"softmax {shape}", shape, "  nn.softmax(%x)", lambda t: lambda x: t.softmax(x, -1))
        yield unary(f"log_softmax {shape}", shape, "  nn.log_softmax(%x)", lambda t: lambda x: t.log_softmax(x, -1))
        yield Case(
            f"layer_norm {shape}",
            program([shape, (columns,), (columns,)], "  nn.layer_norm(%x, %y, %z)"),
            (shape, (columns,), (columns,)),
            lambda t: lambda x, y, z: t.nn.functional.layer_norm(x, x.shape[-1:], y, z),
        )
    for shape, axes in (
        ((2048, 2048), (1, 0)),
        ((64, 128, 256), (0, 2, 1)),
        ((64, 128, 256), (2, 0, 1)),
        ((64, 128, 256), (1, 0, 2)),
        ((8, 64, 56, 56), (0, 2, 3, 1)),
        ((8, 56, 56, 64), (0, 3, 1, 2)),
    ):
        yield unary(
            f"transpose {shape} {axes}",
            shape,
            f"  transpose(%x, axes={list(axes)})",
            lambda t, axes=axes: lambda x: x.permute(axes).contiguous(),
        )
    shape = (128, 256, 256)
    for axis in (0, 1, 2):
        yield unary(
            f"sum {shape} axis {axis}", shape, f"  sum(%x, axis=[{axis}])", lambda t, axis=axis: lambda x: x.sum(axis)
        )
        yield unary(
            f"max {shape} axis {axis}", shape, f"  max(%x, axis=[{axis}])", lambda t, axis=axis: lambda x: x.amax(axis)
        )
    yield unary(f"sum {shape} all", shape, "  sum(%x)", lambda t: lambda x: x.sum())
    yield unary(f"mean {shape} axes 1, 2", shape, "  mean(%x, axis=[1, 2])", lambda t: lambda x: x.mean((1, 2)))
    yield unary("argmax (4096, 1024)", (4096, 1024), "  argmax(%x, axis=[1])", lambda t: lambda x: x.argmax(1))
    for shape, size, stride, padding in (((8, 64, 112, 112), 3, 2, 1), ((8, 64, 56, 56), 2, 2, 0)):
        yield unary(
            f"max_pool2d {shape} {size}x{size}/{stride}",
            shape,
            f"  nn.max_pool2d(%x, pool_size=[{size}, {size}], strides=[{stride}, {stride}], padding=[{padding}, {padding}])",
            lambda t, size=size, stride=stride, padding=padding: lambda x: t.nn.functional.max_pool2d(
                x, size, stride, padding
            ),
        )
        yield unary(
            f"avg_pool2d {shape} {size}x{size}/{stride}",
            shape,
            f"  nn.avg_pool2d(%x, pool_size=[{size}, {size}], strides=[{stride}, {stride}], padding=[{padding}, {padding}])",
            lambda t, size=size, stride=stride, padding=padding: lambda x: t.nn.functional.avg_pool2d(
                x, size, stride, padding, count_include_pad=False
            ),
        )
    for shape, stride in (((1, 96, 112, 112), 2), ((1, 144, 56, 56), 1), ((1, 384, 14, 14), 1), ((1, 960, 7, 7), 1)):
        channels = shape[1]
        weight = (channels, 1, 3, 3)
        yield Case(
            f"depthwise 3x3/{stride} {shape}",
            program(
                [shape, weight],
                f"  nn.conv2d(%x, %y, strides=[{stride}, {stride}], padding=[1, 1, 1, 1], groups={channels},"
                f" channels={channels}, kernel_size=[3, 3])",
            ),
            (shape, weight),
            lambda t, stride=stride, channels=channels: lambda x, y: t.nn.functional.conv2d(
                x, y, None, stride, 1, 1, channels
            ),
        )
