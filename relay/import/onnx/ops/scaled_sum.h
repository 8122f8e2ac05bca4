// Numbers that stand for sums of integers: what is between DequantizeLinear and QuantizeLinear in a
// quantised network. QuantizeLinear makes integers of the sums by one multiplication each, as ONNX
// Runtime does, in place of a product and a quotient that are rounded each.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// Σ integers · scale + offset, cut to low … high. All scales and offsets are known to be finite.
struct ScaledSum {
  struct Term {
    GraphValue integers;         // of at most 32 bits
    GraphValue scale;            // float32, which broadcasts to the integers
    std::vector<double> scales;  // its elements
  };
  std::vector<Term> terms;
  GraphValue offset;  // float32, which broadcasts to the result; may be nothing
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool is_cut() const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return low > -kInfinity || high < kInfinity;
  }
};

/// sums · scale in float32, which stands for that. `scale` broadcasts to the sums and is computed
/// of the factors' scales, whose arrays may be known.
GraphValue scaled_sums(NodeContext& node, const GraphValue& sums, const GraphValue& scale,
                       const NDArray& of_left, const NDArray& of_right);
/// x with a bias, a vector along `axis`. A bias that stands for integers of the sums' scale is
/// added to the sums.
GraphValue with_bias(NodeContext& node, const GraphValue& x, const GraphValue& bias, int64_t axis);
/// `result`, which is x cut to a range.
GraphValue cut_sum(NodeContext& node, const GraphValue& result, const GraphValue& x, double low,
                   double high);
/// `result`, which is a + b.
GraphValue added_sums(NodeContext& node, const GraphValue& result, const GraphValue& a,
                      const GraphValue& b);
/// QuantizeLinear of x: nothing if it stands for no sum, or the parameters are no known numbers.
std::optional<GraphValue> requantised(NodeContext& node, const GraphValue& x,
                                      const GraphValue& scale, const GraphValue& zero, DType dtype);

}  // namespace relay::onnx
