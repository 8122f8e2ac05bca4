#include <relay/lower/sum_of_products.h>

#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

const ScalarNode* only_fold(const ScalarRef& value) {
  const ScalarNode* fold = nullptr;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (node->kind == ScalarKind::kGet) return nullptr;
    if (node->kind != ScalarKind::kFold) continue;
    if (fold != nullptr) return nullptr;
    fold = node;
  }
  return fold;
}

bool sums_products(const ScalarNode& fold) {
  return fold.combiner->kind == te::Combiner::Kind::kSum && !fold.combiner->needs_element &&
         fold.args.size() == 1 && fold.args[0]->kind == ScalarKind::kBinary &&
         fold.args[0]->binary == te::BinaryOp::kMul;
}

namespace {

/// The load that a factor of float32 is; of bfloat16 and float16 it is widened. Null for others.
const ScalarNode* load_of(const ScalarRef& factor) {
  if (factor->dtype != kFloat32) return nullptr;
  const bool widens = factor->kind == ScalarKind::kCast;
  const ScalarNode* load = widens ? factor->args[0].get() : factor.get();
  if (load->kind != ScalarKind::kLoad) return nullptr;
  return !widens || load->dtype == kBFloat16 || load->dtype == kFloat16 ? load : nullptr;
}

}  // namespace

std::optional<SumOfLoads> sum_of_loads(const te::Map& map) {
  if (map.values.size() != 1) return std::nullopt;
  const ScalarNode* fold = only_fold(map.values[0]);
  if (fold == nullptr || fold->dtype != kFloat32 || !sums_products(*fold)) return std::nullopt;
  const ScalarNode* lhs = load_of(fold->args[0]->args[0]);
  const ScalarNode* rhs = load_of(fold->args[0]->args[1]);
  if (lhs == nullptr || rhs == nullptr) return std::nullopt;
  return SumOfLoads{fold, lhs, rhs};
}

std::optional<uint32_t> plain_axis(const ScalarRef& index) {
  if (index->kind != ScalarKind::kIndex) return std::nullopt;
  return index->axis;
}

}  // namespace relay::lower
