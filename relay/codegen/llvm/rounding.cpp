// Floats near 0 that become integers: a sum with a number that leaves float32 no fractions is
// rounded to even, and so is what processors convert without truncating, in one instruction.
#include <cmath>
#include <optional>

#include <relay/codegen/llvm/rounding.h>

namespace relay::codegen {

using te::BinaryOp;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::UnaryOp;

namespace {

/// Beside this number float32 has no fractions.
constexpr double kWithoutFractions = 0x1.8p23;
/// Up to this from it that is so.
constexpr double kFarthest = 0x1p22;
/// Nodes between a sum and what bounds it.
constexpr int kMostSteps = 8;

std::optional<double> known(const ScalarRef& node) {
  if (node->kind != ScalarKind::kConst || !node->dtype.is_float()) return std::nullopt;
  return node->value.f;
}

/// The numbers that a float may be.
struct Range {
  double low = -INFINITY, high = INFINITY;
  bool nan = true;
};

Range range_of(const ScalarRef& node, int steps);

/// select(isnan(x), c, x)
Range range_of_select(const ScalarNode& select, int steps) {
  const ScalarRef &condition = select.args[0], &no = select.args[2];
  const std::optional<double> other = known(select.args[1]);
  if (condition->kind != ScalarKind::kUnary || condition->unary != UnaryOp::kIsNan ||
      condition->args[0] != no || !other || std::isnan(*other))
    return {};
  const Range x = range_of(no, steps);
  return {std::fmin(x.low, *other), std::fmax(x.high, *other), false};
}

Range range_of_binary(const ScalarNode& node, int steps) {
  const std::optional<double> c = known(node.args[1]);
  if (!c || std::isnan(*c)) return {};
  const Range x = range_of(node.args[0], steps);
  switch (node.binary) {
    case BinaryOp::kMin:
      return {std::fmin(x.low, *c), std::fmin(x.high, *c), x.nan};
    case BinaryOp::kMax:
      return {std::fmax(x.low, *c), std::fmax(x.high, *c), x.nan};
    case BinaryOp::kDiv:
      // Of finite numbers by what is neither too small nor infinite.
      if (*c < 0x1p-100 || *c > 0x1p100) return {};
      return {x.low / *c, x.high / *c, x.nan};
    default:
      return {};
  }
}

Range range_of(const ScalarRef& node, int steps) {
  if (steps == 0) return {};
  if (const std::optional<double> c = known(node)) {
    return std::isnan(*c) ? Range{} : Range{*c, *c, false};
  }
  if (node->kind == ScalarKind::kSelect) return range_of_select(*node, steps - 1);
  if (node->kind == ScalarKind::kBinary) return range_of_binary(*node, steps - 1);
  return {};
}

}  // namespace

std::optional<RoundedToEven> rounded_to_even(const ScalarNode& cast) {
  if (cast.kind != ScalarKind::kCast || !cast.dtype.is_integer()) return std::nullopt;
  if (cast.dtype.bits > 16 && cast.dtype != kInt32) return std::nullopt;
  const ScalarRef& back = cast.args[0];
  if (back->dtype != kFloat32 || back->kind != ScalarKind::kBinary ||
      back->binary != BinaryOp::kSub)
    return std::nullopt;
  const ScalarRef& beside = back->args[0];
  if (beside->kind != ScalarKind::kBinary || beside->binary != BinaryOp::kAdd) return std::nullopt;
  const std::optional<double> added = known(beside->args[1]), taken = known(back->args[1]);
  if (!added || !taken || *added != kWithoutFractions) return std::nullopt;
  const double offset = *added - *taken;
  if (offset != std::trunc(offset) || std::abs(offset) > kFarthest) return std::nullopt;
  const Range x = range_of(beside->args[0], kMostSteps);
  // Not-a-number becomes the least integer, which is not moved.
  if ((x.nan && offset != 0) || !(x.low >= -kFarthest && x.high <= kFarthest)) return std::nullopt;
  return RoundedToEven{beside->args[0], static_cast<int32_t>(offset)};
}

}  // namespace relay::codegen
