// Resampling: elements of a result between elements of the data, one dimension after another.
// Shared by resize, upsampling and crop_and_resize.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include <relay/op/image/image_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/layout.h>

namespace relay {

/// The way to make elements, and their places in the data.
struct Resampling {
  ResizeMethod method = ResizeMethod::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kAutomatic;
  double cubic_alpha = -0.5;
  /// Ignores taps outside of the data instead of repeating the border.
  bool cubic_exclude = false;
  /// kCrop: the value outside of the data.
  double extrapolation = 0;
};

/// The dtype in which elements of these dtypes are combined.
DType resampling_dtype(DType data, DType result);

/// The taps of one dimension of the result: the elements of the data that count, and their weights.
/// Tables over (boxes…, the dimension's extent).
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

/// Requires the data to have an element if the result has one to make.
void require_elements(const RelationCall& call, const Layout& layout, std::string_view space,
                      std::span<const Dim> data, std::span<const Dim> result);

}  // namespace relay
