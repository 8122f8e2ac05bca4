// Resampling: elements of a result between elements of the data, one dimension after another.
// What resize, upsampling and crop_and_resize share.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include <relay/op/image/image_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/layout.h>

namespace relay {

/// How elements are made and where their places in the data are.
struct Resampling {
  ResizeMethod method = ResizeMethod::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kAutomatic;
  double cubic_alpha = -0.5;
  /// Taps outside of the data do not count, instead of repeating the border.
  bool cubic_exclude = false;
  /// kCrop: what is outside of the data.
  double extrapolation = 0;
};

/// Dtype that elements of these dtypes are combined in.
DType resampling_dtype(DType data, DType result);

/// The taps of one dimension of the result: which elements of the data count, and how much. Tables
/// over (boxes…, the dimension's extent).
struct Taps {
  std::vector<te::Tensor> index;   // int64, in range
  std::vector<te::Tensor> weight;  // none: the nearest element
  te::Tensor outside;              // bool; kCrop only
};

/// A begin or an end of a crop as a share of the data, of a box at the given index; float32.
struct Crop {
  std::function<te::Scalar(te::Indices box)> begin, end;
};

/// The taps for `out` elements between `in` elements, for every box if there are any.
Taps make_taps(te::Builder& b, const Resampling& how, Dim in, Dim out, DType dtype,
               const std::vector<Dim>& boxes = {}, const Crop& crop = {});

/// The value in the result's dtype: integers truncate, after a step back into their range.
te::Scalar resampled_value(te::Scalar value, const Resampling& how, DType result);

/// The data with its axes `space` resampled to the result's extents. `crops` has one entry for each
/// of them with kCrop.
te::Tensor resample(te::Builder& b, const te::Tensor& data, const Layout& layout,
                    std::string_view space, const Resampling& how, const te::TensorInfo& result,
                    const std::vector<Crop>& crops = {});

/// An axis that is resampled, for estimates: how many elements it gets for each one, and whether
/// its elements lie side by side.
struct ResampledAxis {
  double growth = 1;
  bool side_by_side = false;
};
/// The order in which axes are best resampled one after another: that of the least work. Elements
/// side by side are picked out of lines, others come in whole lines.
std::vector<size_t> resampling_order(std::span<const ResampledAxis> axes);

/// Requires an element wherever one is to be made from others.
void require_elements(const RelationCall& call, const Layout& layout, std::string_view space,
                      std::span<const Dim> data, std::span<const Dim> result);

}  // namespace relay
