"""Operators on images that take more than a plain call."""

from __future__ import annotations

from typing import Any, Sequence

from .._core import Expr, call_op
from ._arrays import over_arrays
from ._common import DTypeLike, ExprLike, as_const, is_expr, shape_expr, static_list
from .generated import image as _generated
from .generated.image import *  # noqa: F403

__all__ = ["resize1d", "resize2d", "resize3d"]
__all__ += _generated.__all__

_RESIZE = """Args:
        data: Images in `layout`.
        size: Extents of the result in space.
        roi: The part of the image to take, for "tf_crop_and_resize": where it starts and ends, as fractions.
        layout: Layout of the data.
        method: "nearest_neighbor", "linear" or "cubic".
        coordinate_transformation_mode: Place in the data of an element of the result.
        rounding_method: How "nearest_neighbor" rounds.
        cubic_alpha: Coefficient of the cubic kernel.
        cubic_exclude: True if the kernel leaves out taps outside of the image.
        extrapolation_value: Value outside of the image, for "tf_crop_and_resize".
        out_dtype: Dtype of the result; that of the data by default.
    """


def _resize(rank: int, data: ExprLike, size: Any, roi: Any, **attrs: Any) -> Expr:
    static = static_list(size)
    regions = [0.0] * (2 * rank) if roi is None else roi
    if static is not None and not is_expr(regions):
        static = static * rank if len(static) == 1 else static
        return call_op(f"image.resize{rank}d", data, size=static, roi=list(regions), **attrs)
    if rank != 2:
        raise TypeError(f"the size of resize{rank}d is a list of numbers: only that of resize2d may be an expression")
    return call_op("dyn.image.resize2d", data, shape_expr(size), as_const(regions, "float32"), **attrs)


def resize1d(
    data: ExprLike,
    size: Any,
    roi: Sequence[float] | None = None,
    layout: str = "NCW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: DTypeLike = None,
) -> Expr:
    """Signals at another length. The arguments are those of `resize2d`."""
    return _resize(
        1, data, size, roi, layout=layout, method=method, coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=rounding_method, cubic_alpha=cubic_alpha, cubic_exclude=cubic_exclude,
        extrapolation_value=extrapolation_value, out_dtype=out_dtype,
    )  # fmt: skip


def resize2d(
    data: ExprLike,
    size: Any,
    roi: Any = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: DTypeLike = None,
) -> Expr:
    """Images at another size, which may be an expression, as may be `roi`."""
    return _resize(
        2, data, size, roi, layout=layout, method=method, coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=rounding_method, cubic_alpha=cubic_alpha, cubic_exclude=cubic_exclude,
        extrapolation_value=extrapolation_value, out_dtype=out_dtype,
    )  # fmt: skip


resize2d.__doc__ = f"{resize2d.__doc__}\n\n    {_RESIZE}"


def resize3d(
    data: ExprLike,
    size: Any,
    roi: Sequence[float] | None = None,
    layout: str = "NCDHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: DTypeLike = None,
) -> Expr:
    """Volumes at another size. The arguments are those of `resize2d`."""
    return _resize(
        3, data, size, roi, layout=layout, method=method, coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=rounding_method, cubic_alpha=cubic_alpha, cubic_exclude=cubic_exclude,
        extrapolation_value=extrapolation_value, out_dtype=out_dtype,
    )  # fmt: skip


over_arrays(globals(), __all__)
