"""Whole blocks of models against PyTorch, whose products and convolutions are oneDNN's: weights are constants of both sides."""

import math

import numpy as np
from case import Case, tensor


def block(name, shapes, params, lines, torch, tolerance=1e-4):
    """`lines` over %x, %y … (of `shapes`) and the names in `params`; the last one is the result."""
    inputs = list(zip("xyz", shapes)) + list(params.items())
    signature = ", ".join(f"%{each}: {tensor(shape)}" for each, shape in inputs)
    text = f"def @main({signature}) {{\n" + ";\n".join(f"  {line}" for line in lines) + "\n}\n"

    def arrays(rng):
        made = []
        for each, shape in inputs:
            array = rng.random(shape, dtype=np.float32) - np.float32(0.5)
            if each in params and len(shape) > 1:
                array *= np.float32(2 / math.sqrt(math.prod(shape[1:])))
            made.append(np.abs(array) + np.float32(0.1) if each.startswith("var") else array)
        return made

    return Case(
        name, text, tuple(shape for _, shape in inputs), torch, prepare=arrays, params=tuple(params), tolerance=tolerance
    )


def gelu(value, result):
    return [
        f"%{result}0 = erf(divide({value}, 1.4142135f))",
        f"%{result} = multiply(multiply({value}, add(%{result}0, 1f)), 0.5f)",
    ]


def transformer(tokens, width, heads):
    size = width // heads
    vectors = {f"{kind}{place}": (width,) for place in "12" for kind in ("scale", "shift")}
    params = {f"w{n}": (width, width) for n in "qkvo"} | {f"b{n}": (width,) for n in "qkvo"} | vectors
    params |= {"w1": (4 * width, width), "b1": (4 * width,), "w2": (width, 4 * width), "b2": (width,)}

    def dense(source, name, out):
        return f"add(reshape(nn.dense({source}, %w{name}), newshape=[1, {tokens}, {out}]), %b{name})"

    def split(name, axes):
        shape = f"newshape=[1, {tokens}, {heads}, {size}]"
        return [
            f"%{name}0 = {dense('%rows', name, width)}",
            f"%{name}1 = transpose(reshape(%{name}0, {shape}), axes={axes})",
        ]

    lines = [f"%rows = reshape(%x, newshape=[-1, {width}])"]
    lines += split("q", [0, 2, 1, 3]) + split("k", [0, 2, 3, 1]) + split("v", [0, 2, 1, 3])
    lines += [
        f"%s0 = nn.batch_matmul(reshape(%q1, newshape=[{heads}, {tokens}, {size}]),"
        f" reshape(%k1, newshape=[{heads}, {size}, {tokens}]), transpose_b=False)",
        f"%s1 = nn.softmax(divide(reshape(%s0, newshape=[1, {heads}, {tokens}, {tokens}]), {math.sqrt(size):.7f}f))",
        f"%c0 = nn.batch_matmul(reshape(%s1, newshape=[{heads}, {tokens}, {tokens}]),"
        f" reshape(%v1, newshape=[{heads}, {tokens}, {size}]), transpose_b=False)",
        f"%c1 = transpose(reshape(%c0, newshape=[1, {heads}, {tokens}, {size}]), axes=[0, 2, 1, 3])",
        f"%c2 = add({dense(f'reshape(%c1, newshape=[-1, {width}])', 'o', width)}, %x)",
        "%n = nn.layer_norm(%c2, %scale1, %shift1)",
        f"%f = {dense(f'reshape(%n, newshape=[-1, {width}])', '1', 4 * width)}",
        *gelu("%f", "g"),
        f"%p = add({dense(f'reshape(%g, newshape=[-1, {4 * width}])', '2', width)}, %n)",
        "nn.layer_norm(%p, %scale2, %shift2)",
    ]

    def torch(t):
        f = t.nn.functional

        def run(x, *arrays):
            p = dict(zip(params, arrays))
            q, k, v = (f.linear(x, p[f"w{n}"], p[f"b{n}"]).view(1, tokens, heads, size).transpose(1, 2) for n in "qkv")
            context = f.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, tokens, width)
            first = f.layer_norm(f.linear(context, p["wo"], p["bo"]) + x, (width,), p["scale1"], p["shift1"])
            inner = f.linear(f.gelu(f.linear(first, p["w1"], p["b1"])), p["w2"], p["b2"])
            return f.layer_norm(inner + first, (width,), p["scale2"], p["shift2"])

        return run

    return block(f"transformer layer, {tokens} tokens of {width}", [(1, tokens, width)], params, lines, torch)


def norm_params(number, channels):
    return {f"{kind}{number}": (channels,) for kind in ("gamma", "beta", "mean", "var")}


def normed(source, number, attributes):
    stats = ", ".join(f"%{kind}{number}" for kind in ("gamma", "beta", "mean", "var"))
    return f"%n{number} = nn.batch_norm(nn.conv2d({source}, %w{number}, {attributes}), {stats})"


def torch_normed(t, p, number, x, **attributes):
    f = t.nn.functional
    y = f.conv2d(x, p[f"w{number}"], **attributes)
    return f.batch_norm(y, *(p[f"{kind}{number}"] for kind in ("mean", "var", "gamma", "beta")), eps=1e-5)


def residual(channels, size):
    params = {f"w{i}": (channels, channels, 3, 3) for i in (1, 2)}
    params |= norm_params(1, channels) | norm_params(2, channels)
    attributes = f"padding=[1, 1], channels={channels}, kernel_size=[3, 3]"
    lines = [normed("%x", 1, attributes), normed("nn.relu(%n1.0)", 2, attributes), "nn.relu(add(%n2.0, %x))"]

    def torch(t):
        def run(x, *arrays):
            p = dict(zip(params, arrays))
            return t.relu(torch_normed(t, p, 2, t.relu(torch_normed(t, p, 1, x, padding=1)), padding=1) + x)

        return run

    return block(f"residual block, {channels} at {size}²", [(1, channels, size, size)], params, lines, torch)


def inverted(channels, wide, size):
    params = {"w1": (wide, channels, 1, 1), "w2": (wide, 1, 3, 3), "w3": (channels, wide, 1, 1)}
    params |= norm_params(1, wide) | norm_params(2, wide) | norm_params(3, channels)
    lines = [
        normed("%x", 1, f"channels={wide}, kernel_size=[1, 1]"),
        normed(
            "clip(%n1.0, a_min=0f, a_max=6f)", 2, f"padding=[1, 1], groups={wide}, channels={wide}, kernel_size=[3, 3]"
        ),
        normed("clip(%n2.0, a_min=0f, a_max=6f)", 3, f"channels={channels}, kernel_size=[1, 1]"),
        "add(%n3.0, %x)",
    ]

    def torch(t):
        f = t.nn.functional

        def run(x, *arrays):
            p = dict(zip(params, arrays))
            y = f.relu6(torch_normed(t, p, 1, x))
            y = f.relu6(torch_normed(t, p, 2, y, padding=1, groups=wide))
            return torch_normed(t, p, 3, y) + x

        return run

    name = f"inverted bottleneck, {channels} to {wide} at {size}²"
    return block(name, [(1, channels, size, size)], params, lines, torch)


def squeeze_excite(channels, narrow, out, size):
    params = {"w1": (narrow, channels, 1, 1), "b1": (narrow,), "w2": (channels, narrow, 1, 1), "b2": (channels,)}
    params |= {"w3": (out, channels, 1, 1), "b3": (out,)}
    lines = [
        "%0 = multiply(%x, sigmoid(%x))",
        f"%1 = nn.bias_add(nn.conv2d(nn.global_avg_pool2d(%0), %w1, channels={narrow}, kernel_size=[1, 1]), %b1)",
        "%2 = multiply(%1, sigmoid(%1))",
        f"%3 = sigmoid(nn.bias_add(nn.conv2d(%2, %w2, channels={channels}, kernel_size=[1, 1]), %b2))",
        f"nn.bias_add(nn.conv2d(multiply(%0, %3), %w3, channels={out}, kernel_size=[1, 1]), %b3)",
    ]

    def torch(t):
        f = t.nn.functional

        def run(x, w1, b1, w2, b2, w3, b3):
            x = f.silu(x)
            gate = t.sigmoid(f.conv2d(f.silu(f.conv2d(x.mean((2, 3), keepdim=True), w1, b1)), w2, b2))
            return f.conv2d(x * gate, w3, b3)

        return run

    return block(f"squeeze-excite, {channels} at {size}²", [(1, channels, size, size)], params, lines, torch)


def lstm_step(inputs, width):
    params = {"w": (4 * width, inputs), "r": (4 * width, width), "b": (4 * width,)}
    lines = [
        "%0 = split(add(add(nn.dense(%x, %w), nn.dense(%y, %r)), %b), indices_or_sections=4, axis=1)",
        "%1 = add(multiply(sigmoid(%0.1), %z), multiply(sigmoid(%0.0), tanh(%0.2)))",
        "(multiply(sigmoid(%0.3), tanh(%1)), %1)",
    ]

    def torch(t):
        zeros = t.zeros(4 * width)
        return lambda x, h, c, w, r, b: t.lstm_cell(x, (h, c), w, r, b, zeros)

    return block(f"LSTM step, {inputs} to {width}", [(1, inputs), (1, width), (1, width)], params, lines, torch)


def gated(tokens, width, wide):
    params = {"w": (wide, width), "v": (wide, width), "o": (width, wide)}
    lines = [
        f"%r = reshape(%x, newshape=[-1, {width}])",
        f"%0 = reshape(nn.dense(%r, %w), newshape=[1, {tokens}, {wide}])",
        f"%1 = reshape(nn.dense(%r, %v), newshape=[1, {tokens}, {wide}])",
        "%2 = multiply(multiply(%0, sigmoid(%0)), %1)",
        f"%3 = nn.dense(reshape(%2, newshape=[-1, {wide}]), %o)",
        f"add(%x, reshape(%3, newshape=[1, {tokens}, {width}]))",
    ]

    def torch(t):
        f = t.nn.functional
        return lambda x, w, v, o: x + f.linear(f.silu(f.linear(x, w)) * f.linear(x, v), o)

    return block(f"gated MLP, {tokens} tokens, {width} to {wide}", [(1, tokens, width)], params, lines, torch)


def cases():
    yield transformer(128, 768, 12)
    yield residual(64, 56)
    yield residual(256, 14)
    yield inverted(24, 144, 56)
    yield inverted(96, 576, 14)
    yield squeeze_excite(96, 4, 24, 56)
    yield lstm_step(64, 128)
    yield gated(64, 768, 2048)
