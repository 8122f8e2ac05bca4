// Attributes of padding and upsampling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

struct PadAttrs {
  Required<std::vector<std::vector<int64_t>>> pad_width;
  std::string pad_mode = "constant";
  RELAY_ATTRS(
      PadAttrs, (pad_width, "Elements before and after the data, a pair for each axis."),
      (pad_mode,
       "\"constant\" fills with the value, \"edge\" repeats the border, \"reflect\" mirrors "
       "at it."))
};
struct MirrorPadAttrs {
  std::string mode = "SYMMETRIC";
  Required<std::vector<std::vector<int64_t>>> pad_width;
  RELAY_ATTRS(MirrorPadAttrs,
              (mode, "\"SYMMETRIC\" repeats the border's element, \"REFLECT\" does not."),
              (pad_width, "Elements before and after the data, a pair for each axis."))
};
struct UpSamplingAttrs {
  Required<double> scale_h;
  Required<double> scale_w;
  std::string layout = "NCHW";
  std::string method = "nearest_neighbor";
  bool align_corners = false;
  RELAY_ATTRS(UpSamplingAttrs, (scale_h, "Growth of the height."),
              (scale_w, "Growth of the width."), (layout, "Layout of data and result."),
              (method, "\"nearest_neighbor\" or \"bilinear\"."),
              (align_corners,
               "For \"bilinear\": corners come from corners; otherwise place i comes from "
               "i / scale."))
};
struct UpSampling3DAttrs {
  Required<double> scale_d;
  Required<double> scale_h;
  Required<double> scale_w;
  std::string layout = "NCDHW";
  std::string method = "nearest_neighbor";
  std::string coordinate_transformation_mode = "half_pixel";
  RELAY_ATTRS(UpSampling3DAttrs, (scale_d, "Growth of the depth."),
              (scale_h, "Growth of the height."), (scale_w, "Growth of the width."),
              (layout, "Layout of data and result."),
              (method, "\"nearest_neighbor\" or \"trilinear\"."),
              (coordinate_transformation_mode,
               "\"half_pixel\": centres of elements correspond; "
               "\"align_corners\"; \"asymmetric\": first elements do."))
};

}  // namespace relay
