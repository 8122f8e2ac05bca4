"""Sparse matrices given by rows, and sparse tensors given by indices, by plain NumPy on dense arrays."""

import itertools

import numpy as np

from .core import Type, draw, narrow, reference, wide

# Matrices by rows -------------------------------------------------------------------------------------------------


def dense_matrix(data, indices, indptr, columns):
    """The matrix that the elements, or blocks, of each row make; what meets at one place adds up."""
    data = data.reshape(len(indices), *(data.shape[1:] or (1, 1)))
    height, width = data.shape[1:]
    result = np.zeros(((len(indptr) - 1) * height, columns), np.result_type(data, np.float64) if data.dtype.kind == "f" else data.dtype)
    for row in range(len(indptr) - 1):
        for k in range(indptr[row], indptr[row + 1]):
            rows = slice(row * height, (row + 1) * height)
            result[rows, indices[k] * width : (indices[k] + 1) * width] += data[k]
    return result


@reference("nn.sparse_dense")
def sparse_dense(x, data, indices, indptr, *, sparse_lhs=False):
    matrix = dense_matrix(wide(data), indices, indptr, x.shape[1])
    return narrow(matrix @ wide(x).T if sparse_lhs else wide(x) @ matrix.T, x.dtype)


@reference("nn.sparse_add")
def sparse_add(x, data, indices, indptr):
    return narrow(wide(x) + dense_matrix(wide(data), indices, indptr, x.shape[1]), x.dtype)


@reference("nn.sparse_transpose")
def sparse_transpose(data, indices, indptr):
    places = [(indices[k], row, k) for row in range(len(indptr) - 1) for k in range(indptr[row], indptr[row + 1])]
    places.sort(key=lambda place: place[0])
    starts = np.searchsorted([column for column, _, _ in places], np.arange(len(indptr)))
    return (
        np.array([data[k] for _, _, k in places], data.dtype),
        np.array([row for _, row, _ in places], indices.dtype),
        starts.astype(indptr.dtype),
    )


@reference("nn.sparse_conv2d")
def sparse_conv2d(x, data, indices, indptr, *, layout="NHWC", kernel_size=(1, 1)):
    images = wide(x) if layout == "NHWC" else wide(x).transpose(0, 2, 3, 1)
    n, h, w, c = images.shape
    kh, kw = kernel_size
    padded = np.pad(images, ((0, 0), (kh // 2, kh // 2), (kw // 2, kw // 2), (0, 0)))
    matrix = dense_matrix(wide(data), indices, indptr, kh * kw * c)
    result = np.zeros((n, h, w, matrix.shape[0]))
    for i, j in itertools.product(range(h), range(w)):
        result[:, i, j] = padded[:, i : i + kh, j : j + kw].reshape(n, -1) @ matrix.T
    return narrow(result if layout == "NHWC" else result.transpose(0, 3, 1, 2), x.dtype)


def rows(key, height, width, count, dtype, block=(), index="int32"):
    """`count` elements, or blocks, of a matrix with `height` rows and `width` columns (of blocks)."""
    random = np.random.default_rng(len(str(key)) + count)
    ends = np.sort(random.integers(0, count + 1, height - 1)) if height > 1 else np.zeros(0, int)
    indptr = np.concatenate([[0], ends, [count]]).astype(index)
    columns = random.integers(0, width, count).astype(index)
    return [draw((key, "data"), (count, *block), dtype), columns, indptr]


# Tensors by indices -----------------------------------------------------------------------------------------------


def scattered(indices, values, filler, shape):
    result = np.full(shape, filler)
    places = indices.reshape(-1, len(shape))
    values = np.broadcast_to(values, len(places))
    for place, value in zip(places, values):
        result[tuple(place)] = value
    return result


@reference("sparse_to_dense")
def sparse_to_dense(indices, values, filler, *, output_shape):
    return scattered(indices, values, filler, output_shape)


@reference("dyn.sparse_to_dense")
def dyn_sparse_to_dense(indices, values, filler, shape):
    return scattered(indices, values, filler, tuple(shape))


@reference("sparse_reshape")
def sparse_reshape(indices, before, after):
    after = after.copy()
    if -1 in after:
        after[after == -1] = np.prod(before) // -np.prod(after)
    flat = np.ravel_multi_index(tuple(indices.T), before)
    return np.stack(np.unravel_index(flat, after), axis=1).astype(indices.dtype), after


@reference("sparse_fill_empty_rows")
def sparse_fill_empty_rows(indices, values, shape, filler):
    entries = [(tuple(place), value) for place, value in zip(indices, values)]
    empty = np.array([all(place[0] != row for place, _ in entries) for row in range(shape[0])], bool)
    entries += [((row, *[0] * (len(shape) - 1)), filler) for row in np.flatnonzero(empty)]
    entries.sort(key=lambda entry: entry[0][0])
    return (
        np.array([place for place, _ in entries], indices.dtype).reshape(-1, len(shape)),
        np.array([value for _, value in entries], values.dtype),
        empty,
    )


# Cases ------------------------------------------------------------------------------------------------------------


def matrices(book):
    for dtype, index in itertools.product(("float32", "float64", "float16"), ("int32", "int64")):
        x = draw(("dense", dtype), (3, 6), dtype)
        book.add("nn.sparse_dense", f"{dtype} {index}", [x, *rows("d", 4, 6, 9, dtype, index=index)])
    x = draw("dense", (3, 6), "float32")
    for block in ((2, 3), (1, 2), (4, 1), (1, 1)):
        of = rows(block, 3, 6 // block[1], 5, "float32", block)
        book.add("nn.sparse_dense", f"blocks {block[0]}x{block[1]}", [x, *of])
        book.add("nn.sparse_dense", f"blocks {block[0]}x{block[1]} left", [x, *of], sparse_lhs=True)
    none = rows("none", 4, 6, 0, "float32")
    book.add("nn.sparse_dense", "no elements", [x, *none])
    book.add("nn.sparse_dense", "no rows", [x, *rows("one", 1, 6, 0, "float32")[:2], np.array([0], "int32")])
    for dtype in ("float32", "float64", "int32", "int64", "uint8"):
        x = draw(("sum", dtype), (4, 5), dtype)
        book.add("nn.sparse_add", dtype, [x, *rows("s", 4, 5, 7, dtype)])
        book.add("nn.sparse_transpose", dtype, rows("t", 5, 5, 8, dtype), exact=True)
    book.add("nn.sparse_add", "no elements", [draw("sum", (3, 2), "float32"), *rows("s", 3, 2, 0, "float32")])
    book.add("nn.sparse_transpose", "int64 indices", rows("t", 3, 3, 4, "float32", index="int64"), exact=True)
    book.add("nn.sparse_transpose", "no elements", rows("t", 3, 3, 0, "float32"), exact=True)
    for layout, size in itertools.product(("NHWC", "NCHW"), ((1, 1), (3, 3), (1, 3))):
        shape = (2, 3, 4, 2) if layout == "NHWC" else (2, 2, 3, 4)
        for dtype in ("float32", "float64"):
            x, columns = draw((layout, dtype), shape, dtype), size[0] * size[1] * 2
            of = rows(size, 3, columns, 4, dtype)
            label = f"{layout} {size[0]}x{size[1]} {dtype}"
            book.add("nn.sparse_conv2d", label, [x, *of], layout=layout, kernel_size=size)
            of = rows(size, 2, columns // 2, 2, dtype, (3, 2))
            book.add("nn.sparse_conv2d", f"{label} blocks", [x, *of], layout=layout, kernel_size=size)
    vector, count, ends = Type("float32", 3), Type("int32", 3), Type("int32", 4)
    book.fail("nn.sparse_dense", "columns of other length", "one column for each element", [Type("float32", 2, 3), vector, Type("int32", 2), ends])
    book.fail("nn.sparse_add", "other rows", "as many rows", [Type("float32", 2, 3), vector, count, ends])
    book.fail("nn.sparse_transpose", "matrix", "the elements are a vector: rank", [Type("float32", 3, 1), count, ends])
    image = Type("float32", 1, 2, 2, 2)
    book.fail("nn.sparse_conv2d", "even extents", "kernel_size is odd", [image, vector, count, ends], kernel_size=(2, 3))
    book.fail("nn.sparse_conv2d", "no such layout", "the layout is NHWC or NCHW", [image, vector, count, ends], layout="NCWH")


def tensors(book):
    integers = lambda *values: np.array(values, "int64")
    dtypes = ("float32", "float64", "float16", "int32", "int64", "uint8", "bool")
    for dtype in dtypes:
        places = np.array([[0, 2], [1, 0], [0, 2]], "int32")
        arguments = [places, draw(("values", dtype), (3,), dtype), draw(("filler", dtype), (), dtype)]
        book.add("sparse_to_dense", f"matrix {dtype}", arguments, exact=True, output_shape=(2, 3))
    for name, fails in (("sparse_to_dense", False), ("dyn.sparse_to_dense", True)):
        def add(label, shape, arguments):
            if not fails:
                return book.add(name, label, arguments, exact=True, output_shape=shape)
            for index in ("int32", "int64"):
                rank = ", ".join("?" * len(shape))
                book.add(name, f"{label} {index}", [*arguments, np.array(shape, index)], exact=True, type=f"Tensor[({rank}), {arguments[1].dtype}]")

        one, zero = np.float32(1.5), np.float32(0)
        add("one index", (4,), [integers(2)[0], one, zero])
        add("vector", (5,), [integers(3, 1, 4), draw("v", (3,), "float32"), zero])
        add("one value for all", (5,), [integers(3, 1), one, np.float32(-1)])
        add("cube", (2, 2, 3), [integers([1, 0, 2], [0, 1, 1]), draw("c", (2,), "int64"), np.int64(7)])
        add("no indices", (3,), [np.zeros(0, "int64"), draw("n", (0,), "float32"), one])
        add("no result", (0, 3), [np.zeros((0, 2), "int64"), draw("n", (0,), "float32"), one])
    for dtype in ("int32", "int64"):
        places = np.array([[0, 1], [2, 3], [1, 0]], dtype)
        for after in ((-1,), (2, -1), (6, 2), (2, 3, 2), (1, 12)):
            arguments = [places, np.array((3, 4), dtype), np.array(after, dtype)]
            book.add("sparse_reshape", f"{dtype} {after}", arguments, exact=True)
    book.add("sparse_reshape", "no elements", [np.zeros((0, 2), "int64"), integers(3, 4), integers(4, 3)], exact=True)
    for label, places, shape in (
        ("some", [[0, 1], [2, 0], [2, 3]], (5, 4)),
        ("none empty", [[0, 1], [1, 0]], (2, 4)),
        ("out of order", [[3, 1], [1, 2], [3, 0]], (4, 4)),
        ("vector", [[1], [3]], (5,)),
    ):
        for dtype in ("float32", "int64"):
            places_ = np.array(places, "int64")
            arguments = [places_, draw((label, dtype), (len(places),), dtype), np.array(shape, "int64"), np.asarray(9, dtype)]
            kind = f"(Tensor[(?, {len(shape)}), int64], Tensor[(?), {dtype}], Tensor[(?), bool])"
            book.add("sparse_fill_empty_rows", f"{label} {dtype}", arguments, exact=True, type=kind)
    vector, scalar = Type("float32", 3), Type("float32")
    book.fail("sparse_to_dense", "too few columns", "an index for each axis of output_shape", [Type("int64", 3, 1), vector, scalar], output_shape=(2, 2))
    book.fail("sparse_to_dense", "negative extent", "output_shape is not negative", [Type("int64", 3), vector, scalar], output_shape=(-2,))
    book.fail("dyn.sparse_to_dense", "too few columns", "an index for each axis of output_shape", [Type("int64", 3, 1), vector, scalar, Type("int64", 2)])
    book.fail("dyn.sparse_to_dense", "other values", "sparse_values is one or one for each of sparse_indices", [Type("int64", 3), Type("float32", 2), scalar, Type("int64", 1)])
    far = [integers(0, 4), draw("far", (2,), "float32"), np.float32(0)]
    book.fail_running("sparse_to_dense", "index out of range", "an index out of range for the axis", far, output_shape=(4,))
    book.fail_running("dyn.sparse_to_dense", "index out of range", "an index out of range for the axis", [*far, integers(4)])
    book.fail_running("dyn.sparse_to_dense", "negative extent", "output_shape is not negative", [*far, integers(-1)])


def build(book):
    matrices(book)
    tensors(book)
