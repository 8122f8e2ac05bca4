#include <relay/import/onnx/ops/scaled_sum.h>

#include <algorithm>
#include <cmath>

#include <relay/import/onnx/ops/arithmetic.h>

namespace relay::onnx {
namespace {

/// More terms are summed up as numbers.
constexpr size_t kMostTerms = 4;
/// Scales beyond these could make what is no finite number of the integers.
constexpr double kLeastScale = 0x1p-100, kMostScale = 0x1p60;

GraphValue with(const GraphValue& value, ScaledSum sum) {
  return value.of_sum(std::make_shared<const ScaledSum>(std::move(sum)));
}

bool is_usual(double scale) {
  return std::abs(scale) > kLeastScale && std::abs(scale) < kMostScale;
}

/// The only element of a known array.
std::optional<double> known_number(const GraphValue& x) {
  if (!x.array() || x.array().size() != 1) return std::nullopt;
  return x.array().element_as_double(0);
}

/// The products of two scales, numbers or vectors of one length; nothing if they are not known.
std::optional<std::vector<double>> products(const NDArray& a, const NDArray& b) {
  if (!a || !b || a.size() == 0 || b.size() == 0) return std::nullopt;
  if (a.size() != 1 && b.size() != 1 && a.size() != b.size()) return std::nullopt;
  std::vector<double> result;
  for (int64_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    result.push_back(a.element_as_double(a.size() == 1 ? 0 : i) *
                     b.element_as_double(b.size() == 1 ? 0 : i));
    if (!is_usual(result.back())) return std::nullopt;
  }
  return result;
}

/// True if x is known and may be an offset.
bool is_known_offset(const GraphValue& x) {
  if (x.dtype() != kFloat32) return false;
  if (const std::vector<GraphValue>* parts = x.integers()) {
    // (integers - zero) · scale of constants
    const GraphValue& zero = (*parts)[2];
    const NDArray &integers = (*parts)[0].array(), &scale = (*parts)[1].array();
    if (!integers || !scale || (zero && !zero.array())) return false;
    for (int64_t i = 0; i < scale.size(); ++i) {
      const double each = scale.element_as_double(i);
      if (each != 0 && !is_usual(each)) return false;
    }
    return true;
  }
  const NDArray& array = x.array();
  if (!array) return false;
  for (int64_t i = 0; i < array.size(); ++i) {
    if (!(std::abs(array.element_as_double(i)) < kMostScale)) return false;
  }
  return true;
}

GraphValue plus(NodeContext& node, const GraphValue& a, const GraphValue& b) {
  return a && b ? node.emit("add", {a, b}) : a ? a : b;
}

/// The sum that x stands for; a dequantised tensor is one of a single term.
std::optional<ScaledSum> sum_of(NodeContext& node, const GraphValue& x) {
  if (x.dtype() != kFloat32) return std::nullopt;
  if (x.sum() != nullptr) return *x.sum();
  if (x.integers() == nullptr) return std::nullopt;
  const std::vector<GraphValue>& parts = *x.integers();
  const DType dtype = parts[0].dtype();
  const std::optional<double> scale = known_number(parts[1]);
  std::optional<double> zero = 0;
  if (parts[2]) zero = known_number(parts[2]);
  if (!dtype.is_integer() || dtype.bits > 16 || !scale || !zero || !is_usual(*scale))
    return std::nullopt;
  const GraphValue number = node.reshape(parts[1], {});
  ScaledSum sum;
  sum.terms.push_back({parts[0], number, {*scale}});
  if (*zero != 0) {
    const GraphValue less = node.scalar(kFloat32, -*zero);
    sum.offset = node.emit("multiply", {less, number});
  }
  return sum;
}

/// True if a bias stands for integers whose scale is that of the term.
bool has_scale(const GraphValue& bias, const ScaledSum::Term& term) {
  const std::vector<GraphValue>* parts = bias.integers();
  if (parts == nullptr || (*parts)[0].dtype() != kInt32 || !(*parts)[1].array()) return false;
  if (const GraphValue& zero = (*parts)[2]) {
    if (!zero.array()) return false;
    for (int64_t i = 0; i < zero.array().size(); ++i) {
      if (zero.array().element_as_int64(i) != 0) return false;
    }
  }
  // The product of two scales is rounded where the model is made.
  constexpr double kRounding = 1e-6;
  const NDArray& scale = (*parts)[1].array();
  const auto count = static_cast<int64_t>(term.scales.size());
  if (scale.size() != 1 && scale.size() != count && count != 1) return false;
  for (int64_t i = 0; i < std::max(scale.size(), count); ++i) {
    const double own = term.scales[static_cast<size_t>(count == 1 ? 0 : i)];
    const double other = scale.element_as_double(scale.size() == 1 ? 0 : i);
    if (!(std::abs(own - other) <= kRounding * std::abs(own))) return false;
  }
  return true;
}

}  // namespace

GraphValue scaled_sums(NodeContext& node, const GraphValue& sums, const GraphValue& scale,
                       const NDArray& of_left, const NDArray& of_right) {
  GraphValue numbers = node.emit("multiply", {node.cast(sums, kFloat32), scale});
  std::optional<std::vector<double>> scales = products(of_left, of_right);
  if (!scales) return numbers;
  ScaledSum sum;
  sum.terms.push_back({sums, scale, std::move(*scales)});
  return with(numbers, std::move(sum));
}

GraphValue with_bias(NodeContext& node, const GraphValue& x, const GraphValue& bias, int64_t axis) {
  GraphValue result = node.emit("nn.bias_add", {x, bias}, {{"axis", axis}});
  const ScaledSum* old = x.sum();
  if (old == nullptr || old->is_cut() || old->terms.size() != 1 || bias.rank() != 1) return result;
  std::vector<Dim> dims(x.rank() - static_cast<size_t>(axis), Dim(1));
  dims[0] = bias.dim(0);
  ScaledSum sum = *old;
  if (has_scale(bias, sum.terms[0])) {
    GraphValue& sums = sum.terms[0].integers;
    sums = node.emit("add", {sums, node.reshape((*bias.integers())[0], dims)});
  } else if (is_known_offset(bias)) {
    sum.offset = plus(node, sum.offset, node.reshape(bias, dims));
  } else {
    return result;
  }
  return with(result, std::move(sum));
}

GraphValue cut_sum(NodeContext& node, const GraphValue& result, const GraphValue& x, double low,
                   double high) {
  std::optional<ScaledSum> sum = sum_of(node, x);
  if (!sum || !(low <= high)) return result;
  // The outer range holds where both have nothing in common.
  sum->low = std::clamp(sum->low, low, high);
  sum->high = std::clamp(sum->high, low, high);
  return with(result, std::move(*sum));
}

GraphValue added_sums(NodeContext& node, const GraphValue& result, const GraphValue& a,
                      const GraphValue& b) {
  const bool known_a = is_known_offset(a), known_b = is_known_offset(b);
  if (known_a && known_b) return result;
  std::optional<ScaledSum> left, right;
  if (!known_a) left = sum_of(node, a);
  if (!known_b) right = sum_of(node, b);
  if ((!known_a && (!left || left->is_cut())) || (!known_b && (!right || right->is_cut())))
    return result;
  ScaledSum sum;
  for (const auto& [part, known] : {std::pair(&left, &a), std::pair(&right, &b)}) {
    if (!*part) {
      sum.offset = plus(node, sum.offset, *known);
      continue;
    }
    sum.terms.insert(sum.terms.end(), (*part)->terms.begin(), (*part)->terms.end());
    sum.offset = plus(node, sum.offset, (*part)->offset);
  }
  return sum.terms.size() > kMostTerms ? result : with(result, std::move(sum));
}

std::optional<GraphValue> requantised(NodeContext& node, const GraphValue& x,
                                      const GraphValue& scale, const GraphValue& zero,
                                      DType dtype) {
  if (x.sum() == nullptr && x.integers() == nullptr) return std::nullopt;
  const std::optional<double> step = known_number(scale);
  std::optional<double> origin = 0;
  if (zero) origin = known_number(zero);
  if (!step || !origin || !dtype.is_integer() || dtype.bits > 16) return std::nullopt;
  if (!(*step > kLeastScale && *step < kMostScale)) return std::nullopt;
  std::optional<ScaledSum> sum = sum_of(node, x);
  if (!sum) return std::nullopt;
  const GraphValue unit = node.cast(node.reshape(scale, {}), kFloat32);
  GraphValue steps;
  for (const ScaledSum::Term& term : sum->terms) {
    GraphValue factor = node.emit("divide", {term.scale, unit});
    steps = plus(node, steps, node.emit("multiply", {node.cast(term.integers, kFloat32), factor}));
  }
  if (sum->offset) steps = plus(node, steps, node.emit("divide", {sum->offset, unit}));
  // Both rounding and cutting keep the order: what is cut first is rounded to the same integer.
  const bool is_signed = dtype.is_signed();
  const double half = std::ldexp(1.0, dtype.bits - 1);
  const double least = (is_signed ? -half : 0) - *origin;
  const double most = (is_signed ? half - 1 : 2 * half - 1) - *origin;
  auto end = [&](double of_sum) {
    return static_cast<double>(static_cast<float>(std::clamp(of_sum / *step, least, most)));
  };
  GraphValue cut =
      node.emit("clip", {steps}, {{"a_min", end(sum->low)}, {"a_max", end(sum->high)}});
  // Beside this number float32 has no fractions: a sum with it is rounded to even.
  constexpr double kWithoutFractions = 0x1.8p23;
  Arithmetic in_floats(node, kFloat32);
  GraphValue whole = in_floats.subtract(in_floats.add(cut, kWithoutFractions), kWithoutFractions);
  GraphValue result = node.cast(whole, kInt32);
  if (*origin != 0) result = node.emit("add", {result, node.scalar(kInt32, *origin)});
  return node.cast(result, dtype);
}

}  // namespace relay::onnx
