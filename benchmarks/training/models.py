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


MODELS = {f.__name__: f for f in (digits, char_lm, resnet18, bert_base)}
