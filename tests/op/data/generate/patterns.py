"""The patterns that today's models are made of: several operators in a row, by PyTorch in float64."""

import numpy as np
import torch
import torch.nn.functional as F

from .core import TOLERANCE, attribute_text, draw, narrow, result_type, tensor_json, type_text, wide


class Text:
    """Writes a program call by call; operands are its own names or inputs."""

    def __init__(self, inputs, dtype):
        self.inputs = {name: np.asarray(a) for name, a in inputs.items()}
        self.dtype, self.lines = dtype, []

    def call(self, op, *args, **attributes):
        texts = [f"{'' if a.startswith(('%', '(', 'T')) else '%'}{a}" for a in args]
        texts += [f"{name}={attribute_text(value)}" for name, value in attributes.items()]
        self.lines.append(f"{op}({', '.join(texts)})")
        return f"%{len(self.lines) - 1}"

    def torch(self):
        return {name: torch.from_numpy(wide(a)) for name, a in self.inputs.items()}

    def record(self, label, result, output):
        output = narrow(output.numpy(), self.dtype)
        parameters = ", ".join(
            f"%{name}: {type_text(a.dtype, a.shape)}" for name, a in self.inputs.items()
        )
        body = "".join(f"  %{i} = {line};\n" for i, line in enumerate(self.lines))
        return {
            "name": f"patterns/{label}",
            "program": f'#[version = "0.0.5"]\ndef @main({parameters}) {{\n{body}  {result}\n}}\n',
            "inputs": [tensor_json(a) for a in self.inputs.values()],
            "type": result_type(output),
            "outputs": [tensor_json(output)],
            "tolerance": TOLERANCE[self.dtype],
            "source": "torch",
        }


def tensors(key, dtype, **shapes):
    return {name: draw((key, name), shape, dtype, -1, 1) for name, shape in shapes.items()}


ACTIVATIONS = {
    "gelu": ("nn.gelu", {}, F.gelu),
    "gelu by tanh": ("nn.gelu", {"approximate": "tanh"}, lambda x: F.gelu(x, approximate="tanh")),
    "silu": ("nn.silu", {}, F.silu),
    "mish": ("nn.mish", {}, F.mish),
    "softplus": ("nn.softplus", {}, F.softplus),
    "hardswish": ("hardswish", {}, F.hardswish),
}


def after_products(book, dtype):
    for label, (op, attributes, f) in ACTIVATIONS.items():
        t = Text(tensors(label, dtype, x=(5, 8), w=(12, 8), b=(12,)), dtype)
        a = t.torch()
        dense = t.call("nn.dense", "x", "w", units=12)
        result = t.call(op, t.call("nn.bias_add", dense, "b"), **attributes)
        expected = f(F.linear(a["x"], a["w"], a["b"]))
        book.record(t.record(f"dense, bias and {label} {dtype}", result, expected))

        t = Text(tensors(label, dtype, x=(1, 3, 6, 5), w=(4, 3, 3, 3)), dtype)
        a = t.torch()
        conv = t.call("nn.conv2d", "x", "w", padding=[1, 1], channels=4, kernel_size=[3, 3])
        result = t.call(op, conv, **attributes)
        expected = f(F.conv2d(a["x"], a["w"], padding=1))
        book.record(t.record(f"convolution and {label} {dtype}", result, expected))


def gated(book, dtype):
    """The feed-forward part of Llama: a gate by silu, residual and rms_norm."""
    t = Text(tensors("gated", dtype, x=(5, 8), g=(8,), u=(12, 8), v=(12, 8), d=(8, 12)), dtype)
    a = t.torch()
    norm = t.call("nn.rms_norm", "x", "g")
    gate = t.call("nn.silu", t.call("nn.dense", norm, "u", units=12))
    inner = t.call("multiply", gate, t.call("nn.dense", norm, "v", units=12))
    result = t.call("add", "x", t.call("nn.dense", inner, "d", units=8))
    n = F.rms_norm(a["x"], (8,), a["g"], 1e-5)
    expected = a["x"] + F.linear(F.silu(F.linear(n, a["u"])) * F.linear(n, a["v"]), a["d"])
    book.record(t.record(f"feed-forward with a gate {dtype}", result, expected))


def attended(book, dtype, causal, masked, shared):
    """Projections, rotary positions, attention, projection, residual, norm."""
    batch, places, heads, extent = 2, 5, 4, 4
    kept = heads // shared
    width = heads * extent
    values = tensors(
        "attended",
        dtype,
        x=(batch, places, width),
        q=(width, width),
        k=(kept * extent, width),
        v=(kept * extent, width),
        o=(width, width),
        g=(width,),
    )
    turn = draw("angles", (places, extent // 2), "float64", -3, 3)
    values |= {"cos": np.cos(turn).astype(dtype), "sin": np.sin(turn).astype(dtype)}
    if masked:
        mask = draw("mask", (batch, 1, 1, places), "bool")
        mask[..., 0] = True
        values["mask"] = mask
    t = Text(values, dtype)
    a = t.torch()

    def projected(weight, count):
        rows = t.call("nn.dense", "x", weight, units=count * extent)
        parts = t.call("reshape", rows, newshape=[0, 0, -4, count, extent])
        return t.call("transpose", parts, axes=[0, 2, 1, 3])

    q = t.call("nn.rotary_embedding", projected("q", heads), "cos", "sin")
    k = t.call("nn.rotary_embedding", projected("k", kept), "cos", "sin")
    v = projected("v", kept)
    seen = t.call(
        "nn.scaled_dot_product_attention", q, k, v, "mask" if masked else "True", causal=causal
    )
    rows = t.call("reshape", t.call("transpose", seen, axes=[0, 2, 1, 3]), newshape=[0, 0, -3])
    total = t.call("add", "x", t.call("nn.dense", rows, "o", units=width))
    result = t.call("nn.rms_norm", total, "g")

    def turned(x):
        cos, sin = (torch.cat([a[name], a[name]], -1) for name in ("cos", "sin"))
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin

    def heads_of(weight, count):
        return F.linear(a["x"], weight).unflatten(-1, (count, extent)).transpose(1, 2)

    mask = torch.ones(places, places, dtype=torch.bool)
    if causal:
        mask = mask.tril()
    if masked:
        mask = mask & torch.from_numpy(values["mask"])
    answer = F.scaled_dot_product_attention(
        turned(heads_of(a["q"], heads)),
        turned(heads_of(a["k"], kept)),
        heads_of(a["v"], kept),
        attn_mask=mask,
        enable_gqa=shared > 1,
    )
    total = a["x"] + F.linear(answer.transpose(1, 2).flatten(2), a["o"])
    expected = F.rms_norm(total, (width,), a["g"], 1e-5)
    form = f"{'causal ' if causal else ''}{'masked ' if masked else ''}groups of {shared}"
    book.record(t.record(f"attention and dense {form} {dtype}", result, expected))


def build(book):
    for dtype in ("float32", "float64"):
        after_products(book, dtype)
        gated(book, dtype)
    for causal in (False, True):
        for masked in (False, True):
            for shared in (1, 2, 4):
                attended(book, "float32", causal, masked, shared)
