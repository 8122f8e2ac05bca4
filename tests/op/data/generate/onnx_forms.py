"""Operators that ONNX has under its own names: each result is also what ONNX's reference says."""

import numpy as np
import onnx
import onnx.reference

from .core import draw, parse_values, shape_label
from .evaluate import close


def by_onnx(book, node, inputs, opset=23, **attributes):
    """Compares the last record with what the operator of ONNX gives for these inputs."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    made = onnx.helper.make_node(node, names, ["y"], **attributes)
    infos = [
        onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
        )
        for name, x in zip(names, inputs)
        if x is not None
    ]
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.UNDEFINED, None)
    model = onnx.helper.make_model(
        onnx.helper.make_graph([made], node, infos, [output]),
        opset_imports=[onnx.helper.make_opsetid("", opset)],
    )
    feeds = {name: x for name, x in zip(names, inputs) if x is not None}
    answer = onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0]
    record = book.records[-1]
    if not close(parse_values(record["outputs"][0]), answer, max(record["tolerance"], 2e-6)):
        raise ValueError(f"{record['name']}: ONNX says {answer}")
    record["source"] = "onnx"


def scans(book):
    for op, node in (("cumsum", "CumSum"), ("cumprod", "CumProd")):
        for shape, axis in [
            ((5,), 0),
            ((2, 3), 1),
            ((2, 3), 0),
            ((2, 3, 4), -2),
            ((1,), 0),
            ((0,), 0),
            ((2, 0), 1),
            ((3, 17), -1),
        ]:
            for dtype in ("float32", "int32", "float64", "int64"):
                for exclusive in (False, True):
                    x = draw((op, shape, axis), shape, dtype, -2, 2)
                    form = {"exclusive": True} if exclusive else {}
                    label = f"{shape_label(shape)} axis {axis} {dtype} from the end"
                    label += " exclusive" if exclusive else ""
                    book.add(op, label, [x], axis=axis, reverse=True, **form)
                    if op == "cumsum" and 0 not in shape:
                        at = np.asarray(axis, "int64")
                        by_onnx(book, node, [x, at], reverse=1, exclusive=int(exclusive))
        book.add(op, "all from the end", [draw(op, (2, 3), "float32")], reverse=True)
        for dtype in ("float16", "int8", "uint8"):
            book.add(op, f"{dtype} from the end", [draw(op, (2, 3), dtype)], axis=1, reverse=True)


def classes(book):
    for shape, depth, axis in [
        ((4,), 3, -1),
        ((2, 3), 4, 0),
        ((2, 3), 4, 1),
        ((2, 3), 4, -2),
        ((), 5, -1),
        ((1,), 1, 0),
        ((0,), 3, -1),
    ]:
        for dtype in ("int32", "int64"):
            for kind in ("float32", "int64", "bool"):
                indices = draw(("one_hot", shape, depth), shape, dtype, -depth - 1, depth)
                off, on = np.array([0, 1] if kind == "bool" else [-3, 5], kind)
                label = f"{shape_label(shape)} depth {depth} axis {axis} {dtype} {kind}"
                args = [indices, np.asarray(on), np.asarray(off)]
                book.add(
                    "one_hot", label, args, exact=True, depth=depth, axis=axis, from_end=True
                )
                # An index outside is no class; the reference of ONNX wraps it around.
                inner = kind != "bool" and 0 not in shape
                if inner and np.all((indices >= -depth) & (indices < depth)):
                    values = np.stack([off, on])
                    by_onnx(book, "OneHot", [indices, np.asarray(depth), values], axis=axis)
    inside = np.array([[0, -1], [-4, 3]], "int64")
    args = [inside, np.asarray(2, "float32"), np.asarray(-1, "float32")]
    book.add("one_hot", "from both ends", args, exact=True, depth=4, axis=1, from_end=True)
    values = np.array([-1, 2], "float32")
    by_onnx(book, "OneHot", [inside, np.asarray(4), values], axis=1)


def activations(book):
    x = draw("activations", (3, 7), "float32", -5, 5)
    for op, node, form, named in [
        ("nn.gelu", "Gelu", {}, {}),
        ("nn.gelu", "Gelu", {"approximate": "tanh"}, {"approximate": "tanh"}),
        ("nn.softplus", "Softplus", {}, {}),
        ("nn.mish", "Mish", {}, {}),
        ("hardswish", "HardSwish", {}, {}),
    ]:
        book.add(op, f"as {node}{' by tanh' if form else ''}", [x], **form)
        by_onnx(book, node, [x], **named)
    gamma = draw("gamma", (7,), "float32")
    book.add("nn.rms_norm", "as RMSNormalization", [x, gamma])
    by_onnx(book, "RMSNormalization", [x, gamma])


def losses(book):
    for shape in [(3, 4), (2, 3, 2, 2)]:
        x = draw(("loss", shape), shape, "float32", -4, 0)
        targets = draw(("targets", shape), shape[:1] + shape[2:], "int64", 0, shape[1] - 1)
        weights = draw(("weights", shape), shape[1:2], "float32", 0.25, 2)
        for reduction in ("mean", "sum", "none"):
            label = f"as NegativeLogLikelihoodLoss {shape_label(shape)} {reduction}"
            form = {"reduction": reduction, "ignore_index": 1}
            book.add("nn.nll_loss", label, [x, targets, weights], **form)
            by_onnx(book, "NegativeLogLikelihoodLoss", [x, targets, weights], **form)


def attentions(book):
    x = draw("rotary", (2, 3, 4, 6), "float32")
    for pairs in (3, 2):
        turn = draw(("turn", pairs), (2, 1, 4, pairs), "float64", -3, 3)
        cos, sin = np.cos(turn).astype("float32"), np.sin(turn).astype("float32")
        for interleaved in (False, True):
            form = {"interleaved": True} if interleaved else {}
            label = f"as RotaryEmbedding {pairs} pairs{' interleaved' if form else ''}"
            book.add("nn.rotary_embedding", label, [x, cos, sin], **form)
            caches = [cos[:, 0], sin[:, 0]]
            size = 2 * pairs if pairs < 3 else 0
            by_onnx(
                book,
                "RotaryEmbedding",
                [x, *caches],
                interleaved=int(interleaved),
                rotary_embedding_dim=size,
            )
    op = "nn.scaled_dot_product_attention"
    for heads, shared in [(2, 2), (4, 2), (4, 1)]:
        q = draw((op, heads, shared, 0), (2, heads, 3, 4), "float32")
        k = draw((op, heads, shared, 1), (2, shared, 5, 4), "float32")
        v = draw((op, heads, shared, 2), (2, shared, 5, 6), "float32")
        choice = draw((op, heads, shared, 3), (3, 5), "bool")
        choice[:, 0] = True
        bias = draw((op, heads, shared, 4), (2, heads, 3, 5), "float32")
        for mask in (None, choice, bias):
            for form in ({}, {"causal": True}, {"scale": 0.25}, {"softcap": 2.0}):
                kind = "no" if mask is None else "bool" if mask is choice else "additive"
                label = f"as Attention {heads} by {shared} {kind} mask {' '.join(form)}"
                given = np.asarray(True) if mask is None else mask
                book.add(op, label.strip(), [q, k, v, given], **form)
                named = {"is_causal": int("causal" in form)} | {
                    name: form[name] for name in ("scale", "softcap") if name in form
                }
                by_onnx(book, "Attention", [q, k, v, mask], **named)


def products(book):
    for a, b in [
        ((2, 3, 4, 5), (2, 3, 5, 2)),
        ((2, 3, 4, 5), (1, 3, 5, 2)),
        ((2, 1, 1, 3, 2), (4, 3, 2, 5)),
        ((4, 3, 2), (2, 1, 2, 3)),
        ((0, 2, 3, 2), (2, 2, 3)),
        ((1, 1, 1, 1), (1, 1, 1, 1)),
    ]:
        x, y = draw(("product", a), a, "float32"), draw(("product", b), b, "float32")
        label = f"as MatMul {shape_label(a)} by {shape_label(b)}"
        book.add("nn.batch_matmul", label, [x, y])
        by_onnx(book, "MatMul", [x, y])
        turned = np.ascontiguousarray(np.swapaxes(y, -1, -2))
        book.add("nn.batch_matmul", f"{label} turned", [x, turned], transpose_b=True)


def build(book):
    scans(book)
    classes(book)
    activations(book)
    losses(book)
    attentions(book)
    products(book)
