"""nn: padding."""

import numpy as np

from .core import (
    NUMBERS,
    Literal,
    Type,
    draw,
    reference,
    shape_label,
    steps,
)


def cropped(function):
    """Negative widths take away what is there after the others have been added."""

    def run(x, *value, pad_width, **mode):
        more = [[max(w, 0) for w in pair] for pair in pad_width]
        less = [[max(-w, 0) for w in pair] for pair in pad_width]
        padded = function(x, *value, pad_width=more, **mode)
        return padded[tuple(slice(a, e - b) for (a, b), e in zip(less, padded.shape))]

    return run


@reference("nn.pad")
@cropped
def pad(x, value, *, pad_width, pad_mode="constant"):
    if pad_mode == "constant":
        return np.pad(x, pad_width, constant_values=np.asarray(value).astype(x.dtype))
    return np.pad(x, pad_width, mode=pad_mode)


@reference("nn.mirror_pad")
@cropped
def mirror_pad(x, *, pad_width, mode="SYMMETRIC"):
    return np.pad(x, pad_width, mode=mode.lower())


def padding(book):
    for shape, widths in [
        ((3,), [[1, 2]]),
        ((2, 3), [[0, 0], [1, 1]]),
        ((2, 3), [[1, 0], [0, 2]]),
        ((1, 2, 3), [[0, 0], [1, 1], [2, 0]]),
        ((1, 1), [[0, 0], [0, 0]]),
        ((1, 3, 2, 2), [[0, 0], [0, 0], [1, 2], [2, 1]]),
    ]:
        label = f"{shape_label(shape)} by {widths}"
        for value in (0, -1.5):
            book.add(
                "nn.pad",
                f"{label} with {value}",
                [steps(shape), Literal(value, "float32")],
                exact=True,
                pad_width=widths,
            )
        book.add(
            "nn.pad",
            f"{label} edge",
            [steps(shape), Literal(0, "float32")],
            exact=True,
            pad_width=widths,
            pad_mode="edge",
        )
        book.add(
            "nn.mirror_pad",
            f"{label} symmetric",
            [steps(tuple(s + 1 for s in shape))],
            exact=True,
            pad_width=widths,
        )
        reflected = steps(tuple(s + 2 for s in shape))
        book.add(
            "nn.pad",
            f"{label} reflect",
            [reflected, Literal(0, "float32")],
            exact=True,
            pad_width=widths,
            pad_mode="reflect",
        )
        book.add(
            "nn.mirror_pad",
            f"{label} reflect",
            [reflected],
            exact=True,
            mode="REFLECT",
            pad_width=widths,
        )
    for shape, widths in [((0, 2), [[1, 1], [0, 1]]), ((0,), [[0, 3]])]:
        book.add(
            "nn.pad",
            f"{shape_label(shape)} by {widths}",
            [steps(shape), Literal(2, "float32")],
            exact=True,
            pad_width=widths,
        )
    for shape, widths in [
        ((5,), [[-1, -2]]),
        ((5,), [[-5, 0]]),
        ((5,), [[2, -4]]),
        ((4, 5), [[-1, 2], [1, -3]]),
        ((3, 2, 4), [[0, -1], [-1, 1], [1, -1]]),
        ((3,), [[3, -6]]),
    ]:
        label = f"{shape_label(shape)} by {widths}"
        book.add("nn.pad", label, [steps(shape), Literal(9, "float32")], exact=True, pad_width=widths)
        for mode in ("edge", "reflect"):
            if all(max(pair) < extent for pair, extent in zip(widths, shape)):
                args = [steps(shape), Literal(0, "float32")]
                book.add(
                    "nn.pad", f"{label} {mode}", args, exact=True, pad_width=widths, pad_mode=mode
                )
        if all(max(pair) < extent for pair, extent in zip(widths, shape)):
            book.add("nn.mirror_pad", label, [steps(shape)], exact=True, pad_width=widths)
    for dtype in NUMBERS + ("bool",):
        value = np.asarray(True if dtype == "bool" else 7, dtype)
        book.add(
            "nn.pad",
            dtype,
            [draw(("pad", dtype), (2, 2), dtype), value],
            exact=True,
            pad_width=[[1, 0], [0, 1]],
        )
        book.add(
            "nn.mirror_pad",
            dtype,
            [draw(("mirror", dtype), (2, 2), dtype)],
            exact=True,
            pad_width=[[1, 0], [0, 1]],
        )
    book.add(
        "nn.pad",
        "minus infinity",
        [steps((2,)), np.asarray(-np.inf, "float32")],
        exact=True,
        pad_width=[[1, 1]],
    )
    x, zero = Type("float32", 2, 3), Type("float32")
    for label, why, attributes in [
        ("one pair for two axes", "every axis has a pair", {"pad_width": [[1, 1]]}),
        ("pairs of one", "a pair is before and after", {"pad_width": [[1], [1]]}),
        ("too much taken", "there are 2 rows", {"pad_width": [[-1, -2], [0, 0]]}),
        ("no widths", "the widths are required", {}),
        (
            "unknown mode",
            "the mode has no such name",
            {"pad_width": [[1, 1], [1, 1]], "pad_mode": "circular"},
        ),
    ]:
        book.fail("nn.pad", label, why, [x, zero], **attributes)
    book.fail(
        "nn.pad",
        "value of rank one",
        "the value is a scalar",
        [x, Type("float32", 2)],
        pad_width=[[1, 1], [1, 1]],
    )
    book.fail(
        "nn.mirror_pad",
        "three pairs for two axes",
        "every axis has a pair",
        [x],
        pad_width=[[1, 1]] * 3,
    )
    book.fail(
        "nn.mirror_pad",
        "unknown mode",
        "there is no such mode",
        [x],
        mode="CIRCULAR",
        pad_width=[[1, 1], [1, 1]],
    )
