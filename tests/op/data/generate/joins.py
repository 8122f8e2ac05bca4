"""concatenate, stack and split."""


from .core import Type, shape_label, steps
from .shape import DTYPES, typed


def joins(book):
    for shapes, axis in [
        ([(2,), (3,)], 0),
        ([(2, 3), (1, 3)], 0),
        ([(2, 3), (2, 1)], 1),
        ([(2, 3), (2, 1), (2, 2)], -1),
        ([(2, 3)], 0),
        ([(0, 3), (2, 3)], 0),
        ([(2, 0), (2, 0)], 1),
        ([(2, 0), (2, 0)], 0),
        ([(1, 2, 3), (1, 1, 3), (1, 3, 3)], -2),
        ([(1, 3, 2), (1, 17, 2)], 1),
        ([(1,)] * 5, 0),
    ]:
        xs = [steps(s) + 100 * i for i, s in enumerate(shapes)]
        book.add(
            "concatenate",
            f"{' '.join(shape_label(s) for s in shapes)} axis {axis}",
            [xs],
            exact=True,
            **({"axis": axis} if axis else {}),
        )
    for shapes, axis in [
        ([(2, 3)] * 2, 0),
        ([(2, 3)] * 2, 1),
        ([(2, 3)] * 3, 2),
        ([(2, 3)] * 2, -1),
        ([(2, 3)] * 2, -3),
        ([()] * 3, 0),
        ([(0, 2)] * 2, 1),
        ([(1,)], 0),
        ([(3, 1)] * 2, -2),
    ]:
        xs = [steps(s) + 100 * i for i, s in enumerate(shapes)]
        book.add(
            "stack",
            f"{len(shapes)} of {shape_label(shapes[0])} axis {axis}",
            [xs],
            exact=True,
            **({"axis": axis} if axis else {}),
        )
    for dtype in DTYPES:
        xs = [typed((2, 2), dtype), typed((2, 2), dtype)]
        book.add("concatenate", dtype, [xs], exact=True, axis=1)
        book.add("stack", dtype, [xs], exact=True, axis=1)
    x, y = Type("float32", 2, 3), Type("float32", 2, 4)
    for op in ("concatenate", "stack"):
        book.fail(
            op, "ranks two and one", "all inputs must have one rank", [[x, Type("float32", 3)]]
        )
        book.fail(
            op,
            "float32 and float64",
            "all inputs must have one dtype",
            [[x, Type("float64", 2, 3)]],
        )
        book.fail(op, "extents three and four", "the extents differ off the axis", [[x, y]])
        book.fail(op, "axis too large", "the axis is out of range", [[x, x]], axis=3)
        book.fail(op, "axis too small", "the axis is out of range", [[x, x]], axis=-4)
        book.fail(op, "a tensor instead of a tuple", "the argument is a tuple of tensors", [x])
    for shape, parts, axis in [
        ((6,), 2, 0),
        ((6,), 3, 0),
        ((6,), 6, 0),
        ((4, 6), 2, 1),
        ((4, 6), 3, -1),
        ((2, 3, 4), 2, 2),
        ((6,), [2], 0),
        ((6,), [1, 3], 0),
        ((6,), [2, 3, 5], 0),
        ((4, 5), [1, 4], 1),
        ((4, 5), [2, 3], -1),
        ((0, 4), 2, 1),
        ((0, 4), 2, 0),
        ((3, 17), [3], 1),
    ]:
        book.add(
            "split",
            f"{shape_label(shape)} by {parts} axis {axis}",
            [steps(shape)],
            exact=True,
            indices_or_sections=parts,
            **({"axis": axis} if axis else {}),
        )
    book.add("split", "one part", [steps((3, 2))], exact=True, project=0, indices_or_sections=1)
    for dtype in ("float64", "int8", "bool", "float16", "int64"):
        book.add("split", dtype, [typed((4, 2), dtype)], exact=True, indices_or_sections=2)
    for label, parts, why in [
        ("does not divide", 4, "6 is not a multiple of 4"),
        ("no parts", 0, "there must be a part"),
        ("falling indices", [4, 1], "the indices must rise"),
        ("fewer than no parts", -2, "there must be a part"),
    ]:
        book.fail("split", label, why, [Type("float32", 6)], indices_or_sections=parts)
    book.fail(
        "split",
        "index beyond the extent",
        "the axis has extent six",
        [Type("float32", 6)],
        indices_or_sections=[2, 8],
    )
    book.fail(
        "split",
        "axis 1 of rank one",
        "the data has rank one",
        [Type("float32", 6)],
        indices_or_sections=2,
        axis=1,
    )
    book.fail("split", "no parts given", "indices_or_sections is required, an integer or a list", [Type("float32", 6)])


def build(book):
    joins(book)
