// Attributes of operators on images.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

RELAY_WORDS(ResizeMethod, (kNearest, "nearest_neighbor", "The nearest element."),
            (kLinear, "linear", "Linear interpolation along each dimension."),
            (kCubic, "cubic", "Cubic interpolation along each dimension."))
/// The place of element i of `out` ones among the `in` elements of the data.
RELAY_WORDS(ResizeCoordinates, (kHalfPixel, "half_pixel", "(i + 1/2) · in / out - 1/2."),
            (kPytorchHalfPixel, "pytorch_half_pixel", "The same, but 0 if out is 1."),
            (kAlignCorners, "align_corners", "i · (in - 1) / (out - 1)."),
            (kAsymmetric, "asymmetric", "i · in / out."),
            (kTfHalfPixelForNn, "tf_half_pixel_for_nn", "(i + 1/2) · in / out."),
            (kCrop, "tf_crop_and_resize", "From the begin of the roi to its end."))
RELAY_WORDS(ResizeRounding, (kRound, "round", "Halves up."), (kFloor, "floor", "Down."),
            (kCeil, "ceil", "Up."), (kPreferFloor, "round_prefer_floor", "Halves down."),
            (kPreferCeil, "round_prefer_ceil", "Halves up."),
            (kAutomatic, "", "Halves up where corners are aligned, otherwise down."))
RELAY_WORDS(CropMethod, (kLinear, "bilinear", "Linear interpolation."),
            (kNearest, "nearest_neighbor", "The nearest element, halves up."))
RELAY_WORDS(SampleMethod, (kNearest, "nearest", "The nearest element, halves to the even one."),
            (kLinear, "bilinear", "Linear interpolation along each dimension."),
            (kCubic, "bicubic", "Cubic interpolation with slope -3/4, of images."))
RELAY_WORDS(SamplePadding, (kZeros, "zeros", "Zeros."), (kBorder, "border", "The nearest element."),
            (kReflection, "reflection", "The data, mirrored at its border."))

/// Shared by the attributes of resize in one, two and three dimensions.
struct ResizeAttrs {
  std::optional<attr::Sizes> size;
  std::optional<std::vector<double>> roi;
  attr::Layout layout;
  ResizeMethod method = ResizeMethod::kLinear;
  ResizeCoordinates coordinate_transformation_mode = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding_method = ResizeRounding::kRound;
  double cubic_alpha = -0.5;
  int64_t cubic_exclude = 0;
  double extrapolation_value = 0.0;
  std::optional<DType> out_dtype;

 protected:
  explicit ResizeAttrs(std::string text) : layout(std::move(text)) {}
};

#define RELAY_RESIZE_FIELDS                                                                     \
  (size, "Extents of the result, one for each spatial dimension."),                             \
      (roi,                                                                                     \
       "For \"tf_crop_and_resize\": the part of the data, first all begins and then all ends, " \
       "as shares of the extents from 0 to 1."),                                                \
      (layout, "Layout of data and result."), (method, "Way of interpolation."),                \
      (coordinate_transformation_mode,                                                          \
       "Place of element i of out ones among in elements of the data."),                        \
      (rounding_method, "Which element is the nearest."),                                       \
      (cubic_alpha, "Slope of the cubic curve, -0.5 or -0.75 mostly."),                         \
      (cubic_exclude,                                                                           \
       "1: elements outside of the data do not count for \"cubic\"; 0: the border repeats."),   \
      (extrapolation_value, "For \"tf_crop_and_resize\": what is outside of the data."),        \
      (out_dtype, "Dtype of the result; the data's by default.")

struct Resize1DAttrs : ResizeAttrs {
  Resize1DAttrs() : ResizeAttrs("NCW") {}
  RELAY_ATTRS(Resize1DAttrs, RELAY_RESIZE_FIELDS)
};
struct Resize2DAttrs : ResizeAttrs {
  Resize2DAttrs() : ResizeAttrs("NCHW") {}
  RELAY_ATTRS(Resize2DAttrs, RELAY_RESIZE_FIELDS)
};
struct Resize3DAttrs : ResizeAttrs {
  Resize3DAttrs() : ResizeAttrs("NCDHW") {}
  RELAY_ATTRS(Resize3DAttrs, RELAY_RESIZE_FIELDS)
};
struct CropAndResizeAttrs {
  std::optional<attr::Sizes> crop_size;
  attr::Layout layout = "NCHW";
  CropMethod method = CropMethod::kLinear;
  double extrapolation_value = 0.0;
  std::optional<DType> out_dtype;
  RELAY_ATTRS(CropAndResizeAttrs, (crop_size, "Height and width of the result."),
              (layout, "Layout of data and result."), (method, "Way of interpolation."),
              (extrapolation_value, "Value outside of the data."),
              (out_dtype, "Dtype of the result; the data's by default."))
};
struct Dilation2DAttrs {
  attr::Sizes strides{1, 1};
  attr::Sizes padding{0, 0};
  attr::Sizes dilations{1, 1};
  attr::Layout data_layout = "NCHW";
  attr::Layout kernel_layout = "IHW";
  std::optional<DType> out_dtype;
  RELAY_ATTRS(Dilation2DAttrs, (strides, "Steps of the window."),
              (padding,
               "Zeros around the data: 1 entry, one for each dimension, or all before and then "
               "all after."),
              (dilations, "Distance of the kernel's taps."), (data_layout, "Layout of the data."),
              (kernel_layout, "Layout of the weight."),
              (out_dtype, "Dtype of the result; the data's by default."))
};
struct AffineGridAttrs {
  Required<attr::Sizes> target_shape;
  RELAY_ATTRS(AffineGridAttrs, (target_shape, "Height and width of the grid."))
};
struct GridSampleAttrs {
  SampleMethod method = SampleMethod::kLinear;
  attr::Layout layout = "NCHW";
  SamplePadding padding_mode = SamplePadding::kZeros;
  bool align_corners = true;
  RELAY_ATTRS(GridSampleAttrs, (method, "Way of interpolation."),
              (layout, "Layout of data and result: of images, or of volumes with D."),
              (padding_mode, "Value outside of the data."),
              (align_corners,
               "-1 and 1 are the middles of the outermost elements; otherwise their far edges."))
};

}  // namespace relay
