"""Attention, masked softmax and rotary positions, by PyTorch in float64."""

import numpy as np
import torch
import torch.nn.functional as F

from .core import FLOATS, Type, draw, narrow, reference, shape_label, wide


def double(x):
    return torch.from_numpy(np.ascontiguousarray(wide(x)))


def seen(rows, columns, align, window):
    """Which columns a row sees by its place."""
    offset = columns - rows if align == "bottom_right" else 0
    places = torch.ones(rows, columns, dtype=torch.bool).tril(offset)
    return places.triu(offset - window + 1) if window else places


def additive(mask, causal, align, window, rows, columns):
    """Mask and places as what is added to scores."""
    mask = torch.from_numpy(np.asarray(mask))
    if mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -np.inf)
    mask = mask.double()
    if causal:
        mask = mask.masked_fill(~seen(rows, columns, align, window), -np.inf)
    return mask


@reference("nn.masked_softmax")
def masked_softmax(scores, mask, *, causal=False, align="top_left", window=0):
    total = double(scores) + additive(mask, causal, align, window, *scores.shape[-2:])
    hidden = torch.isneginf(total).all(-1, keepdim=True)
    return narrow(torch.softmax(total, -1).masked_fill(hidden, 0).numpy(), scores.dtype)


@reference("nn.scaled_dot_product_attention")
def attention(
    q, k, v, mask, *, causal=False, align="top_left", window=0, scale=None, softcap=0.0
):
    if softcap:  # PyTorch has no such bound.
        heads = q.shape[-3] // k.shape[-3]
        keys, values = (double(x).repeat_interleave(heads, -3) for x in (k, v))
        factor = scale if scale is not None else 1 / np.sqrt(q.shape[-1])
        scores = softcap * torch.tanh(double(q) @ keys.mT * factor / softcap)
        weights = masked_softmax(
            scores.numpy(), mask, causal=causal, align=align, window=window
        )
        return narrow((torch.from_numpy(weights) @ values).numpy(), q.dtype)
    bias = additive(mask, causal, align, window, q.shape[-2], k.shape[-2])
    result = F.scaled_dot_product_attention(
        double(q),
        double(k),
        double(v),
        attn_mask=bias.expand(*q.shape[:-1], k.shape[-2]),
        scale=scale,
        enable_gqa=q.shape[-3] != k.shape[-3],
    )
    # Rows that see nothing are 0, whatever the version says of them.
    hidden = torch.isneginf(bias).all(-1, keepdim=True)
    return narrow(result.masked_fill(hidden, 0).numpy(), q.dtype)


@reference("nn.rotary_embedding")
def rotary_embedding(x, cos, sin, *, interleaved=False):
    """Pairs as complex numbers, turned."""
    turn = torch.complex(double(cos), double(sin))
    pairs = cos.shape[-1]
    if pairs == 0:
        return x
    data = double(x[..., : 2 * pairs])
    split = (pairs, 2) if interleaved else (2, pairs)
    parts = data.reshape(*x.shape[:-1], *split)
    if not interleaved:
        parts = parts.mT
    turned = torch.view_as_real(torch.complex(parts[..., 0], parts[..., 1]) * turn)
    if not interleaved:
        turned = turned.mT
    turned = turned.reshape(*x.shape[:-1], 2 * pairs).numpy()
    return narrow(np.concatenate([turned, wide(x[..., 2 * pairs :])], -1), x.dtype)


# No tensor: nothing is masked.
def everything():
    return np.asarray(True)


def softmaxes(book):
    op = "nn.masked_softmax"
    for shape, mask_shape in [
        ((3, 4), (3, 4)),
        ((2, 3, 5), (5,)),
        ((2, 2, 3, 4), (2, 1, 3, 4)),
        ((1, 2, 33), (2, 33)),
        ((1, 1), ()),
        ((0, 3), (3,)),
        ((2, 0), (2, 0)),
        ((3, 1), (3, 1)),
    ]:
        label = f"{shape_label(shape)} by {shape_label(mask_shape)}"
        x = draw((op, shape), shape, "float32")
        choice = draw((op, shape, "seen"), mask_shape, "bool")
        book.add(op, f"{label} bool", [x, choice], "torch")
        bias = draw((op, shape, "bias"), mask_shape, "float32")
        book.add(op, f"{label} floats", [x, bias], "torch")
        hidden = np.where(choice, bias, np.float32(-np.inf)).astype("float32")
        book.add(op, f"{label} infinities", [x, hidden], "torch")
    for shape in [(3, 3), (2, 3, 5), (2, 5, 3), (1, 4), (4, 1), (1, 1, 9, 20)]:
        x = draw((op, "causal", shape), shape, "float32")
        for align in ("top_left", "bottom_right"):
            for window in (0, 1, 2, 100):
                label = f"causal {shape_label(shape)} {align} window {window}"
                attributes = {"causal": True, "align": align, "window": window}
                book.add(op, label, [x, everything()], "torch", **attributes)
    mask = draw((op, "both"), (5,), "bool")
    x = draw((op, "both x"), (2, 4, 5), "float32")
    book.add(op, "causal and mask", [x, mask], "torch", causal=True)
    for dtype in FLOATS:
        x = draw((op, dtype), (3, 6), dtype)
        book.add(op, f"{dtype} bool", [x, draw((op, dtype, 1), (3, 6), "bool")], "torch")
        book.add(op, f"{dtype} floats", [x, draw((op, dtype, 2), (3, 6), "float32")], "torch")
        book.add(op, f"{dtype} causal", [x, everything()], "torch", causal=True)
    special = np.array([[1, -np.inf, 2], [-np.inf] * 3, [1, 1e30, -1e30]], "float32")
    book.add(op, "infinities in scores", [special, everything()], "torch")
    x, mask = Type("float32", 2, 3), Type("bool", 2, 3)
    for label, why, args, attributes in [
        ("rank one", "there are rows and columns", [Type("float32", 3), Type("bool", 3)], {}),
        ("mask that does not fit", "it does not broadcast", [x, Type("bool", 2)], {}),
        ("mask of more axes", "more axes than the scores: it does not broadcast", [x, Type("bool", 2, 2, 3)], {}),
        ("mask of integers", "bool or floats", [x, Type("int32", 2, 3)], {}),
        ("integers", "needs floats", [Type("int32", 2, 3), mask], {}),
        ("unknown align", "no such word", [x, mask], {"causal": True, "align": "middle"}),
        ("negative window", "counts", [x, mask], {"causal": True, "window": -1}),
        ("window without causal", "only with causal=True", [x, mask], {"window": 2}),
    ]:
        book.fail(op, label, why, args, **attributes)


def attentions(book):
    op = "nn.scaled_dot_product_attention"

    def heads(key, batch, query_heads, key_heads, queries, keys, extent, value, dtype="float32"):
        return [
            draw((op, key, 0), (*batch, query_heads, queries, extent), dtype),
            draw((op, key, 1), (*batch, key_heads, keys, extent), dtype),
            draw((op, key, 2), (*batch, key_heads, keys, value), dtype),
        ]

    shapes = [
        ((1,), 2, 2, 3, 3, 4, 4),
        ((2,), 4, 2, 3, 5, 8, 6),
        ((2,), 4, 1, 2, 3, 4, 4),
        ((2,), 6, 3, 1, 7, 4, 5),
        ((), 2, 2, 3, 4, 5, 3),
        ((2, 1), 2, 1, 3, 3, 4, 4),
        ((1,), 1, 1, 1, 1, 1, 1),
        ((0,), 2, 2, 3, 3, 4, 4),
        ((1,), 2, 2, 0, 3, 4, 4),
        ((1,), 1, 1, 9, 17, 8, 8),
    ]
    for shape in shapes:
        batch, query_heads, _, queries, keys, *_ = shape
        label = f"{shape_label(batch)} batch {' '.join(map(str, shape[1:]))}"
        tensors = heads(shape, *shape)
        book.add(op, label, [*tensors, everything()], "torch")
        choice = draw((op, shape, "seen"), (queries, keys), "bool")
        book.add(op, f"{label} bool mask", [*tensors, choice], "torch")
        bias = draw((op, shape, "bias"), (*batch, query_heads, queries, keys), "float32")
        book.add(op, f"{label} additive mask", [*tensors, bias], "torch")
        book.add(op, f"{label} causal", [*tensors, everything()], "torch", causal=True)
        book.add(
            op,
            f"{label} bottom right",
            [*tensors, choice],
            "torch",
            causal=True,
            align="bottom_right",
        )
    tensors = heads("options", (1,), 2, 1, 4, 6, 4, 4)
    book.add(op, "scale", [*tensors, everything()], "torch", scale=0.25)
    book.add(op, "scale one", [*tensors, everything()], "torch", scale=1.0)
    book.add(op, "softcap", [*tensors, everything()], "torch", softcap=0.5)
    book.add(op, "softcap causal", [*tensors, everything()], "torch", softcap=2.0, causal=True)
    for window in (1, 3):
        book.add(op, f"window {window}", [*tensors, everything()], "torch", causal=True, window=window)
    none = np.zeros((4, 6), bool)
    book.add(op, "nothing seen", [*tensors, none], "torch")
    for dtype in FLOATS:
        tensors = heads(dtype, (2,), 4, 2, 3, 5, 4, 4, dtype)
        book.add(op, dtype, [*tensors, everything()], "torch")
        book.add(op, f"{dtype} bool mask", [*tensors, draw((op, dtype, 3), (3, 5), "bool")], "torch")
        book.add(op, f"{dtype} additive", [*tensors, draw((op, dtype, 4), (3, 5), dtype)], "torch")
        book.add(op, f"{dtype} causal", [*tensors, everything()], "torch", causal=True)
    q, k, v = Type("float32", 1, 4, 3, 8), Type("float32", 1, 2, 5, 8), Type("float32", 1, 2, 5, 6)
    m = Type("bool")
    for label, why, args, attributes in [
        ("rank two", "the rank is 3 or more", [Type("float32", 3, 8)] * 3 + [m], {}),
        ("ranks differ", "one rank", [q, Type("float32", 2, 5, 8), v, m], {}),
        ("heads", "4 is no multiple of 3", [q, *[Type("float32", 1, 3, 5, 8)] * 2, m], {}),
        ("heads of the value", "the heads differ", [q, k, Type("float32", 1, 4, 5, 6), m], {}),
        ("extents", "the extents differ", [q, Type("float32", 1, 2, 5, 6), v, m], {}),
        ("keys and values", "the extents differ", [q, k, Type("float32", 1, 2, 4, 6), m], {}),
        ("batches", "the batches differ", [q, Type("float32", 2, 2, 5, 8), Type("float32", 2, 2, 5, 6), m], {}),
        ("mask", "it does not broadcast to 3 by 5", [q, k, v, Type("bool", 5, 3)], {}),
        ("mask of integers", "bool or floats", [q, k, v, Type("int32", 3, 5)], {}),
        ("integers", "needs floats", [Type("int32", 1, 2, 3, 4)] * 3 + [m], {}),
        ("dtypes differ", "one dtype", [q, Type("float16", 1, 2, 5, 8), v, m], {}),
        ("negative softcap", "a bound is a number and not negative", [q, k, v, m], {"softcap": -1.0}),
        ("window without causal", "only with causal=True", [q, k, v, m], {"window": 2}),
        ("unknown align", "no such word", [q, k, v, m], {"causal": True, "align": "left"}),
    ]:
        book.fail(op, label, why, args, **attributes)


def rotations(book):
    op = "nn.rotary_embedding"

    def angles(key, shape, dtype="float32"):
        turn = draw((op, key), shape, "float64", -3, 3)
        return [np.cos(turn).astype(dtype), np.sin(turn).astype(dtype)]

    for shape, table in [
        ((2, 3, 4, 8), (4, 4)),
        ((2, 3, 4, 8), (2, 1, 4, 4)),
        ((2, 3, 4, 8), (4, 2)),
        ((3, 6), (3, 3)),
        ((3, 7), (3,)),
        ((6,), (3,)),
        ((2, 1, 1, 2), (1, 1)),
        ((0, 4), (2,)),
        ((3, 5), (3, 0)),
        ((1, 1, 3, 64), (3, 32)),
    ]:
        x = draw((op, shape, table), shape, "float32")
        for form in ({}, {"interleaved": True}):
            label = f"{shape_label(shape)} by {shape_label(table)}{' interleaved' if form else ''}"
            book.add(op, label, [x, *angles((shape, table), table)], "torch", **form)
    for dtype in FLOATS:
        x = draw((op, dtype), (2, 3, 8), dtype)
        for form in ({}, {"interleaved": True}):
            label = f"{dtype}{' interleaved' if form else ''}"
            book.add(op, label, [x, *angles(dtype, (3, 4), dtype)], "torch", **form)
    x = Type("float32", 2, 3, 8)
    for label, why, cos, sin in [
        ("too many pairs", "more elements than half of a row", Type("float32", 3, 5), Type("float32", 3, 5)),
        ("shapes of both", "one shape", Type("float32", 3, 4), Type("float32", 3, 3)),
        ("ranks of both", "one shape", Type("float32", 3, 4), Type("float32", 4)),
        ("rows", "the rows do not broadcast", Type("float32", 2, 4), Type("float32", 2, 4)),
        ("rank", "more axes than data", *[Type("float32", 1, 2, 3, 4)] * 2),
        ("numbers", "there is an axis of pairs", Type("float32"), Type("float32")),
        ("dtypes", "one dtype", Type("float16", 3, 4), Type("float16", 3, 4)),
    ]:
        book.fail(op, label, why, [x, cos, sin])


def build(book):
    softmaxes(book)
    attentions(book)
    rotations(book)
