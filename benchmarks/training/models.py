"""The models of benchmarks/training.py: parameters by name, a batch, the loss as a Relay program and in PyTorch, the optimiser.

The two losses are written side by side and compute the same from the same parameters and batch.
"""

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np


def functional():
    """torch.nn.functional; None without PyTorch, for who needs the Relay programs alone."""
    try:
        import torch.nn.functional
    except ImportError:
        return None
    return torch.nn.functional


@dataclass
class Model:
    shapes: dict[str, tuple[int, ...]]  # of the parameters
    batch: list[np.ndarray]
    relay: str  # def @loss(%p: (parameters in order), batch…) -> float32
    torch: Callable[..., Any]  # (parameters by name, batch…) -> the loss
    optimizer: tuple[str, dict[str, Any]]  # of relay.optim and torch.optim, with the same arguments

    def weights(self):
        """First values: small matrices, scales of 1, biases of 0."""
        rng = np.random.default_rng(3)
        made = {}
        for name, shape in self.shapes.items():
            if len(shape) > 1:
                made[name] = (rng.normal(size=shape) * (2 / np.prod(shape[1:])) ** 0.5 * (0.3 if "embed" in name else 1)).astype("float32")
            else:
                made[name] = np.full(shape, 1.0 if name.endswith("gamma") else 0.0, "float32")
        return made


def type_of(shape, dtype="float32"):
    return f"Tensor[({', '.join(map(str, shape))}), {dtype}]"


class Writer:
    """Collects the parameters of a model and the lines of its program."""

    def __init__(self):
        self.shapes, self.lines, self._count = {}, [], 0

    def param(self, name, *shape):
        self.shapes.setdefault(name, shape)
        return f"%p.{list(self.shapes).index(name)}"

    def line(self, text):
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def program(self, batch, result):
        """The text; the batch is a list of (name, array)."""
        params = ", ".join(type_of(shape) for shape in self.shapes.values())
        given = "".join(f", %{name}: {type_of(array.shape, array.dtype)}" for name, array in batch)
        return f"def @loss(%p: ({params},){given}) -> float32 {{\n" + "\n".join(self.lines) + f"\n  {result}\n}}\n"


def cross_entropy(writer, scores, labels, axis):
    chosen = f"gather(nn.log_softmax({scores}, axis={axis}), expand_dims(%{labels}, axis={axis}), axis={axis})"
    return f"negative(mean({chosen}))"


def digits():
    F = functional()

    rng = np.random.default_rng(1)
    images, labels = rng.random((64, 1, 8, 8), "float32"), rng.integers(0, 10, 64).astype("int32")
    w = Writer()
    x = "%images"
    for i, (o, c) in enumerate([(16, 1), (32, 16)]):
        x = w.line(f"nn.conv2d({x}, {w.param(f'conv{i}.weight', o, c, 3, 3)}, padding=[1, 1], channels={o}, kernel_size=[3, 3])")
        x = w.line(f"nn.relu(nn.bias_add({x}, {w.param(f'conv{i}.bias', o)}))")
        x = w.line(f"nn.max_pool2d({x}, pool_size=[2, 2], strides=[2, 2])")
    x = w.line(f"nn.dense(nn.batch_flatten({x}), {w.param('dense.weight', 10, 128)}, units=10) + {w.param('dense.bias', 10)}")

    def loss(p, images, labels):
        x = images
        for i in range(2):
            x = F.max_pool2d(F.relu(F.conv2d(x, p[f"conv{i}.weight"], p[f"conv{i}.bias"], padding=1)), 2)
        return F.cross_entropy(F.linear(x.flatten(1), p["dense.weight"], p["dense.bias"]), labels)

    text = w.program([("images", images), ("labels", labels)], cross_entropy(w, x, "labels", 1))
    return Model(w.shapes, [images, labels], text, loss, ("Adam", {"lr": 1e-3}))


def transformer(batch, length, width, heads, layers, vocabulary, causal):
    """Blocks that normalise first where they are causal (GPT-2), and after they add otherwise (BERT)."""
    F = functional()

    rng = np.random.default_rng(2)
    read, labels = (rng.integers(0, vocabulary, (batch, length)).astype("int32") for _ in range(2))
    w, each = Writer(), width // heads
    joined = f"newshape=[{batch * heads}, {length}, {each}]"

    def norm(x, name):
        return w.line(f"nn.layer_norm({x}, {w.param(name + '.gamma', width)}, {w.param(name + '.beta', width)})")

    def linear(x, name, o, i):
        return w.line(f"nn.dense({x}, {w.param(name + '.weight', o, i)}, units={o}) + {w.param(name + '.bias', o)}")

    def attention(x, name):
        parts = linear(x, f"{name}.qkv", 3 * width, width)
        parts = w.line(f"transpose(reshape({parts}, newshape=[{batch}, {length}, 3, {heads}, {each}]), axes=[2, 0, 3, 1, 4])")
        parts = w.line(f"split({parts}, indices_or_sections=3, axis=0)")
        q, k, v = (w.line(f"reshape({parts}.{i}, {joined})") for i in range(3))
        scores = w.line(f"nn.batch_matmul({q}, {k}, transpose_b=True) * {each**-0.5!r}f")
        if causal:
            place = w.line(f'arange(0, {length}, 1, dtype="int32")')
            seen = w.line(f"greater_equal(expand_dims({place}, axis=1), expand_dims({place}, axis=0))")
            scores = w.line(f"where({seen}, {scores}, -1e9f)")
        mixed = w.line(f"reshape(nn.batch_matmul(nn.softmax({scores}, axis=2), {v}), newshape=[{batch}, {heads}, {length}, {each}])")
        mixed = w.line(f"reshape(transpose({mixed}, axes=[0, 2, 1, 3]), newshape=[{batch}, {length}, {width}])")
        return linear(mixed, f"{name}.out", width, width)

    def network(x, name):
        wide = linear(x, f"{name}.up", 4 * width, width)
        return linear(w.line(f"0.5f * {wide} * (1f + erf({wide} * 0.70710678f))"), f"{name}.down", width, 4 * width)

    x = w.line(f"take({w.param('embed', vocabulary, width)}, %read, axis=0) + {w.param('embed_place', length, width)}")
    if not causal:
        x = norm(x, "first")
    for i in range(layers):
        if causal:
            x = w.line(f"{x} + {attention(norm(x, f'{i}.a'), str(i))}")
            x = w.line(f"{x} + {network(norm(x, f'{i}.b'), str(i))}")
        else:
            x = norm(w.line(f"{x} + {attention(x, str(i))}"), f"{i}.a")
            x = norm(w.line(f"{x} + {network(x, str(i))}"), f"{i}.b")
    if causal:
        x = norm(x, "last")
    x = w.line(f"nn.dense({x}, {w.param('embed', vocabulary, width)}, units={vocabulary})")

    def loss(p, read, labels):
        def norm(x, name):
            return F.layer_norm(x, (width,), p[f"{name}.gamma"], p[f"{name}.beta"])

        def linear(x, name):
            return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])

        def attention(x, name):
            parts = linear(x, f"{name}.qkv").reshape(batch, length, 3, heads, each).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(*parts, is_causal=causal)
            return linear(mixed.transpose(1, 2).reshape(batch, length, width), f"{name}.out")

        def network(x, name):
            return linear(F.gelu(linear(x, f"{name}.up")), f"{name}.down")

        x = p["embed"][read] + p["embed_place"]
        x = x if causal else norm(x, "first")
        for i in range(layers):
            if causal:
                x = x + attention(norm(x, f"{i}.a"), i)
                x = x + network(norm(x, f"{i}.b"), i)
            else:
                x = norm(x + attention(x, i), f"{i}.a")
                x = norm(x + network(x, i), f"{i}.b")
        x = F.linear(norm(x, "last") if causal else x, p["embed"])
        return F.cross_entropy(x.flatten(0, 1), labels.flatten())

    text = w.program([("read", read), ("labels", labels)], cross_entropy(w, x, "labels", 2))
    return Model(w.shapes, [read, labels], text, loss, ("AdamW", {"lr": 1e-4}))


def char_lm():
    return transformer(16, 64, 64, 4, 2, 75, True)


def bert_base():
    return transformer(2, 128, 768, 12, 12, 30522, False)


STAGES = [(64, 1), (128, 2), (256, 2), (512, 2)]


def resnet18():
    """Norms take mean and variance of the batch, and keep no running ones."""
    F = functional()

    rng = np.random.default_rng(4)
    images, labels = rng.random((8, 3, 224, 224), "float32"), rng.integers(0, 1000, 8).astype("int32")
    w = Writer()

    def conv(x, name, o, c, size, stride):
        pad = size // 2
        weight = w.param(f"{name}.weight", o, c, size, size)
        return w.line(f"nn.conv2d({x}, {weight}, strides=[{stride}, {stride}], padding=[{pad}, {pad}], channels={o}, kernel_size=[{size}, {size}])")

    def norm(x, name, c):
        centred = w.line(f"{x} - mean({x}, axis=[0, 2, 3], keepdims=True)")
        spread = w.line(f"rsqrt(mean({centred} * {centred}, axis=[0, 2, 3], keepdims=True) + 1e-5f)")
        gamma = w.line(f"reshape({w.param(f'{name}.gamma', c)}, newshape=[1, {c}, 1, 1])")
        beta = w.line(f"reshape({w.param(f'{name}.beta', c)}, newshape=[1, {c}, 1, 1])")
        return w.line(f"{centred} * ({spread} * {gamma}) + {beta}")

    x = w.line(f"nn.relu({norm(conv('%images', 'stem', 64, 3, 7, 2), 'stem', 64)})")
    x = w.line(f"nn.max_pool2d({x}, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])")
    blocks, c = [], 64
    for o, stride in STAGES:
        blocks += [(c, o, stride), (o, o, 1)]
        c = o
    for i, (c, o, stride) in enumerate(blocks):
        y = w.line(f"nn.relu({norm(conv(x, f'{i}.a', o, c, 3, stride), f'{i}.a', o)})")
        y = norm(conv(y, f"{i}.b", o, o, 3, 1), f"{i}.b", o)
        short = x if (c, stride) == (o, 1) else norm(conv(x, f"{i}.c", o, c, 1, stride), f"{i}.c", o)
        x = w.line(f"nn.relu({y} + {short})")
    x = w.line(f"nn.dense(mean({x}, axis=[2, 3]), {w.param('dense.weight', 1000, 512)}, units=1000) + {w.param('dense.bias', 1000)}")

    def loss(p, images, labels):
        def step(x, name, stride, pad):
            x = F.conv2d(x, p[f"{name}.weight"], stride=stride, padding=pad)
            return F.batch_norm(x, None, None, p[f"{name}.gamma"], p[f"{name}.beta"], training=True)

        x = F.max_pool2d(F.relu(step(images, "stem", 2, 3)), 3, 2, 1)
        for i, (c, o, stride) in enumerate(blocks):
            y = step(F.relu(step(x, f"{i}.a", stride, 1)), f"{i}.b", 1, 1)
            x = F.relu(y + (x if (c, stride) == (o, 1) else step(x, f"{i}.c", stride, 0)))
        return F.cross_entropy(F.linear(x.mean((2, 3)), p["dense.weight"], p["dense.bias"]), labels)

    text = w.program([("images", images), ("labels", labels)], cross_entropy(w, x, "labels", 1))
    return Model(w.shapes, [images, labels], text, loss, ("SGD", {"lr": 1e-3, "momentum": 0.9}))


class Network:
    """Writes a convolutional network twice: as lines of a Relay program, and as steps that PyTorch runs on (values, parameters)."""

    def __init__(self):
        self.w, self.steps = Writer(), []

    def apply(self, line, step):
        """A value from others: the text of the line, and a function of the values and the parameters."""
        at = len(self.steps)
        self.steps.append(step)
        return self.w.line(line), at + 1

    def conv(self, x, name, o, c, size, stride=1, groups=1, bias=False):
        F, pad = functional(), size // 2
        weight = self.w.param(f"{name}.weight", o, c // groups, size, size)
        call = f"nn.conv2d({x[0]}, {weight}, strides=[{stride}, {stride}], padding=[{pad}, {pad}], groups={groups}, channels={o}, kernel_size=[{size}, {size}])"
        if bias:
            call = f"nn.bias_add({call}, {self.w.param(f'{name}.bias', o)})"
        return self.apply(call, lambda v, p: F.conv2d(v[x[1]], p[f"{name}.weight"], p.get(f"{name}.bias"), stride, pad, 1, groups))

    def norm(self, x, name, c):
        F = functional()
        centred = self.w.line(f"{x[0]} - mean({x[0]}, axis=[0, 2, 3], keepdims=True)")
        spread = self.w.line(f"rsqrt(mean({centred} * {centred}, axis=[0, 2, 3], keepdims=True) + 1e-5f)")
        gamma = self.w.line(f"reshape({self.w.param(f'{name}.gamma', c)}, newshape=[1, {c}, 1, 1])")
        beta = self.w.line(f"reshape({self.w.param(f'{name}.beta', c)}, newshape=[1, {c}, 1, 1])")
        return self.apply(
            f"{centred} * ({spread} * {gamma}) + {beta}",
            lambda v, p: F.batch_norm(v[x[1]], None, None, p[f"{name}.gamma"], p[f"{name}.beta"], training=True),
        )  # fmt: skip

    def relu(self, x, most=None):
        F = functional()
        if most is None:
            return self.apply(f"nn.relu({x[0]})", lambda v, p: F.relu(v[x[1]]))
        return self.apply(f"clip({x[0]}, a_min=0.0, a_max={float(most)})", lambda v, p: F.hardtanh(v[x[1]], 0.0, float(most)))

    def max_pool(self, x):
        F = functional()
        return self.apply(f"nn.max_pool2d({x[0]}, pool_size=[2, 2], strides=[2, 2])", lambda v, p: F.max_pool2d(v[x[1]], 2))

    def avg_pool(self, x):
        F = functional()
        return self.apply(f"nn.avg_pool2d({x[0]}, pool_size=[2, 2], strides=[2, 2])", lambda v, p: F.avg_pool2d(v[x[1]], 2))

    def add(self, x, y):
        return self.apply(f"{x[0]} + {y[0]}", lambda v, p: v[x[1]] + v[y[1]])

    def classified(self, x, o, c):
        """Scores from the mean over space."""
        F = functional()
        scores = f"nn.dense(mean({x[0]}, axis=[2, 3]), {self.w.param('dense.weight', o, c)}, units={o}) + {self.w.param('dense.bias', o)}"
        return self.apply(scores, lambda v, p: F.linear(v[x[1]].mean((2, 3)), p["dense.weight"], p["dense.bias"]))

    def model(self, scores, images, labels, axis, optimizer):
        F = functional()

        def loss(p, images, labels):
            values = [images]
            for step in self.steps:
                values.append(step(values, p))
            return F.cross_entropy(values[-1], labels)

        text = self.w.program([("images", images), ("labels", labels)], cross_entropy(self.w, scores[0], "labels", axis))
        return Model(self.w.shapes, [images, labels], text, loss, optimizer)


def pictures(batch, extent, classes, *each):
    """Images and a label for each, or for each place."""
    rng = np.random.default_rng(4)
    return rng.random((batch, 3, extent, extent), "float32"), rng.integers(0, classes, (batch, *each)).astype("int32")


def mobilenet_v2():
    net = Network()

    def unit(x, name, o, c, size, stride=1, groups=1):
        return net.relu(net.norm(net.conv(x, name, o, c, size, stride, groups), name, o), 6)

    x, c = unit(("%images", 0), "stem", 32, 3, 3, 2), 32
    turns = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for i, (wider, o, count, first) in enumerate(turns):
        for j in range(count):
            name, stride, inner = f"{i}.{j}", first if j == 0 else 1, c * wider
            y = unit(x, f"{name}.a", inner, c, 1) if wider != 1 else x
            y = unit(y, f"{name}.b", inner, inner, 3, stride, inner)
            y = net.norm(net.conv(y, f"{name}.c", o, inner, 1), f"{name}.c", o)
            x, c = net.add(x, y) if (stride, c) == (1, o) else y, o
    return net.model(net.classified(unit(x, "last", 1280, c, 1), 1000, 1280), *pictures(8, 224, 1000), 1, ("SGD", {"lr": 1e-3, "momentum": 0.9}))


def vgg():
    net, x, c = Network(), ("%images", 0), 3
    for i, (o, count) in enumerate([(64, 1), (128, 1), (256, 2), (512, 2)]):
        for j in range(count):
            x, c = net.relu(net.conv(x, f"{i}.{j}", o, c, 3, bias=True)), o
        x = net.max_pool(x)
    return net.model(net.classified(x, 100, 512), *pictures(8, 64, 100), 1, ("SGD", {"lr": 1e-3, "momentum": 0.9}))


def unet():
    """Down by averages, up by transposed convolutions; a class for each pixel."""
    F, net, x, c = functional(), Network(), ("%images", 0), 3
    kept = []
    for i, o in enumerate([16, 32, 64]):
        for j in range(2):
            x, c = net.relu(net.norm(net.conv(x, f"down{i}.{j}", o, c, 3), f"down{i}.{j}", o)), o
        kept.append(x)
        x = net.avg_pool(x)
    x, c = net.relu(net.conv(x, "middle", 128, 64, 3, bias=True)), 128
    for i, o in reversed(list(enumerate([16, 32, 64]))):
        weight, below, side = net.w.param(f"up{i}.weight", c, o, 2, 2), x, kept[i]
        up = f"nn.conv2d_transpose({x[0]}, {weight}, strides=[2, 2], channels={o}, kernel_size=[2, 2])"
        x = net.apply(up, lambda v, p, i=i, at=below[1]: F.conv_transpose2d(v[at], p[f"up{i}.weight"], stride=2))
        x = net.apply(f"concatenate(({x[0]}, {side[0]}), axis=1)", lambda v, p, a=x[1], b=side[1]: functional_cat((v[a], v[b])))
        for j, c in enumerate([2 * o, o]):
            x = net.relu(net.norm(net.conv(x, f"up{i}.{j}", o, c, 3), f"up{i}.{j}", o))
        c = o
    return net.model(net.conv(x, "last", 5, 16, 1, bias=True), *pictures(4, 64, 5, 64, 64), 1, ("Adam", {"lr": 1e-3}))


def functional_cat(values):
    import torch

    return torch.cat(values, 1)


def lstm():
    """One layer over 32 steps of 64 numbers, as a loop in Relay and by PyTorch's fused operator; the last state is classified."""
    batch, steps, width, hidden, classes = 32, 32, 64, 128, 10
    rng = np.random.default_rng(6)
    sequence, labels = rng.normal(size=(steps, batch, width)).astype("float32"), rng.integers(0, classes, batch).astype("int32")
    shapes = {
        "input.weight": (4 * hidden, width), "hidden.weight": (4 * hidden, hidden), "input.bias": (4 * hidden,), "hidden.bias": (4 * hidden,),
        "dense.weight": (classes, hidden), "dense.bias": (classes,),
    }  # fmt: skip
    params, state, w = ", ".join(map(type_of, shapes.values())), type_of((batch, hidden)), Writer()
    scores = cross_entropy(w, f"(nn.dense(%last, %p.4, units={classes}) + %p.5)", "labels", 1)
    text = f"""
def @turns(%t: int32, %h: {state}, %c: {state}, %p: ({params},), %x: {type_of(sequence.shape)}) -> {state} {{
  if (%t < {steps}) {{
    let %gates = nn.dense(take(%x, %t, axis=0), %p.0, units={4 * hidden}) + %p.2 + nn.dense(%h, %p.1, units={4 * hidden}) + %p.3;
    let %parts = split(%gates, indices_or_sections=4, axis=1);
    let %new = sigmoid(%parts.1) * %c + sigmoid(%parts.0) * tanh(%parts.2);
    @turns(%t + 1, sigmoid(%parts.3) * tanh(%new), %new, %p, %x)
  }} else {{
    %h
  }}
}}
def @loss(%p: ({params},), %sequence: {type_of(sequence.shape)}, %labels: {type_of(labels.shape, "int32")}) -> float32 {{
  %first = zeros(shape=[{batch}, {hidden}], dtype="float32")
  %last = @turns(0, %first, %first, %p, %sequence)
  {scores}
}}
"""

    def loss(p, sequence, labels):
        import torch

        first = torch.zeros(1, batch, hidden)
        weights = [p["input.weight"], p["hidden.weight"], p["input.bias"], p["hidden.bias"]]
        _, h, _ = torch._VF.lstm(sequence, (first, first), weights, True, 1, 0.0, True, False, False)
        return functional().cross_entropy(functional().linear(h[0], p["dense.weight"], p["dense.bias"]), labels)

    return Model(shapes, [sequence, labels], text, loss, ("Adam", {"lr": 1e-3}))


MODELS = {f.__name__: f for f in (digits, char_lm, resnet18, bert_base, mobilenet_v2, vgg, unet, lstm)}
