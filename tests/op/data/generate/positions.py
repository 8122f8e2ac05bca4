"""Positions of elements, sequences and triangles, by NumPy."""

import itertools

import numpy as np

from .core import NUMBERS, Type, draw, narrow, reference, wide
from .shape import reshaped


@reference("adv_index")
def adv_index(tensors):
    return tensors[0][tuple(tensors[1:])]


@reference("argwhere")
def argwhere(x, *, dtype="int32"):
    return np.argwhere(x).astype(dtype)


@reference("invert_permutation")
def invert_permutation(x):
    return np.argsort(x).astype(x.dtype)


@reference("unravel_index")
def unravel_index(x, shape):
    return np.stack(np.unravel_index(x, tuple(shape))).astype(x.dtype)


@reference("searchsorted")
def searchsorted(sequence, values, *, right=False, dtype="int32"):
    side = "right" if right else "left"
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side).astype(dtype)
    rows = zip(sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1]))
    return np.array([np.searchsorted(s, v, side) for s, v in rows], dtype).reshape(values.shape)


@reference("tree_leaves")
def tree_leaves(x, nodes, roots):
    words = np.ascontiguousarray(nodes)
    thresholds = words[:, 3:].copy().view(x.dtype).reshape(-1)

    def leaf(row, at):
        while at >= 0:
            feature, first, second = (int(word) for word in words[at, :3])
            value = row[feature & ~(1 << 30)]
            missing = bool(feature >> 30) and np.isnan(value)
            at = first if value <= thresholds[at] or missing else second
        return -1 - at

    leaves = [[leaf(row, int(root)) for root in roots] for row in x]
    return np.array(leaves, "int32").reshape(len(x), len(roots))


@reference("unique")
def unique(x, *, sorted=True, return_counts=False, dtype="int32"):
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    if not sorted:
        order = np.argsort(first)
        values, first, counts = values[order], first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    results = (first, inverse, np.array([len(values)]), counts)
    return values, *(r.astype(dtype) for r in results[: 4 if return_counts else 3])


@reference("reverse_sequence")
def reverse_sequence(x, lengths, *, seq_axis=1, batch_axis=0):
    moved = np.moveaxis(x, (batch_axis, seq_axis), (0, 1)).copy()
    for row, length in zip(moved, lengths):
        row[:length] = row[:length][::-1].copy()
    return np.moveaxis(moved, (0, 1), (batch_axis, seq_axis))


@reference("sequence_mask")
def sequence_mask(x, lengths, *, mask_value=0.0, axis=0):
    rows = np.moveaxis(x, axis, 1).copy()
    for row, length in zip(rows, lengths):
        row[length:] = mask_value
    return np.moveaxis(rows, 1, axis)


@reference("trilu")
def trilu(x, k, *, upper=True):
    return (np.triu if upper else np.tril)(x, int(k))


@reference("matrix_set_diag")
def matrix_set_diag(x, diagonal, *, k1=0, k2=0, super_diag_right_align=True, sub_diag_right_align=False):
    result, (height, width) = x.copy(), x.shape[-2:]
    rows = diagonal if k1 != k2 or diagonal.ndim == x.ndim else diagonal[..., None, :]
    for k in range(k1, k2 + 1):
        i = np.arange(max(0, -k), min(height, width - k))
        right = super_diag_right_align if k >= 0 else sub_diag_right_align
        start = rows.shape[-1] - len(i) if right and k != 0 else 0
        result[..., i, i + k] = rows[..., k2 - k, start : start + len(i)]
    return result


@reference("shape_of")
def shape_of(x, *, dtype="int32"):
    return np.array(x.shape, dtype)


@reference("ndarray_size")
def ndarray_size(x, *, dtype="int32"):
    return np.asarray(x.size, dtype)


@reference("collapse_sum_to")
def collapse_sum_to(x, shape):
    shape = [int(extent) for extent in shape]
    leading = x.ndim - len(shape)
    total = wide(x).sum(axis=tuple(range(leading)))
    axes = tuple(d for d, extent in enumerate(shape) if extent == 1 and total.shape[d] != 1)
    return narrow(total.sum(axis=axes, keepdims=True), x.dtype)


@reference("collapse_sum_like")
def collapse_sum_like(x, like):
    return collapse_sum_to(x, like.shape)


@reference("contrib_reverse_reshape")
def reverse_reshape(x, *, newshape):
    return x.reshape(reshaped(x.shape[::-1], newshape[::-1], False)[::-1])


@reference("fixed_point_multiply_per_axis")
def fixed_point_multiply_per_axis(x, multiplier, left, right, *, is_lshift_required=False, is_rshift_required=False, axes):
    def spread(y):
        shape = [1] * x.ndim
        for axis, extent in zip(axes, y.shape):
            shape[axis] = extent
        return y.astype(object).reshape(shape)

    left = spread(left) if is_lshift_required else 0
    down = 31 + (spread(right) if is_rshift_required else 0)
    product = (x.astype(object) * 2**left) * spread(multiplier)
    result = (product + 2 ** (down - 1)) // 2**down
    return np.array(result.tolist(), np.int64).astype(np.int32)


# Cases ------------------------------------------------------------------------------------------------------------


def indices(book):
    x = draw("index", (3, 4, 2), "float32")
    for label, places in (
        ("first axis", [[0, 2, 1]]),
        ("rows and columns", [[[0], [2]], [3, -1]]),
        ("all axes", [[0, -3], [1, 1], [0, 1]]),
        ("scalars", [1, 2]),
    ):
        for kind in ("int32", "int64"):
            book.add("adv_index", f"{label} {kind}", [[x, *(np.array(p, kind) for p in places)]], exact=True)
    for dtype in (*NUMBERS, "bool"):
        y = draw(("argwhere", dtype), (3, 4), dtype, 0, 1) if dtype != "bool" else draw("argwhere", (3, 4), "bool")
        for kind in ("int32", "int64"):
            book.add("argwhere", f"{dtype} {kind}", [np.round(y).astype(dtype)], exact=True, type=f"Tensor[(?, 2), {kind}]", dtype=kind)
        book.add("ndarray_size", dtype, [y], exact=True)
        book.add("shape_of", dtype, [y], exact=True, dtype="int64")
    nan = np.array([0, np.nan, -0.0, np.inf], "float32")
    book.add("argwhere", "not a number", [nan], exact=True, type="Tensor[(?, 1), int32]")
    for shape in ((), (5,), (2, 0, 3)):
        book.add("ndarray_size", f"{shape}", [draw(shape, shape, "float32")], exact=True, dtype="int64")
        book.add("shape_of", f"{shape}", [draw(shape, shape, "float32")], exact=True)
    for kind in ("int32", "int64"):
        for count in (0, 1, 7):
            order = np.random.default_rng(count).permutation(count).astype(kind)
            book.add("invert_permutation", f"{count} {kind}", [order], exact=True)
        for of in ((12,), (3, 4), (2, 3, 4)):
            at = draw((of, kind), (5,), kind, 0, int(np.prod(of)) - 1)
            book.add("unravel_index", f"vector of {of} {kind}", [at, np.array(of, kind)], exact=True)
            book.add("unravel_index", f"number of {of} {kind}", [at[0], np.array(of, "int64")], exact=True)
    book.fail("adv_index", "floats", "positions have an integer dtype", [[Type("float32", 3), Type("float32", 2)]])
    book.fail("invert_permutation", "matrix", "a permutation is a vector: rank 1", [Type("int32", 2, 2)])
    book.fail("unravel_index", "shape of floats", "shape has an integer dtype", [Type("int32", 2), Type("float32", 2)])
    book.fail("argwhere", "dtype", "positions have an integer dtype", [Type("float32", 2)], dtype="float32")
    book.fail_running("invert_permutation", "twice", "each position once: a permutation, out of range or twice", [np.array([0, 2, 2], "int32")])
    book.fail_running("adv_index", "out of range", "an index out of range", [[x, np.array([3], "int32")]])


def order(book):
    for dtype in NUMBERS:
        for shape, values in (((5,), (2, 3)), ((0,), (4,)), ((2, 4), (2, 3)), ((2, 1, 4), (2, 1, 2))):
            sequence = np.sort(draw(("sequence", dtype), shape, dtype), axis=-1)
            sought = draw(("sought", dtype), values, dtype)
            if sequence.size:
                sought.flat[0] = sequence.flat[0]
            for right in (False, True):
                label = f"{shape} {values} {'right' if right else 'left'} {dtype}"
                book.add("searchsorted", label, [sequence, sought], exact=True, right=right, dtype="int64" if right else "int32")
        x = draw(("unique", dtype), (9,), dtype, 0, 3)
        for rising, counts in itertools.product((True, False), (True, False)):
            kinds = [f"Tensor[(?), {dtype}]", "Tensor[(?), int64]", "Tensor[(9), int64]", "Tensor[(1), int64]", "Tensor[(?), int64]"]
            label = f"{dtype}{' in order' if rising else ''}{' counts' if counts else ''}"
            kind = f"({', '.join(kinds[: 5 if counts else 4])})"
            book.add("unique", label, [x], exact=True, type=kind, sorted=rising, return_counts=counts, dtype="int64")
    for dtype in ("float32", "float64", "float16"):
        nan = np.array([np.nan, 1, np.nan, -np.inf, np.inf, 1], dtype)
        kind = f"(Tensor[(?), {dtype}], Tensor[(?), int32], Tensor[(6), int32], Tensor[(1), int32], Tensor[(?), int32])"
        for rising in (True, False):
            book.add("unique", f"not a number {dtype} {rising}", [nan], exact=True, type=kind, sorted=rising, return_counts=True)
        sequence = np.array([-np.inf, 0, 1, np.inf, np.nan, np.nan], dtype)
        for right in (False, True):
            book.add("searchsorted", f"not a number {dtype} {right}", [sequence, nan], exact=True, right=right)
    book.fail("searchsorted", "other rows", "as many rows: dimensions", [Type("float32", 2, 3), Type("float32", 3, 3)])
    book.fail("unique", "matrix", "the data is a vector: rank 1", [Type("int32", 2, 2)])


def node_words(dtype, *nodes):
    """Nodes of trees as rows of words: (feature, missing goes first, threshold, first child, second child)."""
    rows = []
    for feature, missing, threshold, first, second in nodes:
        bits = np.array([threshold], dtype).view("int32")
        rows.append([feature | (1 << 30 if missing else 0), first, second, *bits])
    return np.array(rows, "int32")


def forest(dtype, trees, depth, features):
    """Complete trees with random tests, and their roots."""
    random = np.random.default_rng(trees * 100 + depth)
    nodes, inner, leaves = [], 2**depth - 1, 2**depth
    for tree in range(trees):
        for k in range(inner):
            below = [2 * k + 1, 2 * k + 2]
            children = [tree * inner + c if c < inner else -1 - (tree * leaves + c - inner) for c in below]
            nodes.append((int(random.integers(features)), bool(random.integers(2)), random.integers(-8, 9) / 4, *children))
    return node_words(dtype, *nodes), np.arange(trees, dtype="int32") * inner


def trees(book):
    for dtype in ("float32", "float64"):
        x = draw(("trees", dtype), (5, 3), dtype)
        x[1, 1] = x[3, 0] = np.nan
        x[4] = [-np.inf, np.inf, 0]
        for count, depth in ((1, 1), (3, 2), (19, 4)):
            nodes, roots = forest(dtype, count, depth, 3)
            book.add("tree_leaves", f"{count} trees of depth {depth} {dtype}", [x, nodes, roots], exact=True)
        equal = node_words(dtype, (0, False, 0.5, -1, -2), (0, True, 0.5, -1, -2), (0, False, -0.0, -1, -2), (0, True, np.nan, -1, -2))
        edge = np.array([[0.5], [np.nan], [0], [-0.0], [np.inf], [-np.inf]], dtype)
        book.add("tree_leaves", f"edges {dtype}", [edge, equal, np.arange(4, dtype="int32")], exact=True)
        # A shared node, a root that is a leaf, trees of different depths.
        shared = node_words(dtype, (0, False, 0.0, 2, -5), (1, False, 1.0, -4, 2), (2, False, 0.25, -1, -3))
        book.add("tree_leaves", f"roots {dtype}", [x, shared, np.array([1, -2, 0, 2], "int32")], exact=True)
        book.add("tree_leaves", f"no rows {dtype}", [x[:0], shared, np.array([1, 0], "int32")], exact=True)
    nodes, roots = forest("float64", 1, 1, 1)
    book.fail("tree_leaves", "words of another dtype", "float32 has nodes of 4 words", [Type("float32", 2, 1), Type("int32", 1, 5), Type("int32", 1)])


def sequences(book):
    for dtype in (*NUMBERS, "bool"):
        x = draw(("sequence", dtype), (3, 4, 2), dtype)
        for kind in ("int32", "int64"):
            lengths = np.array((4, 1, 0), kind)
            book.add("reverse_sequence", f"{dtype} {kind}", [x, lengths], exact=True)
            if dtype != "bool":
                book.add("sequence_mask", f"axis 1 {dtype} {kind}", [x, lengths], exact=True, axis=1, mask_value=2.0)
                book.add("sequence_mask", f"axis 0 {dtype} {kind}", [x, np.array((3, 0, 2, 1), kind)], exact=True)
    y = draw("axes", (2, 3, 4), "float32")
    for seq, batch in ((0, 1), (2, 0), (1, 2), (0, 2)):
        lengths = draw((seq, batch), (y.shape[batch],), "int32", 0, y.shape[seq])
        book.add("reverse_sequence", f"axes {seq} {batch}", [y, lengths], exact=True, seq_axis=seq, batch_axis=batch)
    for dtype in (*NUMBERS, "bool"):
        x = draw(("triangle", dtype), (2, 3, 4), dtype)
        for k, upper in itertools.product((-3, -1, 0, 2, 5), (True, False)):
            book.add("trilu", f"{dtype} {k} {'upper' if upper else 'lower'}", [x, np.asarray(k, "int64" if upper else "int32")], exact=True, upper=upper)
        book.add("matrix_set_diag", f"main {dtype}", [x, draw(("diagonal", dtype), (2, 3), dtype)], exact=True)
    z = draw("matrices", (2, 4, 3), "float32")
    for low, high, length in ((1, 1, 2), (-2, -2, 2), (-1, 1, 3), (-3, -1, 3), (0, 2, 3)):
        shape = (2, length) if low == high else (2, high - low + 1, length)
        for above, below in itertools.product((True, False), (True, False)):
            book.add(
                "matrix_set_diag", f"{low} to {high} {above} {below}", [z, draw((low, high), shape, "float32")], exact=True,
                k1=low, k2=high, super_diag_right_align=above, sub_diag_right_align=below,
            )
    book.fail("reverse_sequence", "other lengths", "a length for each sequence", [Type("float32", 3, 4), Type("int32", 4)])
    book.fail("sequence_mask", "axis 2", "the axis is 0 or 1", [Type("float32", 3, 4, 2), Type("int32", 3)], axis=2)
    book.fail("matrix_set_diag", "too short", "as long as the diagonal", [Type("float32", 3, 4), Type("float32", 2)])
    book.fail("trilu", "vector", "matrices: rank 2", [Type("float32", 3), Type("int32")])


def sums(book):
    for dtype in ("float32", "float64", "float16", "int32", "int64", "uint8"):
        x = draw(("sum", dtype), (2, 3, 4), dtype)
        for to in ((3, 4), (4,), (2, 1, 4), (3, 1), (1,), ()):
            book.add("collapse_sum_like", f"{to} {dtype}", [x, np.zeros(to, dtype)])
        for to in ((1, 4), (3, 1)):
            book.add("collapse_sum_to", f"{to} {dtype}", [x, np.array(to, "int64")], type=f"Tensor[(?, ?), {dtype}]")
    for codes in ((24,), (6, -1), (-1, 0), (2, 0, 0), (4, 3, 2)):
        book.add("contrib_reverse_reshape", f"{codes}", [draw("reshape", (2, 3, 4), "float32")], exact=True, newshape=list(codes))
    x = draw("fixed", (3, 4, 2), "int32", -5000, 5000)
    for axes, (left, right) in itertools.product(((0,), (1,), (0, 2)), itertools.product((False, True), (False, True))):
        shape = [x.shape[axis] for axis in axes]
        inputs = [x, draw(axes, shape, "int32", 2**29, 2**31 - 2), draw("left", shape, "int32", 0, 4), draw("right", shape, "int32", 0, 6)]
        book.add(
            "fixed_point_multiply_per_axis", f"{axes}{' left' if left else ''}{' right' if right else ''}", inputs, exact=True,
            is_lshift_required=left, is_rshift_required=right, axes=list(axes),
        )
    book.fail("collapse_sum_like", "other shape", "shapes broadcast", [Type("float32", 2, 3), Type("float32", 2)])
    book.fail("contrib_reverse_reshape", "other elements", "as many elements", [Type("float32", 2, 3)], newshape=[4, 2])


def build(book):
    indices(book)
    order(book)
    sequences(book)
    sums(book)
    trees(book)
