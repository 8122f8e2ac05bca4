"""Operators on tensors that take more than a plain call: shapes that may be expressions, several results, defaults.

What a parameter of these functions may be beyond a number or list is an expression: then the extents are known only when the
program runs, and the call is one of the `dyn` operators.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

from .._core import Expr, Tuple, TupleType, call_op
from ..expr import TupleWrapper, as_expr, const
from ._arrays import over_arrays
from ._common import DTypeLike, ExprLike, as_const, is_expr, number_of, shape_expr, static_list
from ._devices import device_text
from .generated import tensor as _generated
from .generated.tensor import *  # noqa: F403

__all__ = [
    "arange", "broadcast_to", "collapse_sum_to", "copy_device", "debug", "device_copy", "expand_dims", "full", "logsumexp",
    "matrix_set_diag", "mean_std", "mean_variance", "meshgrid", "one_hot", "ones", "reshape", "reverse_reshape", "segment_sum",
    "sparse_fill_empty_rows", "sparse_reshape", "sparse_to_dense", "split", "squeeze", "std", "stft", "strided_set", "strided_slice",
    "tile", "topk", "trilu", "unique", "unravel_index", "variance", "zeros",
]  # fmt: skip
__all__ += _generated.__all__


def reshape(data: ExprLike, newshape: Any, allowzero: bool = False) -> Expr:
    """The same elements in row-major order under another shape.

    Args:
        data: Tensor.
        newshape: New extents, or an expression of them: 0 copies an axis, -1 is inferred, -2 copies the rest, -3 merges two axes, -4
            splits one into the two extents that follow.
        allowzero: 0 means an extent of 0.
    """
    shape = static_list(newshape)
    if shape is None:
        return call_op("dyn.reshape", data, shape_expr(newshape), allowzero=bool(allowzero))
    return call_op("reshape", data, newshape=shape, allowzero=bool(allowzero))


def reverse_reshape(data: ExprLike, newshape: Any) -> Expr:
    """Reshapes with the special values of `newshape` (see `reshape`) read from the right."""
    return call_op("contrib_reverse_reshape", data, newshape=static_list(newshape))


def broadcast_to(data: ExprLike, shape: Any) -> Expr:
    """The tensor repeated along axes of extent 1 and new leading ones until it has a shape, which may be an expression."""
    static = static_list(shape)
    if static is None:
        return call_op("dyn.broadcast_to", data, shape_expr(shape))
    return call_op("broadcast_to", data, shape=static)


def collapse_sum_to(data: ExprLike, shape: Any) -> Expr:
    """Sums over the axes along which a tensor of `shape` would be broadcast to the data's."""
    return call_op("collapse_sum_to", data, as_const(shape, "int32"))


def grad(function: Expr, argnums: int | Sequence[int] = 0) -> Expr:
    """A call of the operator `grad`: the gradient of a function as a value of the program, written out before the program runs.

    `relay.grad` gives the gradient itself. `function` is a `GlobalVar`, a `Function`, or the variable of a let that binds one.
    """
    return call_op("grad", function, argnums=argnums)


def value_and_grad(function: Expr, argnums: int | Sequence[int] = 0) -> Expr:
    """Like `grad`; the function gives ``(value, gradient)``."""
    return call_op("value_and_grad", function, argnums=argnums)


def vjp(function: Expr, argnums: int | Sequence[int] = 0) -> Expr:
    """Like `value_and_grad`, for a function of any result: the gradient takes a gradient of the result, too, after the parameters."""
    return call_op("vjp", function, argnums=argnums)


def _filled(name: str, shape: Any, dtype: DTypeLike, *operands: Any) -> Expr:
    static = static_list(shape)
    if static is None:
        return call_op("dyn." + name, *operands, shape_expr(shape), dtype=dtype)
    return call_op(name, *operands, shape=static, dtype=dtype)


def full(fill_value: ExprLike, shape: Any = (), dtype: DTypeLike = "") -> Expr:
    """A tensor of one value.

    Args:
        fill_value: Scalar.
        shape: Extents of the result; they may be an expression.
        dtype: Dtype of the result; that of the value by default.
    """
    value = as_expr(fill_value) if is_expr(fill_value) or not dtype else const(fill_value, dtype)
    return _filled("full", shape, dtype or None, value)


def zeros(shape: Any, dtype: DTypeLike) -> Expr:
    """A tensor of zeros; its extents may be an expression."""
    return _filled("zeros", shape, dtype)


def ones(shape: Any, dtype: DTypeLike) -> Expr:
    """A tensor of ones; its extents may be an expression."""
    return _filled("ones", shape, dtype)


def arange(start: ExprLike, stop: ExprLike | None = None, step: ExprLike | None = None, dtype: DTypeLike = "float32") -> Expr:
    """The vector start, start + step, … before stop.

    Args:
        start: Scalar; without `stop`, that one, and the vector starts at 0.
        stop: End of the range, which is not part of it.
        step: The distance, other than 0; 1 by default.
        dtype: Dtype of the result.
    """
    if stop is None:
        start, stop = 0, start
    return call_op("arange", *(as_const(bound, dtype) for bound in (start, stop, 1 if step is None else step)), dtype=dtype)


def squeeze(data: ExprLike, axis: Any = None) -> Expr:
    """The tensor without axes of extent 1.

    Args:
        data: Tensor.
        axis: The axes to drop, one or a list or an expression; all of extent 1 by default.
    """
    axes = None if axis is None else static_list(axis)
    if axis is not None and axes is None:
        return call_op("dyn.squeeze", data, shape_expr(axis))
    return call_op("squeeze", data, axis=axes)


def expand_dims(data: ExprLike, axis: Any, num_newaxis: int = 1) -> Expr:
    """The tensor with new axes of extent 1 before `axis`, which may be an expression."""
    axis = number_of(axis)
    if is_expr(axis):
        return call_op("dyn.expand_dims", data, axis, num_newaxis=num_newaxis)
    return call_op("expand_dims", data, axis=axis, num_newaxis=num_newaxis)


def tile(data: ExprLike, reps: Any) -> Expr:
    """The tensor repeated along each axis; how often may be an expression."""
    static = static_list(reps)
    if static is None:
        return call_op("dyn.tile", data, shape_expr(reps))
    return call_op("tile", data, reps=static)


def split(data: ExprLike, indices_or_sections: Any, axis: int = 0) -> TupleWrapper:
    """Consecutive parts along an axis, as a tuple that unpacks in Python.

    Args:
        data: Tensor.
        indices_or_sections: Number of equal parts, or the rising indices to cut before.
        axis: Axis to cut.
    """
    if isinstance(indices_or_sections, (list, tuple)):
        indices_or_sections = static_list(indices_or_sections)
        size = len(indices_or_sections) + 1
    else:
        indices_or_sections = number_of(indices_or_sections)
        size = int(indices_or_sections)
    return TupleWrapper(call_op("split", data, indices_or_sections=indices_or_sections, axis=axis), size)


def strided_slice(
    data: ExprLike,
    begin: Any,
    end: Any,
    strides: Any = None,
    axes: Sequence[int] | None = None,
    slice_mode: str = "end",
) -> Expr:
    """Every stride-th element between begin and end, on each axis.

    Args:
        data: Tensor.
        begin: First index on each axis, as a list or an expression; negative counts from the end.
        end: End on each axis, or its size: see slice_mode; a list or an expression.
        strides: Step on each axis; 1 where not given.
        axes: Axes that begin, end and strides speak of; the first ones by default.
        slice_mode: "end": `end` has indices to stop before. "size": numbers of elements; -1 takes the rest, and steps are 1.
    """
    lists = [static_list(bound) for bound in (begin, end)]
    steps = None if strides is None else static_list(strides)
    axes = None if axes is None else list(axes)
    if None not in lists and (strides is None or steps is not None):
        return call_op("strided_slice", data, begin=lists[0], end=lists[1], strides=steps, slice_mode=slice_mode, axes=axes)
    bounds = [shape_expr(bound) for bound in (begin, end, [1] if strides is None else strides)]
    return call_op("dyn.strided_slice", data, *bounds, slice_mode=slice_mode, axes=axes)


def strided_set(data: ExprLike, v: ExprLike, begin: Any, end: Any, strides: Any = None) -> Expr:
    """The data with every stride-th element between begin and end replaced, on each axis.

    Args:
        data: Tensor.
        v: New elements, in the shape of the slice.
        begin: First position on each axis; negative ones count from the end.
        end: Position to stop before on each axis.
        strides: Step on each axis; 1 where there is none.
    """
    steps = const([1], "int32") if strides is None else as_const(strides, "int32")
    return call_op("strided_set", data, v, as_const(begin, "int32"), as_const(end, "int32"), steps)


def one_hot(indices: ExprLike, on_value: ExprLike, off_value: ExprLike, depth: Any, axis: int, dtype: DTypeLike) -> Expr:
    """A new axis on which each index is marked.

    Args:
        indices: Tensor of integers.
        on_value: Scalar at the index.
        off_value: Scalar elsewhere.
        depth: Extent of the new axis; it may be an expression.
        axis: Position of the new axis.
        dtype: Dtype of the result.
    """
    values = (as_const(on_value, dtype), as_const(off_value, dtype))
    depth = number_of(depth)
    if is_expr(depth):
        return call_op("dyn.one_hot", indices, *values, depth, axis=axis, dtype=dtype)
    return call_op("one_hot", indices, *values, depth=depth, axis=axis, dtype=dtype)


def topk(
    data: ExprLike, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: DTypeLike = "int32"
) -> Expr | TupleWrapper:
    """The k greatest (or least) elements along an axis in order, and their positions; of equal ones the first.

    Args:
        data: Tensor.
        k: Number of elements; all if less than 1. It may be an expression.
        axis: Axis to choose along.
        ret_type: "both": elements and positions, which unpack in Python. "values" or "indices": one of them.
        is_ascend: True if the least are chosen instead of the greatest.
        dtype: Dtype of positions, int32 or int64.
    """
    k = number_of(k)
    attrs = {"axis": axis, "ret_type": ret_type, "is_ascend": bool(is_ascend), "dtype": dtype}
    call = call_op("dyn.topk", data, k, **attrs) if is_expr(k) else call_op("topk", data, k=k, **attrs)
    return TupleWrapper(call, 2) if ret_type == "both" else call


def unique(data: ExprLike, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
    """The different elements of a vector; where each is first; for each element the number of its value; how many values there are;
    with `return_counts` how often each occurs. Values come in rising order, or as they appear without `is_sorted`."""
    call = call_op("unique", data, sorted=bool(is_sorted), return_counts=bool(return_counts))
    return TupleWrapper(call, 5 if return_counts else 4)


def meshgrid(data: ExprLike, indexing: str = "ij") -> TupleWrapper:
    """Coordinates of a grid from those of its axes (vectors or scalars): a tensor for each, as a tuple that unpacks in Python."""
    grid = data if isinstance(data, TupleWrapper) else as_expr(data)
    if isinstance(grid, TupleWrapper):
        size = len(grid)
    elif isinstance(grid, Tuple):
        size = len(grid.fields)
    else:
        fields = grid.checked_type
        if not isinstance(fields, TupleType):
            raise TypeError(f"meshgrid takes a tuple of vectors, not {fields}")
        size = len(fields.fields)
    return TupleWrapper(call_op("meshgrid", grid, indexing=indexing), size)


def variance(
    data: ExprLike,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: ExprLike | None = None,
) -> Expr:
    """Mean of the squared differences from the mean, over axes.

    Args:
        data: Tensor of floats.
        axis: Axes to reduce over; all of them by default.
        keepdims: True if reduced axes stay, with extent 1.
        exclude: Whether `axis` lists the axes that stay.
        unbiased: True divides by one less than the number of elements.
        with_mean: The mean, where it is known, with the reduced axes kept.
    """
    mean = call_op("mean", data, axis=axis, keepdims=True, exclude=bool(exclude)) if with_mean is None else with_mean
    flags = {"keepdims": bool(keepdims), "exclude": bool(exclude), "unbiased": bool(unbiased)}
    return call_op("variance", data, mean, axis=axis, **flags)


def std(data: ExprLike, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """The square root of the `variance`."""
    return call_op("sqrt", variance(data, axis, keepdims, exclude, unbiased))


def _mean_and(
    spread: Callable[..., Expr], data: ExprLike, axis: Any, keepdims: bool, exclude: bool, unbiased: bool
) -> TupleWrapper:
    data = as_expr(data)
    mean = call_op("mean", data, axis=axis, keepdims=bool(keepdims), exclude=bool(exclude))
    return TupleWrapper(Tuple([mean, spread(data, axis, keepdims, exclude, unbiased)]), 2)


def mean_variance(
    data: ExprLike, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
    """The mean and the `variance` over axes."""
    return _mean_and(variance, data, axis, keepdims, exclude, unbiased)


def mean_std(data: ExprLike, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """The mean and the standard deviation over axes."""
    return _mean_and(std, data, axis, keepdims, exclude, False)


def logsumexp(data: ExprLike, axis: Any = None, keepdims: bool = False) -> Expr:
    """The logarithm of the sum of exponentials over axes, without overflow."""
    data = as_expr(data)
    greatest = call_op("max", data, axis=axis, keepdims=True)
    exponentials = call_op("exp", call_op("subtract", data, greatest))
    result = call_op("add", call_op("log", call_op("sum", exponentials, axis=axis, keepdims=True)), greatest)
    return result if keepdims else call_op("squeeze", result, axis=None if axis is None else static_list(axis))


def matrix_set_diag(data: ExprLike, diagonal: ExprLike, k: Any = 0, align: str = "RIGHT_LEFT") -> Expr:
    """Matrices with a diagonal, or a band of them, replaced.

    Args:
        data: Matrices.
        diagonal: The diagonals, from the highest down to the lowest, each as long as the longest of them; without their axis if
            there is one.
        k: The diagonal, or the lowest and the highest; 0 is the main one, those below it are negative.
        align: Place of shorter diagonals in their row of `diagonal`: those above the main one, then those below it.
    """
    low, high = k if isinstance(k, (list, tuple)) else (k, k)
    above, _, below = align.partition("_")
    if {above, below} - {"LEFT", "RIGHT"}:
        raise ValueError(f"align is two of LEFT and RIGHT with a _ between, not {align!r}")
    flags = {"super_diag_right_align": above == "RIGHT", "sub_diag_right_align": below == "RIGHT"}
    return call_op("matrix_set_diag", data, diagonal, k1=number_of(low), k2=number_of(high), **flags)


def trilu(data: ExprLike, k: ExprLike, upper: bool = True) -> Expr:
    """The upper (or lower) triangle of matrices, zeros elsewhere; `k` is the diagonal where it starts."""
    return call_op("trilu", data, as_const(k, "int32"), upper=bool(upper))


def unravel_index(indices: ExprLike, shape: Any) -> Expr:
    """Positions in a tensor of `shape` from positions in its elements in row-major order."""
    return call_op("unravel_index", indices, as_const(shape, "int32"))


def segment_sum(data: ExprLike, segment_ids: ExprLike, num_segments: Any = None) -> Expr:
    """Sums of the rows that have the same number.

    Args:
        data: Tensor.
        segment_ids: The number of each row, a vector of integers.
        num_segments: Number of sums; one more than the greatest number by default.
    """
    data, ids = as_expr(data), as_expr(segment_ids)
    if num_segments is None:
        count = call_op("add", call_op("reshape", call_op("max", ids), newshape=[1]), call_op("cast_like", const([1]), ids))
    else:
        count = call_op("reshape", as_const(num_segments, None), newshape=[1])
    count = call_op("cast", count, dtype="int64")
    rest = call_op("strided_slice", call_op("shape_of", data, dtype="int64"), begin=[1], end=[-1], slice_mode="size")
    start = call_op("cast_like", call_op("dyn.zeros", call_op("concatenate", Tuple([count, rest]), axis=0), dtype="int32"), data)
    return call_op("scatter_nd", start, call_op("expand_dims", ids, axis=0), data, mode="add")


def sparse_to_dense(sparse_indices: ExprLike, output_shape: Any, sparse_values: ExprLike, default_value: ExprLike = 0) -> Expr:
    """A tensor of listed elements.

    Args:
        sparse_indices: Positions: a scalar, a vector, or one row each.
        output_shape: Extents of the result; they may be an expression.
        sparse_values: The elements at the positions.
        default_value: Value of all other elements.
    """
    static = static_list(output_shape)
    operands = (sparse_indices, sparse_values, default_value)
    if static is None:
        return call_op("dyn.sparse_to_dense", *operands, shape_expr(output_shape))
    return call_op("sparse_to_dense", *operands, output_shape=static)


def sparse_reshape(sparse_indices: ExprLike, prev_shape: Any, new_shape: Any) -> TupleWrapper:
    """Positions of the elements of a sparse tensor after a reshape, and the new shape."""
    return TupleWrapper(call_op("sparse_reshape", sparse_indices, as_const(prev_shape, "int64"), as_const(new_shape, "int64")), 2)


def sparse_fill_empty_rows(
    sparse_indices: ExprLike, sparse_values: ExprLike, dense_shape: Any, default_value: ExprLike
) -> TupleWrapper:
    """A sparse tensor of rank 2 with an element in each row that had none: positions, elements, and which rows were empty."""
    call = call_op("sparse_fill_empty_rows", sparse_indices, sparse_values, as_const(dense_shape, "int64"), default_value)
    return TupleWrapper(call, 3)


def stft(
    data: ExprLike,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: ExprLike | None = None,
    normalized: bool = False,
    onesided: bool = True,
) -> Expr:
    """Fourier transforms of windows that slide along signals.

    Args:
        data: Signals, one or a batch of them.
        n_fft: Length of a transform.
        hop_length: Distance of windows; a quarter of n_fft by default.
        win_length: Length of the window; n_fft by default.
        window: Factors of the window; ones by default.
        normalized: True if results are divided by the square root of n_fft.
        onesided: True if only the first half of the frequencies is given, since those of real signals repeat.
    """
    win_length = n_fft if win_length is None else win_length
    window = call_op("ones", shape=[win_length], dtype="float32") if window is None else window
    flags = {"normalized": bool(normalized), "onesided": bool(onesided)}
    hop = n_fft // 4 if hop_length is None else hop_length
    return call_op("stft", data, window, n_fft=n_fft, hop_length=hop, win_length=win_length, **flags)


def device_copy(data: ExprLike, src_device: Any, dst_device: Any) -> Expr:
    """The data copied from one device to another; devices are named as "cpu(0)", or "cpu" for the first one."""
    return call_op(
        "device_copy", data, src_virtual_device=device_text(src_device), dst_virtual_device=device_text(dst_device)
    )


copy_device = device_copy


def debug(expr: ExprLike, debug_func: str | None = None) -> Expr:
    """The value itself; a function of Python that looks at it on the way is not supported."""
    if callable(debug_func):
        raise NotImplementedError("a function of Python that is called while a program runs is not supported")
    return call_op("debug", expr, debug_func=debug_func or "")


over_arrays(globals(), __all__)
