"""NumPy references for tests of operators. Schedules of TVM's own tests are not there."""

from __future__ import annotations

from typing import Any

from ... import _absent
from .arrays import (
    batch_to_space_nd_python as batch_to_space_nd_python, depth_to_space_python as depth_to_space_python,
    dilate_python as dilate_python, gather_nd_python as gather_nd_python, gather_python as gather_python, matrix_set_diag as matrix_set_diag, one_hot as one_hot,
    searchsorted_ref as searchsorted_ref, sequence_mask as sequence_mask, space_to_batch_nd_python as space_to_batch_nd_python,
    slice_axis_python as slice_axis_python, space_to_depth_python as space_to_depth_python, strided_set_python as strided_set_python,
    strided_slice_python as strided_slice_python,
)  # fmt: skip
from .networks import (
    batch_matmul as batch_matmul, conv1d_ncw_python as conv1d_ncw_python, conv2d_nchw_python as conv2d_nchw_python,
    conv2d_nhwc_python as conv2d_nhwc_python, conv3d_ncdhw_python as conv3d_ncdhw_python,
    conv3d_ndhwc_python as conv3d_ndhwc_python, conv1d_transpose_ncw_python as conv1d_transpose_ncw_python,
    conv2d_transpose_nchw_python as conv2d_transpose_nchw_python, conv3d_transpose_ncdhw_python as conv3d_transpose_ncdhw_python,
    l2_normalize_python as l2_normalize_python, log_softmax_python as log_softmax_python, lrn_python as lrn_python,
    conv2d_backward_weight_python as conv2d_backward_weight_python, conv2d_hwcn_python as conv2d_hwcn_python,
    conv2d_transpose_nhwc_python as conv2d_transpose_nhwc_python, depthwise_conv2d_python_nchw as depthwise_conv2d_python_nchw,
    depthwise_conv2d_python_nchwc as depthwise_conv2d_python_nchwc, depthwise_conv2d_python_nhwc as depthwise_conv2d_python_nhwc,
    group_conv1d_ncw_python as group_conv1d_ncw_python, group_conv1d_transpose_ncw_python as group_conv1d_transpose_ncw_python,
    nll_loss as nll_loss, softmax_python as softmax_python,
)  # fmt: skip
from .norms import (
    batch_norm as batch_norm, dense as dense, group_norm_python as group_norm_python, instance_norm_python as instance_norm_python,
    layer_norm_python as layer_norm_python, lstm_python as lstm_python, rms_norm_python as rms_norm_python,
)  # fmt: skip
from .samples import (
    affine_grid_python as affine_grid_python, crop_and_resize_python as crop_and_resize_python,
    deformable_conv2d_nchw_python as deformable_conv2d_nchw_python, deformable_conv2d_nhwc_python as deformable_conv2d_nhwc_python,
    grid_sample_python as grid_sample_python, resize1d_python as resize1d_python, resize2d_python as resize2d_python,
    resize3d_python as resize3d_python, roi_align_nchw_python as roi_align_nchw_python, roi_align_nhwc_python as roi_align_nhwc_python,
    roi_pool_nchw_python as roi_pool_nchw_python,
)  # fmt: skip
from .windows import (
    adaptive_pool as adaptive_pool, correlation_nchw_python as correlation_nchw_python, pool_grad_nchw as pool_grad_nchw,
    poolnd_python as poolnd_python, reorg_python as reorg_python,
)  # fmt: skip


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
