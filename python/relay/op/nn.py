"""Operators of neural networks that take more than a plain call."""

from __future__ import annotations

from numbers import Real
from typing import Any, Sequence

from .. import _core
from .._core import Constant, Expr, TensorType, TupleGetItem, call_op
from ..expr import TupleWrapper, as_expr, const
from . import tensor as _tensor
from ._arrays import current_module, over_arrays
from ._common import DTypeLike, ExprLike, as_const, is_expr, number_of, pad_tuple, plain, sizes, static_list
from .generated import nn as _generated
from .generated.nn import *  # noqa: F403

__all__ = [
    "conv2d_backward_weight", "dropout", "dropout_raw", "get_pad_tuple1d", "get_pad_tuple2d", "get_pad_tuple3d",
    "global_avg_pool1d", "global_avg_pool3d", "global_max_pool1d", "global_max_pool3d", "pad", "sparse_add", "sparse_dense",
    "sparse_transpose", "upsampling", "upsampling3d",
]  # fmt: skip
__all__ += _generated.__all__


def pad(data: ExprLike, pad_width: Any, pad_value: ExprLike = 0, pad_mode: str = "constant") -> Expr:
    """The tensor with elements added before and after it on every axis, or taken away where pad_width is negative.

    Args:
        data: Tensor.
        pad_width: Elements before and after the data, a pair for each axis; or an expression of them.
        pad_value: Scalar for mode "constant".
        pad_mode: Source of the new elements: "constant", "edge" or "reflect".
    """
    if isinstance(pad_width, Constant):
        pad_width = pad_width.data.numpy().tolist()
    if is_expr(pad_width):
        return call_op("dyn.nn.pad", data, pad_width, pad_value, pad_mode=pad_mode)
    pairs = [[int(number_of(amount)) for amount in pair] for pair in plain(pad_width)]
    return call_op("nn.pad", data, pad_value, pad_width=pairs, pad_mode=pad_mode)


def dropout_raw(data: ExprLike, rate: float = 0.5) -> Expr:
    """The data and a mask of ones: at inference nothing is dropped. A tuple."""
    return call_op("nn.dropout", data, rate=rate)


def dropout(data: ExprLike, rate: float = 0.5, key: ExprLike | None = None) -> Expr:
    """Elements set to 0 with the probability `rate`, and the others divided by 1 - `rate`: by a key, which is used up. Without one, the data.

    Args:
        data: Tensor of floats; its extents are known if a key is given.
        rate: The probability, from 0 to 1.
        key: A key of `relay.random`, in training. The same key drops the same elements; gradients go to those that stay.
    """
    if key is None:
        return TupleWrapper(dropout_raw(data, rate), 2)[0]
    chance = number_of(rate)
    if isinstance(chance, bool) or not isinstance(chance, Real) or not 0 <= float(chance) <= 1:
        raise ValueError(f"dropout: rate is a number from 0 to 1, not {rate!r}")
    chance = float(chance)
    tensor = as_expr(data)
    kind = _core.infer_expr_type(tensor, current_module())
    extents = static_list(kind.shape) if isinstance(kind, TensorType) else None
    if not isinstance(kind, TensorType) or extents is None or kind.dtype not in ("float16", "bfloat16", "float32", "float64"):
        raise ValueError(f"dropout by a key is of a tensor of floats of known extents, not of {kind}")
    if chance == 1:
        return _tensor.zeros_like(tensor)
    drawn = TupleGetItem(call_op("random.uniform", key, *(const(bound, "float32") for bound in (0, 1)), out_shape=extents, out_dtype="float32"), 1)
    kept = _tensor.less(drawn, const(1 - chance, "float32"))
    try:
        factor = const(1 / (1 - chance), kind.dtype)
    except OverflowError:
        raise ValueError(f"dropout: at a rate of {rate!r} elements are multiplied by {1 / (1 - chance):g}, which {kind.dtype} cannot hold") from None
    return _tensor.where(kept, _tensor.multiply(tensor, factor), _tensor.zeros_like(tensor))


def _scaled(name: str, data: ExprLike, scales: dict[str, Any], **attrs: Any) -> Expr:
    scales = {key: number_of(scale) for key, scale in scales.items()}
    if any(is_expr(scale) for scale in scales.values()):
        return call_op("dyn." + name, data, *(as_const(scale, "float32") for scale in scales.values()), **attrs)
    return call_op(name, data, **scales, **attrs)


def upsampling(
    data: ExprLike,
    scale_h: Any = 1,
    scale_w: Any = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Expr:
    """Images scaled up.

    Args:
        data: Images in `layout`.
        scale_h: Factor of the height; it may be an expression.
        scale_w: Factor of the width; it may be an expression.
        layout: Layout of the data.
        method: "nearest_neighbor", "bilinear" or "bicubic".
        align_corners: True if the centres of the corner pixels stay in place.
    """
    scales = {"scale_h": scale_h, "scale_w": scale_w}
    return _scaled("nn.upsampling", data, scales, layout=layout, method=method, align_corners=bool(align_corners))


def upsampling3d(
    data: ExprLike,
    scale_d: Any = 1,
    scale_h: Any = 1,
    scale_w: Any = 1,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Expr:
    """Volumes scaled up; factors of depth, height and width may be expressions.

    Args:
        data: Volumes in `layout`.
        scale_d: Factor of the depth.
        scale_h: Factor of the height.
        scale_w: Factor of the width.
        layout: Layout of the data.
        method: "nearest_neighbor" or "trilinear".
        coordinate_transformation_mode: "half_pixel", "align_corners" or "asymmetric".
    """
    scales = {"scale_d": scale_d, "scale_h": scale_h, "scale_w": scale_w}
    mode = coordinate_transformation_mode
    return _scaled("nn.upsampling3d", data, scales, layout=layout, method=method, coordinate_transformation_mode=mode)


def global_avg_pool1d(data: ExprLike, layout: str = "NCW", out_layout: str = "") -> Expr:
    """The mean of each channel; its axis stays, with extent 1."""
    return call_op("nn.adaptive_avg_pool1d", data, output_size=[1], layout=layout, out_layout=out_layout)


def global_max_pool1d(data: ExprLike, layout: str = "NCW", out_layout: str = "") -> Expr:
    """The greatest element of each channel; its axis stays, with extent 1."""
    return call_op("nn.adaptive_max_pool1d", data, output_size=[1], layout=layout, out_layout=out_layout)


def global_avg_pool3d(data: ExprLike, layout: str = "NCDHW", out_layout: str = "") -> Expr:
    """The mean of each channel; its axes stay, with extent 1."""
    return call_op("nn.adaptive_avg_pool3d", data, output_size=[1, 1, 1], layout=layout, out_layout=out_layout)


def global_max_pool3d(data: ExprLike, layout: str = "NCDHW", out_layout: str = "") -> Expr:
    """The greatest element of each channel; its axes stay, with extent 1."""
    return call_op("nn.adaptive_max_pool3d", data, output_size=[1, 1, 1], layout=layout, out_layout=out_layout)


def conv2d_backward_weight(
    grad: ExprLike,
    data: ExprLike,
    strides: Sequence[int] | int = (1, 1),
    padding: Sequence[int] | int = (0, 0),
    dilation: Sequence[int] | int = (1, 1),
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Sequence[int] | int | None = None,
    grad_layout: str = "NCHW",
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_dtype: DTypeLike = "",
) -> Expr:
    """The gradient of `conv2d` by its weight.

    Args:
        grad: Gradient of the convolution's result, in grad_layout.
        data: Data of the convolution, in data_layout.
        strides: Steps of the window.
        padding: Zeros around the data.
        dilation: Distance of the kernel's taps.
        groups: Groups of channels that do not mix.
        channels: Channels of the convolution's result.
        kernel_size: Extents of the kernel.
        grad_layout: Layout of the gradient.
        data_layout: Layout of the data.
        kernel_layout: Layout of the weight, which is the result's.
        out_dtype: Dtype of the result; that of the data by default.
    """
    attrs = {"strides": sizes(strides, 2), "padding": pad_tuple(padding, 2), "dilation": sizes(dilation, 2), "groups": groups}
    # The operator has the attributes of a convolution; the data stand where the kernel does.
    layouts = {"data_layout": grad_layout, "kernel_layout": data_layout.replace("N", "O").replace("C", "I"), "out_layout": kernel_layout}
    attrs |= {"channels": channels, "kernel_size": sizes(kernel_size, 2), "out_dtype": out_dtype}
    return call_op("nn.conv2d_backward_weight", grad, data, **attrs, **layouts)


def _sparse_parts(sparse: Any) -> list[Expr]:
    if not isinstance(sparse, (list, tuple, TupleWrapper)):
        sparse = (sparse.data, sparse.indices, sparse.indptr)
    parts = [as_const(part) for part in sparse]
    if len(parts) != 3:
        raise ValueError(f"a sparse matrix is its elements, their columns and where rows start, not {len(parts)} parts")
    return parts


def sparse_dense(dense_mat: ExprLike, sparse_mat: Any, sparse_lhs: bool = False) -> Expr:
    """The product of a dense matrix and the transpose of a sparse one.

    Args:
        dense_mat: Matrix.
        sparse_mat: Elements, columns and starts of rows (CSR or BSR), as a tuple or as an object of SciPy.
        sparse_lhs: True if the sparse matrix is the left factor.
    """
    return call_op("nn.sparse_dense", dense_mat, *_sparse_parts(sparse_mat), sparse_lhs=bool(sparse_lhs))


def sparse_add(dense_mat: ExprLike, sparse_mat: Any) -> Expr:
    """The sum of a dense matrix and a sparse one, given as by `sparse_dense`."""
    return call_op("nn.sparse_add", dense_mat, *_sparse_parts(sparse_mat))


def sparse_transpose(x: Any) -> TupleWrapper:
    """The transpose of a square sparse matrix, given as by `sparse_dense`: elements, columns and starts of rows."""
    return TupleWrapper(call_op("nn.sparse_transpose", *_sparse_parts(x)), 3)


def get_pad_tuple1d(padding: Sequence[int] | int) -> tuple[int, ...]:
    """Padding before and after of one or two numbers."""
    return pad_tuple(padding, 1)


def get_pad_tuple2d(padding: Sequence[int] | int) -> tuple[int, ...]:
    """Padding at the top, left, bottom, right of one, two or four numbers."""
    return pad_tuple(padding, 2)


def get_pad_tuple3d(padding: Sequence[int] | int) -> tuple[int, ...]:
    """Padding at the front, top, left, back, bottom, right of one, three or six numbers."""
    return pad_tuple(padding, 3)


over_arrays(globals(), __all__)
