"""Products of matrices and vectors."""

from __future__ import annotations

import operator
import string

from ._common import Any, axes_of, axis_of, cast, common, emit, lift, operands, operation
from .manipulation import broadcast_shape, broadcast_to, expand_dims, reshape, squeeze, swapaxes
from .reductions import sum as _sum

__all__ = ["cross", "diagonal", "dot", "einsum", "inner", "kron", "matmul", "outer", "tensordot", "trace", "vdot", "vecdot"]


def _numbers(*values: Any) -> list[Any]:
    found, _ = operands(*values)
    if found[0].dtype == "bool":
        raise TypeError("a product of matrices is of numbers, not of bool: use astype")
    return found


@operation
def matmul(x1: Any, x2: Any, /) -> Any:
    """The product of matrices, or batches of them; a vector is a row on the left and a column on the right."""
    a, b = _numbers(x1, x2)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul is not of arrays of rank 0: use multiply")
    left, right = a.ndim == 1, b.ndim == 1
    inner = a.shape[-1], b.shape[-1 if right else -2]
    if isinstance(inner[0], int) and isinstance(inner[1], int) and inner[0] != inner[1]:
        raise ValueError(f"matmul: the inner extents {inner[0]} and {inner[1]} of {a.shape} and {b.shape} differ")
    a = expand_dims(a, 0) if left else a
    b = expand_dims(b, 1) if right else b
    found = _product(a, b)
    if right:
        found = squeeze(found, -1)
    return squeeze(found, -1 if right else -2) if left else found


def _product(a: Any, b: Any) -> Any:
    if b.ndim == 2:
        return emit("nn.matmul", a, b)
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    if a.ndim == 2:
        a = reshape(a, (*[1] * len(batch), *a.shape))
    a = a if a.ndim == len(batch) + 2 else reshape(a, (*[1] * (len(batch) + 2 - a.ndim), *a.shape))
    b = b if b.ndim == len(batch) + 2 else reshape(b, (*[1] * (len(batch) + 2 - b.ndim), *b.shape))
    return emit("nn.batch_matmul", a, b)


@operation
def einsum(equation: str, /, *arrays: Any) -> Any:
    """Sums of products over axes with letters: `einsum("ij,jk->ik", a, b)`."""
    values = [lift(one) for one in arrays]
    dtype = common(values)
    return emit("einsum", [cast(value, dtype) for value in values], equation=equation.replace(" ", ""))


@operation
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The sum of products over pairs of axes: the last ones of the first with the first ones of the second, or those named."""
    a, b = _numbers(x1, x2)
    if isinstance(axes, int):
        if axes > min(a.ndim, b.ndim) or axes < 0:
            raise ValueError(f"arrays of rank {a.ndim} and {b.ndim} have no {axes} axes in common")
        first, second = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        first, second = [axes_of(tuple(part) if isinstance(part, (tuple, list)) else part, one.ndim) for part, one in zip(axes, (a, b))]
    if len(first) != len(second):
        raise ValueError(f"{len(first)} axes do not go together with {len(second)}")
    letters = iter(string.ascii_letters)
    left = [next(letters) for _ in range(a.ndim)]
    right = [next(letters) for _ in range(b.ndim)]
    for i, j in zip(first, second):
        if isinstance(a.shape[i], int) and isinstance(b.shape[j], int) and a.shape[i] != b.shape[j]:
            raise ValueError(f"tensordot: axis {i} of {a.shape} and axis {j} of {b.shape} differ")
        right[j] = left[i]
    kept = [one for i, one in enumerate(left) if i not in first] + [one for j, one in enumerate(right) if j not in second]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(kept)}", a, b)


@operation
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The sum of products along an axis."""
    a, b = _numbers(x1, x2)
    if not -min(a.ndim, b.ndim) <= axis < max(a.ndim, b.ndim):
        raise ValueError(f"axis {axis} is outside of arrays of rank {a.ndim} and {b.ndim}")
    if isinstance(a.shape[axis], int) and isinstance(b.shape[axis], int) and a.shape[axis] != b.shape[axis]:
        raise ValueError(f"vecdot: the extents {a.shape[axis]} and {b.shape[axis]} of axis {axis} differ")
    product = emit("multiply", a, b)
    return emit("sum", product, axis=[axis_of(axis, product.ndim)])


@operation
def dot(x1: Any, x2: Any, /) -> Any:
    """NumPy's dot: a product with numbers, of vectors, or over the last axis of the first and the last but one of the second."""
    a, b = _numbers(x1, x2)
    if not a.ndim or not b.ndim:
        return emit("multiply", a, b)
    return tensordot(a, b, axes=([a.ndim - 1], [max(b.ndim - 2, 0)])) if b.ndim > 2 else matmul(a, b)


def vdot(x1: Any, x2: Any, /) -> Any:
    """The sum of products of all elements."""
    return vecdot(reshape(x1, (-1,)), reshape(x2, (-1,)))


@operation
def inner(x1: Any, x2: Any, /) -> Any:
    """Sums of products over the last axes."""
    a, b = _numbers(x1, x2)
    return emit("multiply", a, b) if not a.ndim or not b.ndim else tensordot(a, b, axes=([a.ndim - 1], [b.ndim - 1]))


@operation
def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of a vector and one of another."""
    a, b = operands(x1, x2)[0]
    return emit("multiply", reshape(a, (-1, 1)), reshape(b, (1, -1)))


@operation
def kron(x1: Any, x2: Any, /) -> Any:
    """The second matrix, times each element of the first, in its place."""
    a, b = _numbers(x1, x2)
    product = emit("multiply", reshape(a, (a.shape[0], 1, a.shape[1], 1)), reshape(b, (1, b.shape[0], 1, b.shape[1])))
    return reshape(product, (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]))


@operation
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The vector that stands on two vectors of three numbers."""
    a, b = _numbers(x1, x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(f"cross is of vectors of 3 numbers, not of {a.shape[axis]} and {b.shape[axis]}")
    shape = tuple(broadcast_shape(a.shape, b.shape))
    a, b = swapaxes(broadcast_to(a, shape), axis, -1), swapaxes(broadcast_to(b, shape), axis, -1)
    ax, ay, az = (a[..., i] for i in range(3))
    bx, by, bz = (b[..., i] for i in range(3))
    return swapaxes(emit("stack", [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=a.ndim - 1), axis, -1)


@operation
def diagonal(x: Any, /, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """The elements on a diagonal of matrices."""
    value = lift(x)
    from .manipulation import moveaxis

    value = moveaxis(value, (axis1, axis2), (-2, -1))
    rows, columns = operator.index(value.shape[-2]), operator.index(value.shape[-1])
    first = (max(-offset, 0), max(offset, 0))
    count = max(0, min(rows - first[0], columns - first[1]))
    flat = reshape(value, (*value.shape[:-2], rows * columns))
    begin = first[0] * columns + first[1]
    if not count:
        return flat[..., :0]
    return flat[..., begin : begin + (count - 1) * (columns + 1) + 1 : columns + 1]


@operation
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of matrices."""
    return _sum(diagonal(x, offset), -1, dtype=dtype)
