#include <relay/codegen/llvm/index_ranges.h>

#include <algorithm>

#include <relay/tensor_expr/walk.h>

namespace relay::codegen {

using te::BinaryOp;
using te::ScalarKind;
using te::ScalarNode;

namespace {

/// Beyond this nothing is known, so that no sum and no product here overflows.
constexpr int64_t kMost = int64_t{1} << 30;

using Range = std::optional<IndexRange>;

Range within(int64_t low, int64_t high) {
  if (low > high || low < -kMost || high > kMost) return std::nullopt;
  return IndexRange{low, high};
}

int64_t divide_down(int64_t x, int64_t by) { return x / by - (x % by < 0 ? 1 : 0); }

Range product(const IndexRange& a, const IndexRange& b) {
  const auto [low, high] =
      std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return within(low, high);
}

Range combined(BinaryOp op, const Range& a, const Range& b) {
  if (!a || !b) return std::nullopt;
  switch (op) {
    case BinaryOp::kAdd:
      return within(a->low + b->low, a->high + b->high);
    case BinaryOp::kSub:
      return within(a->low - b->high, a->high - b->low);
    case BinaryOp::kMul:
      return product(*a, *b);
    case BinaryOp::kMin:
      return within(std::min(a->low, b->low), std::min(a->high, b->high));
    case BinaryOp::kMax:
      return within(std::max(a->low, b->low), std::max(a->high, b->high));
    case BinaryOp::kFloorDiv:
      if (b->low < 1 || b->low != b->high) return std::nullopt;
      return within(divide_down(a->low, b->low), divide_down(a->high, b->low));
    case BinaryOp::kFloorMod:
      if (b->low < 1) return std::nullopt;
      if (a->low >= 0 && a->high < b->low) return a;
      return within(0, b->high - 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool IndexRanges::add(const lower::For& loop) {
  const Range begin = of(loop.begin), end = of(loop.end);
  const Range range = begin && end ? within(begin->low, end->high - 1) : std::nullopt;
  auto [axis, fresh] = axes_.try_emplace(loop.axis, range);
  if (fresh) return true;
  if (!axis->second || axis->second == range) return false;
  axis->second.reset();
  return true;
}

bool IndexRanges::add(const lower::Let& let) {
  const Range range = of(let.value);
  auto [known, fresh] = registers_.try_emplace(let.var, range);
  if (!fresh && known->second == range) return false;
  known->second = range;
  return true;
}

std::optional<IndexRange> IndexRanges::of(const te::ScalarRef& root) const {
  std::unordered_map<const ScalarNode*, Range> known;
  for (const ScalarNode* node : te::post_order({&root, 1})) {
    Range& range = known[node];
    if (node->dtype != kInt64) continue;
    switch (node->kind) {
      case ScalarKind::kConst:
        range = within(node->value.i, node->value.i);
        break;
      case ScalarKind::kFromDim:
        if (node->dim.is_int()) range = within(node->dim.as_int(), node->dim.as_int());
        break;
      case ScalarKind::kIndex:
        if (auto axis = axes_.find(node->axis); axis != axes_.end()) range = axis->second;
        break;
      case ScalarKind::kVar:
        if (auto var = registers_.find(node->id); var != registers_.end()) range = var->second;
        break;
      case ScalarKind::kBinary:
        range = combined(node->binary, known[node->args[0].get()], known[node->args[1].get()]);
        break;
      default:
        break;
    }
  }
  return known[root.get()];
}

bool IndexRanges::is_inside(const ScalarNode& load, const lower::Buffer& buffer) const {
  if (load.args.size() != buffer.dims.size()) return false;
  for (size_t d = 0; d < load.args.size(); ++d) {
    const Range range = of(load.args[d]);
    if (!range || range->low < 0 || !buffer.dims[d].is_int() ||
        range->high >= buffer.dims[d].as_int())
      return false;
  }
  return true;
}

}  // namespace relay::codegen
