"""NumPy references for tests of operators. The others raise until somebody writes them."""

from __future__ import annotations

from typing import Any

from ... import _absent
from .arrays import (
    batch_to_space_nd_python as batch_to_space_nd_python, depth_to_space_python as depth_to_space_python,
    dilate_python as dilate_python, gather_python as gather_python, matrix_set_diag as matrix_set_diag, one_hot as one_hot,
    searchsorted_ref as searchsorted_ref, sequence_mask as sequence_mask, space_to_batch_nd_python as space_to_batch_nd_python,
    space_to_depth_python as space_to_depth_python, strided_set_python as strided_set_python,
    strided_slice_python as strided_slice_python,
)  # fmt: skip
from .networks import (
    batch_matmul as batch_matmul, conv1d_ncw_python as conv1d_ncw_python, conv2d_nchw_python as conv2d_nchw_python,
    conv2d_nhwc_python as conv2d_nhwc_python, conv3d_ncdhw_python as conv3d_ncdhw_python,
    conv3d_ndhwc_python as conv3d_ndhwc_python, conv1d_transpose_ncw_python as conv1d_transpose_ncw_python,
    conv2d_transpose_nchw_python as conv2d_transpose_nchw_python, conv3d_transpose_ncdhw_python as conv3d_transpose_ncdhw_python,
    l2_normalize_python as l2_normalize_python, log_softmax_python as log_softmax_python, lrn_python as lrn_python,
    nll_loss as nll_loss, softmax_python as softmax_python,
)  # fmt: skip


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
