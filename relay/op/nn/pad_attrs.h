// Attributes of padding and upsampling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

RELAY_WORDS(PadMode, (kConstant, "constant", "Fill with the value."),
            (kEdge, "edge", "Repeat the border."), (kReflect, "reflect", "Mirror at the border."))
RELAY_WORDS(MirrorMode, (kSymmetric, "SYMMETRIC", "The border's element is repeated."),
            (kReflect, "REFLECT", "It is not."))
RELAY_WORDS(ImageMethod, (kNearest, "nearest_neighbor", "The nearest element."),
            (kLinear, "bilinear", "Linear interpolation."),
            (kCubic, "bicubic", "Cubic interpolation with slope -1/2."))
RELAY_WORDS(VolumeMethod, (kNearest, "nearest_neighbor", "The nearest element."),
            (kLinear, "trilinear", "Linear interpolation."))
RELAY_WORDS(CoordinateMode, (kHalfPixel, "half_pixel", "Centres of elements correspond."),
            (kAlignCorners, "align_corners", "First and last elements do."),
            (kAsymmetric, "asymmetric", "First elements do."))

struct PadAttrs {
  Required<attr::PerAxis<std::vector<int64_t>>> pad_width;
  PadMode pad_mode = PadMode::kConstant;
  RELAY_ATTRS(PadAttrs,
              (pad_width,
               "Elements before and after the data, a pair for each axis; negative takes "
               "elements away."),
              (pad_mode, "Source of the new elements."))
};
struct MirrorPadAttrs {
  MirrorMode mode = MirrorMode::kSymmetric;
  Required<attr::PerAxis<std::vector<int64_t>>> pad_width;
  RELAY_ATTRS(MirrorPadAttrs, (mode, "Repeats or leaves out the border's element."),
              (pad_width,
               "Elements before and after the data, a pair for each axis; negative takes "
               "elements away."))
};
struct UpSamplingAttrs {
  Required<double> scale_h;
  Required<double> scale_w;
  attr::Layout layout = "NCHW";
  ImageMethod method = ImageMethod::kNearest;
  bool align_corners = false;
  RELAY_ATTRS(
      UpSamplingAttrs, (scale_h, "Growth of the height."), (scale_w, "Growth of the width."),
      (layout, "Layout of data and result."), (method, "Way of resampling."),
      (align_corners,
       "Except for the nearest element: corners come from corners; otherwise place i comes from "
       "i / scale."))
};
struct UpSampling3DAttrs {
  Required<double> scale_d;
  Required<double> scale_h;
  Required<double> scale_w;
  attr::Layout layout = "NCDHW";
  VolumeMethod method = VolumeMethod::kNearest;
  CoordinateMode coordinate_transformation_mode = CoordinateMode::kHalfPixel;
  RELAY_ATTRS(UpSampling3DAttrs, (scale_d, "Growth of the depth."),
              (scale_h, "Growth of the height."), (scale_w, "Growth of the width."),
              (layout, "Layout of data and result."), (method, "Way of resampling."),
              (coordinate_transformation_mode, "Which places of data and result correspond."))
};

}  // namespace relay
