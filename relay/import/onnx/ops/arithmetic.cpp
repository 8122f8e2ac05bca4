#include <relay/import/onnx/ops/arithmetic.h>

#include <algorithm>
#include <cmath>

namespace relay::onnx {

GraphValue Arithmetic::rounded_to_even(const GraphValue& x) {
  // The part above the integer below is exact.
  GraphValue below = node_.emit("floor", {x});
  GraphValue rest = subtract(x, below);
  GraphValue half = multiply(below, 0.5);
  GraphValue odd = node_.emit("not_equal", {half, node_.emit("floor", {half})});
  GraphValue tie = node_.emit("equal", {rest, number(0.5)});
  GraphValue up = node_.emit("logical_or", {node_.emit("greater", {rest, number(0.5)}),
                                            node_.emit("logical_and", {tie, odd})});
  return node_.emit("where", {up, add(below, 1.0), below});
}

GraphValue Arithmetic::rounded_to_range(const GraphValue& x, DType dtype) {
  bool is_signed = dtype.is_signed();
  int bits = static_cast<int>(dtype.bits) - (is_signed ? 1 : 0);
  double low = is_signed ? -std::ldexp(1.0, bits) : 0.0;
  // For the widest integers the greatest that is a float stands below the end.
  int spare = std::max(0, bits - (dtype_ == kFloat64 ? 53 : 24));
  double high = std::ldexp(1.0, bits) - std::ldexp(1.0, spare);
  GraphValue rounded = rounded_to_even(x);
  return node_.emit("minimum", {node_.emit("maximum", {rounded, number(low)}), number(high)});
}

}  // namespace relay::onnx
