"""Forms of ONNX's own operators that the onnx package has no test for."""

import numpy as np

from recording import form, integers, numbers, scalar


def convolution_forms():
    x, w = numbers("x", 1, 4, 5, 6), numbers("w", 4, 3, 3, 2)
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        form(f"conv_transpose_{auto_pad}", "ConvTranspose", [x, w], auto_pad=auto_pad, strides=[2, 2])
    form("conv_transpose_output_shape", "ConvTranspose", [x, w, numbers("b", 3)], output_shape=[10, 13], strides=[2, 2])
    form("conv_transpose_output_padding", "ConvTranspose", [x, w], output_padding=[1, 0], strides=[2, 2],
         pads=[1, 0, 0, 1])
    form("conv_transpose_group", "ConvTranspose", [x, w], group=2, dilations=[2, 1])
    form("conv_transpose_3d", "ConvTranspose", [numbers("x", 1, 2, 3, 4, 2), numbers("w", 2, 2, 2, 3, 2)],
         strides=[1, 2, 2], pads=[1, 0, 0, 0, 1, 1])
    form("conv_same_lower", "Conv", [numbers("x", 1, 2, 7), numbers("w", 3, 2, 4)], auto_pad="SAME_LOWER", strides=[2])
    form("conv_integer_1d", "ConvInteger",
         [integers("x", 1, 2, 7), integers("w", 3, 2, 3), scalar(120, np.uint8), scalar(100, np.uint8)], pads=[1, 1])
    form("matmul_integer_columns", "MatMulInteger",
         [integers("a", 3, 4), integers("b", 4, 2, low=-100, high=100, dtype=np.int8), scalar(9, np.uint8),
          np.array([3, -4], np.int8)])
    form("qlinear_conv_channels", "QLinearConv",
         # Small weights: ONNX Runtime's sums of two products saturate on some processors.
         [integers("x", 1, 2, 5, 5), scalar(0.02), scalar(120, np.uint8),
          integers("w", 3, 2, 3, 3, low=-30, high=30, dtype=np.int8), numbers("s", 3, low=0.01, high=0.02),
          np.zeros(3, np.int8), scalar(0.05), scalar(128, np.uint8),
          integers("b", 3, low=-500, high=500, dtype=np.int32)], pads=[1, 1, 1, 1], strides=[2, 1], atol=1, rtol=0)


def power_forms():
    """Powers of integers are exact."""
    bases, powers = np.array([7, 6, 3, -9, 2], np.int32), np.array([10, 11, 19, 7, 0], np.float32)
    form("pow_int_by_float", "Pow", [bases, powers], atol=0, rtol=0)
    form("pow_long_by_float", "Pow", [bases.astype(np.int64), powers * np.float32(1.5) // 1], atol=0, rtol=0)
    form("pow_int_by_long", "Pow", [bases, powers.astype(np.int64)], atol=0, rtol=0)
    form("pow_int_by_root", "Pow", [np.array([9, 10, 80], np.int32), scalar(0.5)], atol=0, rtol=0)
    form("pow_float_by_double", "Pow", [numbers("x", 6, low=0.5, high=3), numbers("y", 6, low=-20, high=20, dtype=np.float64)],
         rtol=1e-6, atol=0)


def pool_forms():
    x = numbers("x", 2, 3, 7, 6)
    for order in (0, 1):
        form(f"max_pool_indices_{order}", "MaxPool", [x], 2, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1],
             storage_order=order)
    form("max_pool_indices_dilated", "MaxPool", [x], 2, kernel_shape=[2, 2], dilations=[3, 2])
    form("max_pool_indices_1d", "MaxPool", [numbers("x", 2, 2, 9)], 2, kernel_shape=[3], strides=[2], ceil_mode=1)
    form("max_pool_indices_3d", "MaxPool", [numbers("x", 1, 2, 4, 5, 4)], 2, kernel_shape=[2, 3, 2], strides=[2, 1, 2])
    for include in (0, 1):
        form(f"average_pool_ceil_{include}", "AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2],
             pads=[0, 1, 0, 1], ceil_mode=1, count_include_pad=include)
    # Windows that are longer than the data, by less than a step.
    few = numbers("few", 1, 2, 3, 4)
    form("max_pool_longer", "MaxPool", [few], kernel_shape=[4, 2], strides=[2, 2])
    form("max_pool_longer_padded", "MaxPool", [few], kernel_shape=[6, 7], strides=[3, 4], pads=[1, 0, 0, 1])
    form("average_pool_longer", "AveragePool", [few], kernel_shape=[4, 2], strides=[2, 2])
    form("lp_pool_p3", "LpPool", [x], kernel_shape=[3, 2], strides=[2, 2], p=3, pads=[1, 0, 1, 0])
    form("lp_pool_p1", "LpPool", [numbers("x", 1, 2, 9)], kernel_shape=[3], p=1)
    form("global_lp_pool", "GlobalLpPool", [x], p=3)


def norm_forms():
    x = numbers("x", 2, 4, 3)
    form("batch_norm_double", "BatchNormalization",
         [x.astype(np.float64), *(numbers(n, 4, low=0.5, dtype=np.float64) for n in "abcd")], atol=1e-9)
    form("group_norm_18", "GroupNormalization", [x, numbers("s", 2), numbers("b", 2)], num_groups=2, opset=18)
    form("group_norm_21", "GroupNormalization", [x, numbers("s", 4), numbers("b", 4)], num_groups=2, opset=21)
    form("instance_norm_1d", "InstanceNormalization", [x, numbers("s", 4), numbers("b", 4)], epsilon=1e-3)
    form("layer_norm_16", "LayerNormalization", [x, numbers("s", 3), numbers("b", 3)], opset=16)
    form("layer_norm_axis", "LayerNormalization", [x, numbers("s", 4, 3), numbers("b", 4, 3)], 3, axis=1)


def image_forms():
    x = numbers("x", 1, 2, 5, 6)
    sizes = np.array([1, 2, 8, 4], np.int64)
    scales = np.array([1, 1, 1.6, 0.7], np.float32)
    for mode in ("nearest", "linear", "cubic"):
        for places in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric"):
            form(f"resize_sizes_{mode}_{places}", "Resize", [x, None, None, sizes], mode=mode,
                 coordinate_transformation_mode=places, constants=[3], atol=1e-4)
    for mode in ("linear", "cubic"):
        form(f"resize_scales_{mode}", "Resize", [x, None, scales], mode=mode, constants=[2], atol=1e-4)
        form(f"resize_antialias_{mode}", "Resize", [x, None, None, np.array([1, 2, 3, 4], np.int64)], mode=mode,
             antialias=1, constants=[3], atol=1e-4)
        form(f"resize_scales_input_{mode}", "Resize", [x, None, scales], mode=mode, atol=1e-4)
    for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        form(f"resize_{nearest}", "Resize", [x, None, None, sizes], nearest_mode=nearest, constants=[3],
             coordinate_transformation_mode="asymmetric")
    form("resize_cubic_excluded", "Resize", [x, None, None, sizes], mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5,
         constants=[3], atol=1e-4)
    form("resize_3d", "Resize", [numbers("x", 1, 1, 3, 4, 3), None, np.array([1, 1, 2, 2, 2], np.float32)],
         mode="linear", constants=[2])
    roi = np.array([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.2], np.float32)
    form("resize_crop", "Resize", [x, roi, None, sizes], mode="linear", extrapolation_value=7.0, constants=[1, 3],
         coordinate_transformation_mode="tf_crop_and_resize", atol=1e-4)
    up = np.array([1, 1, 2, 3], np.float32)
    form("upsample_9", "Upsample", [x, up], opset=9, constants=[1], mode="linear")
    form("upsample_7", "Upsample", [x], opset=7, scales=[1.0, 1.0, 2.0, 2.0])
    form("resize_10", "Resize", [x, up], opset=10, constants=[1])
    for corners in (0, 1):
        for padding in ("zeros", "border", "reflection"):
            for mode in ("linear", "nearest", "cubic"):
                form(f"grid_sample_{mode}_{padding}_{corners}", "GridSample",
                     [x, numbers("grid", 1, 3, 4, 2, low=-1.4, high=1.4)], mode=mode, padding_mode=padding,
                     align_corners=corners, opset=20, atol=1e-4)
    rois = np.array([[0.3, 0.4, 3.2, 4.1], [1.0, 1.0, 1.3, 1.2], [-1.0, 0.0, 6.0, 5.0]], np.float32)
    images = np.array([0, 0, 0], np.int64)
    for places in ("half_pixel", "output_half_pixel"):
        for ratio in (0, 2):
            form(f"roi_align_{places}_{ratio}", "RoiAlign", [x, rois, images], output_height=2, output_width=3,
                 sampling_ratio=ratio, spatial_scale=0.9, coordinate_transformation_mode=places)
    boxes = numbers("boxes", 1, 12, 4, low=0, high=1)
    form("nms", "NonMaxSuppression", [boxes, numbers("scores", 1, 2, 12, low=0), scalar(3, np.int64), scalar(0.3),
                                      scalar(0.2)])
    form("nms_default", "NonMaxSuppression", [boxes, numbers("scores", 1, 2, 12), scalar(4, np.int64)])
    form("max_unpool_2", "MaxUnpool", [numbers("x", 1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]], np.int64)],
         kernel_shape=[2, 2], strides=[2, 2])
    form("deform_conv_mask", "DeformConv",
         [numbers("x", 1, 4, 5, 5), numbers("w", 2, 2, 3, 3), numbers("o", 1, 36, 5, 5), numbers("b", 2),
          numbers("m", 1, 18, 5, 5, low=0)], group=2, offset_group=2, pads=[1, 1, 1, 1], opset=22)


def legacy_forms():
    """Operators that ONNX took back and ONNX Runtime kept."""
    x, images = numbers("x", 3, 4, low=-3, high=3), numbers("images", 2, 3, 5, 6)
    form("legacy_affine", "Affine", [x], opset=7, alpha=2.0, beta=-0.5)
    form("legacy_scale", "Scale", [x], opset=7, scale=0.25)
    form("legacy_scaled_tanh", "ScaledTanh", [x], opset=7, alpha=1.5, beta=0.5)
    form("legacy_parametric_softplus", "ParametricSoftplus", [x * 40], opset=7, alpha=1.5, beta=0.5)
    form("legacy_image_scaler", "ImageScaler", [images], opset=7, scale=2.0, bias=[0.5, -1.0, 0.25])
    form("legacy_crop", "Crop", [images], opset=7, border=[1, 2, 0, 1])
    form("legacy_crop_size", "Crop", [images], opset=7, border=[1, 2, 0, 0], scale=[2, 3])
